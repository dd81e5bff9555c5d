package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// selection binds the flags that select applied entries.
func selection(cmd *cobra.Command) *clients.Selection {
	s := &clients.Selection{}
	cmd.Flags().Var(each(&s.Clients, knownClient), "client", "only this `client` (repeatable, or separated by commas)")
	cmd.Flags().Var(optional(&s.Scope, "user", "project"), "scope",
		"only files of this `scope`: user or project")
	return s
}

func newConfigDiff() *cobra.Command {
	var s *clients.Selection
	cmd := &cobra.Command{
		Use:   "diff [SERVER...]",
		Short: "Show how client configs changed since the last apply",
		Long: `Compare client config files with what "slipway config apply" wrote to them, for
all servers or the given ones. Only entries written by Slipway are compared. The
exit code is 1 if an entry is missing or was changed.

To compare files with definitions, use "slipway config apply --dry-run".

` + stateHelp,
		Example: `  slipway config diff
  slipway config diff --client codex --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := openState()
			if err != nil {
				return err
			}
			s.Servers = args
			drift := state.Drift(s)
			if err := showList(cmd, "drift", drift, printDrift); err != nil || len(drift) == 0 {
				return err
			}
			return no("slipway config apply writes them again; add --replace for those that were changed",
				"config diff: entries that differ: %d", len(drift))
		},
	}
	s = selection(cmd)
	jsonFlag(cmd, "the differences")
	return cmd
}

// printDrift prints one line per difference between a client file and what was written to it.
func printDrift(w io.Writer, drift []clients.Drift) error {
	for _, d := range drift {
		line := fmt.Sprintf("%s: %s: %s", d.Client, d.Path, strings.TrimSpace(d.Server+" "+d.Change))
		if d.Why != "" {
			line += ": " + d.Why
		}
		if len(d.Fields) > 0 {
			line += ": " + strings.Join(d.Fields, ", ")
		}
		fmt.Fprintln(w, style.Wrap(line, columns(w), "  "))
	}
	return nil
}
