package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleUnsign() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unsign ARCHIVE",
		Short: "Remove the signature of a bundle",
		Long: `Remove all signatures of a bundle. The result is the original archive, byte for
byte. An unsigned bundle is not changed.`,
		Example: `  slipway bundle unsign my-server.mcpb`,
		RunE: func(cmd *cobra.Command, args []string) error {
			had, err := mcpb.Unsign(cmd.Context(), args[0], nil)
			if err != nil {
				return signFailure(args[0], err)
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), map[string]any{"bundle": args[0], "wasSigned": had})
			}
			what := "removed the signature"
			if !had {
				what = "not signed"
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", args[0], what)
			return err
		},
	}
	jsonFlag(cmd, "whether the bundle was signed")
	return cmd
}
