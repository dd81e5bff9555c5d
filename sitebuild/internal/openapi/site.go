package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"slices"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// server returns the server of the site. By default, it has the title and version of the
// API.
func (a *api) server() mcp.Implementation {
	s := a.in.opts.Server
	if s.Name == "" {
		s.Name = sitewriter.ServerName(a.title(), "_", "official", "openapi",
			"swagger", "spec", "specification")
		s.Title = a.title()
	}
	s.Name = cmp.Or(s.Name, "api")
	s.Version = cmp.Or(s.Version, a.main.get("info").text("version"))
	return s
}

// tags returns the tags of all operations, in document order.
func (a *api) tags() []string {
	var list []string
	for _, t := range a.main.list("tags") {
		list = append(list, t.text("name"))
	}
	for _, o := range a.operations {
		list = append(list, o.tags()...)
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(list, func(tag string) bool {
		used := slices.ContainsFunc(a.operations, func(o *operation) bool {
			return slices.Contains(o.tags(), tag)
		})
		again := seen[tag]
		seen[tag] = true
		return again || !used || staticmcp.EncodeName(tag) == ""
	})
}

// enumNames is the maximum number of names in an enum.
const enumNames = 50

// nameArgument returns an argument that takes one of names.
func nameArgument(argument, description string, names []string) mcp.Property {
	s := mcp.Schema{
		Type:        "string",
		Description: description,
	}
	values := make([]any, 0, len(names))
	for _, name := range names {
		values = append(values, name)
	}
	const examples = 5
	if len(values) <= enumNames {
		s.Enum = values
	} else if raw, err := mcp.Marshal(values[:examples]); err == nil {
		s.Extra = map[string]json.RawMessage{"examples": raw}
	}
	return mcp.Property{
		Name:   argument,
		Schema: s,
	}
}

// The output schemas of the tools, which the answers follow.
const (
	operationsOutput = `{"type":"object","properties":{"page":{"type":"integer"},
		"pages":{"type":"integer"},"total":{"type":"integer"},"operations":{"type":"array",
		"items":{"type":"object","properties":{"operationId":{"type":"string"},
		"method":{"type":"string"},"path":{"type":"string"},"summary":{"type":"string"},
		"tags":{"type":"array","items":{"type":"string"}},"deprecated":{"type":"boolean"}},
		"required":["operationId","method","path"]}}},"required":["operations"]}`
	operationOutput = `{"type":"object","properties":{"part":{"type":"integer"},
		"parts":{"type":"integer"},"operationId":{"type":"string"},"method":{"type":"string"},
		"path":{"type":"string"},"servers":{"type":"array","items":{"type":"string"}},
		"parameters":{"type":"array"},"requestBody":{"type":"object"},"responses":{"type":"object"},
		"security":{"type":"array"}},"required":["operationId","method","path"]}`
	schemasOutput = `{"type":"object","properties":{"page":{"type":"integer"},
		"pages":{"type":"integer"},"total":{"type":"integer"},"schemas":{"type":"array",
		"items":{"type":"object","properties":{"name":{"type":"string"},
		"description":{"type":"string"}},"required":["name"]}}},"required":["schemas"]}`
	schemaOutput = `{"type":"object","properties":{"name":{"type":"string"},"schema":{},
		"part":{"type":"integer"},"parts":{"type":"integer"}},"required":["name"]}`
)

// numbered maps tools to their argument for the parts of long answers.
type numbered map[string][]mcp.Property

// need records that a tool has answers in several parts.
func (n numbered) need(answers []*sitewriter.Answer, property mcp.Property) []*sitewriter.Answer {
	if len(answers) > 1 {
		n[answers[0].Tool] = []mcp.Property{property}
	}
	return answers
}

// tools returns the tool definitions; more holds the arguments for long answers.
func (a *api) tools(more numbered) []mcp.Tool {
	var tools []mcp.Tool
	add := func(name, title, about, output string, required int, arguments ...mcp.Property) {
		arguments = append(arguments, more[name]...)
		tools = append(tools, sitewriter.NewTool(name, title, about, output,
			required, arguments...))
	}
	if len(a.operations) > 0 {
		about := fmt.Sprintf("List the operations of %s (%d): id, method, path and summary.", a.title(), len(a.operations))
		var arguments []mcp.Property
		if tags := a.tags(); len(tags) > 0 {
			arguments = append(arguments, nameArgument("tag",
				"List only operations with this tag", tags))
		}
		add("list_operations", "List operations", about, operationsOutput, 0, arguments...)
		var ids []string
		for _, o := range a.operations {
			ids = append(ids, o.id)
		}
		add("get_operation", "Get operation",
			"One operation: parameters, request body, responses, security and examples.", operationOutput, 1,
			nameArgument("operation_id",
				"The id of the operation"+a.in.opts.ToolNames.If("list_operations", ", from %s"), ids))
	}
	if len(a.schemas) > 0 {
		about := fmt.Sprintf("List the names of the schemas of %s (%d).",
			a.title(), len(a.schemas))
		add("list_schemas", "List schemas", about, schemasOutput, 0)
		var names []string
		for _, s := range a.schemas {
			names = append(names, s.name)
		}
		add("get_schema", "Get schema",
			"One schema by the name that operations and other schemas use: its members, as text and as JSON Schema.",
			schemaOutput, 1, nameArgument("name", "The name of the schema", names))
	}
	return tools
}

// answers returns all answers, and the arguments that number their parts. They are built
// eagerly, as references can be followed only while the folder is open.
func (a *api) answers() ([]*sitewriter.Answer, numbered) {
	more := numbered{}
	page := sitewriter.PageArgument()
	part := sitewriter.PartArgument()
	list := []*sitewriter.Answer{sitewriter.TextResource("openapi://info",
		"text/plain", a.overview())}
	if len(a.operations) > 0 {
		list = append(list, more.need(a.listing("", a.operations), page)...)
		for _, tag := range a.tags() {
			tagged := slices.DeleteFunc(slices.Clone(a.operations),
				func(o *operation) bool { return !slices.Contains(o.tags(), tag) })
			list = append(list, more.need(a.listing(tag, tagged), page)...)
		}
	}
	for _, o := range a.operations {
		text := a.operationText(o)
		arguments := map[string]any{"operation_id": o.id}
		parts := sitewriter.Parts(a.in.opts.ToolNames, "get_operation", arguments, text,
			encode(a.details(o)), encode(o.head(true)))
		list = append(list, more.need(parts, part)...)
		list = append(list, sitewriter.TextResource(operationURI(o), "text/plain", text))
	}
	if len(a.schemas) > 0 {
		list = append(list, more.need(a.schemaListing(), page)...)
	}
	for _, s := range a.schemas {
		text := a.schemaText(s)
		head := schemaHead{Name: s.name}
		full := encode(struct {
			schemaHead
			Schema json.RawMessage `json:"schema"`
		}{head, a.appendJSON(nil, s.place, inside, 0)})
		parts := sitewriter.Parts(a.in.opts.ToolNames, "get_schema", map[string]any{"name": s.name},
			text, full, encode(head))
		list = append(list, more.need(parts, part)...)
		list = append(list, sitewriter.TextResource(schemaURI(s), "text/plain", text))
	}
	return list, more
}

// search returns the tool that finds operations.
func (a *api) search() (*sitewriter.Search, error) {
	entries := func(yield func(sitewriter.SearchEntry) bool) {
		for _, o := range a.operations {
			// The words of the path weigh less than those of the summary.
			where := o.method + " " + o.path
			e := sitewriter.SearchEntry{
				ID:       o.id,
				Title:    cmp.Or(o.summary(), where),
				Keywords: []string{o.id},
				Text:     where + "\n" + o.text("description"),
			}
			if !yield(e) {
				return
			}
		}
	}
	return sitewriter.NewSearch("search_operations", entries, &sitewriter.SearchOptions{
		Title:       "Search operations",
		Description: "Operations of " + a.title() + " that match the words, best first.",
		Hint: a.in.opts.ToolNames.If("get_operation",
			"Read one with %s, whose operation_id is the path named here."),
	})
}

// operationURI returns the URI of the resource that describes an operation.
func operationURI(o *operation) string {
	return "openapi://operations/" + url.PathEscape(o.id)
}

// schemaURI returns the URI of the resource that describes a schema.
func schemaURI(s *schema) string {
	return "openapi://schemas/" + url.PathEscape(s.name)
}

// resources lists the resources of the site.
func (a *api) resources() iter.Seq2[*mcp.Resource, error] {
	var list []*mcp.Resource
	add := func(uri, name, about string) {
		list = append(list, &mcp.Resource{
			URI:         uri,
			Name:        name,
			Description: about,
			MIMEType:    "text/plain",
		})
	}
	add("openapi://info", a.title(), "The API, its servers and how to authenticate")
	for _, o := range a.operations {
		add(operationURI(o), o.id, o.heading())
	}
	for _, s := range a.schemas {
		add(schemaURI(s), s.name, "The schema "+s.name)
	}
	return sitewriter.Sequence(list)
}

// manyOperations is the size above which a list contains only ids and paths.
const manyOperations = 300

// listing returns the answers of list_operations.
func (a *api) listing(tag string, operations []*operation) []*sitewriter.Answer {
	items := make([]sitewriter.PageItem, 0, len(operations))
	full := len(operations) <= manyOperations
	for _, o := range operations {
		line := o.id + "  " + o.method + " " + o.path
		if full {
			line = o.id + "  " + o.heading()
		}
		if o.deprecated() {
			line += " (deprecated)"
		}
		items = append(items, sitewriter.PageItem{
			Text: line + "\n",
			JSON: encode(o.head(full)),
		})
	}
	var arguments map[string]any
	if tag != "" {
		arguments = map[string]any{"tag": tag}
	}
	return sitewriter.Pages(a.in.opts.ToolNames, "list_operations", arguments, "operations", items)
}

// operationHead identifies an operation in structured content.
type operationHead struct {
	// OperationID is the argument of get_operation.
	OperationID string `json:"operationId"`
	// Method is in upper case. Path is as in the document, with its parameters in braces.
	Method     string   `json:"method"`
	Path       string   `json:"path"`
	Summary    string   `json:"summary,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Deprecated bool     `json:"deprecated,omitempty"`
}

// head returns the members that identify an operation, with its summary and tags if full.
func (o *operation) head(full bool) operationHead {
	h := operationHead{
		OperationID: o.id,
		Method:      o.method,
		Path:        o.path,
		Deprecated:  o.deprecated(),
	}
	if full {
		h.Summary = o.summary()
		h.Tags = o.tags()
	}
	return h
}

// operationDetails is an operation as structured content: references to schemas are kept,
// all others are expanded.
type operationDetails struct {
	operationHead
	Description string   `json:"description,omitempty"`
	Servers     []string `json:"servers,omitempty"`
	// Parameters, RequestBody and Responses are as in the document, with references
	// resolved.
	Parameters  []json.RawMessage `json:"parameters,omitempty"`
	RequestBody json.RawMessage   `json:"requestBody,omitempty"`
	Responses   json.RawMessage   `json:"responses,omitempty"`
	Security    json.RawMessage   `json:"security,omitempty"`
}

// details returns the structured content of an operation.
func (a *api) details(o *operation) *operationDetails {
	expanded := func(at place) json.RawMessage {
		if at.node == nil {
			return nil
		}
		return a.appendJSON(nil, at, outside, 0)
	}
	d := &operationDetails{
		operationHead: o.head(true),
		Description:   o.text("description"),
		Servers:       a.servers(o),
		RequestBody:   expanded(o.get("requestBody")),
		Responses:     expanded(o.get("responses")),
	}
	for _, p := range o.parameters {
		d.Parameters = append(d.Parameters, expanded(p))
	}
	if security := a.requirements(o.place); security != nil {
		d.Security = security.AppendJSON(nil)
	}
	return d
}

// encode encodes v, which contains only strings, booleans and valid JSON.
func encode(v any) json.RawMessage {
	raw, _ := mcp.Marshal(v)
	return raw
}

// schemaHead identifies a schema in structured content.
type schemaHead struct {
	// Name is the argument of get_schema.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// schemaListing returns the answers of list_schemas.
func (a *api) schemaListing() []*sitewriter.Answer {
	items := make([]sitewriter.PageItem, 0, len(a.schemas))
	for _, s := range a.schemas {
		head := schemaHead{s.name, firstLine(s.text("description"))}
		text := s.name
		if head.Description != "" {
			text += " — " + head.Description
		}
		items = append(items, sitewriter.PageItem{
			Text: text + "\n",
			JSON: encode(head),
		})
	}
	return sitewriter.Pages(a.in.opts.ToolNames, "list_schemas", nil, "schemas", items)
}
