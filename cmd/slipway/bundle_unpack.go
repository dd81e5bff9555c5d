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
		Long: `Unpack a bundle into the folder DIR, which must be new or empty. Without DIR
that is a folder in the current one, called after the name and the version of
the bundle. The folder appears whole or not at all.

An archive that could be read in two ways, leads out of the folder, has links,
files for one place, or unpacks to far more than it is, is refused before
anything is written. The signature is not looked at: that is slipway bundle
verify.

Exit codes: 3 the archive is broken or DIR is not empty, 6 the archive is
unsafe or beyond a limit.`,
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
		f.hint = "the --max flags allow more, if you trust whoever made it"
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
	flags.IntVar(&l.entries, "max-files", l.entries, "how many files and folders the bundle may have")
	flags.Var(&l.file, "max-file-bytes", "how large a file may be when unpacked")
	flags.Var(&l.total, "max-bytes", "how large all files may be together")
	flags.IntVar(&l.ratio, "max-ratio", l.ratio, "how many times larger than the archive its content may be, from 32 MiB on")
}

func (l *limitFlags) limits() *mcpb.Limits {
	return &mcpb.Limits{Entries: l.entries, FileBytes: int64(l.file), TotalBytes: int64(l.total), Ratio: l.ratio}
}
