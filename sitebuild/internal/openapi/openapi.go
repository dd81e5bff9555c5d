// Package openapi builds StaticMCP sites from OpenAPI 3 documents, so that a model can
// look up an API before it writes code that calls it.
//
//	in, err := openapi.New("openapi.yaml", nil)
//	site, err := in.Site(ctx)
//
// The site has the tools list_operations, get_operation, list_schemas and get_schema.
// Each answer is text plus the same data as JSON. OpenAPI 3.0, 3.1 and 3.2 are supported,
// as JSON and YAML. References may lead anywhere inside the folder of the document, and
// may be circular; the network is never accessed.
package openapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/mcp"
)

// Options configure an [Input]. The zero value and nil are the defaults.
type Options struct {
	// Server names the site. Default: the title and version of the document.
	Server mcp.Implementation
	// Instructions tell a model how to use the site. Default: the document's description,
	// servers and security requirements.
	Instructions string
	// Tags restricts the site to operations with these tags. Default: all operations.
	Tags []string
	// ToolNames are the names for texts that mention tools.
	ToolNames sitewriter.ToolNames `json:"-"`
	// MaxFiles limits the number of files reached through references. Default: 1,000.
	MaxFiles int
}

// defaultMaxFiles is the default of Options.MaxFiles.
const defaultMaxFiles = 1000

// Input is an OpenAPI document in a file. It is safe for concurrent use.
type Input struct {
	// path is the main file; others are read through its references.
	path string
	opts Options

	mu    sync.Mutex
	paths []string // of the files read by the last Site
}

var _ sitewriter.Input = (*Input)(nil)

// New returns the document in the file at path. References may lead to files in the same
// folder and below. New only verifies that the file exists.
func New(path string, opts *Options) (*Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the OpenAPI document %s: not a regular file", path)
	}
	in := &Input{path: path}
	if opts != nil {
		in.opts = *opts
	}
	if in.opts.MaxFiles <= 0 {
		in.opts.MaxFiles = defaultMaxFiles
	}
	return in, nil
}

// Reads reports whether text, the beginning of a JSON or YAML file, looks like an OpenAPI
// document.
func Reads(text []byte) bool {
	const enough = 64 << 10
	for line := range strings.Lines(string(text[:min(len(text), enough)])) {
		for part := range strings.SplitSeq(line, ",") {
			part = strings.TrimLeft(part, " \t{\ufeff")
			name, value, ok := strings.Cut(part, ":")
			name = strings.Trim(strings.TrimSpace(name), `"'`)
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			if ok &&
				(name == "openapi" && strings.HasPrefix(value, "3.") ||
					name == "swagger" && strings.HasPrefix(value, "2.")) {
				return true
			}
		}
	}
	return false
}

