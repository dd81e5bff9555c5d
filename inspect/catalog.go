package inspect

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// bytesPerToken is how many bytes of JSON a token has, about.
const bytesPerToken = 4

// tokens estimates how many tokens a text of that size costs a model.
func tokens(size int) int { return (size + bytesPerToken - 1) / bytesPerToken }

// counts is the number of entries of each kind.
type counts struct {
	Tools     int `json:"tools"`
	Resources int `json:"resources"`
	Templates int `json:"templates"`
	Prompts   int `json:"prompts"`
	Apps      int `json:"apps"`
}

// CatalogFacts are the facts about the catalog of a source in its [State].
type CatalogFacts struct {
	Counts counts `json:"counts"`
	// ETag changes with the catalog, so that streams send the lists only then.
	ETag     string    `json:"catalog,omitempty"`
	Findings []finding `json:"findings"`
	// Bytes and Tokens are the size of all definitions, as a model would receive them.
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// finding is a finding of check with the name of what it is about.
type finding struct {
	Rule     string         `json:"rule"`
	Severity check.Severity `json:"severity"`
	// Kind and Name are the item that the finding is about.
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Pointer is relative to the item's definition.
	Pointer string `json:"pointer,omitempty"`

	index int
}

// maxFindings limits the findings in a state.
const maxFindings = 1000

// factsOf returns the facts of a catalog, which may be nil.
func factsOf(cat *mcp.Catalog) *CatalogFacts {
	f := &CatalogFacts{Findings: []finding{}}
	if cat == nil {
		return f
	}
	f.ETag = cat.Version()
	f.Counts = counts{
		Tools:     len(cat.Tools),
		Resources: len(cat.Resources),
		Templates: len(cat.Templates),
		Prompts:   len(cat.Prompts),
	}
	for i := range cat.Tools {
		f.Bytes += len(mustJSON(cat.Tools[i]))
		ui, err := apps.ToolUIOf(&cat.Tools[i])
		if err == nil && ui != nil && ui.ResourceURI != "" {
			f.Counts.Apps++
		}
	}
	f.Tokens = tokens(f.Bytes)
	f.Findings = findingsOf(cat)
	f.Findings = f.Findings[:min(len(f.Findings), maxFindings)]
	return f
}

// findingsOf checks a catalog.
func findingsOf(cat *mcp.Catalog) []finding {
	list := []finding{}
	for _, f := range append(cataloglint.Catalog(cat), apps.Check(cat)...) {
		list = append(list, named(cat, f))
	}
	return list
}

// named adds the name of the entry that a finding is about, and makes its pointer relative
// to the entry.
func named(cat *mcp.Catalog, f check.Finding) finding {
	out := finding{
		Rule:     f.Rule.ID,
		Severity: f.Severity,
		Kind:     "source",
		Message:  f.Message,
		Hint:     f.Hint,
		Pointer:  f.Pointer,
		index:    -1,
	}
	// The pointer begins with the list and the index of the entry, such as /tools/3.
	list, rest, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
	number, inner, below := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if err != nil {
		return out
	}
	switch {
	case list == "tools" && i < len(cat.Tools):
		out.Kind, out.Name = "tool", cat.Tools[i].Name
	case list == "resources" && i < len(cat.Resources):
		out.Kind, out.Name = "resource", cat.Resources[i].URI
	case list == "resourceTemplates" && i < len(cat.Templates):
		out.Kind, out.Name = "template", cat.Templates[i].URITemplate
	case list == "prompts" && i < len(cat.Prompts):
		out.Kind, out.Name = "prompt", cat.Prompts[i].Name
	default:
		return out
	}
	out.index = i
	out.Pointer = ""
	if below {
		out.Pointer = "/" + inner
	}
	return out
}

// changed reads the catalog after a change, and publishes the difference.
func (t *target) changed(live *client.Source, c mcp.Change) {
	if c.URI != "" {
		t.in.publish("updated", map[string]any{
			"src": t.id,
			"uri": c.URI,
		})
		return
	}
	cat, err := live.Catalog(t.in.quit)
	if err != nil {
		return // its state says why
	}
	t.mu.Lock()
	before := t.catalog
	current := t.client == live
	if current {
		t.catalog = cat
		t.facts = factsOf(cat)
	}
	t.mu.Unlock()
	if current && before != nil && before.Version() != cat.Version() {
		t.in.publish("catalog", differenceOf(t.id, before, cat))
	}
	t.touch()
}

// listDifference is what changed in a list.
type listDifference struct {
	// Added, Removed and Changed are names, since the previous catalog.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// definitions are the entries of a list by name.
type definitions map[string]string

// difference compares two lists of definitions by their text.
func (before definitions) difference(after definitions) listDifference {
	var d listDifference
	for name, text := range after {
		switch old, known := before[name]; {
		case !known:
			d.Added = append(d.Added, name)
		case old != text:
			d.Changed = append(d.Changed, name)
		}
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			d.Removed = append(d.Removed, name)
		}
	}
	return d
}

// differenceOf describes a changed catalog for the page: for each kind of definition, what was
// added, removed and changed.
func differenceOf(source int, before, after *mcp.Catalog) map[string]any {
	old := definitionsOf(before)
	now := definitionsOf(after)
	return map[string]any{
		"src":       source,
		"etag":      after.Version(),
		"tools":     old[0].difference(now[0]),
		"resources": old[1].difference(now[1]),
		"templates": old[2].difference(now[2]),
		"prompts":   old[3].difference(now[3]),
	}
}

// definitionsOf returns the tools, resources, templates and prompts of a catalog.
func definitionsOf(cat *mcp.Catalog) [4]definitions {
	all := [4]definitions{{}, {}, {}, {}}
	for i := range cat.Tools {
		all[0][cat.Tools[i].Name] = string(mustJSON(cat.Tools[i]))
	}
	for i := range cat.Resources {
		all[1][cat.Resources[i].URI] = string(mustJSON(cat.Resources[i]))
	}
	for i := range cat.Templates {
		all[2][cat.Templates[i].URITemplate] = string(mustJSON(cat.Templates[i]))
	}
	for i := range cat.Prompts {
		all[3][cat.Prompts[i].Name] = string(mustJSON(cat.Prompts[i]))
	}
	return all
}

// definition is what all entries of a catalog have.
type definition struct {
	// Definition is as the server sent it.
	Definition json.RawMessage `json:"definition"`
	// Bytes is the size of Definition, and Tokens an estimate of what it costs a model.
	Bytes    int       `json:"bytes"`
	Tokens   int       `json:"tokens"`
	Findings []finding `json:"findings"`
}

// toolEntry is a tool as the page shows it.
type toolEntry struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Form is the input form for the schema, or FormError says why there is none.
	Form      *schema.Form `json:"form,omitempty"`
	FormError *Failure     `json:"formError,omitempty"`
	Output    *schema.Form `json:"output,omitempty"`
	// UI is the link to an app, and Visibility who may call the tool.
	UI         *apps.ToolUI      `json:"ui,omitempty"`
	Visibility []apps.Visibility `json:"visibility"`
	// ReadOnly and the following are the hints, with the specification's defaults filled
	// in.
	ReadOnly    bool `json:"readOnly"`
	Destructive bool `json:"destructive"`
	Idempotent  bool `json:"idempotent"`
	OpenWorld   bool `json:"openWorld"`
	definition
}

