package openapi

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// servers returns the server URLs of an operation, or else those of its path or of the
// document.
func (a *api) servers(o *operation) []string {
	var levels []*tree.Node
	if o != nil {
		levels = append(levels, o.at.node, o.item.node)
	}
	for _, n := range append(levels, a.main.root) {
		var urls []string
		for _, s := range n.Get("servers").Elements() {
			if u := s.Get("url").String(); u != "" {
				urls = append(urls, u)
			}
		}
		if len(urls) > 0 {
			return urls
		}
	}
	return nil
}

// security describes the authentication that a node requires, or returns "" if
// unspecified.
func (a *api) security(n *tree.Node) string {
	list := n.Get("security")
	if list == nil {
		list = a.main.root.Get("security")
	}
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
	at, ok := a.follow(place{a.main.root.Get("components", "securitySchemes", name), a.main})
	if !ok || at.node == nil {
		return name
	}
	n := at.node
	var words string
	switch n.Get("type").String() {
	case "apiKey":
		words = fmt.Sprintf("a key as %s %q", n.Get("in").String(), n.Get("name").String())
	case "http":
		words = "HTTP " + n.Get("scheme").String()
		if f := n.Get("bearerFormat").String(); f != "" {
			words += " " + f
		}
	case "oauth2":
		words = "OAuth 2"
	case "openIdConnect":
		words = "OpenID Connect " + n.Get("openIdConnectUrl").String()
	default:
		words = n.Get("type").String()
	}
	if len(scopes) > 0 {
		words += ", scopes " + strings.Join(scopes, " ")
	}
	return name + " (" + words + ")"
}

// overview summarizes the document.
func (a *api) overview() string {
	var b strings.Builder
	info := a.main.root.Get("info")
	fmt.Fprintf(&b, "%s, version %s.", a.title(), info.Get("version").String())
	if about := oneLine(info.Get("description").String()); about != "" {
		b.WriteString(" " + about)
	}
	if urls := a.servers(nil); len(urls) > 0 {
		b.WriteString("\nServers: " + strings.Join(urls, ", "))
	}
	if how := a.security(a.main.root); how != "" {
		b.WriteString("\nSecurity: " + how)
	}
	fmt.Fprintf(&b, "\n%d operations: list_operations names them, get_operation describes one.", len(a.operations))
	if len(a.schemas) > 0 {
		fmt.Fprintf(&b, " %d schemas: list_schemas, get_schema.", len(a.schemas))
	}
	return b.String()
}

func (a *api) title() string {
	if t := oneLine(a.main.root.Get("info", "title").String()); t != "" {
		return t
	}
	return "API"
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
	if about := strings.TrimSpace(o.text("description")); about != "" && about != o.summary() {
		b.WriteString("\n" + about + "\n")
	}
	b.WriteByte('\n')
	if urls := a.servers(o); len(urls) > 0 && !o.webhook {
		b.WriteString("Servers: " + strings.Join(urls, ", ") + "\n")
	}
	if how := a.security(o.at.node); how != "" {
		b.WriteString("Security: " + how + "\n")
	}
	a.writeParameters(&b, o)
	if body, ok := a.follow(place{o.at.node.Get("requestBody"), o.at.file}); ok && body.node != nil {
		b.WriteString("\nRequest body")
		if !body.node.Get("required").True() {
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

func (a *api) writeParameters(b *strings.Builder, o *operation) {
	if len(o.parameters) == 0 {
		return
	}
	b.WriteString("\nParameters\n")
	for _, p := range o.parameters {
		n := p.node
		need := "optional"
		if n.Get("required").True() {
			need = "required"
		}
		at := place{n.Get("schema"), p.file}
		if content := n.Get("content").Fields(); at.node == nil && len(content) > 0 {
			at.node = content[0].Value.Get("schema")
		}
		fmt.Fprintf(b, "- %s (%s, %s): %s", n.Get("name").String(), n.Get("in").String(), need, a.describe(at, 0))
		if n.Get("deprecated").True() {
			b.WriteString(", deprecated")
		}
		if about := oneLine(n.Get("description").String()); about != "" {
			b.WriteString(" — " + about)
		}
		if e := n.Get("example"); e != nil {
			b.WriteString(" Example: " + short(string(e.AppendJSON(nil))))
		}
		b.WriteByte('\n')
	}
}

// writeContent writes the description and media types of a body, after its heading.
func (a *api) writeContent(b *strings.Builder, body place) {
	if about := oneLine(body.node.Get("description").String()); about != "" {
		b.WriteString(" — " + about)
	}
	b.WriteByte('\n')
	for _, m := range body.node.Get("content").Fields() {
		media, ok := a.follow(place{m.Value, body.file})
		if !ok {
			continue
		}
		at := place{media.node.Get("schema"), media.file}
		b.WriteString("  " + m.Key)
		if at.node != nil {
			b.WriteString(": " + a.describe(at, 0))
		}
		b.WriteByte('\n')
		a.writeMembers(b, at, "  ", 1)
		writeExample(b, "", media.node.Get("example"))
		for _, e := range media.node.Get("examples").Fields() {
			if example, ok := a.follow(place{e.Value, media.file}); ok {
				writeExample(b, e.Key, example.node.Get("value"))
			}
		}
	}
}

func (a *api) writeResponses(b *strings.Builder, o *operation) {
	fields := o.at.node.Get("responses").Fields()
	if len(fields) == 0 {
		return
	}
	b.WriteString("\nResponses\n")
	for _, m := range fields {
		if strings.HasPrefix(m.Key, "x-") {
			continue
		}
		response, ok := a.follow(place{m.Value, o.at.file})
		if !ok {
			continue
		}
		b.WriteString("- " + m.Key)
		a.writeContent(b, response)
		for _, h := range response.node.Get("headers").Fields() {
			if header, ok := a.follow(place{h.Value, response.file}); ok {
				fmt.Fprintf(b, "  header %s: %s\n", h.Key, a.describe(place{header.node.Get("schema"), header.file}, 0))
			}
		}
	}
}
