package openapi

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"slices"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func (a *api) server() mcp.Implementation {
	s := a.in.opts.Server
	if s.Name == "" {
		s.Name = sitewriter.ServerName(a.title(), "_", "official", "openapi", "swagger", "spec", "specification")
		s.Title = a.title()
	}
	if s.Name == "" {
		s.Name = "api"
	}
	if version := a.main.root.Get("info", "version").String(); s.Version == "" {
		s.Version = version
	}
	return s
}

// tags returns the tags of all operations, in document order.
func (a *api) tags() []string {
	var list []string
	for _, t := range a.main.root.Get("tags").Elements() {
		list = append(list, t.Get("name").String())
	}
	for _, o := range a.operations {
		list = append(list, o.tags()...)
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(list, func(tag string) bool {
		used := slices.ContainsFunc(a.operations, func(o *operation) bool { return slices.Contains(o.tags(), tag) })
		again := seen[tag]
		seen[tag] = true
		return again || !used || staticmcp.EncodeName(tag) == ""
	})
}

// enumNames is the maximum number of names in an enum.
const enumNames = 50

// nameSchema returns the schema of an argument that takes one of names.
func nameSchema(description string, names []string) mcp.Schema {
	s := mcp.Schema{Type: "string", Description: description}
	values := make([]any, 0, len(names))
	for _, name := range names {
		values = append(values, name)
	}
	if len(values) <= enumNames {
		s.Enum = values
		return s
	}
	const examples = 5
	raw, err := mcp.Marshal(values[:examples])
	if err == nil {
		s.Extra = map[string]json.RawMessage{"examples": raw}
	}
	return s
}

func tool(name, title, description string, output string, required []string, arguments ...mcp.Property) mcp.Tool {
	input := mcp.Schema{Type: "object", Required: required, Properties: arguments}
	input.Extra = map[string]json.RawMessage{"additionalProperties": json.RawMessage("false")}
	// A schema of strings always encodes.
	raw, _ := mcp.Marshal(input)
	return mcp.Tool{
		Name:         name,
		Title:        title,
		Description:  description,
		InputSchema:  raw,
		OutputSchema: json.RawMessage(output),
	}
}

const (
	operationsOutput = `{"type":"object","properties":{"page":{"type":"integer"},"pages":{"type":"integer"},"total":{"type":"integer"},"operations":{"type":"array","items":{"type":"object","properties":{"operationId":{"type":"string"},"method":{"type":"string"},"path":{"type":"string"},"summary":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"deprecated":{"type":"boolean"}},"required":["operationId","method","path"]}}},"required":["operations"]}`
	operationOutput  = `{"type":"object","properties":{"part":{"type":"integer"},"parts":{"type":"integer"},"operationId":{"type":"string"},"method":{"type":"string"},"path":{"type":"string"},"servers":{"type":"array","items":{"type":"string"}},"parameters":{"type":"array"},"requestBody":{"type":"object"},"responses":{"type":"object"},"security":{"type":"array"}},"required":["operationId","method","path"]}`
	schemasOutput    = `{"type":"object","properties":{"page":{"type":"integer"},"pages":{"type":"integer"},"total":{"type":"integer"},"schemas":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"}},"required":["name"]}}},"required":["schemas"]}`
	schemaOutput     = `{"type":"object","properties":{"name":{"type":"string"},"schema":{},"part":{"type":"integer"},"parts":{"type":"integer"}},"required":["name"]}`
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
	if len(a.operations) > 0 {
		about := fmt.Sprintf("The %d operations of %s: id, method, path and summary.", len(a.operations), a.title())
		var arguments []mcp.Property
		if tags := a.tags(); len(tags) > 0 {
			arguments = append(arguments, mcp.Property{Name: "tag", Schema: nameSchema("Only those with this tag", tags)})
		}
		arguments = append(arguments, more["list_operations"]...)
		id := mcp.Property{Name: "operation_id", Schema: nameSchema("The id of the operation, from list_operations", a.ids())}
		tools = append(tools,
			tool("list_operations", "List operations", about, operationsOutput, nil, arguments...),
			tool("get_operation", "Get operation",
				"One operation: parameters, request body, responses, security and examples.", operationOutput,
				[]string{id.Name}, append([]mcp.Property{id}, more["get_operation"]...)...))
	}
	if len(a.schemas) > 0 {
		name := mcp.Property{Name: "name", Schema: nameSchema("The name of the schema", a.schemaNames())}
		about := fmt.Sprintf("The names of the %d schemas of %s.", len(a.schemas), a.title())
		tools = append(tools,
			tool("list_schemas", "List schemas", about, schemasOutput, nil, more["list_schemas"]...),
			tool("get_schema", "Get schema",
				"One schema by the name that operations and other schemas call it: its members, as text and as JSON Schema.",
				schemaOutput,
				[]string{name.Name}, append([]mcp.Property{name}, more["get_schema"]...)...))
	}
	return tools
}

func (a *api) ids() []string {
	list := make([]string, 0, len(a.operations))
	for _, o := range a.operations {
		list = append(list, o.id)
	}
	return list
}

func (a *api) schemaNames() []string {
	list := make([]string, 0, len(a.schemas))
	for _, s := range a.schemas {
		list = append(list, s.name)
	}
	return list
}

// answers returns all answers, and the arguments that number their parts. They are built
// eagerly, as references can be followed only while the folder is open.
func (a *api) answers() ([]*sitewriter.Answer, numbered) {
	more := numbered{}
	page, part := sitewriter.PageArgument(), sitewriter.PartArgument()
	list := []*sitewriter.Answer{sitewriter.TextResource("openapi://info", "text/plain", a.overview())}
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
		head := append(o.appendHead([]byte{'{'}, true), '}')
		parts := sitewriter.Parts("get_operation", map[string]any{"operation_id": o.id}, text, a.operationJSON(o), head)
		list = append(list, more.need(parts, part)...)
		list = append(list, sitewriter.TextResource(operationURI(o), "text/plain", text))
	}
	if len(a.schemas) > 0 {
		list = append(list, more.need(a.schemaListing(), page)...)
	}
	for _, s := range a.schemas {
		text := a.schemaText(s)
		name := quote([]byte(`{"name":`), s.name)
		full := append(slices.Clone(name), `,"schema":`...)
		full = append(a.appendJSON(full, place{s.node, s.file}, inside, 0), '}')
		parts := sitewriter.Parts("get_schema", map[string]any{"name": s.name}, text, full, append(name, '}'))
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
			title, where := o.summary(), o.method+" "+o.path
			if title == "" {
				title = where
			}
			e := sitewriter.SearchEntry{ID: o.id, Title: title, Keywords: []string{o.id}, Text: where + "\n" + o.text("description")}
			if !yield(e) {
				return
			}
		}
	}
	return sitewriter.NewSearch("search_operations", entries, &sitewriter.SearchOptions{
		Title:       "Search operations",
		Description: "Operations of " + a.title() + " that have the words, the best first.",
		Hint:        "Read one with get_operation, whose operation_id is the path named here.",
	})
}

