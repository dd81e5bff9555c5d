package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/stax/clients"
)

// selecting selects applied entries.
type selecting struct {
	clients []string
	scope   string
}

func (s *selecting) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.clients, "client", nil, "only this `client` (repeatable)")
	cmd.Flags().StringVar(&s.scope, "scope", "", "only files of this `scope`: user or project")
}

func (s *selecting) selection(servers []string) (*clients.Selection, error) {
	list, err := rows(s.clients)
	if err != nil {
		return nil, err
	}
	if s.scope != "" && s.scope != string(clients.User) && s.scope != string(clients.Project) {
		return nil, usage("user or project", "--scope: %q is no scope", s.scope)
	}
	sel := &clients.Selection{Scope: clients.Scope(s.scope), Servers: servers}
	for _, c := range list {
		sel.Clients = append(sel.Clients, c.ID)
	}
	return sel, nil
}

func newConfigDiff() *cobra.Command {
	var s selecting
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff [SERVER...]",
		Short: "Show how client configs changed since the last apply",
		Long: `Compare client config files with what "slipway config apply" wrote to them, for
all servers or the given ones. Only entries written by Slipway are compared. The
exit code is 1 if an entry is missing or was changed.

To compare files with definitions, use "slipway config apply --dry-run".

` + ledgerHelp,
		Example: `  slipway config diff
  slipway config diff --client codex --json`,
		Args: takes(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := s.selection(args)
			if err != nil {
				return err
			}
			ledger, err := openLedger()
			if err != nil {
				return err
			}
			drift := ledger.Drift(sel)
			if asJSON {
				if drift == nil {
					drift = []clients.Drift{}
				}
				if err := printJSON(cmd.OutOrStdout(), map[string]any{"drift": drift}); err != nil {
					return err
				}
			} else {
				for _, d := range drift {
					line := fmt.Sprintf("%s: %s: %s", d.Client, d.Path, strings.TrimSpace(d.Server+" "+d.Change))
					if d.Why != "" {
						line += ": " + d.Why
					}
					if len(d.Fields) > 0 {
						line += ": " + strings.Join(d.Fields, ", ")
					}
					fmt.Fprintln(cmd.OutOrStdout(), line)
				}
			}
			if len(drift) > 0 {
				return no("slipway config apply writes them again; for those that were changed add --replace", "config diff: entries that differ: %d", len(drift))
			}
			return nil
		},
	}
	s.flags(cmd)
	jsonFlag(cmd, &asJSON, "the differences")
	return cmd
}
