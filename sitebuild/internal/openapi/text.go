package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// servers returns the server URLs of an operation, or else those of its path or of the
// document.
func (a *api) servers(o *operation) []string {
	levels := []place{a.main.place}
	if o != nil {
		levels = slices.Concat([]place{o.place}, o.items, []place{a.main.place})
	}
	for _, level := range levels {
		var urls []string
		for _, s := range level.list("servers") {
			if u := s.text("url"); u != "" {
				urls = append(urls, u)
			}
		}
		if len(urls) > 0 {
			return urls
		}
	}
	return nil
}

// requirements returns the security requirements of a place, or else those of the
// document, or nil.
func (a *api) requirements(at place) *tree.Node {
	if list := at.node.Get("security"); list != nil {
		return list
	}
	return a.main.node.Get("security")
}

// security describes the authentication that a place requires, or returns "" if
// unspecified.
func (a *api) security(at place) string {
	list := a.requirements(at)
	if list == nil {
		return ""
	}
	var ways []string
	for _, way := range list.Elements() {
		var all []string
		for _, m := range way.Fields() {
			all = append(all, a.scheme(m.Key, m.Value.Strings()))
		}
		if len(all) == 0 {
			all = []string{"none"}
		}
		ways = append(ways, strings.Join(all, " and "))
	}
	if len(ways) == 0 {
		return "none"
	}
	return strings.Join(ways, ", or ")
}

// scheme describes a security scheme.
func (a *api) scheme(name string, scopes []string) string {
	at, ok := a.follow(a.main.get("components", "securitySchemes", name))
	if !ok || at.node == nil {
		return name
	}
	words := at.text("type")
	switch words {
	case "apiKey":
		words = fmt.Sprintf("a key as %s %q", at.text("in"), at.text("name"))
	case "http":
		words = strings.TrimSuffix("HTTP "+at.text("scheme")+" "+at.text("bearerFormat"), " ")
	case "oauth2":
		words = "OAuth 2"
	case "openIdConnect":
		words = "OpenID Connect " + at.text("openIdConnectUrl")
	}
	if len(scopes) > 0 {
		words += ", scopes " + strings.Join(scopes, " ")
	}
	return name + " (" + words + ")"
}

// overview summarizes the document.
func (a *api) overview() string {
	var b strings.Builder
	info := a.main.get("info")
	fmt.Fprintf(&b, "%s, version %s.", a.title(), info.text("version"))
	if about := oneLine(info.text("description")); about != "" {
		b.WriteString(" " + about)
	}
	if urls := a.servers(nil); len(urls) > 0 {
		b.WriteString("\nServers: " + strings.Join(urls, ", "))
	}
	if how := a.security(a.main.place); how != "" {
		b.WriteString("\nSecurity: " + how)
	}
	names := a.in.opts.ToolNames
	about := func(kind string, n int, how string) {
		fmt.Fprintf(&b, "%d %s", n, kind)
		if how != "" {
			b.WriteString(": " + how)
		}
		b.WriteByte('.')
	}
	b.WriteByte('\n')
	about("operations", len(a.operations), sitewriter.Clauses(", ",
		names.If("list_operations", "%s names them"), names.If("get_operation", "%s describes one")))
	if len(a.schemas) > 0 {
		b.WriteByte(' ')
		about("schemas", len(a.schemas), strings.Join(names.List("list_schemas", "get_schema"), ", "))
	}
	return b.String()
}

// title returns the title of the API.
func (a *api) title() string {
	return cmp.Or(oneLine(a.main.get("info").text("title")), "API")
}

// operationText returns the answer of get_operation as text.
func (a *api) operationText(o *operation) string {
	var b strings.Builder
	b.WriteString(o.heading() + "\n")
	b.WriteString("Operation: " + o.id + "\n")
	if tags := o.tags(); len(tags) > 0 {
		b.WriteString("Tags: " + strings.Join(tags, ", ") + "\n")
	}
	if o.deprecated() {
		b.WriteString("Deprecated.\n")
	}
	about := strings.TrimSpace(o.text("description"))
	if about != "" && about != o.summary() {
		b.WriteString("\n" + about + "\n")
	}
	access := ""
	urls := a.servers(o)
	if len(urls) > 0 && !o.webhook {
		access += "Servers: " + strings.Join(urls, ", ") + "\n"
	}
	if how := a.security(o.place); how != "" {
		access += "Security: " + how + "\n"
	}
	if access != "" {
		b.WriteString("\n" + access)
	}
	a.writeParameters(&b, o)
	body, ok := a.follow(o.get("requestBody"))
	if ok && body.node != nil {
		b.WriteString("\nRequest body")
		if !body.flag("required") {
			b.WriteString(" (optional)")
		}
		a.writeContent(&b, body)
	}
	a.writeResponses(&b, o)
	return b.String()
}

// heading returns the title line of an operation.
func (o *operation) heading() string {
	text := o.method + " " + o.path
	if o.webhook {
		text = "Webhook " + o.path + " (" + o.method + ")"
	}
	if s := o.summary(); s != "" {
		text += " — " + s
	}
	return text
}

// writeParameters writes the list of parameters, each with its type.
func (a *api) writeParameters(b *strings.Builder, o *operation) {
	if len(o.parameters) == 0 {
		return
	}
	b.WriteString("\nParameters\n")
	for _, p := range o.parameters {
		need := "optional"
		if p.flag("required") {
			need = "required"
		}
		at := p.get("schema")
		content := p.fields("content")
		if at.node == nil && len(content) > 0 {
			at = content[0].get("schema")
		}
		fmt.Fprintf(b, "- %s (%s, %s): %s", p.text("name"), p.text("in"), need,
			a.describe(at, 0))
		if p.flag("deprecated") {
			b.WriteString(", deprecated")
		}
		if about := oneLine(p.text("description")); about != "" {
			b.WriteString(" — " + about)
		}
		if e := p.node.Get("example"); e != nil {
			b.WriteString(" Example: " + short(string(e.AppendJSON(nil))))
		}
		b.WriteByte('\n')
	}
}

// writeContent writes the description and media types of a body, after its heading.
func (a *api) writeContent(b *strings.Builder, body place) {
	if about := oneLine(body.text("description")); about != "" {
		b.WriteString(" — " + about)
	}
	b.WriteByte('\n')
	for _, m := range body.fields("content") {
		media, ok := a.follow(m.place)
		if !ok {
			continue
		}
		at := media.get("schema")
		b.WriteString("  " + m.name)
		if at.node != nil {
			b.WriteString(": " + a.describe(at, 0))
		}
		b.WriteByte('\n')
		a.writeMembers(b, at, "  ", 1)
		writeExample(b, "", media.node.Get("example"))
		for _, e := range media.fields("examples") {
			if example, ok := a.follow(e.place); ok {
				writeExample(b, e.name, example.node.Get("value"))
			}
		}
	}
}

// writeResponses writes the responses by status, each with its content and headers.
func (a *api) writeResponses(b *strings.Builder, o *operation) {
	responses := o.fields("responses")
	if len(responses) == 0 {
		return
	}
	b.WriteString("\nResponses\n")
	for _, m := range responses {
		if strings.HasPrefix(m.name, "x-") {
			continue
		}
		response, ok := a.follow(m.place)
		if !ok {
			continue
		}
		b.WriteString("- " + m.name)
		a.writeContent(b, response)
		for _, h := range response.fields("headers") {
			if header, ok := a.follow(h.place); ok {
				fmt.Fprintf(b, "  header %s: %s\n", h.name,
					a.describe(header.get("schema"), 0))
			}
		}
	}
}
