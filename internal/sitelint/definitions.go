package sitelint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

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
	// name is that of the tool or prompt.
	name string
	// entry is its place in the manifest.
	entry entryAt
	// params are the declared arguments in path order.
	params []staticmcp.Argument
	// dirs are the spellings of its folder, the standard's first.
	dirs []string
	// layout is nil for a prompt.
	layout *staticmcp.ToolLayout
	// searches are the declared search indexes, or nil.
	searches *site.Searches
	root     string         // "tools" or "prompts"
	output   *schema.Schema // nil without a usable schema
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
	// seen are the values with an answer, to report those without one.
	seen  map[string]bool
	typed bool // the schema names a type
}

// listedTemplate is a resource template in the manifest.
type listedTemplate struct {
	entryAt
	// parsed is the template, or nil if it is malformed.
	parsed *uritemplate.Template
}

// addTemplate parses a template and adds it.
func (mf *manifest) addTemplate(e entryAt) {
	parsed, err := uritemplate.Parse(e.name)
	if err != nil {
		mf.fileReport.about(&e).Add(ruleURITemplate, "/uriTemplate", "",
			"%q is not a URI template: %v", site.Shorten(e.name), err)
		return
	}
	mf.templates = append(mf.templates, listedTemplate{e, parsed})
}

// addTool checks a tool and its schemas, and adds it.
func (mf *manifest) addTool(e entryAt, list members) {
	s := mf.fileReport
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
	if m := list.get("inputSchema"); m.is('{') {
		input = m.value
		s.compileSchema(m, e.path()+"/inputSchema", "object")
		s.checkArguments(m, e.path()+"/inputSchema", e.name)
	}
	t.layout = staticmcp.NewToolLayout(e.name, input)
	t.params = t.layout.Arguments()
	t.readClaims(input)
	if m := list.get("_meta"); !m.missing() {
		var err error
		if t.searches, err = site.SearchesOf(t.argumentNames(), m.value); err != nil {
			s.At(m.at).Add(ruleSearchIndex, e.path()+"/_meta", "", "%s", err.Error())
		}
	}
	s.reportAmbiguous(t)
	if m := list.get("outputSchema"); m.is('{') {
		want := "object"
		if mf.version >= "2026-07-28" {
			want = "" // since then any schema is allowed
		}
		t.output = s.compileSchema(m, e.path()+"/outputSchema", want)
	}
	mf.tools = append(mf.tools, t)
}

// compileSchema compiles a schema, whose type must be want unless that is empty. It
// returns nil for an invalid schema.
func (s *fileReport) compileSchema(m located, pointer, want string) *schema.Schema {
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
		s.At(m.at+at).Add(ruleSchema, pointer+below, "fix it: nothing is validated against an invalid schema",
			"the %s is not a JSON Schema: %s", m.name, why)
		return nil
	}
	for _, note := range compiled.Notes() {
		s.At(m.at).Add(ruleSchemaNote, pointer, "", "the %s: %s", m.name, note)
	}
	kind := m.members().get("type")
	if want != "" && kind.text() != want {
		s.At(cmp.Or(kind.at, m.at)).Add(ruleSchemaType, pointer+"/type", "the protocol requires this type",
			"the type of the %s is not %q", m.name, want)
	}
	return compiled
}

// checkArguments compares required with properties, because readers differ in which of
// them they use.
func (s *fileReport) checkArguments(m located, pointer, tool string) {
	schema := m.members()
	properties := schema.get("properties")
	if !properties.is('{') {
		return
	}
	var declared, required []string
	for _, p := range properties.members() {
		declared = append(declared, p.name)
	}
	composed := !schema.get("allOf").missing() // it may have the other properties
	schema.get("required").each(func(i int, v located) {
		name := v.text()
		required = append(required, name)
		if !composed && v.is('"') && !slices.Contains(declared, name) {
			s.At(v.at).Add(ruleRequiredUnknown, fmt.Sprintf("%s/required/%d", pointer, i),
				"declare it, so that clients know what to send",
				"tool %q requires %q, which is missing from its properties", tool, name)
		}
	})
	s.checkOrder(properties, pointer, tool, declared, required)
}

// checkOrder compares the order of properties with the one that counts: required arguments
// first, then the others.
func (s *fileReport) checkOrder(
	properties located,
	pointer, tool string,
	declared, required []string,
) {
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
		"write the required properties in the order of required, then the optional ones: some readers use their order",
		"the properties of tool %q are in the order %s, its files in the order %s",
		tool, strings.Join(declared, ", "), strings.Join(want, ", "))
	s.repair(repair{
		does:  fmt.Sprintf("put the properties of tool %q in the order of its files", tool),
		edits: []edit{reorderMembers(s.text, properties.at, want)},
	})
}

// reportAmbiguous reports optional arguments whose calls can share a file.
func (s *fileReport) reportAmbiguous(t *listedTool) {
	var open []string
	for _, p := range t.params {
		if !p.Required && p.Default == nil {
			open = append(open, p.Name)
		}
	}
	if len(open) > 1 {
		s.about(&t.entry).Add(ruleArgumentAmbiguous, "/inputSchema/properties",
			"give all but one a default, or make them required",
			"tool %q: %s are optional, so calls with different ones of them can share a file",
			t.name, site.Alternatives(open))
	}
}

// param returns the index of the argument called name, or -1.
func (t *listedTool) param(name string) int {
	return slices.Index(t.argumentNames(), name)
}

// argumentNames returns the names of the arguments in path order.
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
		schema := located{value: part}.members()
		for _, p := range schema.get("properties").members() {
			i := t.param(p.name)
			if i >= 0 && p.is('{') {
				t.claims[i].read(p.members())
			}
		}
	}
	t.combinations = combinationsOf(t)
}

// read adds the constraints of a schema.
func (c *claim) read(schema members) {
	if kind := schema.get("type"); !kind.missing() {
		c.typed = true
		c.kind = kind.text()
		if !slices.Contains([]string{"integer", "number", "boolean"}, c.kind) {
			c.kind = ""
		}
	}
	var values [][]byte
	if m := schema.get("const"); !m.missing() {
		values = [][]byte{m.value}
	} else if m := schema.get("enum"); m.is('[') {
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

// argumentMembers are the members of a prompt's argument.
var argumentMembers = []memberSpec{
	{"name", "a string", true},
	{"title", "a string", false},
	{"description", "a string", false},
	{"required", "a boolean", false},
}

// addPrompt checks a prompt and its arguments, and adds it.
func (mf *manifest) addPrompt(e entryAt, list members) {
	s := mf.fileReport
	p := &listedTool{
		entry: e,
		root:  site.PromptsDir,
		name:  e.name,
		dirs:  site.ToolFolders(e.name),
	}
	if len(p.dirs) == 0 {
		s.about(&e).Add(ruleURI, "/name", "",
			"no folder can have the name of the prompt %q", site.Shorten(e.name))
		return
	}
	list.get("arguments").each(func(i int, v located) {
		pointer := fmt.Sprintf("%s/arguments/%d", e.path(), i)
		if !s.requireKind(ruleMemberType, v, pointer, "the argument", "an object") {
			return
		}
		argument := v.members()
		s.checkMembers(v, argument, argumentMembers, "the argument", pointer)
		p.params = append(p.params, staticmcp.Argument{
			Name:     argument.get("name").text(),
			Required: argument.get("required").isTrue(),
		})
	})
	p.claims = make([]claim, len(p.params))
	mf.prompts = append(mf.prompts, p)
}
