package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/cluster"
)

func newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Manage a cluster of slipway servers",
		Long: `Manage the replicas that slipway serve --cluster starts. List them with
slipway ps --cluster.`,
		Example: `  slipway cluster rotate-key --cluster nats://nats.internal:4222
  slipway cluster revoke-approvals ann --cluster nats://nats.internal:4222`,
	}
	return group(cmd, newRotateKey(), newRevokeApprovals())
}

// register adds the flags that name a cluster.
func (f *clusterFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.urls, "cluster", "", "`URL` of the cluster, as for slipway serve")
	flags.StringVar(&f.passwordFile, "cluster-password-file", "", "`file` with the password for the engine")
}

func newRotateKey() *cobra.Command {
	var f clusterFlags
	keep := 24 * time.Hour
	cmd := &cobra.Command{
		Use:   "rotate-key --cluster URL",
		Short: "Replace the key that seals session and task ids",
		Long: `Add a new key to a cluster whose replicas use the key in the engine. Replicas
open ids with the new key at once, and seal with it after 30 seconds, when all
have it. Sessions and tasks of previous keys continue for the time of --keep.

After a leak, end them at once with --keep 0. Replicas with --state-key-file use
that file instead.`,
		Example: `  slipway cluster rotate-key --cluster nats://nats.internal:4222
  slipway cluster rotate-key --cluster redis://valkey.internal:6379/0 --keep 0`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.urls == "" {
				return usage(clusterForm, "rotate-key: --cluster is required")
			}
			engine, err := f.open()
			if err != nil {
				return err
			}
			defer engine.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), joinWithin)
			defer cancel()
			done, err := cluster.RotateKey(ctx, engine, keep)
			if err != nil {
				return remoteFailed(engineHint(err), "rotate the key: %v", err)
			}
			return show(cmd, done, printRotation)
		},
	}
	f.register(cmd)
	cmd.Flags().Var((*duration)(&keep), "keep",
		"how long ids of previous keys stay valid; 0 ends their sessions and tasks")
	jsonFlag(cmd, "the new key's id and times")
	return cmd
}

// printRotation prints when the new key begins to seal, and until when old keys still open.
func printRotation(w io.Writer, done cluster.Rotation) error {
	_, err := fmt.Fprintf(w, "key %s seals from %s\n", done.Key, done.Seals.Local().Format(time.DateTime))
	if err == nil && done.Previous > 0 {
		until := done.Until.Local().Format(time.DateTime)
		_, err = fmt.Fprintf(w, "%s until %s\n", count(done.Previous, "previous key"), until)
	}
	return err
}
