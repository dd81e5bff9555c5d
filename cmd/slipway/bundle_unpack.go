package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleUnpack() *cobra.Command {
	limits := mcpb.DefaultLimits()
	cmd := &cobra.Command{
		Use:   "unpack ARCHIVE [DIR]",
		Short: "Unpack a bundle into a new folder",
		Long: `Unpack a bundle into the folder DIR, which must be new or empty (default: name
and version of the bundle, in the current folder). The folder is created
completely or not at all.

Archives that are ambiguous, contain links or duplicate paths, lead outside the
folder, or expand beyond the limits are refused before a file is written. The
signature is not verified; use "slipway bundle verify".

Exit codes: 3 broken archive or DIR not empty, 6 unsafe archive or limit
exceeded.`,
		Example: `  slipway bundle unpack my-server.mcpb unpacked
  slipway bundle unpack my-server.mcpb another --max-bytes 4GiB`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limits.Entries < 1 || limits.Ratio < 1 {
				return usage("", "bundle unpack: --max-files and --max-ratio are at least 1")
			}
			opts := &mcpb.UnpackOptions{
				Limits:   &limits,
				Progress: byteProgress(cmd, "unpacking"),
			}
			report, err := mcpb.Unpack(cmd.Context(), args[0], append(args, "")[1], opts)
			if err != nil {
				return unpackFailure(args[0], err)
			}
			return show(cmd, report, func(w io.Writer, r *mcpb.UnpackReport) error {
				_, err := fmt.Fprintf(w, "%s\n  %s, %s\n", r.Dir, count(r.Files, "file"), byteCount(r.Bytes))
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.Var(atLeast(&limits.Entries, 1), "max-files", "maximum `number` of files and folders")
	flags.Var((*size)(&limits.FileBytes), "max-file-bytes", "maximum `size` of an unpacked file")
	flags.Var((*size)(&limits.TotalBytes), "max-bytes", "maximum total `size` of unpacked files")
	flags.Var(atLeast(&limits.Ratio, 1), "max-ratio",
		"maximum `ratio` of content size to archive size, above 32 MiB")
	jsonFlag(cmd, "the report")
	return cmd
}

// unpackFailure returns the failure of unpacking the bundle at name.
func unpackFailure(name string, err error) *failure {
	var archive *mcpb.ArchiveError
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrExist):
		return badInput("name a folder that is new or empty", "%v", err)
	case errors.As(err, &path) && path.Path != name:
		return badInput("", "%v", err)
	case errors.As(err, &archive) && archive.ExceedsLimit():
		return denied("the --max flags allow more, if you trust its author", "%s: %v", name, archive)
	}
	return bundleError(name, err)
}
