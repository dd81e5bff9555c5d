package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/internal/site"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
)

// listedTool is a tool in the manifest, or a prompt, whose files are laid out the same
// way.
type listedTool struct {
	name  string
	entry entryAt
	// params are the declared arguments in path order.
	params []staticmcp.Argument
	// dirs are the spellings of its folder, the standard's first.
	dirs []string
	// layout is nil for a prompt.
	layout *staticmcp.ToolLayout
	// searchDir is the folder of the declared search index, or empty.
	searchDir string
	root      string         // "tools" or "prompts"
	output    *schema.Schema // nil without a usable schema
	// claims are the schema's constraints on single arguments, in path order.
	claims []claim
	// combinations are the combinations of enum values that have answers.
	combinations *combinations
	// answers counts the files that calls lead to; template is set if a file of a prompt has
	// placeholders for its arguments.
	answers  int
	template atomic.Bool
	// searched reports whether a search index exists.
	searched bool
}

// claim is the schema's constraint on the values of an argument.
type claim struct {
	kind string // "integer", "number", "boolean", or empty for anything else
	// names are the file names for an enum or a const, in its order, and wanted the values
	// themselves; nil if any value is allowed.
	names, wanted []string
	seen          map[string]bool
	typed         bool // the schema names a type
}

// listedTemplate is a resource template in the manifest.
type listedTemplate struct {
	entryAt
	parsed *uritemplate.Template
}

func (mf *manifest) template(e entryAt) {
	parsed, err := uritemplate.Parse(e.name)
	if err != nil {
		mf.sheet.At(e.at).Add(ruleURITemplate, e.path()+"/uriTemplate", "", "%q is no URI template: %v",
			site.Shorten(e.name), err)
		return
	}
	mf.templates = append(mf.templates, listedTemplate{e, parsed})
}

// tool checks a tool and its schemas.
func (mf *manifest) tool(e entryAt, members []located) {
	s := mf.sheet
	refused := false // no folder can have the name
	for _, f := range cataloglint.ToolName(e.name) {
		s.At(e.at).Include(f, e.path()+"/name")
		refused = refused || f.Severity == check.Error
	}
	if refused {
		return
	}
	t := &listedTool{
		name:  e.name,
		entry: e,
		root:  site.ToolsDir,
		dirs:  site.ToolFolders(e.name),
	}
	input := []byte(site.AnyObject)
	if m, ok := named(members, "inputSchema"); ok && m.value[0] == '{' {
		input = m.value
		s.schema(m, e.path()+"/inputSchema", "object")
		s.arguments(m, e.path()+"/inputSchema", e.name)
	}
	t.layout = staticmcp.NewToolLayout(e.name, input)
	t.params = t.layout.Arguments()
	t.readClaims(input)
	if m, ok := named(members, "_meta"); ok {
		var err error
		if t.searchDir, err = site.SearchFolder(t.argumentNames(), m.value); err != nil {
			s.At(m.at).Add(ruleSearchIndex, e.path()+"/_meta", "", "%s", err.Error())
		}
	}
	s.ambiguous(t, e.path()+"/inputSchema")
	if m, ok := named(members, "outputSchema"); ok && m.value[0] == '{' {
		want := "object"
		if mf.version >= "2026-07-28" {
			want = "" // since then any schema is allowed
		}
		t.output = s.schema(m, e.path()+"/outputSchema", want)
	}
	mf.tools = append(mf.tools, t)
}

// schema compiles a schema, whose type must be want unless that is empty.
func (s *sheet) schema(m located, pointer, want string) *schema.Schema {
	compiled, err := schema.Compile(m.value)
	if err != nil {
		at := 0
		below := ""
		var e *schema.CompileError
		why := err.Error()
		if errors.As(err, &e) {
			below = e.Pointer
			why = e.Message
			at, _ = check.Offset(m.value, below)
		}
		s.At(m.at+at).Add(ruleSchema, pointer+below, "until then nothing is checked against it",
			"the %s is no JSON Schema: %s", m.name, why)
		return nil
	}
	for _, note := range compiled.Notes() {
		s.At(m.at).Add(ruleSchemaNote, pointer, "", "the %s: %s", m.name, note)
	}
	if kind, ok := named(locate(m.value, 0), "type"); want != "" && (!ok || string(kind.value) != `"`+want+`"`) {
		s.At(m.at+kind.at).Add(ruleSchemaType, pointer+"/type", "the protocol demands it of the whole schema",
			"the type of the %s is not %q", m.name, want)
	}
	return compiled
}

// arguments compares required with properties, because readers differ in which of them
// they use.
func (s *sheet) arguments(m located, pointer, tool string) {
	list := locate(s.text, m.at)
	properties, ok := named(list, "properties")
	if !ok || properties.value[0] != '{' {
		return
	}
	var declared, required []string
	for _, p := range locate(s.text, properties.at) {
		declared = append(declared, p.name)
	}
	if r, ok := named(list, "required"); ok && r.value[0] == '[' {
		each(s.text, r.at, func(place, at, end int) {
			name, _ := jsonscan.Unquote(s.text[at:end])
			required = append(required, name)
			if _, composed := named(list, "allOf"); !composed && s.text[at] == '"' && !slices.Contains(declared, name) {
				s.At(at).Add(ruleRequiredUnknown, fmt.Sprintf("%s/required/%d", pointer, place),
					"clients do not know what to send", "tool %q requires %q, which is not among its properties",
					tool, name)
			}
		})
	}
	s.order(properties, pointer, tool, declared, required)
}

