package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

func newBundle() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Make, check and look into MCP bundles",
		Long: `Make, check and look into MCP bundles (.mcpb): zip archives with an MCP server,
what it needs, and a manifest.json that says how to start it.`,
		Example: `  slipway bundle validate examples/clock-bundle`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, c := range cmd.Commands() {
				names = append(names, c.Name())
			}
			hint := "see slipway bundle --help"
			if near := nearest.DidYouMean(args[0], names); near != "" {
				hint = "did you mean slipway bundle " + near + "?"
			}
			return usage(hint, "bundle: unknown command %q", args[0])
		},
	}
	cmd.AddCommand(
		newBundleInit(),
		newBundleInfo(),
		newBundleValidate(),
	)
	return cmd
}

// unreadableBundle is a bundle, or the manifest of one, that cannot be read.
func unreadableBundle(name string, err error) error {
	why, hint := err.Error(), ""
	var path *fs.PathError
	if errors.As(err, &path) {
		why = path.Err.Error()
		if path.Path != name {
			why = path.Path + ": " + why
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		hint = "name a folder with a manifest.json, a manifest, or an .mcpb file"
	}
	return &failure{code: exitInput, text: name + ": " + why, hint: hint}
}
