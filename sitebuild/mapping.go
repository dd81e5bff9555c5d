package sitebuild

import (
	"cmp"
	"context"
	_ "embed" // for the schema
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/data"
)

// MappingName is the name of the file.
const MappingName = "slipway.site.yaml"

// schemaText is the JSON Schema of the file, which editors read as well.
//
//go:embed schema.json
var schemaText []byte

// FindMapping returns the site file for path: path itself if it is a file named slipway.site.yml
// or *.site.yaml, or the slipway.site.yaml in the folder path. ok is false if there is
// none.
func FindMapping(path string) (file string, ok bool) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false
	case info.Mode().IsRegular():
		base := filepath.Base(path)
		return path, base == MappingName ||
			strings.HasSuffix(base, ".site.yaml") || base == "slipway.site.yml"
	case !info.IsDir():
		return "", false
	}
	file = filepath.Join(path, MappingName)
	info, err = os.Stat(file)
	return file, err == nil && info.Mode().IsRegular()
}

// MappingSettings are the output settings of the file. Fields that the file does not set are
// empty.
type MappingSettings struct {
	// Output is the folder or archive to write, as a path that can be opened.
	Output string
	// SiteRoot is the published folder above Output, as a path that can be opened.
	SiteRoot string
	// SiteURL is the public address of Output. WebFiles reports whether to write the files for
	// browsers; nil means yes.
	SiteURL  string
	WebFiles *bool
	// Host is where the site will be published, for its limits and files.
	Host       Host
	Collisions string // "disambiguate" or "error"
	Layout     string // "packed" or "standard"
	// Compact omits white space in files, and Precompress lists forms of additional
	// compressed files.
	Compact     bool
	Precompress []string
}

// Mapping is the site described by a file. It is safe for concurrent use.
type Mapping struct {
	path     string
	cacheDir string // see DocumentOptions
	mkdocs   string // overrides DocumentOptions.MkDocsConfig of the documents in its folder
}

var _ sitewriter.Surveyor = (*Mapping)(nil)

// OpenMapping returns the site described by the slipway.site.yaml at path. The file is
// reread with each Site, so an invalid file is reported there; the error of OpenMapping is
// that of a missing or inaccessible one.
func OpenMapping(path string) (*Mapping, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return &Mapping{path: path}, nil
}

// MappingError lists the errors in a file.
type MappingError struct{ Findings []check.Finding }

// Error returns the first findings, one per line.
func (e *MappingError) Error() string {
	const few = 5
	var lines []string
	for _, f := range e.Findings[:min(few, len(e.Findings))] {
		lines = append(lines, f.String())
	}
	if more := len(e.Findings) - few; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// CheckMapping validates the file at path and the paths in it. It returns an error only if the
// file cannot be read.
func CheckMapping(path string) ([]check.Finding, error) {
	_, findings, err := load(path)
	return findings, err
}

// Settings returns the output settings of the file, reread for each call. Relative paths
// in them are resolved against the folder of the file. An invalid file is a
// [*MappingError].
func (m *Mapping) Settings() (*MappingSettings, error) {
	s, err := m.load()
	if err != nil {
		return nil, err
	}
	set := &s.MappingSettings
	for _, path := range []*string{&set.Output, &set.SiteRoot} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(m.path), filepath.FromSlash(*path))
		}
	}
	return set, nil
}

// Paths implements [Input].
func (m *Mapping) Paths() []string {
	paths := []string{m.path}
	s, err := m.load()
	if err != nil {
		return paths
	}
	for _, part := range s.parts {
		if opened, err := part.open(); err == nil {
			paths = append(paths, opened.Paths()...)
		}
	}
	return paths
}

// load reads the file. Errors are returned together as a [MappingError].
func (m *Mapping) load() (*spec, error) {
	s, findings, err := load(m.path)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(findings, func(f check.Finding) bool {
		return f.Severity == check.Error
	}) {
		return nil, &MappingError{findings}
	}
	return s, nil
}

