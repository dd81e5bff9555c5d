package mcpb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// PackOptions are the options of [Pack]. Nil and the zero value mean the defaults.
type PackOptions struct {
	// Force replaces an existing file. The default is to refuse.
	Force bool
	// Links specifies the handling of symbolic links. The default is [LinksFollow].
	Links Links
	// Strict also refuses warnings.
	Strict bool
	// Time is the modification time of every file in the archive. The zero value means
	// the beginning of 1980, so that the same files result in the same archive.
	Time time.Time
	// Workers is the number of pieces that are compressed concurrently. It does not
	// affect the result. The default is the number of CPUs, up to 8.
	Workers int
	// Except are files that are never packed, in addition to the bundle itself.
	Except []string
	// Checksum also writes the file OUT.sha256, and SBOM, if not empty, names a file for the
	// contents of the bundle as CycloneDX JSON. Neither is ever packed.
	Checksum bool
	SBOM     string
	// Prune excludes packages in node_modules that only development needs.
	Prune bool
	// Limits are those of the bundle's readers: a bundle that [OpenArchive] would refuse
	// with them is not packed. Nil means [DefaultLimits].
	Limits *Limits
	// Progress is called after every file with the bytes packed so far and the
	// bytes of all files. It may be nil.
	Progress func(done, all int64)

	where func(name string) string // names of files in findings; nil means their path
}

// PackReport is the result of [Pack].
type PackReport struct {
	// Archive is the file that was written.
	Archive string `json:"archive"`
	// Name and Version are from the manifest.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Files is the number of files in the archive, Bytes their total size.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// ArchiveBytes is the size of the archive, SHA256 its checksum in hexadecimal.
	ArchiveBytes int64  `json:"archiveBytes"`
	SHA256       string `json:"sha256"`
	// Largest are the ten files with the largest share of the archive.
	Largest []PackedFile `json:"largest"`
	// Excluded are the files and folders that are not packed.
	Excluded []Exclusion `json:"excluded"`
	// Findings are warnings and notes about the bundle.
	Findings *check.Report `json:"-"`
}

// PackedFile is a file in an archive.
type PackedFile struct {
	// Name is the path in the archive, Bytes the size of the file, and Packed that in the
	// archive.
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Packed int64  `json:"packed"`
}

// InvalidError means that a folder was not packed because of its findings.
type InvalidError struct {
	// Report has the findings.
	Report *check.Report
}

// Error counts the findings.
func (e *InvalidError) Error() string {
	return "the bundle is not valid: " + e.Report.Summary()
}

// Pack packs the folder dir into a bundle at out. An empty out means the name and version
// of the bundle, in the current folder. The file is written completely or not at all.
//
// The same files result in the same bytes on every machine and with any number of
// workers: files are sorted, have the same time, and a mode that depends only on whether
// the file is executable. A file is executable if the file system says so, if it begins
// with "#!", or if the manifest starts it.
//
// If [Check] reports errors, Pack returns an [*InvalidError]. If [OpenArchive] would
// refuse the result, it returns an [*ArchiveError], and for a link out of the folder a
// [*LinkError]. If out exists and Force is not set, the error matches [fs.ErrExist].
func Pack(ctx context.Context, dir, out string, opts *PackOptions) (*PackReport, error) {
	if opts == nil {
		opts = &PackOptions{}
	}
	m, err := ReadManifest(os.DirFS(dir))
	if out == "" && err == nil {
		out = m.FileName()
	}
	// The files that are about to be written must not be packed, if they are in dir.
	s, err := Select(dir, opts.Links,
		append(slices.Clone(opts.Except), out, out+checksumSuffix, opts.SBOM)...)
	if err != nil {
		return nil, err
	}
	if opts.Prune {
		if err := s.prune(); err != nil {
			return nil, err
		}
	}
	m, findings, err := s.check(opts.where)
	if err != nil {
		return nil, err
	}
	if !findings.OK(opts.Strict) {
		return nil, &InvalidError{Report: findings}
	}
	if err := s.admit(opts.Limits); err != nil {
		return nil, err
	}
	report := &PackReport{
		Archive:  out,
		Name:     m.Name,
		Version:  m.Version,
		Files:    len(s.Files),
		Excluded: s.Excluded,
		Findings: findings,
	}
	if report.Excluded == nil {
		report.Excluded = []Exclusion{}
	}
	if err := s.pack(ctx, m, report, opts); err != nil {
		return report, err
	}
	return report, opts.writeCompanions(report)
}

