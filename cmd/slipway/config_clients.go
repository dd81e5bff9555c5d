package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/stax/clients"
)

func newConfigClients() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clients",
		Short: "List supported clients",
		Long: `List the clients whose config files Slipway can write, and what each can
represent. --json prints the complete table: files by scope and system, names of
members, syntax of references.`,
		Example: `  slipway config clients
  slipway config clients --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showList(cmd, "clients", clients.All(), printClients)
		},
	}
	wideFlag(cmd)
	jsonFlag(cmd, "the whole table")
	return cmd
}

// printClients prints for each client which parts of a definition its file can express.
func printClients(w io.Writer, all []clients.Client) error {
	rows := [][]string{{"CLIENT", "NAME", "SUPPORTS"}}
	for _, c := range all {
		var can, cannot []string
		note := func(is bool, what string) {
			if is {
				can = append(can, what)
			} else {
				cannot = append(cannot, what)
			}
		}
		supports := func(name string) bool {
			return name != "" && !slices.Contains(c.Ignores, name)
		}
		note(c.HTTP != nil, "http")
		note(c.SSE != nil, "sse")
		note(c.Stdio != nil && supports(c.Stdio.Cwd), "cwd")
		note(supports(c.EnabledTools), "enabledTools")
		note(supports(c.DisabledTools), "disabledTools")
		note(c.References.Value != "" || c.References.EnvList != "", "secrets")
		words := strings.Join(can, ", ")
		if len(cannot) > 0 {
			words = strings.TrimLeft(words+" (not "+strings.Join(cannot, ", ")+")", " ")
		}
		rows = append(rows, []string{c.ID, c.Name, words})
	}
	out := newLayout(w)
	out.grid("", rows)
	return out.flush()
}
