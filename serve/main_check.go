package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// check prints the problems of what src offers, and returns 1 if there are errors.
func (p *program) check(ctx context.Context, src mcp.Source) int {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return p.report(err)
	}
	c := &checker{cat: cat}
	c.all(ctx)
	for _, f := range c.found {
		fmt.Fprintln(p.stdout, visible.Line(f))
	}
	fmt.Fprintf(p.stdout, "%s %s: %s, %s, %s, %s; %s, %s\n", cat.Server.Name, cat.Server.Version,
		check.Count(len(cat.Tools), "tool"), check.Count(len(cat.Resources), "resource"),
		check.Count(len(cat.Templates), "template"), check.Count(len(cat.Prompts), "prompt"),
		check.Count(c.errors, "error"), check.Count(len(c.found)-c.errors, "warning"))
	if c.errors > 0 {
		return exitNo
	}
	return exitOK
}

// checker looks for mistakes in a catalog.
type checker struct {
	cat    *mcp.Catalog
	found  []string
	errors int
}

func (c *checker) errorf(format string, args ...any) {
	c.found = append(c.found, "error: "+fmt.Sprintf(format, args...))
	c.errors++
}

func (c *checker) warnf(format string, args ...any) {
	c.found = append(c.found, "warning: "+fmt.Sprintf(format, args...))
}

func (c *checker) all(ctx context.Context) {
	if c.cat.Server.Name == "" || c.cat.Server.Version == "" {
		c.errorf("the server has no name or no version")
	}
	c.tools()
	c.resources()
	c.templates()
	c.prompts()
	for _, f := range apps.Check(c.cat) {
		say := c.warnf
		if f.Severity == check.Error {
			say = c.errorf
		}
		say("%s: %s: %s", f.Rule.ID, f.Pointer, f.Message)
	}
	c.lists(ctx)
}

func (c *checker) tools() {
	seen := map[string]bool{}
	for _, t := range c.cat.Tools {
		c.once(seen, "tool", t.Name)
		c.toolName(t.Name)
		c.schemas(&t)
		if t.Raw == nil && t.Description == "" {
			c.warnf("tool %q: no description, so models have to guess what it does", t.Name)
		}
	}
}

func (c *checker) once(seen map[string]bool, kind, name string) {
	if seen[name] {
		c.errorf("%s %q: there are two", kind, name)
	}
	seen[name] = true
}

// encodes reports an entry that cannot be encoded; the error for a whole list would not
// name the entry.
func (c *checker) encodes(kind, name string, entry any) {
	if _, err := mcp.Marshal(entry); err != nil {
		c.errorf("%s %q: %v", kind, name, err)
	}
}

// toolName checks a name against "Tool Names" of the specification and against the known
// limits of clients.
func (c *checker) toolName(name string) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
	switch rest := strings.Trim(name, letters+"ABCDEFGHIJKLMNOPQRSTUVWXYZ-./"); {
	case name == "" || len(name) > 128 || rest != "":
		c.errorf("tool %q: a name is 1 to 128 letters, digits and _ - . /", name)
	case len(name) > 64:
		c.warnf("tool %q: some clients refuse names of more than 64 characters", name)
	case strings.Contains(name, "/"):
		c.warnf("tool %q: some clients refuse a slash", name)
	case strings.Trim(name, letters) != "":
		c.warnf("tool %q: not in snake_case", name)
	}
}

// schemas compiles the schemas of arguments and results.
func (c *checker) schemas(t *mcp.Tool) {
	encoded, err := t.MarshalJSON()
	if err != nil {
		c.errorf("tool %q: %v", t.Name, err)
		return
	}
	var wire struct{ InputSchema, OutputSchema json.RawMessage }
	if err := json.Unmarshal(encoded, &wire); err != nil {
		c.errorf("tool %q: %v", t.Name, err)
		return
	}
	var root struct{ Type any }
	if json.Unmarshal(wire.InputSchema, &root) != nil || root.Type != "object" {
		c.errorf("tool %q: inputSchema: its type is not \"object\"", t.Name)
	}
	c.schema(t.Name, "inputSchema", wire.InputSchema)
	if wire.OutputSchema != nil {
		c.schema(t.Name, "outputSchema", wire.OutputSchema)
	}
}

func (c *checker) schema(tool, which string, text []byte) {
	s, err := schema.Compile(text)
	if err != nil {
		c.errorf("tool %q: %s: %v", tool, which, err)
		return
	}
	for _, note := range s.Notes() {
		c.warnf("tool %q: %s: %s", tool, which, note)
	}
	c.untyped(tool, which, text)
}

// untyped reports members whose schema states no type, as for a Go type with its own JSON
// encoding: models would have to guess what they are.
func (c *checker) untyped(tool, which string, text []byte) {
	var root struct {
		Properties map[string]map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(text, &root) != nil {
		return // a property whose schema is true or false
	}
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		says := root.Properties[name]
		for _, about := range []string{"title", "description", "default", "examples"} {
			delete(says, about)
		}
		if len(says) == 0 {
			c.warnf("tool %q: %s: %q may be any value: describe its type with a method JSONSchema", tool, which, name)
		}
	}
}

