package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/stax"
)

func newConfigMerge() *cobra.Command {
	var d definitions
	var explain bool
	cmd := &cobra.Command{
		Use:   "merge LOW... HIGH",
		Short: "Make one file of definitions out of several",
		Long: `Print the definitions of several files as one, in the compiled form: JSON.

The file named last wins. A server that it defines takes the place of the whole
server of that name in the files before it, "enabled" included; nothing of the
other is left. Disabled servers are kept, and so are members that the format
does not know.

` + filesHelp,
		Example: `  slipway config merge examples/definitions/company.json examples/definitions/mine.ts --explain`,
		Args:    takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			merged, err := d.valid(cmd, args)
			if err != nil {
				return err
			}
			if explain {
				explainMerge(cmd.ErrOrStderr(), merged)
			}
			return printJSON(cmd.OutOrStdout(), merged.Config)
		},
	}
	d.flags(cmd)
	cmd.Flags().BoolVar(&explain, "explain", false, "say on stderr which file each server is from, and whose it overrides")
	return cmd
}

func explainMerge(w io.Writer, merged *stax.Merged) {
	for _, s := range merged.Config.Servers {
		from := merged.From[s.Name]
		line := fmt.Sprintf("%s: from %s", s.Name, from[len(from)-1].Name)
		var over []string
		for _, d := range from[:len(from)-1] {
			over = append(over, d.Name)
		}
		if len(over) > 0 {
			line += ", overrides " + strings.Join(over, ", ")
		}
		if s.Disabled() {
			line += " (disabled)"
		}
		if s.RegistryRef != nil {
			line += " (" + s.RegistryRef.String() + ")"
		}
		fmt.Fprintln(w, line)
	}
}
