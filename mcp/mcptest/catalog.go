package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// checkCatalogKept: Catalog returns the same value until something changes, because the
// server keeps encoded lists in it.
func checkCatalogKept(s *suite) {
	first := s.catalog()
	version := first.Version()
	for range 3 {
		cat := s.catalog()
		if cat.Version() != version {
			s.Fatalf("Catalog changes from call to call: version %s, then %s", version, cat.Version())
		}
		if cat != first {
			s.Fatalf("Catalog returns a new value for the same offer; keep one until something changes")
		}
	}
}

// checkCatalogCheap: Catalog is fast, because it is called for every request.
func checkCatalogCheap(s *suite) {
	s.catalog()
	n := testing.AllocsPerRun(100, func() { _, _ = s.source.Catalog(context.Background()) })
	if limit := float64(s.opts.CatalogAllocs); n > limit {
		s.Errorf("Catalog allocates %v times, want at most %v: it is called for every request", n, limit)
	}
}

// checkCatalogDeterministic: the same source offers the same in the same order, so that
// clients and caches see no spurious changes.
func checkCatalogDeterministic(s *suite) {
	want := s.encodeCatalog(s.catalog())
	for range 3 {
		s.source = s.open()
		got := s.encodeCatalog(s.catalog())
		for i := range min(len(got), len(want)) {
			if !bytes.Equal(got[i], want[i]) {
				s.Fatalf("opened again, the catalog has %s where it had %s", short(string(got[i])), short(string(want[i])))
			}
		}
		if len(got) != len(want) {
			s.Fatalf("opened again, the catalog has %d entries, and had %d", len(got), len(want))
		}
	}
}

// checkServer: the source's name, version and other properties are valid.
func checkServer(s *suite) {
	cat := s.catalog()
	if cat.Server.Name == "" {
		s.Errorf("the catalog's Server has no name")
	}
	if cat.Server.Version == "" {
		s.Errorf("the catalog's Server has no version")
	}
	if !utf8.ValidString(cat.Instructions) {
		s.Errorf("the catalog's Instructions are not UTF-8")
	}
	if cat.Extensions != nil {
		s.checkObject("the catalog's Extensions", cat.Extensions)
	}
	if cat.PageSize < 0 {
		s.Errorf("the catalog's PageSize is %d", cat.PageSize)
	}
	if _, ok := s.source.(mcp.Watcher); cat.Subscribe && !ok {
		s.Errorf("the catalog says Subscribe, but the source is no Watcher")
	}
}

// checkNames: names are valid and unique within a list.
func checkNames(s *suite) {
	cat := s.catalog()
	tools := make(map[string]bool)
	for _, t := range cat.Tools {
		s.checkUnique("tool", t.Name, tools)
		if !validToolName(t.Name) {
			s.Errorf("tool %s: a name is 1 to 128 letters, digits and _ - . /", short(t.Name))
		}
		if found := cat.Tool(t.Name); found == nil || found.Name != t.Name {
			s.Errorf("tool %s is not found under its name", short(t.Name))
		}
	}
	resources := make(map[string]bool)
	for _, r := range cat.Resources {
		s.checkUnique("resource", r.URI, resources)
		s.checkURI("resource", r.URI)
		s.checkText("the name of resource "+short(r.URI), r.Name)
	}
	templates := make(map[string]bool)
	for _, t := range cat.Templates {
		s.checkUnique("template", t.URITemplate, templates)
		s.checkText("the name of template "+short(t.URITemplate), t.Name)
		if _, ok := variables(t.URITemplate); !ok {
			s.Errorf("template %s: the braces are not balanced", short(t.URITemplate))
		}
	}
	prompts := make(map[string]bool)
	for _, p := range cat.Prompts {
		s.checkUnique("prompt", p.Name, prompts)
		s.checkText("the name of a prompt", p.Name)
		arguments := make(map[string]bool)
		for _, a := range p.Arguments {
			s.checkUnique(fmt.Sprintf("prompt %s: argument", short(p.Name)), a.Name, arguments)
			s.checkText("the name of an argument of prompt "+short(p.Name), a.Name)
		}
	}
}

func (s *suite) checkUnique(kind, name string, seen map[string]bool) {
	s.Helper()
	if seen[name] {
		s.Errorf("%s %s is there twice", kind, short(name))
	}
	seen[name] = true
}

func (s *suite) checkText(what, text string) {
	s.Helper()
	if text == "" {
		s.Errorf("%s is empty", what)
	}
	if !utf8.ValidString(text) {
		s.Errorf("%s is not UTF-8: %s", what, short(text))
	}
}

func (s *suite) checkURI(kind, uri string) {
	s.Helper()
	s.checkText("the URI of a "+kind, uri)
	if strings.ContainsFunc(uri, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		s.Errorf("%s %s: a URI has no white space", kind, short(uri))
	}
}

func validToolName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '_', c == '-', c == '.', c == '/':
		default:
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 128
}

