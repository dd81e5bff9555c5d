package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/serve"
)

// revokedApprovals is the output of cluster revoke-approvals.
type revokedApprovals struct {
	Principal string `json:"principal"`
	Revoked   int    `json:"revoked"`
}

func newRevokeApprovals() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "revoke-approvals PRINCIPAL --cluster URL",
		Short: "Revoke what a user has approved",
		Long: `Revoke the approvals of a user in a cluster, both those of sessions and the
permanent ones of rules with @approval. The replicas ask the user again before
the next call.

PRINCIPAL is the name that the audit log has for the user.`,
		Example: `  slipway cluster revoke-approvals ann --cluster nats://nats.internal:4222`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.urls == "" {
				return usage(clusterForm, "revoke-approvals: --cluster is required")
			}
			engine, err := f.open()
			if err != nil {
				return err
			}
			defer engine.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), joinWithin)
			defer cancel()
			done := revokedApprovals{Principal: args[0]}
			if done.Revoked, err = serve.RevokeApprovals(ctx, engine, args[0]); err != nil {
				return remoteFailed(engineHint(err), "revoke approvals: %v", err)
			}
			return show(cmd, done, printRevoked)
		},
	}
	f.register(cmd)
	jsonFlag(cmd, "how many approvals were revoked")
	return cmd
}

func printRevoked(w io.Writer, done revokedApprovals) error {
	_, err := fmt.Fprintf(w, "%s of %s revoked\n", count(done.Revoked, "approval"), done.Principal)
	return err
}
