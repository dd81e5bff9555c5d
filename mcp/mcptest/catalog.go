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

// entry is an entry of one of the lists of a catalog.
type entry struct {
	what   string // such as: tool "add"
	key    string // kind and id, untruncated
	value  any
	raw    json.RawMessage
	fields map[string]string // the strings in its encoding that repeat its fields
}

// entriesOf returns the entries of all lists.
func entriesOf(cat *mcp.Catalog) []entry {
	var all []entry
	add := func(kind, id string, value any, raw json.RawMessage, fields map[string]string) {
		all = append(all, entry{kind + " " + short(id), kind + " " + id, value, raw, fields})
	}
	for _, t := range cat.Tools {
		add("tool", t.Name, t, t.Raw, map[string]string{"name": t.Name})
	}
	for _, r := range cat.Resources {
		add("resource", r.URI, r, r.Raw, map[string]string{"name": r.Name, "uri": r.URI})
	}
	for _, t := range cat.Templates {
		add("template", t.URITemplate, t, t.Raw, map[string]string{"name": t.Name, "uriTemplate": t.URITemplate})
	}
	for _, p := range cat.Prompts {
		add("prompt", p.Name, p, p.Raw, map[string]string{"name": p.Name})
	}
	return all
}

// checkNames: names are valid and unique within a list.
func checkNames(s *suite) {
	cat := s.catalog()
	seen := make(map[string]bool)
	for _, e := range entriesOf(cat) {
		s.checkUnique(e.what, e.key, seen)
		for member, text := range e.fields {
			s.checkText("the "+member+" of "+e.what, text)
		}
	}
	for _, t := range cat.Tools {
		if !validToolName(t.Name) {
			s.Errorf("tool %s: a name is 1 to 128 letters, digits and _ - . /", short(t.Name))
		}
		if found := cat.Tool(t.Name); found == nil || found.Name != t.Name {
			s.Errorf("tool %s is not found under its name", short(t.Name))
		}
	}
	for _, r := range cat.Resources {
		if strings.ContainsFunc(r.URI, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			s.Errorf("resource %s: a URI has no white space", short(r.URI))
		}
	}
	for _, t := range cat.Templates {
		if _, ok := variables(t.URITemplate); !ok {
			s.Errorf("template %s: the braces are not balanced", short(t.URITemplate))
		}
	}
	for _, p := range cat.Prompts {
		arguments := make(map[string]bool)
		for _, a := range p.Arguments {
			what := fmt.Sprintf("prompt %s: argument %s", short(p.Name), short(a.Name))
			s.checkUnique(what, a.Name, arguments)
			s.checkText("the name of "+what, a.Name)
		}
	}
}

func (s *suite) checkUnique(what, key string, seen map[string]bool) {
	s.Helper()
	if seen[key] {
		s.Errorf("%s appears twice", what)
	}
	seen[key] = true
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
	for _, e := range entriesOf(cat) {
		if e.raw != nil && s.checkObject(e.what+": Raw", e.raw) && !jsonscan.IsCompact(e.raw) {
			s.Errorf("%s: Raw has white space between its tokens", e.what)
		}
		encoded := s.encode(e.what, e.value)
		if !s.checkObject(e.what, encoded) {
			continue
		}
		for member, field := range e.fields {
			if wire, _ := jsonscan.Unquote(jsonscan.Member(encoded, member)); wire != field {
				s.Errorf("%s: the %s on the wire is %s, and in the catalog %s", e.what, member, short(wire), short(field))
			}
		}
	}
	for _, t := range cat.Tools {
		if in := s.schemas(t).InputSchema; len(in) == 0 || in[0] != '{' {
			s.Errorf("tool %s: inputSchema is %s, want an object", short(t.Name), short(string(in)))
		}
	}
	for _, p := range cat.Prompts {
		var wire struct{ Arguments []mcp.PromptArgument }
		what := "prompt " + short(p.Name)
		if s.decode(what, p, &wire); len(wire.Arguments) != len(p.Arguments) {
			s.Errorf("%s has %d arguments on the wire and %d in the catalog", what, len(wire.Arguments), len(p.Arguments))
		}
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
	for _, do := range s.operations(context.Background(), cat) {
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
	for _, e := range entriesOf(cat) {
		all = append(all, s.encode(e.what, e.value))
	}
	// Raw entries share their bytes with the catalog, so copy them.
	for i := range all {
		all[i] = bytes.Clone(all[i])
	}
	return all
}