// variables returns the names of the variables of an RFC 6570 template.
func variables(template string) (names []string, ok bool) {
	for {
		literal, rest, found := strings.Cut(template, "{")
		if strings.Contains(literal, "}") {
			return nil, false
		}
		if !found {
			return names, true
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed || strings.Contains(expression, "{") {
			return nil, false
		}
		expression = strings.TrimLeft(expression, "+#./;?&")
		for name := range strings.SplitSeq(expression, ",") {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
			names = append(names, name)
		}
		template = after
	}
}

// checkEntries: every entry can be encoded, and its encoding agrees with its fields.
func checkEntries(s *suite) {
	cat := s.catalog()
	for _, t := range cat.Tools {
		var wire struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		what := "tool " + short(t.Name)
		s.checkEntry(what, t, t.Raw, &wire)
		s.checkSame(what, "name", wire.Name, t.Name)
		if wire.InputSchema == nil || wire.InputSchema[0] != '{' {
			s.Errorf("%s: inputSchema is %s, want an object", what, short(string(wire.InputSchema)))
		}
	}
	for _, r := range cat.Resources {
		var wire struct{ Name, URI string }
		what := "resource " + short(r.URI)
		s.checkEntry(what, r, r.Raw, &wire)
		s.checkSame(what, "name", wire.Name, r.Name)
		s.checkSame(what, "uri", wire.URI, r.URI)
	}
	for _, t := range cat.Templates {
		var wire struct{ Name, URITemplate string }
		what := "template " + short(t.URITemplate)
		s.checkEntry(what, t, t.Raw, &wire)
		s.checkSame(what, "name", wire.Name, t.Name)
		s.checkSame(what, "uriTemplate", wire.URITemplate, t.URITemplate)
	}
	for _, p := range cat.Prompts {
		var wire struct {
			Name      string
			Arguments []mcp.PromptArgument
		}
		what := "prompt " + short(p.Name)
		s.checkEntry(what, p, p.Raw, &wire)
		s.checkSame(what, "name", wire.Name, p.Name)
		if len(wire.Arguments) != len(p.Arguments) {
			s.Errorf("%s has %d arguments on the wire and %d in the catalog", what, len(wire.Arguments), len(p.Arguments))
		}
	}
}

func (s *suite) checkEntry(what string, entry any, raw json.RawMessage, wire any) {
	s.Helper()
	if raw != nil && s.checkObject(what+": Raw", raw) && !jsonscan.IsCompact(raw) {
		s.Errorf("%s: Raw has white space between its tokens", what)
	}
	encoded := s.encode(what, entry)
	if !s.checkObject(what, encoded) {
		return
	}
	if err := json.Unmarshal(encoded, wire); err != nil {
		s.Errorf("%s is not what clients expect: %v", what, err)
	}
}

func (s *suite) checkSame(what, member, wire, field string) {
	s.Helper()
	if wire != field {
		s.Errorf("%s: the %s on the wire is %s, and in the catalog %s", what, member, short(wire), short(field))
	}
}

// toolSchemas are the schemas of a tool as clients see them.
type toolSchemas struct {
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

func (s *suite) schemas(t mcp.Tool) toolSchemas {
	var schemas toolSchemas
	s.decode("tool "+short(t.Name), t, &schemas)
	return schemas
}

// checkSchemas: the schemas of tools are valid, and arguments are an object.
func checkSchemas(s *suite) {
	for _, t := range s.catalog().Tools {
		schemas := s.schemas(t)
		if _, err := schema.Compile(schemas.InputSchema); err != nil {
			s.Errorf("tool %s: inputSchema: %v", short(t.Name), err)
		}
		var root struct {
			Type any `json:"type"`
		}
		if err := json.Unmarshal(schemas.InputSchema, &root); err != nil || root.Type != "object" {
			s.Errorf("tool %s: inputSchema has type %v, want \"object\"", short(t.Name), root.Type)
		}
		if schemas.OutputSchema == nil {
			continue
		}
		if _, err := schema.Compile(schemas.OutputSchema); err != nil {
			s.Errorf("tool %s: outputSchema: %v", short(t.Name), err)
		}
	}
}

// checkCatalogImmutable: a returned catalog never changes, however the source is used
// afterwards.
func checkCatalogImmutable(s *suite) {
	cat := s.catalog()
	before := s.encodeCatalog(cat)
	for _, do := range s.operations(cat) {
		do()
	}
	if c, ok := s.source.(io.Closer); ok {
		s.finish("Close", func() { _ = c.Close() })
	}
	after := s.encodeCatalog(cat)
	if len(after) != len(before) {
		s.Fatalf("the catalog had %d entries, and has %d after the source was used", len(before), len(after))
	}
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			s.Errorf("the catalog had %s, and has %s after the source was used",
				short(string(before[i])), short(string(after[i])))
		}
	}
}

// encodeCatalog encodes everything that clients see of a catalog.
func (s *suite) encodeCatalog(cat *mcp.Catalog) []json.RawMessage {
	s.Helper()
	all := []json.RawMessage{
		s.encode("Server", cat.Server), s.encode("Instructions", cat.Instructions),
		s.encode("capabilities", []any{cat.Completions, cat.Subscribe, cat.Tasks, cat.Logging, string(cat.Extensions)}),
	}
	for _, t := range cat.Tools {
		all = append(all, s.encode("tool "+short(t.Name), t))
	}
	for _, r := range cat.Resources {
		all = append(all, s.encode("resource "+short(r.URI), r))
	}
	for _, t := range cat.Templates {
		all = append(all, s.encode("template "+short(t.URITemplate), t))
	}
	for _, p := range cat.Prompts {
		all = append(all, s.encode("prompt "+short(p.Name), p))
	}
	// Raw entries share their bytes with the catalog, so copy them.
	for i := range all {
		all[i] = bytes.Clone(all[i])
	}
	return all
}