func (c *checker) resources() {
	seen := map[string]bool{}
	for _, r := range c.cat.Resources {
		c.once(seen, "resource", r.URI)
		c.encodes("resource", r.URI, r)
		if r.Name == "" {
			c.errorf("resource %q: no name", r.URI)
		}
		if u, err := url.Parse(r.URI); err != nil || u.Scheme == "" {
			c.errorf("resource %q: not a URI with a scheme", r.URI)
		}
	}
}

func (c *checker) templates() {
	var parsed []*uritemplate.Template
	for _, t := range c.cat.Templates {
		c.encodes("template", t.URITemplate, t)
		if t.Name == "" {
			c.errorf("template %q: no name", t.URITemplate)
		}
		one, err := uritemplate.Parse(t.URITemplate)
		if err != nil {
			c.errorf("template %q: %v", t.URITemplate, err)
			continue
		}
		for _, other := range parsed {
			if uri, both := uritemplate.Overlap(one, other); both {
				c.warnf("template %q: %s is a URI of %q, too", t.URITemplate, uri, other)
			}
		}
		parsed = append(parsed, one)
	}
}

func (c *checker) prompts() {
	seen := map[string]bool{}
	for _, p := range c.cat.Prompts {
		c.once(seen, "prompt", p.Name)
		c.encodes("prompt", p.Name, p)
		if p.Name == "" {
			c.errorf("a prompt has no name")
		}
		arguments := map[string]bool{}
		for _, a := range p.Arguments {
			if a.Name == "" {
				c.errorf("prompt %q: an argument has no name", p.Name)
			}
			c.once(arguments, fmt.Sprintf("prompt %q: argument", p.Name), a.Name)
		}
	}
}

// offered is a Source that has only a catalog, so that all of it is listed for every
// caller.
type offered struct {
	mcp.Unimplemented
	cat *mcp.Catalog
}

func (o offered) Catalog(context.Context) (*mcp.Catalog, error) { return o.cat, nil }

// lists requests each list in each version of the protocol, page by page.
func (c *checker) lists(ctx context.Context) {
	server := mcpserver.New(offered{cat: c.cat}, nil)
	h := server.HTTPHandler(&mcpserver.HTTPOptions{NoSessions: true})
	lists := []struct {
		method, member string
		want           int
	}{
		{"tools/list", "tools", len(c.cat.Tools)},
		{"resources/list", "resources", len(c.cat.Resources)},
		{"resources/templates/list", "resourceTemplates", len(c.cat.Templates)},
		{"prompts/list", "prompts", len(c.cat.Prompts)},
	}
	for _, v := range mcp.Versions() {
		for _, l := range lists {
			if l.want == 0 {
				continue
			}
			got, err := countListed(ctx, h, v, l.method, l.member)
			switch {
			case err != nil:
				c.errorf("%s in %s: %v", l.method, v, err)
			case got != l.want:
				c.errorf("%s in %s: %d entries, want %d", l.method, v, got, l.want)
			}
		}
	}
	_ = server.Shutdown(ctx) // nothing is in flight
}

// countListed returns how many entries clients of a version receive.
func countListed(ctx context.Context, h http.Handler, v mcp.Version, method, member string) (n int, err error) {
	for cursor := json.RawMessage(nil); ; {
		params := map[string]any{}
		if cursor != nil {
			params["cursor"] = cursor
		}
		result, err := ask(ctx, h, v, method, params)
		if err != nil {
			return n, err
		}
		var entries []json.RawMessage
		if err := json.Unmarshal(result[member], &entries); err != nil {
			return n, err
		}
		n += len(entries)
		if cursor = result["nextCursor"]; cursor == nil {
			return n, nil
		}
	}
}

// ask sends one request to h without a network.
func ask(
	ctx context.Context,
	h http.Handler,
	v mcp.Version,
	method string,
	params map[string]any,
) (map[string]json.RawMessage, error) {
	if v.Modern() {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    v.String(),
			"io.modelcontextprotocol/clientCapabilities": struct{}{},
		}
	}
	body, err := mcp.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+EndpointPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", v.String())
	r.Header.Set("Mcp-Method", method)
	w := &answer{header: http.Header{}}
	h.ServeHTTP(w, r)
	var got struct {
		Result map[string]json.RawMessage
		Error  *struct{ Message string }
	}
	switch err := json.Unmarshal(w.body.Bytes(), &got); {
	case err != nil:
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	case got.Error != nil:
		return nil, fmt.Errorf("%s", got.Error.Message)
	}
	return got.Result, nil
}

// answer is an HTTP response in memory.
type answer struct {
	header http.Header
	body   bytes.Buffer
}

var (
	_ http.ResponseWriter = (*answer)(nil)
	_ io.Writer           = (*answer)(nil)
)

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(int)             {}
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
