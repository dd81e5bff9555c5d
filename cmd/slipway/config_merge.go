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
		Use:   "merge [LOW...] [HIGH]",
		Short: "Merge definitions files into one",
		Long: `Print the merged definitions of several files as JSON.

The last file has the highest precedence. A server in it replaces the complete
server of the same name in earlier files, including "enabled". Disabled servers
and unknown members are kept.

` + filesHelp + `

` + defaultsHelp,
		Example: `  slipway config merge examples/definitions/company.json \
      examples/definitions/mine.ts --explain`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := defaultFiles(cmd, args, nil)
			if err != nil {
				return err
			}
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
	jsonResultFlag(cmd)
	cmd.Flags().BoolVar(&explain, "explain", false, "print the origin of each server, and what it overrides, to stderr")
	return cmd
}

// explainMerge prints for each server the file that its definition comes from, and the files
// with lower precedence that also define it.
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