// Site implements [Input]. An invalid file is an [*MappingError].
func (m *Mapping) Site(ctx context.Context) (*Site, error) {
	return m.combine(ctx, func(ctx context.Context, in Input) (*Site, error) {
		return in.Site(ctx)
	})
}

// Survey implements [sitewriter.Surveyor]. If all inputs had to be read as a whole, it returns
// the whole site.
func (m *Mapping) Survey(ctx context.Context) (*Site, error) {
	whole := true
	site, err := m.combine(ctx, func(ctx context.Context, in Input) (*Site, error) {
		part, err := sitewriter.Survey(ctx, in)
		whole = whole && err == nil && part.Answers != nil
		return part, err
	})
	if err == nil && !whole {
		site.Answers = nil
	}
	return site, err
}

// combine returns the site of all inputs, each read with read.
func (m *Mapping) combine(ctx context.Context, read func(context.Context, Input) (*Site, error)) (*Site, error) {
	s, err := m.load()
	if err != nil {
		return nil, err
	}
	all := &Site{
		Server:       s.server,
		Instructions: s.instructions,
	}
	identified := false // by its documents
	var resources []iter.Seq2[*mcp.Resource, error]
	var answers []iter.Seq2[*Answer, error]
	var said, kinds []string
	for _, part := range s.parts {
		part.cacheDir = m.cacheDir
		part.mkdocs = m.mkdocs
		opened, err := part.open()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", m.path, part.line, plainPath(err))
		}
		site, err := read(ctx, opened)
		if err != nil {
			return nil, part.located(err, m.path)
		}
		if err := part.apply(site, m.path, kinds); err != nil {
			return nil, err
		}
		if part.kind == "docs" && !identified {
			// The documents know what they are about better than the folder.
			identified = true
			all.Server.Name = cmp.Or(all.Server.Name, site.Server.Name)
			all.Server.Title = cmp.Or(all.Server.Title, site.Server.Title)
			all.Server.Description = cmp.Or(all.Server.Description, site.Server.Description)
		}
		all.Tools = append(all.Tools, site.Tools...)
		all.Templates = append(all.Templates, site.Templates...)
		all.Prompts = append(all.Prompts, site.Prompts...)
		all.Interchangeable = append(all.Interchangeable, site.Interchangeable...)
		all.Findings = append(all.Findings, site.Findings...)
		if all.Extensions == nil {
			all.Extensions = site.Extensions
		}
		resources = append(resources, located(part, m.path, site.Resources))
		answers = append(answers, located(part, m.path, site.Answers))
		said = append(said, site.Instructions)
		kinds = append(kinds, part.kind)
	}
	all.Server.Name = cmp.Or(all.Server.Name, folderName(m.path))
	all.Instructions = cmp.Or(all.Instructions, strings.Join(said, "\n"))
	all.Resources, all.Answers = joined(resources), joined(answers)
	return all, nil
}

// plainPath removes the operation from a file error.
func plainPath(err error) error {
	var file *fs.PathError
	if errors.As(err, &file) {
		return fmt.Errorf("%s: %w", file.Path, file.Err)
	}
	return err
}

// located adds the line of the file to the errors of a sequence.
func located[T any](p *part, path string, seq iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		if seq == nil {
			return
		}
		for value, err := range seq {
			if !yield(value, p.located(err, path)) {
				return
			}
		}
	}
}

// located adds the line of the file at path to a mistake in the answers.
func (p *part) located(err error, path string) error {
	var wrong *data.Error
	if !errors.As(err, &wrong) {
		return err
	}
	line, column := p.node.Get("answers").Locate(wrong.Path)
	return &MappingError{[]check.Finding{check.Reporter{File: path}.AtLine(line, column).Finding(ruleAnswers, "",
		"", "%s", wrong.Error())}}
}

// joined concatenates sequences.
func joined[T any](list []iter.Seq2[*T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for _, seq := range list {
			for value, err := range seq {
				if !yield(value, err) {
					return
				}
			}
		}
	}
}
