package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleUnpack() *cobra.Command {
	var asJSON bool
	limits := limitFlags{}
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
		Args: takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limits.entries < 1 || limits.ratio < 1 {
				return usage("", "bundle unpack: --max-files and --max-ratio are at least 1")
			}
			dir := ""
			if len(args) > 1 {
				dir = args[1]
			}
			opts := &mcpb.UnpackOptions{Limits: limits.limits(), Progress: progress(cmd.ErrOrStderr(), "unpacking")}
			report, err := mcpb.Unpack(cmd.Context(), args[0], dir, opts)
			switch {
			case errors.Is(err, fs.ErrExist):
				return &failure{code: exitInput, text: err.Error(), hint: "name a folder that is new or empty"}
			case err != nil:
				return unpackFailure(args[0], err)
			case asJSON:
				return printJSON(cmd.OutOrStdout(), report)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n  %s, %s\n", report.Dir, count(report.Files, "file"), bytesText(report.Bytes))
			return err
		},
	}
	limits.add(cmd.Flags())
	jsonFlag(cmd, &asJSON, "the report")
	return cmd
}

// unpackFailure is [archiveFailure] with a hint about exceeded limits and unwritable
// folders.
func unpackFailure(name string, err error) error {
	var refused *mcpb.ArchiveError
	var path *fs.PathError
	var f *failure
	switch failed := archiveFailure(name, err); {
	case errors.As(err, &path) && path.Path != name:
		return &failure{code: exitInput, text: err.Error()}
	case errors.As(err, &refused) && (refused.Rule.ID == "mcpb/archive-limit" || refused.Rule.ID == "mcpb/archive-bomb") && errors.As(failed, &f):
		f.hint = "the --max flags allow more, if you trust its author"
		return f
	default:
		return failed
	}
}

// limitFlags are the flags for archive limits.
type limitFlags struct {
	entries     int
	file, total size
	ratio       int
}

func (l *limitFlags) add(flags *pflag.FlagSet) {
	d := mcpb.DefaultLimits()
	l.entries, l.file, l.total, l.ratio = d.Entries, size(d.FileBytes), size(d.TotalBytes), d.Ratio
	flags.IntVar(&l.entries, "max-files", l.entries, "maximum `number` of files and folders")
	flags.Var(&l.file, "max-file-bytes", "maximum `size` of an unpacked file")
	flags.Var(&l.total, "max-bytes", "maximum total `size` of unpacked files")
	flags.IntVar(&l.ratio, "max-ratio", l.ratio, "maximum `ratio` of content size to archive size, above 32 MiB")
}

func (l *limitFlags) limits() *mcpb.Limits {
	return &mcpb.Limits{Entries: l.entries, FileBytes: int64(l.file), TotalBytes: int64(l.total), Ratio: l.ratio}
}
