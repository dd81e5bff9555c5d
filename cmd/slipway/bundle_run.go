package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
)

func newBundleRun() *cobra.Command {
	var locale string
	var anyPlatform, quiet bool
	var digest string
	var start startFlags
	cmd := &cobra.Command{
		Use:   "run BUNDLE",
		Short: "Run the server of a bundle over stdin and stdout",
		Long: `Run the server of a bundle over stdin and stdout, for a client that starts
this command: the command line that the manifest describes, with its options
filled in, kept alive. BUNDLE is a .mcpb file, which is unpacked into a cache
once, read-only, and compared with that copy at every start, or a folder with a
manifest.json. To serve it over HTTP: slipway serve BUNDLE.

` + valuesHelp + `

The server needs what its type says: Node.js, Python or uv, which are looked for
in the PATH. What it writes to stderr goes to stderr, without secrets.`,
		Example: `  slipway bundle run my-server.mcpb --set folders=/tmp
  env MCP_BUNDLE_API_KEY="$(cat key.txt)" slipway bundle run my-server.mcpb`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := bundleOptions(cmd)
			if err != nil {
				return err
			}
			if digest != "" && (len(digest) != 64 || strings.Trim(strings.ToLower(digest), "0123456789abcdef") != "") {
				return usage("sha256sum prints it", "bundle run: --sha256 is 64 hexadecimal digits")
			}
			opts.AnyPlatform, opts.Locale, opts.SHA256 = anyPlatform, locale, digest
			if !quiet {
				opts.Stderr = serverStderr(cmd.ErrOrStderr(), nil, false)(open.Name(args[0]))
			}
			return runBundle(cmd, args[0], opts, &start)
		},
	}
	valueFlags(cmd)
	start.add(cmd.Flags())
	cmd.Flags().StringVar(&locale, "locale", "", "`language` in which the bundle presents itself, such as de or pt-BR")
	cmd.Flags().StringVar(&digest, "sha256", "", "refuse a bundle whose SHA-256 has other `digits`: exit code 6")
	cmd.Flags().BoolVar(&anyPlatform, "any-platform", false, "run it on a system that its manifest leaves out, too")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "leave out what the server writes to stderr")
	return cmd
}

func runBundle(cmd *cobra.Command, name string, opts *mcpb.OpenOptions, start *startFlags) error {
	if err := start.check(); err != nil {
		return err
	}
	ctx, stop := serve.Signals(cmd.Context(), func(os.Signal) {})
	defer stop()
	var roster client.Roster
	supervision := client.Options{}
	if opts.Live != nil {
		supervision = *opts.Live
	}
	clients := &mcpserver.Clients{Single: true}
	supervision.Name, supervision.Opened, supervision.Clients = open.Name(name), roster.Add, clients
	opts.Live = &supervision
	src, opening, err := start.await(ctx, open.Name(name), func(ctx context.Context) (mcp.Source, error) {
		return openBundle(ctx, name, opts)
	})
	if err != nil {
		return err
	}
	defer closeSource(src)
	if isTerminal(cmd.InOrStdin()) {
		say(cmd.ErrOrStderr(), "waiting for MCP messages on stdin; usually a client starts this command")
	}
	return serve.Stdio(ctx, src, cmd.InOrStdin(), cmd.OutOrStdout(), &serve.Options{
		Upstreams: upstreams(&roster), Announce: announcement("bundle run"),
		Server: mcpserver.Options{Clients: clients}, Opening: opening,
	})
}

// openBundle opens a bundle.
func openBundle(ctx context.Context, name string, opts *mcpb.OpenOptions) (*mcpb.Source, error) {
	src, err := mcpb.Open(ctx, name, opts)
	if err != nil {
		if f := bundleFailure(name, err); f != nil {
			return nil, f
		}
		return nil, err
	}
	return src, nil
}
