package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcpb"
)

// packing is the flags of bundle pack.
type packing struct {
	mcpb.PackOptions
	site     mcpb.SiteOptions
	programs map[string]string // slipway binaries for a site, by platform
	// list and explain print the selection instead of packing it.
	list    bool
	explain string
}

func newBundlePack() *cobra.Command {
	var p packing
	cmd := &cobra.Command{
		Use:   "pack [DIR] [OUT]",
		Short: "Pack a folder into a bundle",
		Long: `Pack the folder DIR (default: the current folder) into the bundle OUT (default:
name and version from the manifest).

Packing is reproducible: the same files give the same bytes on every machine.
Entries are sorted and have fixed modes and no time, or that of the
SOURCE_DATE_EPOCH environment variable. Bundles with errors, as reported by
"slipway bundle validate", are not packed.

Logs, .env files, type declarations, source maps and lock files are excluded, as
are files that match DIR/.mcpbignore, which has the syntax of .gitignore; a line
such as !*.d.ts includes files again. --list shows the included and excluded
files, --explain PATH the rule that excludes a file.

A StaticMCP site becomes a bundle that serves itself with this program, or with
those given with --program, one for each platform.

Symbolic links are followed within DIR; links that lead outside it are refused.

Exit codes: 1 invalid bundle, 3 OUT exists or a file is unreadable, 6 a link
leads outside DIR, or a name cannot be unpacked safely.`,
		Example: `  slipway bundle pack my-server
  slipway bundle pack my-server my-server.mcpb --force --sha256
  slipway bundle pack my-server --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = append(args, "", "")
			return p.run(cmd, cmp.Or(args[0], "."), args[1])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&p.Force, "force", false, "replace OUT")
	flags.BoolVar(&p.Strict, "strict", false, "treat warnings as errors")
	flags.BoolVar(&p.list, "list", false, "list included and excluded files without writing")
	flags.StringVar(&p.explain, "explain", "", "print the rule that excludes `PATH`, without writing")
	flags.Var(oneOf(&p.Links, "follow", "skip", "refuse"), "links",
		"`action` for symbolic links: follow, skip or refuse")
	flags.BoolVar(&p.Prune, "prune", false, "exclude development dependencies in node_modules")
	flags.BoolVar(&p.Checksum, "sha256", false, "also write the checksum to OUT.sha256")
	flags.StringVar(&p.SBOM, "sbom", "", "write a bill of materials (CycloneDX JSON) to `FILE`")
	flags.Var(eachUse(p.setProgram), "program",
		"for a site: slipway binary for another platform, as `PLATFORM=PATH` (darwin, linux, win32)")
	flags.StringVar(&p.site.Author, "author", "", "for a site: author `name` in the manifest")
	flags.Var(atLeast(&p.Workers, 0), "workers", "`number` of packing threads (default: one per CPU, at most 8)")
	jsonFlag(cmd, "the report")
	return cmd
}

// run packs dir into the archive out, or with --list and --explain prints which files would
// be packed. A folder with mcp.json is packed as a site with its programs, any other as a
// bundle with its own manifest; flags of the other kind are usage errors.
func (p *packing) run(cmd *cobra.Command, dir, out string) error {
	// Packing generates little garbage, but much of it at once: collecting it early costs
	// nothing and saves a third of the memory.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		var err error
		if p.Time, err = mcpb.ParseEpoch(epoch); err != nil {
			return usage("", "bundle pack: %v", err)
		}
	}
	p.Progress = byteProgress(cmd, "packing")
	site := mcpb.IsSite(dir)
	preview := p.list || p.explain != ""
	switch {
	case !site && (p.site.Author != "" || len(p.programs) > 0):
		return usage("", "bundle pack: --author and --program are for StaticMCP sites, and %s is not one", dir)
	case site && (preview || p.Prune):
		return usage("",
			"bundle pack: --list, --explain and --prune are not for StaticMCP sites, of which every file is packed")
	case preview:
		return p.preview(cmd, dir, out)
	}
	var report *mcpb.PackReport
	var err error
	if site {
		report, err = mcpb.PackSite(cmd.Context(), dir, out, p.programs, &p.site, &p.PackOptions)
	} else {
		report, err = mcpb.Pack(cmd.Context(), dir, out, &p.PackOptions)
	}
	if err != nil {
		return packFailure(cmd, dir, out, err)
	}
	printFindings(cmd, report.Findings)
	return show(cmd, report, printPacked)
}

// setProgram adds a value of --program to the slipway binaries for a site.
func (p *packing) setProgram(pair string) error {
	platform, path, _ := strings.Cut(pair, "=")
	switch {
	case path == "" || !slices.Contains([]string{"darwin", "linux", "win32"}, platform):
		return errors.New("want PLATFORM=PATH with darwin, linux or win32, such as linux=dist/slipway-linux")
	case p.programs[platform] != "":
		return fmt.Errorf("only one program for %s", platform)
	case p.programs == nil:
		p.programs = make(map[string]string)
	}
	p.programs[platform] = path
	return nil
}

// packFailure returns the failure of packing dir into out.
func packFailure(cmd *cobra.Command, dir, out string, err error) *failure {
	var invalid *mcpb.InvalidError
	var link *mcpb.LinkError
	var archive *mcpb.ArchiveError
	var file *fs.PathError
	switch {
	case errors.As(err, &invalid):
		printFindings(cmd, invalid.Report)
		return no("see slipway bundle validate "+shell.PathWord(dir), "%s: %v", dir, err)
	case errors.As(err, &link):
		hint := fmt.Sprintf("add /%s to %s", link.Name, mcpb.IgnoreName)
		if link.Link {
			hint += ", or use --links skip"
		}
		return denied(hint, "%s: %v", dir, link)
	case errors.As(err, &archive) && archive.ExceedsLimit():
		hint := "exclude files with " + mcpb.IgnoreName + "; slipway bundle pack " + shell.PathWord(dir)
		return denied(hint+" --list shows what is packed",
			"%s: no reader would open the bundle: %s", dir, archive.Finding("").Message)
	case errors.Is(err, fs.ErrExist) && errors.As(err, &file):
		return badInput("--force replaces it", "%s: the file exists", file.Path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(out)); err != nil {
			return badInput("mkdir -p "+shell.PathWord(filepath.Dir(out)), "%s: its folder does not exist", out)
		}
	}
	return bundleError(dir, err)
}

// printPacked prints the size and hash of an archive, its five largest files, and how many
// files were excluded for each reason, the most frequent first.
func printPacked(w io.Writer, r *mcpb.PackReport) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n  %s, %s; packed: %s\n  sha256 %s\n",
		r.Archive, count(r.Files, "file"), byteCount(r.Bytes), byteCount(r.ArchiveBytes), r.SHA256)
	fmt.Fprintln(out, "\nlargest (packed)")
	for _, f := range r.Largest[:min(5, len(r.Largest))] {
		fmt.Fprintf(out, "  %10s  %s\n", byteCount(f.Packed), visible.Line(f.Name))
	}
	if len(r.Excluded) == 0 {
		return out.Flush()
	}
	by := map[string]int{}
	for _, e := range r.Excluded {
		by[e.Reason]++
	}
	fmt.Fprintf(out, "\nexcluded (%d)\n", len(r.Excluded))
	reasons := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(by[b]-by[a], strings.Compare(a, b))
	})
	for _, reason := range reasons {
		fmt.Fprintf(out, "  %10d  %s\n", by[reason], reason)
	}
	return out.Flush()
}

// preview prints what would be packed, or with --explain why a file would not be.
func (p *packing) preview(cmd *cobra.Command, dir, out string) error {
	s, err := mcpb.Select(dir, p.Links, out, out+".sha256", p.SBOM)
	if err != nil {
		return packFailure(cmd, dir, out, err)
	}
	if p.explain == "" {
		files := map[string]any{"files": s.Files, "excluded": append([]mcpb.Exclusion{}, s.Excluded...)}
		return show(cmd, files, func(w io.Writer, _ map[string]any) error {
			return printSelection(w, s)
		})
	}
	name := p.explain
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
		if _, err := os.Lstat(name); err == nil {
			name = rel
		}
	}
	name = filepath.ToSlash(name)
	excluded := s.Explain(name)
	answer := map[string]any{"name": name, "packed": excluded == nil, "excluded": excluded}
	return show(cmd, answer, func(w io.Writer, _ map[string]any) error {
		text := ": included: no rule excludes it"
		switch {
		case excluded == nil:
		case excluded.Name == name:
			text = ": excluded: " + excluded.Reason
		default:
			text = ": excluded with " + visible.Line(excluded.Name) + ": " + excluded.Reason
		}
		_, err := fmt.Fprintln(w, visible.Line(name)+text)
		return err
	})
}

// printSelection prints a line for each file of a folder: + if it is packed, - with the
// reason if it is not.
func printSelection(w io.Writer, s *mcpb.Selection) error {
	out := bufio.NewWriter(w)
	for _, f := range s.Files {
		fmt.Fprintf(out, "+ %s\n", visible.Line(f.Name))
	}
	for _, e := range s.Excluded {
		name := e.Name
		if e.Folder {
			name += "/"
		}
		fmt.Fprintf(out, "- %s  %s\n", visible.Line(name), e.Reason)
	}
	return out.Flush()
}

// byteProgress returns a function that shows the progress of work on files, or nil. It ends
// when all is done; all is -1 if unknown.
func byteProgress(cmd *cobra.Command, what string) func(done, all int64) {
	t := newTracker(cmd, byteCount)
	if t == nil {
		return nil
	}
	return func(done, all int64) {
		t.update(what, done, max(all, 0))
		if done == all {
			t.finish()
		}
	}
}