// order compares the order of properties with the one that counts: required arguments
// first, then the others.
func (s *sheet) order(properties located, pointer, tool string, declared, required []string) {
	want := slices.DeleteFunc(slices.Clone(required), func(name string) bool {
		return !slices.Contains(declared, name)
	})
	for _, name := range declared {
		if !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	if len(want) != len(declared) || slices.Equal(want, declared) {
		return
	}
	s.At(properties.at).Add(ruleArgumentOrder, pointer+"/properties",
		"write the properties in the order of required, then the optional ones: some readers go by them",
		"the properties of tool %q are in the order %s, its files in the order %s", tool,
		strings.Join(declared, ", "), strings.Join(want, ", "))
	s.repair(repair{
		does:  fmt.Sprintf("put the properties of tool %q in the order of its files", tool),
		edits: []edit{reorderMembers(s.text, properties.at, want)},
	})
}

// ambiguous reports optional arguments whose calls can share a file.
func (s *sheet) ambiguous(t *listedTool, pointer string) {
	var open []string
	for _, p := range t.params {
		if !p.Required && p.Default == nil {
			open = append(open, p.Name)
		}
	}
	if len(open) > 1 {
		s.At(t.entry.at).Add(ruleArgumentAmbiguous, pointer+"/properties",
			"give all but one a default, or make them required",
			"tool %q: %s can all be left out, so a call with one of them shares its file with a call with another",
			t.name, site.Alternatives(open))
	}
}

// param returns the index of the argument called name, or -1.
func (t *listedTool) param(name string) int {
	return slices.Index(t.argumentNames(), name)
}

func (t *listedTool) argumentNames() []string {
	names := make([]string, len(t.params))
	for i := range t.params {
		names[i] = t.params[i].Name
	}
	return names
}

// argumentText returns the text that represents a JSON value in a path; null has none.
func argumentText(raw []byte) string {
	switch raw[0] {
	case 'n':
		return ""
	case '"':
		text, _ := jsonscan.Unquote(raw)
		return text
	}
	return string(canonical.AppendExact(nil, raw))
}

// readClaims reads the schema's constraints on single arguments.
func (t *listedTool) readClaims(inputSchema []byte) {
	t.claims = make([]claim, len(t.params))
	for _, part := range site.SchemaParts(inputSchema, inputSchema, nil) {
		properties, ok := named(locate(part, 0), "properties")
		if !ok || properties.value[0] != '{' {
			continue
		}
		for _, p := range locate(part, properties.at) {
			if i := t.param(p.name); i >= 0 && p.value[0] == '{' {
				t.claims[i].read(locate(p.value, 0))
			}
		}
	}
	t.combinations = combinationsOf(t)
}

func (c *claim) read(keywords []located) {
	if m, ok := named(keywords, "type"); ok {
		c.typed = true
		if c.kind, _ = jsonscan.Unquote(m.value); !slices.Contains([]string{"integer", "number", "boolean"}, c.kind) {
			c.kind = ""
		}
	}
	var values [][]byte
	if m, ok := named(keywords, "const"); ok {
		values = [][]byte{m.value}
	} else if m, ok := named(keywords, "enum"); ok && m.value[0] == '[' {
		values = jsonscan.Elements(m.value)
	}
	c.seen = make(map[string]bool)
	for _, v := range values {
		if text := argumentText(v); site.EncodeName(text) != "" {
			c.names = append(c.names, site.EncodeName(text))
			c.wanted = append(c.wanted, text)
		}
	}
}

var argumentMembers = []memberSpec{
	{"name", "a string", true},
	{"title", "a string", false},
	{"description", "a string", false},
	{"required", "a boolean", false},
}

// prompt checks a prompt and its arguments.
func (mf *manifest) prompt(e entryAt, members []located) {
	s := mf.sheet
	p := &listedTool{
		entry: e,
		root:  site.PromptsDir,
		name:  e.name,
		dirs:  site.ToolFolders(e.name),
	}
	if len(p.dirs) == 0 {
		s.At(e.at).Add(ruleURI, e.path()+"/name", "", "the prompt %q cannot be the name of a folder", site.Shorten(e.name))
		return
	}
	if m, ok := named(members, "arguments"); ok && m.value[0] == '[' {
		each(s.text, m.at, func(place, at, end int) {
			pointer := fmt.Sprintf("%s/arguments/%d", e.path(), place)
			if s.text[at] != '{' {
				s.At(at).Add(ruleMemberType, pointer, "", "the argument is %s, not an object", kindOf(s.text[at:]))
				return
			}
			list := locate(s.text, at)
			s.members(at, list, argumentMembers, "the argument", pointer)
			var arg staticmcp.Argument
			if m, ok := named(list, "name"); ok {
				arg.Name, _ = jsonscan.Unquote(m.value)
			}
			m, ok := named(list, "required")
			arg.Required = ok && string(m.value) == "true"
			p.params = append(p.params, arg)
		})
	}
	p.claims = make([]claim, len(p.params))
	mf.prompts = append(mf.prompts, p)
}