// resourceEntry is a resource as the page shows it.
type resourceEntry struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	// Size is in bytes, or nil if the server does not state it.
	Size *int64 `json:"size,omitempty"`
	// UI reports whether the resource is the user interface of an app.
	UI bool `json:"ui,omitempty"`
	definition
}

// templateEntry is a resource template as the page shows it.
type templateEntry struct {
	Template    string `json:"template"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	// Variables are in the order of the template.
	Variables []string `json:"variables"`
	definition
}

// promptEntry is a prompt as the page shows it.
type promptEntry struct {
	Name        string               `json:"name"`
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description,omitempty"`
	Arguments   []mcp.PromptArgument `json:"arguments"`
	definition
}

// defined returns the common part of an entry.
func defined(text json.RawMessage, found []finding) definition {
	if found == nil {
		found = []finding{}
	}
	return definition{text, len(text), tokens(len(text)), found}
}

// serveCatalog serves GET api/catalog.
func (in *Inspector) serveCatalog(w http.ResponseWriter, r *http.Request) error {
	t, err := in.asked(r)
	if err != nil {
		return err
	}
	t.mu.Lock()
	cat := t.catalog
	live := t.client
	t.mu.Unlock()
	if cat == nil {
		_, err := t.live()
		if err == nil {
			err = failure(http.StatusConflict, "not_connected", "the lists are not known yet")
		}
		return err
	}
	return answer(w, t.lists(cat, live))
}

