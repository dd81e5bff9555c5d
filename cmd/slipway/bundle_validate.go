package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleValidate() *cobra.Command {
	var r reporting
	var fix bool
	var compat string
	cmd := &cobra.Command{
		Use:   "validate PATH...",
		Short: "Check bundles against the rules of the format",
		Long: `Check bundles against all rules of the format, and report each problem with its
place and a fix.

PATH is a folder with a manifest.json, a packed bundle, or a manifest. For a
manifest alone, missing files are warnings. For a bundle, all files are checked:
entry point, commands, icons, translations, the platforms of binaries, and
secrets, which are never printed.

--fix first repairs problems in the manifest that have exactly one solution; the
rest of the file keeps its bytes.

Rules: docs/reference/rules.md.`,
		Example: `  slipway bundle validate examples/clock-bundle
  slipway bundle validate examples/clock-bundle/manifest.json --strict --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if compat != "" && compat != "reference" {
				return usage("the only one is --compat reference", "bundle validate: unknown program %q", compat)
			}
			all := &check.Report{}
			for _, name := range args {
				if fix {
					if err := fixManifest(cmd.ErrOrStderr(), name); err != nil {
						return err
					}
				}
				_, report, err := mcpb.CheckPath(name, &mcpb.CheckOptions{Reference: compat != ""})
				if err != nil {
					return unreadableBundle(name, err)
				}
				if len(args) == 1 {
					all = report // it knows how many findings it omitted
					break
				}
				all.Merge(report)
			}
			return r.print(cmd, args, all)
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&fix, "fix", false, "first repair manifest problems with exactly one solution")
	cmd.Flags().StringVar(&compat, "compat", "",
		"give the same verdicts as another `program`: reference is the reference CLI 2.1.2")
	return cmd
}

// fixManifest repairs the manifest at name, or in the folder name, and prints the repairs
// to w.
func fixManifest(w io.Writer, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return unreadableBundle(name, err)
	}
	if info.IsDir() {
		name = filepath.Join(name, mcpb.ManifestName)
		if info, err = os.Stat(name); err != nil {
			return unreadableBundle(name, err)
		}
	}
	// A larger file cannot be a manifest, so it is not read.
	if info.Size() > mcpb.MaxManifest {
		return usage("unpack it first: slipway bundle unpack "+shell.PathWord(name)+" DIR",
			"bundle validate: --fix requires a manifest, and %s is not one", name)
	}
	text, err := fsutil.ReadFile(name, mcpb.MaxManifest)
	if err != nil {
		return unreadableBundle(name, err)
	}
	if strings.HasPrefix(string(text), "PK\x03\x04") {
		return usage("unpack it first: slipway bundle unpack "+shell.PathWord(name)+" DIR",
			"bundle validate: --fix cannot change a packed bundle")
	}
	fixed, repairs := mcpb.Fix(text)
	if len(repairs) == 0 {
		return nil
	}
	// The file keeps its mode.
	err = fsutil.Replace(name, info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(fixed)
		return err
	})
	if err != nil {
		return unreadableBundle(name, err)
	}
	for _, r := range repairs {
		fmt.Fprintf(w, "%s:%d:%d: fixed: %s\n", name, r.Line, r.Column, r.About)
	}
	return nil
}
