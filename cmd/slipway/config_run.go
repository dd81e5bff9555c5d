package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

func newConfigRun() *cobra.Command {
	var d definitions
	var sources sourceFlags
	var disabled bool
	var auditing auditFlags
	var idle idleFlags
	start := startFlags{defaultStartWait}
	cmd := &cobra.Command{
		Use:   "run [FILE...] SERVER",
		Short: "Run a server of definitions over stdin and stdout",
		Long: `Start or connect to a server of definitions, and serve it over stdin and stdout
with its secrets, folder, headers and allowed tools. The server is restarted if
it crashes. Client configs written with --via launcher start this command.
With the configuration of slipway serve as FILE, SERVER can be one of its
endpoints, for clients that cannot connect to it themselves.

` + sourcesHelp + `
` + networkHelp + `
` + filesHelp + `

` + defaultsHelp,
		Example: `  slipway config run examples/definitions/site.yaml reference </dev/null`,
		RunE: func(cmd *cobra.Command, args []string) error {
			resolver, err := sources.resolver()
			if err != nil {
				return err
			}
			resolver.Disabled = disabled
			if resolver.AllowNetwork, err = networks(cmd); err != nil {
				return err
			}
			if resolver.Identity, err = newIdentity(cmd, resolver.AllowNetwork, nil); err != nil {
				return err
			}
			last := len(args) - 1
			if _, err := os.Stat(args[last]); last == 0 && err == nil && stax.FormatOf(args[0]) != 0 {
				return usage("usage: "+cmd.UseLine(), "run: missing argument SERVER")
			}
			files, err := defaultFiles(cmd, args[:last], nil)
			if err != nil {
				return err
			}
			lock, err := newGuarding(cmd, files[len(files)-1:], true)
			if err != nil {
				return err
			}
			lock.guard(resolver)
			merged, err := d.validFor(cmd, files, args[last])
			if err != nil {
				return err
			}
			if merged.Config.Server(args[last]) == nil {
				var names []string
				for _, s := range merged.Config.Servers {
					names = append(names, s.Name)
				}
				hint := "the last argument is the name of a server"
				if near := nearest.DidYouMean(args[last], names); near != "" {
					hint = "did you mean " + near + "?"
				}
				return no(hint, "config run: no server is named %q", args[last])
			}
			ctx, stop := serve.Signals(cmd.Context(), func(os.Signal) {})
			defer stop()
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
			audit, closeAudit, err := auditing.open(log)
			if err != nil {
				return err
			}
			defer closeAudit()
			var recording currentAudit
			recording.Store(audit)
			lock.record(&recording)
			var roster client.Roster
			clients := &mcpserver.Clients{Single: true}
			opts := &fleet.Options{
				Resolver: resolver,
				Client: &client.Options{
					Client: mcp.Implementation{
						Name:    "slipway",
						Version: thisBuild().Version,
					},
					Observe: audited(&recording, printProblems(cmd.ErrOrStderr())),
					Roster:  &roster,
					Clients: clients,
				},
				Stderr: serverStderr(cmd.ErrOrStderr(), log, false),
			}
			if err := idle.apply(&opts.Idle); err != nil {
				return err
			}
			one := func(opening context.Context) (mcp.Source, error) {
				src, err := fleet.OpenServer(opening, merged, args[last], opts)
				if err != nil && ctx.Err() == nil {
					err = notRun(err, namedLock(cmd), files[0])
				}
				return src, err
			}
			src, err := fleet.Await(ctx, args[last], one, start.options())
			if err != nil && ctx.Err() != nil {
				return nil // stopped before anything was served
			}
			if err != nil {
				return err
			}
			defer closeSource(src)
			return explained(serve.Stdio(ctx, src, cmd.InOrStdin(), cmd.OutOrStdout(), &serve.Options{
				Reporting: serve.Reporting{
					Audit:     audit,
					Upstreams: upstreams(&roster),
					Announce:  announcement("config run " + args[last]),
				},
				Server: mcpserver.Options{Clients: clients},
			}))
		},
	}
	d.flags(cmd)
	sources.flags(cmd)
	networkFlag(cmd)
	lockFlags(cmd)
	declareSettings(cmd.Flags(), slices.Concat(auditing.settings(), idle.settings(), start.settings()))
	cmd.Flags().BoolVar(&disabled, "disabled", false, "run the server even if it is disabled")
	return handlesSignals(cmd)
}

// validFor is valid for one server: invalid definitions of other servers do not prevent
// it from running.
func (d *definitions) validFor(
	cmd *cobra.Command,
	files []string,
	server string,
) (*stax.Merged, error) {
	merged, report, err := d.load(files)
	if err != nil {
		return nil, err
	}
	servers, whole := stax.ErrorsByServer(report)
	if own, wrong := servers[server]; wrong || len(whole) > 0 {
		if err := report.WriteText(fitting(cmd.ErrOrStderr()), colored(cmd.ErrOrStderr())); err != nil {
			return nil, err
		}
		if !wrong {
			own = whole[0]
		}
		return nil, no("slipway config check shows what is wrong",
			"config run: server %q cannot be run: %s", server, own.Message)
	}
	if merged.Config.Server(server) == nil { // an entry of config apply --endpoint
		endpoint, err := endpointNamed(cmd, files, server)
		return cmp.Or(endpoint, merged), err
	}
	return merged, nil
}

// notRun returns the error for a server of a file that cannot be run. lock is the lock that --lock
// names, or "".
func notRun(err error, lock, file string) error {
	if f := blocked("config run: "+err.Error(), err); f != nil {
		return f
	}
	if f := stranger("config run: "+err.Error(), err, lock, file); f != nil {
		return f
	}
	f := remoteFailed(serverHint(err, file), "config run: %v", err)
	var missing *stax.MissingError
	switch {
	case errors.As(err, &missing):
		f.code = exitNo
	case errors.Is(err, stax.ErrDisabled):
		f.code = exitNo
		f.hint = "--disabled runs it anyway"
	case errors.Is(err, fs.ErrNotExist):
		f.code = exitInput
		f.hint = "install it, or write its whole path"
	}
	return f
}
