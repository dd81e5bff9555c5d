package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Marker is the first line of the files that Write may replace.
const Marker = "// Written by slipway. Remove this line to keep changes: files without it are never replaced."

// DefaultPath is the path of the endpoint.
const DefaultPath = "/mcp"

// maxFile limits the size of an existing file that is read.
const maxFile = 4 << 20

// Options describe an endpoint and its host.
type Options struct {
	// Host is one of [Hosts]. Required.
	Host string

	// Published is the folder that the host publishes, and Site the path of the site below it,
	// with slashes, such as "mcp" or "" for the folder itself.
	Published, Site string
	// URL is the address of a site that another host publishes, instead of Published and Site.
	URL string
	// Project is the folder in which the host looks for its configuration. Default: the parent
	// of Published, or the current folder for a site elsewhere.
	Project string

	// Path is the path of the endpoint. Default: [DefaultPath].
	Path string
	// Name is the name of the site, for the configuration of the host.
	Name string
	// Language is the language of the search index, such as "en", and Languages are those of
	// other indexes; see [Language] and [OtherLanguages].
	Language  string
	Languages []string
	// AllowedHosts are the host names that requests may use. Default: all, as the host
	// decides which requests reach the endpoint; on a loopback address only its names.
	AllowedHosts []string

	// DryRun determines the changes without making them.
	DryRun bool
}

// Result lists what Write has done.
type Result struct {
	// Files are the files of the endpoint.
	Files []File `json:"files"`
	// Bytes is the size of the module.
	Bytes int `json:"bytes"`
}

// File is a file of an endpoint.
type File struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	// Lines are what the owner of a foreign file has to add to it.
	Lines string `json:"lines,omitempty"`
}

// Action is what was done to a file, or with DryRun what would be done.
type Action string

// The actions. A foreign file is left alone.
const (
	Created   Action = "create"
	Updated   Action = "update"
	Unchanged Action = "unchanged"
	Foreign   Action = "foreign"
)

// Foreign returns the files that someone else wrote and that lack what the endpoint needs.
func (r *Result) Foreign() []File {
	var list []File
	for _, f := range r.Files {
		if f.Action == Foreign {
			list = append(list, f)
		}
	}
	return list
}

// Stale reports whether a file was or would be written.
func (r *Result) Stale() bool {
	for _, f := range r.Files {
		if f.Action == Created || f.Action == Updated {
			return true
		}
	}
	return false
}

// Write writes the endpoint of a site. Files that it has not written are left alone: the
// result contains the lines to add to them. If the module itself is such a file, nothing
// is written, and the error wraps fs.ErrExist.
func Write(opts *Options) (*Result, error) {
	o := *opts
	if err := o.complete(); err != nil {
		return nil, err
	}
	p := &plan{opts: &o}
	for i := range hosts {
		if hosts[i].name == o.Host {
			p.host = &hosts[i]
		}
	}
	if err := p.host.plan(p); err != nil {
		return nil, err
	}
	r, err := writeFiles(p.files, true)
	if err != nil {
		return nil, err
	}
	if first := r.Files[0]; first.Action == Foreign {
		return nil, fmt.Errorf("write %s: %w, and was not written by slipway", first.Path, fs.ErrExist)
	}
	if !o.DryRun {
		r, err = writeFiles(p.files, false)
	}
	if err == nil {
		r.Bytes = len(p.files[0].text)
	}
	return r, err
}