// lists returns a catalog for the page.
func (t *target) lists(cat *mcp.Catalog, live *client.Source) map[string]any {
	var capabilities json.RawMessage
	if live != nil {
		if shake := live.Handshake(); shake != nil {
			capabilities = shake.Capabilities
		}
	}
	found := make(map[string]map[int][]finding)
	for _, f := range findingsOf(cat) {
		if found[f.Kind] == nil {
			found[f.Kind] = make(map[int][]finding)
		}
		found[f.Kind][f.index] = append(found[f.Kind][f.index], f)
	}
	return map[string]any{
		"src":          t.id,
		"etag":         cat.Version(),
		"tools":        toolEntries(cat, found["tool"]),
		"resources":    resourceEntries(cat, found["resource"]),
		"templates":    templateEntries(cat, found["template"]),
		"prompts":      promptEntries(cat, found["prompt"]),
		"completions":  cat.Completions,
		"capabilities": capabilities,
	}
}

// toolEntries returns the tools for the page. found has the findings by index.
func toolEntries(cat *mcp.Catalog, found map[int][]finding) []toolEntry {
	list := make([]toolEntry, len(cat.Tools))
	for i := range cat.Tools {
		tool := &cat.Tools[i]
		e := toolEntry{
			Name:        tool.Name,
			Title:       tool.Title,
			Description: tool.Description,
			Visibility:  []apps.Visibility{apps.VisibleToModel, apps.VisibleToApp},
			Destructive: true,
			OpenWorld:   true,
			definition:  defined(mustJSON(*tool), found[i]),
		}
		if a := tool.Annotations; a != nil {
			e.ReadOnly = a.ReadOnlyHint
			e.Destructive = !a.ReadOnlyHint && (a.DestructiveHint == nil || *a.DestructiveHint)
			e.Idempotent = a.IdempotentHint
			e.OpenWorld = a.OpenWorldHint == nil || *a.OpenWorldHint
			if e.Title == "" {
				e.Title = a.Title
			}
		}
		if ui, err := apps.ToolUIOf(tool); err == nil && ui != nil {
			e.UI = ui
			e.Visibility = ui.Visibility
		}
		var err error
		if e.Form, err = schema.NewForm(inputOf(tool), nil); err != nil {
			e.FormError = schemaFailure(err, "/inputSchema")
		}
		if tool.OutputSchema != nil {
			e.Output, _ = schema.NewForm(tool.OutputSchema, nil) // a finding says what is wrong
		}
		list[i] = e
	}
	return list
}

// inputOf returns the schema of a tool's arguments.
func inputOf(t *mcp.Tool) []byte {
	if t.InputSchema == nil {
		return []byte(`{"type":"object"}`)
	}
	return t.InputSchema
}

