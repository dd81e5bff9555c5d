package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/open"
)

func newBundle() *cobra.Command {
	return withoutURLs(group(&cobra.Command{
		Use:   "bundle",
		Short: "Create, check, inspect and run MCP bundles",
		Long: `Create, check, inspect and run MCP bundles (.mcpb): zip archives with an MCP
server, its dependencies and a manifest.json that describes how to start it.`,
		Example: `  slipway bundle validate examples/clock-bundle`,
	},
		newBundleInit(),
		newBundleInfo(),
		newBundleValidate(),
		newBundleClean(),
		newBundlePack(),
		newBundleUnpack(),
		newBundleSign(),
		newBundleVerify(),
		newBundleUnsign(),
		newBundleRun(),
		newBundleTest(),
		newBundleCache(),
	))
}

// withoutURLs makes the commands of a group refuse the URL of a bundle, with a hint: they
// only read files.
func withoutURLs(bundle *cobra.Command) *cobra.Command {
	for _, cmd := range bundle.Commands() {
		check := cmd.Args
		if check == nil {
			continue
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil || len(args) == 0 {
				return err
			}
			if err := open.Argument(args[0]).BundleURLError(); err != nil {
				return &failure{
					code: exitInput,
					text: args[0] + ": a bundle is read from a file, not from a URL",
					hint: err.Hint,
				}
			}
			return nil
		}
	}
	return bundle
}

// unreadableBundle returns the error for a bundle or manifest that cannot be read.
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
