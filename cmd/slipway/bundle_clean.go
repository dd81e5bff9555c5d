package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleClean() *cobra.Command {
	var o mcpb.CleanOptions
	cmd := &cobra.Command{
		Use:   "clean BUNDLE",
		Short: "Remove unneeded files from a packed bundle",
		Long: `Remove files that the server does not need from a packed bundle: development
dependencies in node_modules, and files that "slipway bundle pack" excludes. The
manifest is repaired as with "slipway bundle validate --fix", and unknown fields
are removed.

Prints the changes. A bundle with nothing to clean keeps its bytes. If the
result would be invalid, the bundle is not changed and the exit code is 1. Any
change breaks a signature; --drop-signature permits that.

For a folder, use "slipway bundle pack --prune".`,
		Example: `  slipway bundle clean my-server.mcpb --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := mcpb.Clean(cmd.Context(), args[0], &o)
			if err != nil {
				return notCleaned(cmd, args[0], r, err)
			}
			return show(cmd, r, func(w io.Writer, r *mcpb.CleanReport) error {
				return printCleaned(w, r, o.DryRun)
			})
		},
	}
	cmd.Flags().StringVarP(&o.Out, "output", "o", "", "write to this `file` instead of replacing BUNDLE")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print the changes without writing")
	cmd.Flags().BoolVar(&o.DropSignature, "drop-signature", false,
		"also clean a signed bundle, which removes its signature")
	jsonFlag(cmd, "what changed")
	return cmd
}

// notCleaned returns the error for a bundle that was not changed.
func notCleaned(cmd *cobra.Command, name string, r *mcpb.CleanReport, err error) error {
	var invalid *mcpb.InvalidError
	switch {
	case errors.Is(err, mcpb.ErrSigned):
		return denied("--drop-signature, and then slipway bundle sign", "%s: %v", name, err)
	case errors.As(err, &invalid):
		printFindings(cmd, r.Findings)
		return no("slipway bundle unpack, fix it, and pack it again", "%s: not cleaned: %v", name, err)
	}
	return bundleError(name, err)
}

// printCleaned prints the repairs of the manifest with their positions, then the removed
// files with the reason for each.
func printCleaned(w io.Writer, r *mcpb.CleanReport, dry bool) error {
	if !r.Changed {
		_, err := fmt.Fprintf(w, "nothing to clean, %s\n", byteCount(r.Before))
		return err
	}
	for _, f := range r.Repairs {
		fmt.Fprintf(w, "manifest.json:%d:%d: %s\n", f.Line, f.Column, f.About)
	}
	for _, f := range r.Removed {
		fmt.Fprintf(w,
			"removed %s: %s, %s (%s)\n", visible.Line(f.Name), count(f.Files, "file"), byteCount(f.Bytes), f.Reason)
	}
	if r.DroppedSignature {
		fmt.Fprintln(w, "dropped the signature")
	}
	did := "wrote"
	if dry {
		did = "would write"
	}
	_, err := fmt.Fprintf(w, "%s %s: %s, before %s\n", did, r.Archive, byteCount(r.After), byteCount(r.Before))
	return err
}
