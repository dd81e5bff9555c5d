package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newWhere() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "where",
		Short: "Print the path of this program",
		Long: `Print the path of this program, without symbolic links. A client config with
this path starts the server directly, without npx or uvx.`,
		Example: "  slipway where",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find the path of this program: %w", err)
			}
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), map[string]string{"path": path})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	jsonFlag(cmd, "the path")
	return cmd
}
