package mcpb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// CleanOptions are the options of [Clean]. Nil and the zero value mean the defaults.
type CleanOptions struct {
	// Out is the file to write, which must not exist. The default is to replace the
	// bundle.
	Out string
	// DryRun reports the changes without writing anything.
	DryRun bool
	// DropSignature allows cleaning a signed bundle, which removes its signature.
	DropSignature bool
	// Limits are those of [OpenArchive].
	Limits *Limits
}

// CleanReport is the result of [Clean].
type CleanReport struct {
	// Changed reports whether the bundle needed cleaning.
	Changed bool `json:"changed"`
	// Archive is the file that was written, or would be; empty if nothing changed.
	Archive string `json:"archive,omitempty"`
	// Repairs are the changes to the manifest.
	Repairs []Repair `json:"repairs"`
	// Removed are the removed files, grouped by folder; packages that are not needed are
	// listed as a whole.
	Removed []RemovedFile `json:"removed"`
	// Before and After are the sizes of the archive in bytes.
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// DroppedSignature reports whether the bundle was signed before.
	DroppedSignature bool `json:"droppedSignature,omitempty"`
	// Findings are the remaining problems of the bundle. If any is an error, nothing was
	// written.
	Findings *check.Report `json:"-"`
}

// RemovedFile is a file, or a folder with all its content.
type RemovedFile struct {
	// Name is the path in the bundle; Files counts the files of a folder.
	Name  string `json:"name"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"` // unpacked
	// Reason is why it is not needed at run time.
	Reason string `json:"reason"`
}

// ErrSigned means that the bundle is signed and DropSignature is not set.
var ErrSigned = errors.New("the bundle is signed, and what is changed needs a new signature")

// Clean makes a packed bundle smaller and valid without changing what its server does:
//
//   - It repairs the manifest like [Fix], and removes fields that no version knows.
//   - It drops packages in node_modules that only development needs, and files that
//     packing excludes.
//
// A bundle that needs no cleaning keeps its bytes. The file is written completely or not
// at all.
//
// If the manifest is still invalid afterwards, the error is an [*InvalidError], nothing
// is written, and the report contains the changes that would have been made. For a signed
// bundle, the error is [ErrSigned] unless DropSignature is set.
func Clean(ctx context.Context, name string, opts *CleanOptions) (*CleanReport, error) {
	o := valueOf(opts)
	a, err := OpenArchive(name, o.Limits)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	r := &CleanReport{
		Before:           info.Size(),
		Repairs:          []Repair{},
		Removed:          []RemovedFile{},
		DroppedSignature: a.Signed(),
	}
	if r.DroppedSignature && !o.DropSignature {
		return nil, ErrSigned
	}
	// The new bundle is complete and valid before the old one is replaced.
	tmp, release, err := fsutil.TempDir(os.TempDir(), "slipway-clean-")
	if err != nil {
		return nil, err
	}
	defer release()
	c := &cleaning{
		report:  r,
		opts:    &o,
		archive: a,
		dir:     filepath.Join(tmp, "content"),
		packed:  filepath.Join(tmp, "clean.mcpb"),
	}
	if err := c.prepare(ctx, name); err != nil {
		return r, err
	}
	if r.Changed = len(r.Repairs) > 0 || len(r.Removed) > 0 || r.DroppedSignature; !r.Changed {
		r.After = r.Before
		return r, nil
	}
	r.Archive = name
	if o.Out != "" {
		r.Archive = o.Out
	}
	if o.DryRun {
		return r, nil
	}
	return r, c.write(r.Archive)
}

// cleaning is one call of [Clean].
type cleaning struct {
	// report is the result so far.
	report *CleanReport
	opts   *CleanOptions
	// archive is the original; dir has its content, and packed is the new archive.
	archive     *Archive
	dir, packed string
}

// prepare builds the clean bundle in a temporary folder.
func (c *cleaning) prepare(ctx context.Context, name string) error {
	if _, err := Unpack(ctx, name, c.dir, &UnpackOptions{Limits: c.opts.Limits}); err != nil {
		return err
	}
	manifest := filepath.Join(c.dir, ManifestName)
	text, err := fsutil.ReadRegular(os.DirFS(c.dir), ManifestName, MaxManifest)
	if err != nil {
		return err
	}
	fixed, repairs := fix(text, true)
	c.report.Repairs = append(c.report.Repairs, repairs...)
	if err := os.WriteFile(manifest, fixed, 0o644); err != nil {
		return err
	}
	packed, err := Pack(ctx, c.dir, c.packed, &PackOptions{
		Prune:  c.prunable(),
		Limits: c.opts.Limits,
	})
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		c.report.Findings = c.renamed(invalid.Report, name)
		return &InvalidError{Report: c.report.Findings}
	}
	if err != nil {
		return err
	}
	c.report.After, c.report.Findings = packed.ArchiveBytes, c.renamed(packed.Findings, name)
	return c.compare(packed)
}

// prunable reports whether there are packages, and a package.json that names the needed
// ones.
func (c *cleaning) prunable() bool {
	_, modules := os.Stat(filepath.Join(c.dir, "node_modules"))
	_, list := os.Stat(filepath.Join(c.dir, "package.json"))
	return modules == nil && list == nil
}

// renamed returns the findings with file names relative to the bundle.
func (c *cleaning) renamed(all *check.Report, name string) *check.Report {
	report := &check.Report{}
	for _, f := range all.Findings() {
		rel, err := filepath.Rel(c.dir, f.File)
		if err == nil && f.File != "" {
			f.File = name + "!" + filepath.ToSlash(rel)
		}
		report.Add(f)
	}
	return report
}

// compare finds the files that are missing in the clean bundle.
func (c *cleaning) compare(packed *PackReport) error {
	clean, err := OpenArchive(c.packed, c.opts.Limits)
	if err != nil {
		return fmt.Errorf("open what was packed: %w", err)
	}
	defer clean.Close()
	excluded := make(map[string]string, len(packed.Excluded)) // the reasons by name
	for _, x := range packed.Excluded {
		excluded[x.Name] = x.Reason
	}
	places := map[string]int{}
	for e := range c.archive.Entries() {
		if e.Mode.IsDir() {
			continue
		}
		if _, err := fs.Stat(clean.FS(), e.Name); err == nil {
			continue
		}
		c.remove(&e, excluded, places)
	}
	return nil
}

// remove adds an entry to the removed files of its exclusion. places are the indices of the removed
// files by name.
func (c *cleaning) remove(e *Entry, excluded map[string]string, places map[string]int) {
	name := e.Name
	reason := "packing excludes it"
	// The shortest path wins: an excluded folder includes its content.
	for at := e.Name; at != "."; at = path.Dir(at) {
		if why, ok := excluded[at]; ok {
			name, reason = at, why
		}
	}
	at, known := places[name]
	if !known {
		at = len(c.report.Removed)
		places[name] = at
		c.report.Removed = append(c.report.Removed, RemovedFile{
			Name:   name,
			Reason: reason,
		})
	}
	c.report.Removed[at].Files++
	c.report.Removed[at].Bytes += e.Size
}

// write writes the clean bundle to its destination.
func (c *cleaning) write(name string) error {
	f, err := os.Open(c.packed)
	if err != nil {
		return err
	}
	defer f.Close()
	put := fsutil.Create
	mode := fs.FileMode(0o644)
	if c.opts.Out == "" {
		put = fsutil.Replace
		if info, err := os.Stat(name); err == nil {
			mode = info.Mode().Perm()
		}
	}
	return put(name, mode, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
