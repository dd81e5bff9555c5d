package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/open"
)

func newCheck() *cobra.Command {
	var o reporting
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check a site, bundle, definitions file or server",
		Long: `Check a site, bundle, definitions file or server against all rules that apply,
and report each problem with its place and a fix.

PATH is a StaticMCP site (folder, .zip or URL), a bundle (.mcpb file, folder or
manifest.json), a definitions file, or any other SOURCE, such as a live server,
whose tools, resources and prompts are checked.

--format github annotates pull requests in GitHub Actions, sarif is for code
scanning and editors, junit for most other CI servers.

"slipway site check", "slipway bundle validate" and "slipway config check" have
additional options for one format. Rules: docs/reference/rules.md.

` + sourceHelp,
		Example: `  slipway check examples/http-reference
  slipway check examples/http-reference --json --strict
  slipway check examples/http-reference --format github \
      --format sarif=slipway.sarif
  slipway check -- slipway serve --stdio examples/http-reference`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneTokenOneServer(args); err != nil {
				return err
			}
			opts := &open.CheckOptions{Open: &open.Options{Live: liveOptions(nil, nil)}}
			names := make([]string, len(args))
			all := &check.Report{}
			opts.Open.Live.Source.Roster = &client.Roster{}
			wait := startWait(cmd, len(args), opts.Open.Live.Source.Roster)
			defer wait.finish()
			for i, arg := range args {
				if names[i] = arg; strings.HasPrefix(arg, "exec:") {
					names[i] = open.Argument(arg).Name()
				}
				wait.begin(names[i])
				r, err := open.Check(cmd.Context(), arg, opts)
				if err != nil {
					return err
				}
				checkConfig(r, arg)
				all.Merge(r)
				wait.end(names[i])
			}
			wait.finish()
			return o.print(cmd, names, all)
		},
	}
	o.flags(cmd)
	cmd.Args = takes(1, -1)
	acceptCommand(cmd)
	return cmd
}