// schemaFailure describes an invalid schema. below is its place in the definition, which precedes
// the pointer of the error.
func schemaFailure(err error, below string) *Failure {
	f := &Failure{Text: err.Error()}
	var bad *schema.CompileError
	if errors.As(err, &bad) {
		f.Text = below + bad.Pointer + ": " + bad.Message
	}
	return f
}

// resourceEntries returns the resources for the page.
func resourceEntries(cat *mcp.Catalog, found map[int][]finding) []resourceEntry {
	list := make([]resourceEntry, len(cat.Resources))
	for i := range cat.Resources {
		r := &cat.Resources[i]
		list[i] = resourceEntry{
			URI:         r.URI,
			Name:        r.Name,
			Title:       r.Title,
			Description: r.Description,
			MIMEType:    r.MIMEType,
			Size:        r.Size,
			UI:          strings.HasPrefix(r.URI, apps.Scheme),
			definition:  defined(mustJSON(*r), found[i]),
		}
	}
	return list
}

// templateEntries returns the templates for the page. One that cannot be parsed has no
// variables to fill in.
func templateEntries(cat *mcp.Catalog, found map[int][]finding) []templateEntry {
	list := make([]templateEntry, len(cat.Templates))
	for i := range cat.Templates {
		r := &cat.Templates[i]
		list[i] = templateEntry{
			Template:    r.URITemplate,
			Name:        r.Name,
			Title:       r.Title,
			Description: r.Description,
			MIMEType:    r.MIMEType,
			Variables:   []string{},
			definition:  defined(mustJSON(*r), found[i]),
		}
		if parsed, err := uritemplate.Parse(r.URITemplate); err == nil {
			list[i].Variables = append(list[i].Variables, parsed.Names()...)
		}
	}
	return list
}

// promptEntries returns the prompts for the page.
func promptEntries(cat *mcp.Catalog, found map[int][]finding) []promptEntry {
	list := make([]promptEntry, len(cat.Prompts))
	for i := range cat.Prompts {
		p := &cat.Prompts[i]
		list[i] = promptEntry{
			Name:        p.Name,
			Title:       p.Title,
			Description: p.Description,
			Arguments:   append([]mcp.PromptArgument{}, p.Arguments...),
			definition:  defined(mustJSON(*p), found[i]),
		}
	}
	return list
}

// catalogNow returns the catalog of a source, or why it is not known.
func (t *target) catalogNow() (*mcp.Catalog, error) {
	t.mu.Lock()
	cat := t.catalog
	t.mu.Unlock()
	if cat == nil {
		return nil, failure(http.StatusConflict, "not_connected", "the lists are not known yet")
	}
	return cat, nil
}

// serveForm serves GET api/form: the form of a part of a schema.
func (in *Inspector) serveForm(w http.ResponseWriter, r *http.Request) error {
	t, err := in.asked(r)
	if err != nil {
		return err
	}
	cat, err := t.catalogNow()
	if err != nil {
		return err
	}
	q := r.URL.Query()
	tool := cat.Tool(q.Get("tool"))
	if tool == nil {
		return notFound("there is no tool %q", q.Get("tool"))
	}
	form, err := schema.NewForm(inputOf(tool), &schema.FormOptions{Pointer: q.Get("ref")})
	if err != nil {
		return badRequest("%v", err)
	}
	return answer(w, form)
}

// serveExpand serves GET api/expand: the URI of a template.
func (in *Inspector) serveExpand(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	template, err := uritemplate.Parse(q.Get("template"))
	if err != nil {
		return badRequest("%v", err)
	}
	values := make(map[string]string)
	for _, m := range jsonscan.Members([]byte(q.Get("values"))) {
		if text, ok := jsonscan.Unquote(m.Value); ok {
			values[m.Name] = text
		}
	}
	missing := []string{}
	for _, name := range template.Names() {
		if _, ok := values[name]; !ok && !template.Optional(name) {
			missing = append(missing, name)
		}
	}
	return answer(w, map[string]any{
		"uri":     template.Expand(values),
		"missing": missing,
	})
}
