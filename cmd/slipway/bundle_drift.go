package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleTest() *cobra.Command {
	var r reporting
	var update bool
	cmd := &cobra.Command{
		Use:   "test BUNDLE",
		Short: "Start the server of a bundle and compare it with the manifest",
		Long: `Start the server of a bundle as a client would, and compare the tools and
prompts that it has with those of the manifest, and with the static_responses
that Windows reads. Where they differ the exit code is 1.

With --update the manifest of a folder gets what the server has; its other bytes
stay.

` + valuesHelp,
		Example: `  slipway bundle test my-server
  slipway bundle test my-server --update
  slipway bundle test my-server.mcpb --set folders=/tmp --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := bundleOptions(cmd)
			if err != nil {
				return err
			}
			opts.Start = true
			src, err := openBundle(cmd, args[0], opts)
			if err != nil {
				return err
			}
			defer src.Close()
			if update {
				return updateManifest(cmd, args[0], src)
			}
			cat, err := src.Catalog(cmd.Context())
			if err != nil {
				return answered(args[0], err)
			}
			return r.print(cmd, args[0], mcpb.Drift(src.Manifest(), cat, manifestPlace(args[0])))
		},
	}
	r.flags(cmd)
	valueFlags(cmd)
	cmd.Flags().BoolVar(&update, "update", false, "write the tools and prompts of the server into the manifest")
	return cmd
}

// manifestPlace is the manifest of a bundle, as findings name it.
func manifestPlace(name string) string {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return filepath.Join(name, mcpb.ManifestName)
	case filepath.Base(name) == mcpb.ManifestName:
		return name
	}
	return name + "!" + mcpb.ManifestName
}

func updateManifest(cmd *cobra.Command, name string, src *mcpb.Source) error {
	place := manifestPlace(name)
	info, err := os.Stat(place)
	if err != nil {
		return usage("unpack it, update the folder, and pack it again", "bundle test --update: %s is no folder", name)
	}
	text, err := mcpb.Update(cmd.Context(), src.Manifest(), src)
	if err != nil {
		return answered(name, err)
	}
	if string(text) == string(src.Manifest().JSON()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: nothing to change\n", place)
		return nil
	}
	err = fsutil.Replace(place, info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: updated\n", place)
	}
	return err
}