func operationURI(o *operation) string { return "openapi://operations/" + url.PathEscape(o.id) }

func schemaURI(s *schema) string { return "openapi://schemas/" + url.PathEscape(s.name) }

// resources lists the resources of the site.
func (a *api) resources() iter.Seq2[*mcp.Resource, error] {
	var list []*mcp.Resource
	add := func(uri, name, about string) {
		list = append(list, &mcp.Resource{URI: uri, Name: name, Description: about, MIMEType: "text/plain"})
	}
	add("openapi://info", a.title(), "What the API is, where it is served and how one is let in")
	for _, o := range a.operations {
		add(operationURI(o), o.id, o.heading())
	}
	for _, s := range a.schemas {
		add(schemaURI(s), s.name, "The schema "+s.name)
	}
	return func(yield func(*mcp.Resource, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
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
		items = append(items, sitewriter.PageItem{Text: line + "\n", JSON: append(o.appendHead([]byte{'{'}, full), '}')})
	}
	var arguments map[string]any
	if tag != "" {
		arguments = map[string]any{"tag": tag}
	}
	return sitewriter.Pages("list_operations", arguments, "operations", items)
}

// appendHead appends the members that identify an operation.
func (o *operation) appendHead(dst []byte, full bool) []byte {
	dst = quote(append(dst, `"operationId":`...), o.id)
	dst = quote(append(dst, `,"method":`...), o.method)
	dst = quote(append(dst, `,"path":`...), o.path)
	if s := o.summary(); s != "" && full {
		dst = quote(append(dst, `,"summary":`...), s)
	}
	if tags := o.tags(); len(tags) > 0 && full {
		dst = append(dst, `,"tags":`...)
		dst = appendStrings(dst, tags)
	}
	if o.deprecated() {
		dst = append(dst, `,"deprecated":true`...)
	}
	return dst
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = quote(dst, s)
	}
	return append(dst, ']')
}

// operationJSON returns the operation as JSON: references to schemas are kept, all others
// are expanded.
func (a *api) operationJSON(o *operation) json.RawMessage {
	dst := o.appendHead([]byte{'{'}, true)
	if about := o.text("description"); about != "" {
		dst = quote(append(dst, `,"description":`...), about)
	}
	if urls := a.servers(o); len(urls) > 0 {
		dst = appendStrings(append(dst, `,"servers":`...), urls)
	}
	if len(o.parameters) > 0 {
		dst = append(dst, `,"parameters":[`...)
		for i, p := range o.parameters {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = a.appendJSON(dst, p, outside, 0)
		}
		dst = append(dst, ']')
	}
	for _, name := range []string{"requestBody", "responses"} {
		if n := o.at.node.Get(name); n != nil {
			dst = append(quote(append(dst, ','), name), ':')
			dst = a.appendJSON(dst, place{n, o.at.file}, outside, 0)
		}
	}
	security := o.at.node.Get("security")
	if security == nil {
		security = a.main.root.Get("security")
	}
	if security != nil {
		dst = security.AppendJSON(append(dst, `,"security":`...))
	}
	return append(dst, '}')
}

// schemaListing returns the answers of list_schemas.
func (a *api) schemaListing() []*sitewriter.Answer {
	items := make([]sitewriter.PageItem, 0, len(a.schemas))
	for _, s := range a.schemas {
		text, raw := s.name, quote([]byte(`{"name":`), s.name)
		if about := firstLine(s.node.Get("description").String()); about != "" {
			text += " — " + about
			raw = quote(append(raw, `,"description":`...), about)
		}
		items = append(items, sitewriter.PageItem{Text: text + "\n", JSON: append(raw, '}')})
	}
	return sitewriter.Pages("list_schemas", nil, "schemas", items)
}
