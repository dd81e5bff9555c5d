package sitebuild

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/data"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
	"github.com/slipway-mcp/slipway/sitebuild/internal/gopkg"
	"github.com/slipway-mcp/slipway/sitebuild/internal/openapi"
	"github.com/slipway-mcp/slipway/sitebuild/internal/table"
)

// maxBytes limits the size of the file.
const maxBytes = 1 << 20

// spec is a parsed file.
type spec struct {
	MappingSettings
	// server and instructions replace those of the inputs.
	server       mcp.Implementation
	instructions string
	parts        []*part
}

// part is one input of the file.
type part struct {
	// node is the element of inputs, which begins in line.
	node *tree.Node
	line int
	kind string
	path string // of the input, ready to open
	// templates is the folder of a data input's templates, or "".
	templates string
	cacheDir  string // see DocumentOptions
	mkdocs    string // overrides that of the node, if the project has such a file
}

// members returns the kinds of input, with the members specific to each.
func members() map[string][]string {
	return map[string][]string{
		"docs": {
			"language", "versions", "languages", "baseURL", "mkdocsConfig", "drafts", "partBytes", "wordFiles", "pictures",
			"sections", "search",
		},
		"table": {
			"name", "title", "description", "key", "columns", "list", "find", "pageRows",
			"resourceRows", "delimiter", "header", "only", "tables",
		},
		"data":    {"templates", "answers"},
		"openapi": {"tags"},
		"go":      {"internal", "goos", "goarch"},
	}
}

// loader parses a file and collects findings.
type loader struct {
	check.Reporter
}

// load reads the file at path.
func load(path string) (*spec, []check.Finding, error) {
	data, err := fsutil.ReadFile(path, maxBytes)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{check.Reporter{
		Report: &check.Report{},
		File:   path,
	}}
	s, err := l.parse(data)
	return s, l.Report.Findings(), err
}

// parse parses and validates the file. It returns nil with findings if the file cannot be
// used.
func (l *loader) parse(data []byte) (*spec, error) {
	root, err := tree.ReadDocument(l.File, data)
	var syntax *tree.Error
	if errors.As(err, &syntax) {
		l.AtLine(syntax.Line, syntax.Column).Add(ruleSyntax, "", "", "%s", syntax.Message)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text := root.AppendJSON(nil)
	if err := l.validate(root, text); err != nil || !l.Report.OK(false) {
		return nil, err
	}
	var file struct {
		MappingSettings
		Name, Title, Description, Website, Instructions string
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	s := &spec{
		MappingSettings: file.MappingSettings,
		instructions:    file.Instructions,
	}
	s.server = mcp.Implementation{
		Name:        file.Name,
		Title:       file.Title,
		Version:     root.Get("version").String(), // may be a number
		Description: file.Description,
		WebsiteURL:  file.Website,
	}
	if s.server.Version == "" {
		s.server.Version = sitewriter.ProjectVersion(filepath.Dir(l.File))
	}
	for _, n := range root.Get("inputs").Elements() {
		if p := l.part(n); p != nil {
			s.parts = append(s.parts, p)
		}
	}
	return s, nil
}

func folderName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		if name := filepath.Base(filepath.Dir(abs)); name != string(filepath.Separator) {
			return name
		}
	}
	return "site"
}

// mappingSchema compiles the schema of the file once.
var mappingSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(schemaText) })

// validate validates the file against the schema.
func (l *loader) validate(root *tree.Node, text []byte) error {
	compiled, err := mappingSchema()
	if err != nil {
		return err
	}
	var invalid *schema.Error
	if !errors.As(compiled.Validate(text), &invalid) {
		return nil
	}
	for _, p := range invalid.Problems {
		line, column := root.Locate(p.Path)
		message := strings.Replace(p.Message, "unknown argument", "unknown member", 1)
		if p.Path != "" {
			message = p.Path + ": " + message
		}
		l.AtLine(line, column).Add(ruleSchema, "", "", "%s", message)
	}
	return nil
}

// part reads one input. It returns nil if the input is invalid.
func (l *loader) part(n *tree.Node) *part {
	all := members()
	names := slices.Sorted(maps.Keys(all))
	p := &part{
		node: n,
		line: n.Line,
	}
	for _, kind := range names {
		m := n.Member(kind)
		if m == nil {
			continue
		}
		if p.kind != "" {
			l.AtLine(m.Line, m.Column).Add(ruleKind, "", "", "an input is either %s or %s; write two inputs",
				p.kind, kind)
			return nil
		}
		p.kind = kind
		p.path = m.Value.String()
	}
	if p.kind == "" {
		l.AtLine(n.Line, n.Column).Add(ruleKind, "", "", "the input has no type: it needs one of %s",
			strings.Join(names, ", "))
		return nil
	}
	for _, m := range n.Fields() {
		for _, kind := range names {
			if kind != p.kind && slices.Contains(all[kind], m.Key) &&
				!slices.Contains(all[p.kind], m.Key) {
				l.AtLine(m.Line, m.Column).Add(ruleMember, "", "", "%q is a setting of %s, but this is %s",
					m.Key, kind, p.kind)
				return nil
			}
		}
	}
	return l.resolve(p)
}