// checksumSuffix is appended to the name of a bundle for the file with its checksum.
const checksumSuffix = ".sha256"

// writeCompanions writes the files next to a bundle.
func (o *PackOptions) writeCompanions(report *PackReport) error {
	put := func(name string, text []byte) error {
		return createFunc(o.Force)(name, 0o644, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if o.Checksum {
		line := fmt.Sprintf("%s  %s\n", report.SHA256, filepath.Base(report.Archive))
		if err := put(report.Archive+checksumSuffix, []byte(line)); err != nil {
			return err
		}
	}
	if o.SBOM == "" {
		return nil
	}
	archive, err := OpenArchive(report.Archive, o.Limits)
	if err != nil {
		return err
	}
	defer archive.Close()
	sbom, err := SBOM(archive)
	if err != nil {
		return err
	}
	return put(o.SBOM, sbom)
}

// names returns the names of the files to pack.
func (s *Selection) names() []string {
	names := make([]string, len(s.Files))
	for i := range s.Files {
		names[i] = s.Files[i].Name
	}
	return names
}

// admit refuses names, and more files or bytes, than readers accept. The compression ratio
// is checked later.
func (s *Selection) admit(limits *Limits) error {
	if err := zip.CheckNames(s.names(), limits); err != nil {
		return err
	}
	budget := zip.NewBudget(limits)
	for _, f := range s.Files {
		if err := budget.AdmitFile(f.Name, f.Size, f.Size); err != nil {
			return err
		}
	}
	return nil
}

// check checks the selection against the rules for bundles.
func (s *Selection) check(where func(name string) string) (*Manifest, *check.Report, error) {
	if where == nil {
		where = func(name string) string {
			return filepath.Join(s.dir, filepath.FromSlash(name))
		}
	}
	m, findings, err := Check(s.fs(), &CheckOptions{
		Where:   where,
		NoModes: true, // packing sets modes
		Skip:    s.skips(),
		moved:   s.moved(),
	})
	if err != nil {
		return nil, nil, err
	}
	findings.Add(s.warnings()...)
	findings.Add(s.development(where)...)
	return m, findings, nil
}

// createFunc returns the function that creates a file, or replaces one if force is set.
func createFunc(force bool) func(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if force {
		return fsutil.Replace
	}
	return fsutil.Create
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// pack writes the archive and completes the report.
func (s *Selection) pack(
	ctx context.Context,
	m *Manifest,
	report *PackReport,
	opts *PackOptions,
) error {
	workers := opts.Workers
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), 8)
	}
	f := newFlow(s, workers)
	f.programs = m.programs()
	packed := make([]PackedFile, 0, len(s.Files))
	all := int64(0)
	for _, file := range s.Files {
		all += file.Size
	}
	budget := zip.NewBudget(opts.Limits)
	// Until everything is written and admitted, the archive has a temporary name.
	return createFunc(opts.Force)(report.Archive, 0o644, func(w io.Writer) error {
		var size counter
		sum := sha256.New()
		z := zip.NewWriter(io.MultiWriter(w, sum, &size), opts.Time)
		err := f.run(ctx, z, workers, func(index int, n int64) error {
			file := &s.Files[index]
			packed = append(packed, PackedFile{
				Name:   file.Name,
				Bytes:  file.Size,
				Packed: n,
			})
			report.Bytes += file.Size
			if opts.Progress != nil {
				opts.Progress(report.Bytes, all)
			}
			return budget.AdmitFile(file.Name, file.Size, n)
		})
		if err == nil {
			err = z.Close()
		}
		if err == nil {
			err = cmp.Or(budget.AdmitContent(int64(size)), budget.AdmitArchive(int64(size)))
		}
		report.ArchiveBytes, report.SHA256 = int64(size), hex.EncodeToString(sum.Sum(nil))
		report.Largest = largest(packed, 10)
		return err
	})
}

// largest returns a copy of the n files with the largest packed size. It sorts files in place.
func largest(files []PackedFile, n int) []PackedFile {
	order.By(files, func(a, b PackedFile) int {
		return cmp.Or(cmp.Compare(b.Packed, a.Packed), strings.Compare(a.Name, b.Name))
	})
	return slices.Clone(files[:min(n, len(files))])
}

// ParseEpoch parses the value of SOURCE_DATE_EPOCH: seconds since 1970, not negative.
func ParseEpoch(text string) (time.Time, error) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", text)
	}
	return time.Unix(seconds, 0), nil
}
