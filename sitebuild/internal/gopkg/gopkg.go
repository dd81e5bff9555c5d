// Package gopkg builds StaticMCP sites from Go packages: the documentation that go doc
// shows, for models that write code with them.
//
//	in, err := gopkg.New("./mcp", nil)
//	site, err := in.Site(ctx)
//
// The site has the tools list_packages, get_package, get_symbol and find_symbols. It is
// built from source files alone, without the go command or the imported packages.
package gopkg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Options configure an [Input]. The zero value and nil are the defaults.
type Options struct {
	// Server names the site. Default: the last element of the module path, or of the
	// import path if there is only one package, and the version of the project, see
	// [sitewriter.ProjectVersion].
	Server mcp.Implementation
	// Instructions tell a model how to use the site. Default: a short description of the
	// packages and tools.
	Instructions string
	// Internal includes packages in folders called internal.
	Internal bool
	// GOOS and GOARCH select files with build constraints. Default: linux and amd64, so
	// that the site is the same wherever it is built.
	GOOS, GOARCH string
	// ToolNames are the names for texts that mention tools.
	ToolNames sitewriter.ToolNames `json:"-"`
	// MaxPackages limits the number of packages, MaxFileBytes the size of a file.
	// Default: 2,000 and 8 MiB.
	MaxPackages  int
	MaxFileBytes int64
}

// Input is a folder of Go packages. It is safe for concurrent use.
type Input struct {
	// dir is the folder, and opts are the options with their defaults.
	dir  string
	opts Options
}

var _ sitewriter.Input = (*Input)(nil)

// Reads reports whether dir contains a Go package, or is the root of a module that does.
// A go.mod alone proves little: Hugo sites have one, too.
func Reads(dir string) bool {
	if hasPackage(dir) {
		return true
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return false
	}
	for _, pattern := range []string{"*/*.go", "*/*/*.go"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// hasPackage reports whether a folder itself has a source file other than tests.
func hasPackage(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return isSource(e.Name()) && !strings.HasSuffix(e.Name(), "_test.go")
	})
}

// isSource reports whether the go command would consider a file of that name.
func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, "_") &&
		!strings.HasPrefix(name, ".")
}

// New returns the packages in the folder dir and below. It only verifies that the folder
// exists.
func New(dir string, opts *Options) (*Input, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("read Go packages in %s: not a folder", dir)
	}
	in := &Input{dir: dir}
	if opts != nil {
		in.opts = *opts
	}
	o := &in.opts
	o.GOOS = cmp.Or(o.GOOS, "linux")
	o.GOARCH = cmp.Or(o.GOARCH, "amd64")
	if o.MaxPackages <= 0 {
		o.MaxPackages = 2000
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = 8 << 20
	}
	return in, nil
}

// Paths implements [sitewriter.Input].
func (in *Input) Paths() []string { return []string{in.dir} }

// Site implements [sitewriter.Input]. Files that cannot be parsed are skipped and reported as
// findings of the site.
func (in *Input) Site(ctx context.Context) (*sitewriter.Site, error) {
	m, err := in.module()
	if err != nil {
		return nil, fmt.Errorf("read Go packages in %s: %w", in.dir, err)
	}
	r := &reader{
		in:      in,
		context: in.buildContext(),
	}
	if err := r.walk(ctx, m); err != nil {
		return nil, fmt.Errorf("read Go packages in %s: %w", in.dir, err)
	}
	if len(r.packages) == 0 {
		return nil, fmt.Errorf(
			"read Go packages in %s: no importable packages; internal packages are skipped",
			in.dir)
	}
	b := &book{
		names:    in.opts.ToolNames,
		module:   m,
		packages: r.packages,
	}
	site := &sitewriter.Site{
		Server:       in.server(m, b),
		Instructions: cmp.Or(in.opts.Instructions, b.instructions()),
		Tools:        b.tools(),
		Resources:    b.resources(),
		Answers:      b.answers(),
		Findings:     slices.Clone(r.report.Findings()),
	}
	find, err := b.search()
	if err != nil {
		return nil, fmt.Errorf("read Go packages in %s: %w", in.dir, err)
	}
	find.Extend(ctx, site)
	return site, nil
}

// server returns the name and version of the site: those of the options, or else of the module
// or of the only package.
func (in *Input) server(m module, b *book) mcp.Implementation {
	s := in.opts.Server
	if s.Name == "" {
		name := m.path
		if len(b.packages) == 1 {
			name = b.packages[0].path
		}
		s.Title = name
		s.Name = strings.Trim(staticmcp.EncodeName(path.Base(name)), "_")
	}
	s.Name = cmp.Or(s.Name, "go")
	if s.Version == "" {
		s.Version = sitewriter.ProjectVersion(in.dir)
	}
	return s
}

// buildContext returns the settings that select files. Cgo is on and no tag is set, whatever the
// environment says, so that the site is the same wherever it is built.
func (in *Input) buildContext() *build.Context {
	c := build.Default
	c.GOOS = in.opts.GOOS
	c.GOARCH = in.opts.GOARCH
	c.CgoEnabled = true
	c.BuildTags = nil
	return &c
}

// module is the module that contains the folder.
type module struct {
	path string // "std" for the standard library, "" if there is no module
	rel  string // of the folder within the module, with slashes
}

// maxModFile limits a go.mod, in bytes.
const maxModFile = 16 << 20

// module finds the go.mod in the folder or above.
func (in *Input) module() (module, error) {
	dir, err := filepath.Abs(in.dir)
	if err != nil {
		return module{}, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		data, err := fsutil.ReadFile(filepath.Join(at, "go.mod"), maxModFile)
		if err == nil {
			rel, err := filepath.Rel(at, dir)
			return module{modulePath(string(data)), filepath.ToSlash(rel)}, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return module{}, err
		}
		if filepath.Dir(at) == at {
			return module{rel: filepath.Base(dir)}, nil
		}
	}
}

// modulePath returns the path in the module line of a go.mod.
func modulePath(text string) string {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == "module" {
			return strings.Trim(fields[1], "\"`")
		}
	}
	return ""
}

// importPath returns the import path of a folder below the input.
func (m module) importPath(rel string) string {
	p := path.Join(m.rel, rel)
	if m.path != "" && m.path != "std" {
		p = path.Join(m.path, p)
	}
	return p
}

// reader collects packages.
type reader struct {
	// in has the options, and context selects files. Problems go to report.
	in       *Input
	context  *build.Context
	report   check.Report
	packages []*pkg
}

// walk reads the folders of the input that the go command would treat as packages.
func (r *reader) walk(ctx context.Context, m module) error {
	return filepath.WalkDir(r.in.dir, func(name string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(r.in.dir, name)
		if err != nil {
			return err
		}
		if rel != "." && r.skips(name, d.Name()) {
			return fs.SkipDir
		}
		p, err := r.read(name, m.importPath(filepath.ToSlash(rel)))
		if err != nil || p == nil {
			return err
		}
		if len(r.packages) >= r.in.opts.MaxPackages {
			return fmt.Errorf("there are more than %d packages", r.in.opts.MaxPackages)
		}
		r.packages = append(r.packages, p)
		return nil
	})
}

// skips reports whether a folder below the input is skipped.
func (r *reader) skips(name, base string) bool {
	switch {
	case base == "testdata", base == "vendor", base == "node_modules",
		strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"):
		return true
	case base == "internal" && !r.in.opts.Internal:
		return true
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil // a nested module
}

// about returns a reporter for a file.
func (r *reader) about(file string) check.Reporter {
	return check.Reporter{
		Report: &r.report,
		File:   file,
	}
}
