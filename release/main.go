// Command release builds the files of a Slipway release from a clean git tag:
//
//	go -C release run . build
//	go -C release run . verify
//
// The same commit built with the same version of Go gives the same bytes on every machine.
// Files go to out, with release.json as their index; see output.go for the layout.
// docs/releasing.md describes the whole process.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// newRoot returns the command release with its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:               "release",
		Short:             "Build and verify the files of a Slipway release",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(newBuild(), newVerify(), newSign(), newPush(),
		newPack("npm", "npm packages", writeNPM), newPack("wheels",
			"Python wheels", writeWheels))
	return root
}

// outFlag registers the flag that names the output folder.
func outFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "out", "out", "output `folder`")
}
