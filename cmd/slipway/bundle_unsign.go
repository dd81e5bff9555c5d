package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleUnsign() *cobra.Command {
	return &cobra.Command{
		Use:   "unsign ARCHIVE",
		Short: "Take the signature off a bundle",
		Long: `Take the signature off a bundle, also several of them. What is left is the
archive as it was before, byte for byte. A bundle without a signature stays as
it is.`,
		Example: `  slipway bundle unsign my-server.mcpb`,
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			had, err := mcpb.Unsign(cmd.Context(), args[0], nil)
			if err != nil {
				return signFailure(args[0], err)
			}
			what := "the signature is off"
			if !had {
				what = "it was not signed"
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", args[0], what)
			return err
		},
	}
}

func isPathError(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path)
}