// resolve makes the paths of a part usable and verifies them.
func (l *loader) resolve(p *part) *part {
	m := p.node.Member(p.kind)
	if strings.Contains(p.path, "://") {
		if p.kind == "docs" && l.checkBaseURLs(p.node) {
			return p
		}
		if p.kind == "docs" {
			return nil
		}
		l.AtLine(m.Value.Line, m.Value.Column).Add(rulePath, "", "",
			"%s is an address; download it first", p.path)
		return nil
	}
	if !filepath.IsAbs(p.path) {
		p.path = l.beside(p.path)
	}
	if !l.exists(p.path, m) {
		return nil
	}
	if m := p.node.Member("templates"); m != nil {
		if p.templates = l.beside(m.Value.Text); !l.exists(p.templates, m) {
			return nil
		}
	}
	if !l.checkBaseURLs(p.node) {
		return nil
	}
	if m := p.node.Member("delimiter"); m != nil && m.Value.Text != "tab" && utf8.RuneCountInString(m.Value.Text) != 1 {
		l.AtLine(m.Value.Line,
			m.Value.Column).Add(ruleDelimiter, "", "", `%q is not one character, nor "tab"`,
			m.Value.Text)
		return nil
	}
	return p
}

// checkBaseURLs reports whether the addresses of an input, and of its versions and languages, are those of
// pages, and adds findings for the others.
func (l *loader) checkBaseURLs(input *tree.Node) bool {
	ok := true
	nodes := []*tree.Node{input}
	for _, variants := range []string{"versions", "languages"} {
		nodes = append(nodes, input.Get(variants).Elements()...)
	}
	for _, n := range nodes {
		m := n.Member("baseURL")
		if m == nil || m.Value.Text == "" {
			continue
		}
		if err := docs.CheckBaseURL(m.Value.Text); err != nil {
			l.AtLine(m.Value.Line, m.Value.Column).Add(ruleURL, "", "", "baseURL: %v", err)
			ok = false
		}
	}
	return ok
}

// beside returns a path that is relative to the file.
func (l *loader) beside(path string) string {
	return filepath.Join(filepath.Dir(l.File), filepath.FromSlash(path))
}

// exists reports whether the path in a member exists, and adds a finding if not.
func (l *loader) exists(path string, m *tree.Member) bool {
	_, err := os.Stat(path)
	if err == nil {
		return true
	}
	if err = plainPath(err); errors.Is(err, os.ErrNotExist) {
		err = errors.New("no such file or folder")
	}
	l.AtLine(m.Value.Line, m.Value.Column).Add(rulePath, "", "", "%s: %v",
		m.Value.Text, err)
	return false
}

// open returns the part's input. The members of a part are named like the fields of the
// options of its kind.
func (p *part) open() (Input, error) {
	text := p.node.AppendJSON(nil)
	switch p.kind {
	case "docs":
		return p.openDocs(text)
	case "data":
		var o data.Options
		err := json.Unmarshal(text, &o)
		o.Templates = p.templates
		return opened(data.New, p.path, &o, err)
	case "openapi":
		o := openapi.Options{ToolNames: p.toolName}
		return opened(openapi.New, p.path, &o, json.Unmarshal(text, &o))
	case "go":
		o := gopkg.Options{ToolNames: p.toolName}
		return opened(gopkg.New, p.path, &o, json.Unmarshal(text, &o))
	}
	return p.openTable(text)
}

// opened calls open unless the options could not be decoded.
func opened[I Input, O any](open func(string, *O) (I, error), path string, o *O, err error) (Input, error) {
	if err != nil {
		return nil, err
	}
	return open(path, o)
}

// openDocs opens a documents input. The file names what to include, the options what to
// omit, so some members are inverted.
func (p *part) openDocs(text []byte) (Input, error) {
	var o struct {
		docs.Options
		WordFiles          *int
		Pictures, Sections *bool
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	if o.WordFiles != nil {
		o.TermFiles = cmp.Or(*o.WordFiles, -1)
	}
	if o.Pictures != nil && !*o.Pictures {
		o.MaxImageBytes = -1
	}
	o.NoSections = o.Sections != nil && !*o.Sections
	o.CacheDir = p.cacheDir
	if p.mkdocs != "" && docs.HasMkDocsConfig(p.path, p.mkdocs) {
		o.MkDocsConfig = p.mkdocs
	}
	o.ToolNames = make(map[string]string)
	for _, name := range docs.ToolNames() {
		if renamed := p.toolName(name); renamed != name {
			o.ToolNames[name] = renamed
		}
	}
	return openDocuments(p.path, &InputOptions{Documents: o.Options})
}

// openTable opens a table input with the settings of its tables.
func (p *part) openTable(text []byte) (Input, error) {
	var o struct {
		table.Table
		Tables    map[string]table.Table
		Only      []string
		Delimiter string
		Header    *bool
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	withResourceRows(&o.Table, p.node)
	for name, t := range o.Tables {
		withResourceRows(&t, p.node.Get("tables", name))
		o.Tables[name] = t
	}
	opts := &table.Options{
		Table:  o.Table,
		Tables: o.Tables,
		Only:   o.Only,
		Header: o.Header,

		ToolNames: p.toolName,
	}
	if o.Delimiter == "tab" {
		opts.Delimiter = '\t'
	} else if o.Delimiter != "" {
		opts.Delimiter, _ = utf8.DecodeRuneInString(o.Delimiter)
	}
	return table.New(p.path, opts)
}

// withResourceRows disables the resources of a table whose limit is set to 0.
func withResourceRows(t *table.Table, n *tree.Node) {
	if n.Get("resourceRows") != nil && t.ResourceRows == 0 {
		t.ResourceRows = -1
	}
}
