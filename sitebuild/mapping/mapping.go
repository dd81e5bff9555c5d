// Package mapping builds StaticMCP sites from a file called slipway.site.yaml, which
// combines several inputs into one site and sets its names, titles and tools.
//
//	name: shop
//	output: public/mcp
//	inputs:
//	  - table: countries.csv
//	    key: code
//	  - openapi: openapi.yaml
//	    prefix: api_
//
// [New] returns the input that such a file describes, [Check] validates the file, and
// [Schema] is its JSON Schema, for editors.
package mapping

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
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/sitebuild/data"
)

// Name is the name of the file.
const Name = "slipway.site.yaml"

//go:embed schema.json
var schemaText []byte

// Schema returns the JSON Schema of the file.
func Schema() []byte { return slices.Clone(schemaText) }

// Find returns the site file for path: path itself if it is a file named slipway.site.yml
// or *.site.yaml, or the slipway.site.yaml in the folder path. ok is false if there is
// none.
func Find(path string) (file string, ok bool) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false
	case info.Mode().IsRegular():
		base := filepath.Base(path)
		return path, base == Name || strings.HasSuffix(base, ".site.yaml") || base == "slipway.site.yml"
	case !info.IsDir():
		return "", false
	}
	file = filepath.Join(path, Name)
	info, err = os.Stat(file)
	return file, err == nil && info.Mode().IsRegular()
}

// Settings are the output settings of the file. Fields that the file does not set are
// empty.
type Settings struct {
	// Output is the folder or archive to write, as a path that can be opened.
	Output string
	// SiteRoot is the published folder above Output, as a path that can be opened.
	SiteRoot    string
	Host        sitebuild.Host
	Collisions  string // "disambiguate" or "error"
	Compact     bool
	Precompress []string
}

// Input is the site described by a file. It is safe for concurrent use.
type Input struct{ path string }

var _ sitebuild.Input = (*Input)(nil)

// New returns the site described by the file at path. The file is reread with each Site.
func New(path string) (*Input, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return &Input{path}, nil
}

// InvalidError lists the errors in a file.
type InvalidError struct{ Findings []check.Finding }

// Error returns the first findings, one per line.
func (e *InvalidError) Error() string {
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

// Check validates the file at path and the paths in it. It returns an error only if the
// file cannot be read.
func Check(path string) ([]check.Finding, error) {
	_, findings, err := load(path)
	return findings, err
}

// Settings returns the output settings of the file.
func (in *Input) Settings() (*Settings, error) {
	s, err := in.load()
	if err != nil {
		return nil, err
	}
	set := &s.Settings
	for _, path := range []*string{&set.Output, &set.SiteRoot} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(in.path), filepath.FromSlash(*path))
		}
	}
	return set, nil
}

// Paths implements [sitebuild.Input].
func (in *Input) Paths() []string {
	paths := []string{in.path}
	s, err := in.load()
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

func (in *Input) load() (*spec, error) {
	s, findings, err := load(in.path)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Severity == check.Error }) {
		return nil, &InvalidError{findings}
	}
	return s, nil
}

// Site implements [sitebuild.Input]. An invalid file is an [*InvalidError].
func (in *Input) Site(ctx context.Context) (*sitebuild.Site, error) {
	s, err := in.load()
	if err != nil {
		return nil, err
	}
	all := &sitebuild.Site{Server: s.server, Instructions: s.instructions}
	var resources []iter.Seq2[*mcp.Resource, error]
	var answers []iter.Seq2[*sitebuild.Answer, error]
	var said, kinds []string
	for _, part := range s.parts {
		opened, err := part.open()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", in.path, part.line, plainPath(err))
		}
		site, err := opened.Site(ctx)
		if err != nil {
			return nil, part.located(err, in.path)
		}
		if err := part.apply(site, in.path, kinds); err != nil {
			return nil, err
		}
		all.Tools = append(all.Tools, site.Tools...)
		all.Templates = append(all.Templates, site.Templates...)
		all.Prompts = append(all.Prompts, site.Prompts...)
		all.Interchangeable = append(all.Interchangeable, site.Interchangeable...)
		all.Findings = append(all.Findings, site.Findings...)
		if all.Extensions == nil {
			all.Extensions = site.Extensions
		}
		resources = append(resources, located(part, in.path, site.Resources))
		answers = append(answers, located(part, in.path, site.Answers))
		said = append(said, site.Instructions)
		kinds = append(kinds, part.kind)
	}
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
	return &InvalidError{[]check.Finding{check.Reporter{File: path}.AtLine(line, column).Finding(ruleAnswers, "",
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