// Paths implements [sitewriter.Input]. It returns the file and all files that it references,
// reading the document if Site has not done so yet.
func (in *Input) Paths() []string {
	in.mu.Lock()
	known := in.paths
	in.mu.Unlock()
	if known != nil {
		return known
	}
	if _, err := in.Site(context.Background()); err != nil {
		return []string{in.path}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.paths
}

// remember stores the paths of the document's files.
func (in *Input) remember(files map[string]*file) {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		paths = append(paths, filepath.Join(filepath.Dir(in.path),
			filepath.FromSlash(name)))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.paths = paths
}

// Site implements [sitewriter.Input]. Problems of individual parts are reported as findings of
// the site.
func (in *Input) Site(ctx context.Context) (*sitewriter.Site, error) {
	root, err := os.OpenRoot(filepath.Dir(in.path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	a := &api{
		in:       in,
		folder:   root,
		files:    map[string]*file{},
		targets:  map[string]*schema{},
		names:    map[string]bool{},
		reported: map[*tree.Node]bool{},
	}
	if err := a.read(ctx); err != nil {
		return nil, fmt.Errorf("read %s: %w", in.path, err)
	}
	list, more := a.answers() // while the folder is open for references
	site := &sitewriter.Site{
		Server:       a.server(),
		Instructions: cmp.Or(in.opts.Instructions, a.overview()),
		Tools:        a.tools(more),
		Resources:    a.resources(),
		Answers:      sitewriter.Sequence(list),
	}
	in.remember(a.files)
	find, err := a.search()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", in.path, err)
	}
	find.Extend(ctx, site)
	site.Findings = slices.Clone(a.report.Findings())
	return site, nil
}

// api is a document that is being read.
type api struct {
	// in is the document; files are all files read so far, by path.
	in *Input
	// folder is the one of the main file. References cannot leave it.
	folder *os.Root
	files  map[string]*file
	main   *file
	report check.Report

	// operations and schemas are in the order of the document.
	operations []*operation
	schemas    []*schema
	targets    map[string]*schema  // by file and pointer
	names      map[string]bool     // of schemas in use
	reported   map[*tree.Node]bool // by foundOnce
}

// file is one file of the document.
type file struct {
	path  string // relative to the folder, with slashes
	place        // of the root

	parents map[*tree.Node]parent // of all nodes, once a finding needs a pointer
}

// parent is the node that contains another as the member or element with a name.
type parent struct {
	node *tree.Node
	name string
}

// pointer returns the JSON pointer to a node of the file.
func (f *file) pointer(n *tree.Node) string {
	if f.parents == nil {
		f.parents = map[*tree.Node]parent{f.node: {}}
		f.index(f.node)
	}
	pointer := ""
	for at := f.parents[n]; at.node != nil; at = f.parents[at.node] {
		pointer = "/" + jsonscan.EscapeToken(at.name) + pointer
	}
	return pointer
}

// index enters the nodes below n into parents. A node that aliases repeat has its first parent.
func (f *file) index(n *tree.Node) {
	add := func(child *tree.Node, name string) {
		if _, known := f.parents[child]; !known {
			f.parents[child] = parent{n, name}
			f.index(child)
		}
	}
	for i, child := range n.Elements() {
		add(child, strconv.Itoa(i))
	}
	for _, m := range n.Fields() {
		add(m.Value, m.Key)
	}
}

// schema is a named schema.
type schema struct {
	// name is unique among the schemas of the site. It is that of the main document, or built from
	// the place.
	name string
	place
}

// read reads the document, and the files that it references.
func (a *api) read(ctx context.Context) error {
	var err error
	if a.main, err = a.open(filepath.Base(a.in.path)); err != nil {
		return err
	}
	switch version, swagger := a.main.text("openapi"), a.main.text("swagger"); {
	case strings.HasPrefix(version, "3."):
	case swagger != "":
		return fmt.Errorf("it is Swagger %s, and only OpenAPI 3 is supported; convert it, such as with swagger2openapi",
			swagger)
	case version != "":
		return fmt.Errorf("its version is %s, and only OpenAPI 3 is supported", version)
	default:
		return errors.New(`it is not an OpenAPI document: the member "openapi" is missing`)
	}
	for _, m := range a.main.fields("components", "schemas") {
		a.schemaAt(m.place, "/components/schemas/"+jsonscan.EscapeToken(m.name), m.name)
	}
	if err := a.collect(ctx); err != nil {
		return err
	}
	if len(a.operations) == 0 && len(a.schemas) == 0 {
		return errors.New("it has neither operations nor schemas")
	}
	// Schemas can reference schemas in other files; those are appended and reached later
	// in this loop.
	for i := 0; i < len(a.schemas); i++ {
		a.visit(a.schemas[i].node, a.schemas[i].file)
	}
	return ctx.Err()
}

// open reads a file of the document, once.
func (a *api) open(path string) (*file, error) {
	if f := a.files[path]; f != nil {
		return f, nil
	}
	if len(a.files) >= a.in.opts.MaxFiles {
		return nil, fmt.Errorf("the document has more than %d files", a.in.opts.MaxFiles)
	}
	info, err := a.folder.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > tree.MaxDocument {
		return nil, fmt.Errorf("%s is not a file of up to %d MiB", path, tree.MaxDocument>>20)
	}
	data, err := a.folder.ReadFile(path)
	if err != nil {
		return nil, err
	}
	root, err := tree.ReadDocument(path, data)
	if err != nil {
		return nil, err
	}
	f := &file{path: path}
	f.place = place{root, f}
	a.files[path] = f
	return f, nil
}

// found adds a finding about a node.
func (a *api) found(rule check.Rule, f *file, n *tree.Node, hint, format string, args ...any) {
	name := filepath.Join(filepath.Dir(a.in.path), filepath.FromSlash(f.path))
	r := check.Reporter{
		Report: &a.report,
		File:   name,
	}
	pointer := ""
	if n != nil {
		r = r.AtLine(n.Line, n.Column)
		pointer = f.pointer(n)
	}
	r.Add(rule, pointer, hint, format, args...)
}
