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

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
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
	n := testing.AllocsPerRun(100, func() {
		_, _ = s.source.Catalog(context.Background())
	})
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
		s.compareCatalog("when opened again", want, s.catalog())
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
	s.compareCatalog("after the source was used", before, cat)
}

// compareCatalog reports the first difference between a catalog and an earlier encoding.
func (s *suite) compareCatalog(when string, before []json.RawMessage, cat *mcp.Catalog) {
	s.Helper()
	now := s.encodeCatalog(cat)
	if len(now) != len(before) {
		s.Fatalf("the catalog had %d entries, and has %d %s", len(before), len(now), when)
	}
	for i := range before {
		if !bytes.Equal(before[i], now[i]) {
			s.Fatalf("the catalog had %s, and has %s %s", short(string(before[i])), short(string(now[i])), when)
		}
	}
}

// encodeCatalog encodes everything that clients see of a catalog.
func (s *suite) encodeCatalog(cat *mcp.Catalog) []json.RawMessage {
	s.Helper()
	all := []json.RawMessage{
		s.encode("Server", cat.Server),
		s.encode("Instructions", cat.Instructions),
		s.encode("capabilities", []any{cat.Completions, cat.Subscribe, cat.Tasks, cat.Logging, string(cat.Extensions)}),
	}
	for _, e := range entriesOf(cat) {
		all = append(all, bytes.Clone(s.encode(e.what, e.value))) // Raw entries share their bytes with the catalog
	}
	return all
}

// checkServer: the properties of the source as a whole are valid.
func checkServer(s *suite) {
	cat := s.catalog()
	s.checkText("the catalog's Server.Name", cat.Server.Name)
	s.checkText("the catalog's Server.Version", cat.Server.Version)
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
	value  any
	raw    json.RawMessage
	fields map[string]string // the strings in its encoding that repeat its fields
}

// entriesOf returns the entries of all lists.
func entriesOf(cat *mcp.Catalog) []entry {
	var all []entry
	add := func(kind, id string, value any, raw json.RawMessage, fields map[string]string) {
		all = append(all, entry{kind + " " + short(id), value, raw, fields})
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

// checkDefinitions: the definitions pass package cataloglint, except that templates may use all
// levels of RFC 6570. Names and URIs are UTF-8, not empty, and unique.
func checkDefinitions(s *suite) {
	cat := s.catalog()
	for _, f := range cataloglint.Catalog(cat) {
		if f.Severity == check.Error && f.Rule.ID != "mcp/uri-template" {
			s.Errorf("%s: %s", f.Pointer, f.Message)
		}
	}
	for _, e := range entriesOf(cat) {
		for member, text := range e.fields {
			s.checkText("the "+member+" of "+e.what, text)
		}
	}
	for _, t := range cat.Tools {
		if found := cat.Tool(t.Name); found == nil || found.Name != t.Name {
			s.Errorf("tool %s is not found under its name", short(t.Name))
		}
	}
	for _, r := range cat.Resources {
		if strings.ContainsFunc(r.URI, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r)
		}) {
			s.Errorf("resource %s: a URI cannot contain white space", short(r.URI))
		}
	}
	for _, t := range cat.Templates {
		if _, ok := variables(t.URITemplate); !ok {
			s.Errorf("template %s: the braces are not balanced", short(t.URITemplate))
		}
	}
	for _, p := range cat.Prompts {
		seen := make(map[string]bool)
		for _, a := range p.Arguments {
			what := fmt.Sprintf("argument %s of prompt %s", short(a.Name), short(p.Name))
			s.checkText("the name of "+what, a.Name)
			if seen[a.Name] {
				s.Errorf("%s appears twice", what)
			}
			seen[a.Name] = true
		}
	}
}

// checkText requires a text that clients can show.
func (s *suite) checkText(what, text string) {
	s.Helper()
	if text == "" {
		s.Errorf("%s is empty", what)
	}
	if !utf8.ValidString(text) {
		s.Errorf("%s is not UTF-8: %s", what, short(text))
	}
}

// expression matches one expression of an RFC 6570 template.
var expression = lazyregexp.New(`\{[+#./;?&]*([^{}]*)\}`)

// variables returns the names of the variables of an RFC 6570 template, and whether its
// braces are balanced.
func variables(template string) (names []string, ok bool) {
	if strings.ContainsAny(expression().ReplaceAllString(template, ""), "{}") {
		return nil, false
	}
	for _, match := range expression().FindAllStringSubmatch(template, -1) {
		for spec := range strings.SplitSeq(match[1], ",") {
			name, _, _ := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
			names = append(names, name)
		}
	}
	return names, true
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
			if wire := memberText(encoded, member); wire != field {
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
