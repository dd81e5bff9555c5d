package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/open"
)

func newCheck() *cobra.Command {
	var o reporting
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Hold anything to every rule that applies to it",
		Long: `Hold anything to every rule that applies to it, and say where each fault is and
what to do about it.

PATH is a StaticMCP site (a folder with mcp.json, a .zip of one, its URL), a
bundle (an .mcpb file, or a folder or manifest.json of one), a file of server
definitions, or whatever else can be served, such as a live server at a URL or,
behind --, the command that starts one: of that, the definitions that it offers
are checked.

slipway site check, bundle validate and config check do the same for one format,
with options of its own. The rules: docs/reference/rules.md.`,
		Example: `  slipway check examples/http-reference
  slipway check examples/http-reference --json --strict
  slipway check -- slipway serve --stdio examples/http-reference`,
		Args: takesSource(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = sourceFirst(cmd, args)
			if err := oneTokenOneServer(args); err != nil {
				return err
			}
			opts := &open.CheckOptions{Open: &open.Options{Live: liveOptions(nil, nil)}}
			names := make([]string, len(args))
			all := &check.Report{}
			for i, arg := range args {
				if names[i] = arg; strings.HasPrefix(arg, "exec:") {
					names[i] = open.Name(arg)
				}
				r, err := open.Check(cmd.Context(), arg, opts)
				if err != nil {
					return err
				}
				all.Merge(r)
			}
			return o.print(cmd, strings.Join(names, ", "), all)
		},
	}
	o.flags(cmd)
	return cmd
}
