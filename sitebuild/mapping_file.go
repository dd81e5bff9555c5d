package sitebuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
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
	server       mcp.Implementation
	instructions string
	parts        []*part
}

// part is one input of the file.
type part struct {
	node *tree.Node
	line int
	kind string
	path string // of the input, ready to open
	// templates is the folder of a data input's templates, or "".
	templates string
}

// members returns the kinds of input, with the members specific to each.
func members() map[string][]string {
	return map[string][]string{
		"docs": {"language", "baseURL", "drafts", "partBytes", "wordFiles", "pictures", "sections"},
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
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > maxBytes {
		return nil, nil, fmt.Errorf("read %s: the file is larger than %d bytes", path, maxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{check.Reporter{Report: &check.Report{}, File: path}}
	s, err := l.parse(data)
	return s, l.Report.Findings(), err
}

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
	if err := l.validate(root); err != nil || !l.Report.OK(false) {
		return nil, err
	}
	s := &spec{instructions: root.Get("instructions").String()}
	s.server = mcp.Implementation{Name: root.Get("name").String(),
		Title: root.Get("title").String(), Version: root.Get("version").String(),
		Description: root.Get("description").String(), WebsiteURL: root.Get("website").String()}
	if s.server.Name == "" {
		s.server.Name = folderName(l.File)
	}
	if s.server.Version == "" {
		s.server.Version = sitewriter.ProjectVersion(filepath.Dir(l.File))
	}
	s.SiteRoot = root.Get("siteRoot").String()
	s.Output, s.Host, s.Collisions =
		root.Get("output").String(), Host(root.Get("host").String()), root.Get("collisions").String()
	s.Compact, s.Precompress = root.Get("compact").True(), root.Get("precompress").Strings()
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

// validate validates the file against the schema.
func (l *loader) validate(root *tree.Node) error {
	compiled, err := schema.Compile(schemaText)
	if err != nil {
		return err
	}
	var invalid *schema.Error
	if !errors.As(compiled.Validate(root.AppendJSON(nil)), &invalid) {
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
	p := &part{node: n, line: n.Line}
	for _, kind := range names {
		m := n.Member(kind)
		switch {
		case m == nil:
		case p.kind != "":
			l.AtLine(m.Line, m.Column).Add(ruleKind, "", "", "an input is either %s or %s; write two inputs",
				p.kind, kind)
			return nil
		default:
			p.kind, p.path = kind, m.Value.String()
		}
	}
	if p.kind == "" {
		l.AtLine(n.Line, n.Column).Add(ruleKind, "", "", "it does not say what is read: an input has one of %s",
			strings.Join(names, ", "))
		return nil
	}
	for _, m := range n.Fields() {
		for _, kind := range names {
			if kind != p.kind && slices.Contains(all[kind], m.Key) && !slices.Contains(all[p.kind], m.Key) {
				l.AtLine(m.Line, m.Column).Add(ruleMember, "", "", "%q says something about %s, and this is %s",
					m.Key, kind, p.kind)
				return nil
			}
		}
	}
	return l.resolve(p)
}

// resolve makes the path of a part usable and verifies it.
func (l *loader) resolve(p *part) *part {
	m := p.node.Member(p.kind)
	if strings.Contains(p.path, "://") {
		if p.kind == "docs" {
			return p
		}
		l.AtLine(m.Value.Line, m.Value.Column).Add(rulePath, "", "", "%s is an address; download it first", p.path)
		return nil
	}
	if !filepath.IsAbs(p.path) {
		p.path = filepath.Join(filepath.Dir(l.File), filepath.FromSlash(p.path))
	}
	if _, err := os.Stat(p.path); err != nil {
		l.AtLine(m.Value.Line, m.Value.Column).Add(rulePath, "", "", "%s: %v", m.Value.Text, plainStat(err))
		return nil
	}
	if m := p.node.Member("templates"); m != nil {
		p.templates = filepath.Join(filepath.Dir(l.File), filepath.FromSlash(m.Value.Text))
		if _, err := os.Stat(p.templates); err != nil {
			l.AtLine(m.Value.Line, m.Value.Column).Add(rulePath, "", "", "%s: %v", m.Value.Text, plainStat(err))
			return nil
		}
	}
	if d := p.node.Get("delimiter").String(); d != "" && d != "tab" && utf8.RuneCountInString(d) != 1 {
		m := p.node.Member("delimiter")
		l.AtLine(m.Value.Line, m.Value.Column).Add(ruleDelimiter, "", "", `%q is not one character, nor "tab"`, d)
		return nil
	}
	return p
}

func plainStat(err error) error {
	if file := plainPath(err); errors.Is(err, os.ErrNotExist) {
		return errors.New("no such file or folder")
	} else {
		return file
	}
}

// open returns the part's input.
func (p *part) open() (Input, error) {
	n := p.node
	switch p.kind {
	case "docs":
		o := &docs.Options{
			Language:  n.Get("language").String(),
			BaseURL:   n.Get("baseURL").String(),
			Drafts:    n.Get("drafts").True(),
			PartBytes: number(n, "partBytes"),
		}
		if words := n.Get("wordFiles"); words != nil {
			if o.TermFiles = number(n, "wordFiles"); o.TermFiles == 0 {
				o.TermFiles = -1
			}
		}
		if pictures := n.Get("pictures"); pictures != nil && !pictures.True() {
			o.MaxImageBytes = -1
		}
		sections := n.Get("sections")
		o.NoSections = sections != nil && !sections.True()
		if base := strings.ToLower(filepath.Base(p.path)); base == "llms.txt" || base == "llms-full.txt" {
			return docs.LLMS(p.path, o)
		}
		return docs.Dir(p.path, o)
	case "data":
		return p.openData()
	case "openapi":
		return openapi.New(p.path, &openapi.Options{Tags: n.Get("tags").Strings()})
	case "go":
		return gopkg.New(p.path, &gopkg.Options{
			Internal: n.Get("internal").True(),
			GOOS:     n.Get("goos").String(),
			GOARCH:   n.Get("goarch").String(),
		})
	}
	o := &table.Options{
		Table:     tableOf(n),
		Only:      n.Get("only").Strings(),
		Delimiter: delimiter(n.Get("delimiter").String()),
	}
	if h := n.Get("header"); h != nil {
		has := h.True()
		o.Header = &has
	}
	for _, m := range n.Get("tables").Fields() {
		if o.Tables == nil {
			o.Tables = make(map[string]table.Table)
		}
		o.Tables[m.Key] = tableOf(m.Value)
	}
	return table.New(p.path, o)
}

func (p *part) openData() (Input, error) {
	o := &data.Options{Templates: p.templates}
	if answers := p.node.Get("answers"); answers != nil {
		if err := json.Unmarshal(answers.AppendJSON(nil), &o.Answers); err != nil {
			return nil, err
		}
	}
	return data.New(p.path, o)
}

func number(n *tree.Node, name string) int {
	i, err := strconv.Atoi(n.Get(name).String())
	if err != nil {
		return 0
	}
	return i
}

func delimiter(s string) rune {
	if s == "tab" {
		return '\t'
	}
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func tableOf(n *tree.Node) table.Table {
	t := table.Table{Name: n.Get("name").String(), Title: n.Get("title").String(),
		Description: n.Get("description").String(),
		Key:         n.Get("key").Strings(), Columns: n.Get("columns").Strings(),
		List: n.Get("list").Strings(), Find: n.Get("find").Strings(),
		PageRows: number(n, "pageRows"), ResourceRows: number(n, "resourceRows")}
	if n.Get("find") != nil && t.Find == nil {
		t.Find = []string{}
	}
	if n.Get("resourceRows") != nil && t.ResourceRows == 0 {
		t.ResourceRows = -1
	}
	return t
}