// writeFiles writes files that are missing or were written by Slipway.
func writeFiles(files []plannedFile, dryRun bool) (*Result, error) {
	r := &Result{}
	for i := range files {
		f, err := compare(&files[i])
		if err != nil {
			return nil, err
		}
		r.Files = append(r.Files, f)
	}
	if dryRun {
		return r, nil
	}
	for i, f := range r.Files {
		if f.Action != Created && f.Action != Updated {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return nil, err
		}
		if err := fsutil.Replace(f.Path, 0o644, fsutil.Content(files[i].text)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// endpointPath matches the paths that every host can route.
var endpointPath = lazyregexp.New(`^(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

// ValidPath reports whether every host can route requests for path to an endpoint.
func ValidPath(path string) bool { return endpointPath().MatchString(path) && len(path) <= 200 }

// complete checks the options and fills in the defaults.
func (o *Options) complete() error {
	if !Runs(o.Host) {
		hint := ""
		if near := nearest.DidYouMean(o.Host, Hosts()); near != "" {
			hint = fmt.Sprintf("did you mean %q? ", near)
		}
		return fmt.Errorf("the host %q cannot run an endpoint: %sthe hosts are %s", o.Host, hint, strings.Join(Hosts(), ", "))
	}
	if o.Path == "" {
		o.Path = DefaultPath
	}
	if !ValidPath(o.Path) {
		return fmt.Errorf("the path %q of the endpoint: want one such as /mcp", o.Path)
	}
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return fmt.Errorf("the address %q of the site: want an https URL", o.URL)
		}
		u.RawQuery, u.Fragment = "", ""
		folder := strings.TrimSuffix(u.String(), "/")
		o.URL = strings.TrimSuffix(folder, "/mcp.json") + "/"
		if o.Project == "" {
			o.Project = "."
		}
		return nil
	}
	if o.Published == "" {
		return errors.New("no published folder")
	}
	if o.Site != "" && !fs.ValidPath(o.Site) {
		return fmt.Errorf("the site %q is not below the published folder", o.Site)
	}
	if o.Project == "" {
		var err error
		o.Project, err = parentOf(o.Published)
		return err
	}
	return nil
}

// parentOf returns the parent of a folder. It is relative if folder is, so that paths of files in both
// read alike, unless it is outside of the current folder, which may be a symbolic link.
func parentOf(folder string) (string, error) {
	parent := filepath.Join(folder, "..")
	if filepath.IsLocal(parent) {
		return parent, nil
	}
	absolute, err := filepath.Abs(folder)
	return filepath.Dir(absolute), err
}

// compare determines what to do with a file.
func compare(p *plannedFile) (File, error) {
	f := File{Path: p.name}
	info, err := os.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Action = Created
		return f, nil
	case err != nil:
		return f, err
	case !info.Mode().IsRegular():
		return f, fmt.Errorf("write %s: it exists and is not a file", p.name)
	}
	old, err := fsutil.ReadFile(p.name, maxFile)
	switch {
	case err != nil:
		return f, err
	case bytes.Equal(old, p.text):
		f.Action = Unchanged
	case p.ours != nil && p.ours(old), p.ours == nil && marked(Marker)(old):
		f.Action = Updated
	case p.present != nil && p.present(old):
		f.Action = Unchanged
	default:
		f.Action = Foreign
		f.Lines = p.lines
		if p.linesFor != nil {
			f.Lines = p.linesFor(old)
		}
	}
	return f, nil
}

// marked returns a function that reports whether a file begins with a marker.
func marked(marker string) func(old []byte) bool {
	return func(old []byte) bool { return bytes.HasPrefix(old, []byte(marker)) }
}

// manifestName is the name of the manifest of a site.
const manifestName = "mcp.json"

// searchHead is the entry file of a search index.
const searchHead = ".staticmcp/search/index.json"

// Language returns the language of the search index of a site, or "" if it has none. read
// returns a file of the site, and an error that matches fs.ErrNotExist if it is missing.
func Language(read func(path string) ([]byte, error)) (string, error) {
	language, _, err := SearchLanguage(read)
	return language, err
}

// SearchLanguage is like [Language], and reports whether the site has a search index.
func SearchLanguage(read func(path string) ([]byte, error)) (language string, searched bool, err error) {
	return languageOf(read, searchHead)
}

// languageOf is like [SearchLanguage] for the index with that head.
func languageOf(read func(path string) ([]byte, error), head string) (language string, searched bool, err error) {
	data, err := read(head)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	var said struct{ Language string }
	if err := json.Unmarshal(data, &said); err != nil {
		return "", false, fmt.Errorf("%s: %w", head, err)
	}
	return said.Language, true, nil
}

// OtherLanguages returns the languages of the search indexes of a site that are not that of
// [Language], sorted. read is as there.
func OtherLanguages(read func(path string) ([]byte, error)) ([]string, error) {
	main, err := Language(read)
	if err != nil {
		return nil, err
	}
	data, err := read(manifestName)
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Capabilities struct {
			Tools []struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			}
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	var list []string
	for _, tool := range manifest.Capabilities.Tools {
		type index struct{ Index string }
		var declared struct {
			index
			Variants []index
		}
		if raw := tool.Meta[staticmcp.MetaSearch]; json.Unmarshal(raw, &declared) != nil {
			continue // declares none
		}
		for _, one := range append(declared.Variants, declared.index) {
			language, _, err := languageOf(read, one.Index+"/"+search.HeadName)
			if err != nil {
				return nil, err
			}
			if language != main && !slices.Contains(list, language) {
				list = append(list, language)
			}
		}
	}
	slices.Sort(list)
	return list, nil
}
