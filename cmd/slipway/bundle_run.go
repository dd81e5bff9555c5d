package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
)

func newBundleRun() *cobra.Command {
	var locale string
	var anyPlatform bool
	var digest string
	start := startFlags{defaultStartWait}
	cmd := &cobra.Command{
		Use:   "run BUNDLE",
		Short: "Run the server of a bundle over stdin and stdout",
		Long: `Run the server of a bundle over stdin and stdout, for the client that starts
this command, and restart it if it crashes. BUNDLE is a folder with a
manifest.json, or an .mcpb file, which is unpacked into a read-only cache once
and verified at every start. To serve a bundle over HTTP, use "slipway serve
BUNDLE".

The runtime that the server needs (Node.js, Python or uv) must be in PATH.
Server stderr is printed to stderr, with secrets removed.

` + valuesHelp,
		Example: `  slipway bundle run my-server.mcpb --set folders=/tmp
  env MCP_BUNDLE_API_KEY="$(cat key.txt)" slipway bundle run my-server.mcpb`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := bundleOptions(cmd)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("sha256") &&
				(len(digest) != 64 || strings.Trim(strings.ToLower(digest), "0123456789abcdef") != "") {
				return usage("sha256sum prints it", "bundle run: --sha256 is 64 hexadecimal digits")
			}
			opts.AnyPlatform = anyPlatform
			opts.Locale = locale
			opts.SHA256 = digest
			if !isQuiet(cmd) {
				opts.Stderr = serverStderr(cmd.ErrOrStderr(), nil, false)(open.Argument(args[0]).Name())
			}
			return runBundle(cmd, args[0], opts, &start)
		},
	}
	valueFlags(cmd)
	declareSettings(cmd.Flags(), start.settings())
	cmd.Flags().StringVar(&locale, "locale", "", "`language` of the bundle's texts, such as de or pt-BR")
	cmd.Flags().StringVar(&digest, "sha256", "",
		"refuse a bundle with another SHA-256, in hexadecimal `digits` (exit code 6)")
	cmd.Flags().BoolVar(&anyPlatform, "any-platform", false, "run on platforms that the manifest does not list")
	return handlesSignals(cmd)
}

// runBundle serves a bundle on stdin and stdout until stdin ends or a signal arrives.
// Requests wait for the server as long as the start flags allow; the server is supervised, so
// a crash restarts it while the client stays connected.
func runBundle(
	cmd *cobra.Command,
	name string,
	opts *mcpb.OpenOptions,
	start *startFlags,
) error {
	ctx, stop := serve.Signals(cmd.Context(), func(os.Signal) {})
	defer stop()
	var roster client.Roster
	supervision := client.Options{}
	if opts.Live != nil {
		supervision = *opts.Live
	}
	clients := &mcpserver.Clients{Single: true}
	supervision.Name, supervision.Roster, supervision.Clients = open.Argument(name).Name(), &roster, clients
	opts.Live = &supervision
	src, err := fleet.Await(ctx, open.Argument(name).Name(), func(ctx context.Context) (mcp.Source, error) {
		return openBundle(ctx, name, opts)
	}, start.options())
	if err != nil {
		return err
	}
	defer closeSource(src)
	if isTerminal(cmd.InOrStdin()) {
		say(cmd.ErrOrStderr(), "waiting for MCP messages on stdin; usually a client starts this command")
	}
	return serve.Stdio(ctx, src, cmd.InOrStdin(), cmd.OutOrStdout(), &serve.Options{
		Reporting: serve.Reporting{
			Upstreams: upstreams(&roster),
			Announce:  announcement("bundle run"),
		},
		Server: mcpserver.Options{Clients: clients},
	})
}

// openBundle opens a bundle. Its errors have the exit code and hint of bundle commands.
func openBundle(
	ctx context.Context,
	name string,
	opts *mcpb.OpenOptions,
) (*mcpb.Source, error) {
	src, err := mcpb.Open(ctx, name, opts)
	if err != nil {
		if f := bundleFailure(name, err); f != nil {
			return nil, f
		}
		return nil, err
	}
	return src, nil
}
