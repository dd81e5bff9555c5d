package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/identity/policy"
)

func newPolicySchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the Cedar schema of policies",
		Long: `Print the Cedar schema of policies: all types, attributes and actions that
rules can refer to.`,
		Example: `  slipway policy schema`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), policy.Schema())
			return err
		},
	}
}
