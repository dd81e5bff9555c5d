package compose_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// stock returns a part that lists the URIs, as templates if they contain a brace.
func stock(name string, uris ...string) *part {
	p := &part{name: name, cat: &mcp.Catalog{}, holds: make(map[string]bool)}
	for _, uri := range uris {
		p.holds[uri] = true
		if strings.Contains(uri, "{") {
			p.cat.Templates = append(p.cat.Templates, mcp.ResourceTemplate{Name: "t", URITemplate: uri})
		} else {
			p.cat.Resources = append(p.cat.Resources, mcp.Resource{Name: "r", URI: uri})
		}
	}
	return p
}

// shownURIs returns a source's listed URIs, then its templates.
func shownURIs(t *testing.T, src mcp.Source) (uris []string) {
	t.Helper()
	cat := catalog(t, src)
	for _, r := range cat.Resources {
		uris = append(uris, r.URI)
	}
	for _, r := range cat.Templates {
		uris = append(uris, r.URITemplate)
	}
	return uris
}

func TestUnionShowsSharedURIs(t *testing.T) {
	tests := []struct {
		name string
		a, b *part
		want []string
	}{
		{"distinct URIs stay", stock("a", "x://1"), stock("b", "x://2", "x://{n}/y"),
			[]string{"x://1", "x://2", "x://{n}/y"}},
		{"both owners of a URI", stock("a", "x://1", "x://2"), stock("b", "x://1"), []string{"a+x://1", "x://2", "b+x://1"}},
		{"once in a part that lists it twice", stock("a", "x://1", "x://1"), stock("b", "x://2"), []string{"x://1", "x://2"}},
		{"both owners of a template", stock("a", "x://{n}"), stock("b", "x://{n}"), []string{"a+x://{n}", "b+x://{n}"}},
		{"what the template of another describes", stock("a", "x://1"), stock("b", "x://{n}"),
			[]string{"a+x://1", "x://{n}"}},
		{"what its own template describes", stock("a", "x://1", "x://{n}"), stock("b", "y:1"),
			[]string{"x://1", "y:1", "x://{n}"}},
		{"a malformed template claims its beginning", stock("a", "x://1", "y://1"), stock("b", "x://{"),
			[]string{"a+x://1", "y://1", "x://{"}},
		{"pages keep their scheme", stock("a", "ui://w/p"), stock("b", "ui://w/p"), []string{"ui://a+w/p", "ui://b+w/p"}},
		{"the form of another's URI", stock("a", "b+x://1", "c+x://1"), stock("b", "x://2"),
			[]string{"a+b+x://1", "c+x://1", "x://2"}},
		{"the form of its own", stock("a", "a+x://1"), stock("b", "x://2"), []string{"a+a+x://1", "x://2"}},
		{"names in schemes", stock("My_Files", "x:"), stock("1+1=2", "x:"), []string{"my-files+x:", "s-1-1-2+x:"}},
		{"names that look alike in schemes", stock("N", "x:"), stock("n", "x:"), []string{"n-8ce86a6a+x:", "n-1b16b1df+x:"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := union(t, tt.a, tt.b)
			got := shownURIs(t, src)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("URIs (-want +got):\n%s", diff)
			}
			for _, p := range []*part{tt.a, tt.b} {
				for _, r := range p.cat.Resources {
					if i := slices.Index(got, r.URI); i < 0 {
						continue
					}
					if text := readText(t, src, r.URI); text != p.name {
						t.Errorf("reading %s = %s, want %s", r.URI, text, p.name)
					}
				}
			}
		})
	}
}

func TestUnionReadsSharedURIs(t *testing.T) {
	src := union(t,
		stock("a", "x://1", "y://{n}", "x://all"),
		stock("b", "x://1", "y://{n}", "y://5", "ui://p"),
		stock("c", "x://1", "ui://p"))
	tests := []struct{ uri, want string }{
		{"a+x://1", "a"},
		{"c+x://1", "c"},
		{"C+x://1", "c"}, // schemes are case-insensitive
		{"ui://c+p", "c"},
		{"x://1", `resource "x://1" is offered by "a" and "b" and "c": read "a+x://1" or "b+x://1" or "c+x://1"`},
		{"y://7", `resource "y://7" is offered by "a" and "b": read "a+y://7" or "b+y://7"`},
		{"b+y://5", "b"},
		{"a+y://7", "a does not have it"},
		{"b+x://all", "b does not have it"}, // a has it
		{"d+x://1", "a does not have it"},   // no source has this name
	}
	for _, tt := range tests {
		t.Run(tt.uri, func(t *testing.T) {
			if got := readText(t, src, tt.uri); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	result, err := src.Complete(t.Context(), &mcp.CompleteParams{URITemplate: "a+y://{n}"})
	if err != nil || result.Completion.Values != nil {
		t.Errorf("Complete of a part without completions = %+v, %v", result, err)
	}
}

func TestUnionCompletesSharedTemplates(t *testing.T) {
	a, b := stock("a", "y://{n}"), stock("b", "y://{n}")
	a.cat.Completions, b.cat.Completions = true, true
	result, err := union(t, a, b).Complete(t.Context(), &mcp.CompleteParams{URITemplate: "b+y://{n}", Value: "v"})
	if err != nil || fmt.Sprint(result.Completion.Values) != "[b y://{n} v]" {
		t.Errorf("Complete = %+v, %v, want that of b in its own URIs", result, err)
	}
}

func TestUnionReportsSharedURIs(t *testing.T) {
	var log strings.Builder
	opts := &compose.UnionOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	parts := named(stock("a", "x://1", "x://2", "y:"), stock("b", "x://1", "x://2"), stock("c", "y:"))
	if _, err := compose.Union(t.Context(), parts, opts); err != nil {
		t.Fatal(err)
	}
	var shared []string
	for line := range strings.Lines(log.String()) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " uri=")
		shared = append(shared, what)
	}
	want := []string{`x://1 others=3 sources="[a b]"`, `y: others=1 sources="[a c]"`}
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnionRefusesSharedURIs: under PrefixNever, shared URIs are errors.
func TestUnionRefusesSharedURIs(t *testing.T) {
	never := &compose.UnionOptions{Prefix: compose.PrefixNever}
	tests := []struct {
		name string
		a, b *part
		want string
	}{
		{"a URI", stock("a", "x://1"), stock("b", "x://1"), `resource "x://1" of "a" is also offered by "b"`},
		{"a template", stock("a", "x://{n}"), stock("b", "x://{n}"),
			`resource template "x://{n}" of "a" is also offered by "b"`},
		{"a URI and a template", stock("a", "x://1"), stock("b", "x://{n}"),
			`resource "x://1" of "a" is also offered by "b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := compose.Union(t.Context(), named(tt.a, tt.b), never)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	src, err := compose.Union(t.Context(), named(stock("a", "b+x://1"), stock("b", "y:")), never)
	if err != nil {
		t.Fatal(err)
	}
	if got := readText(t, src, "b+x://1"); got != "a" {
		t.Errorf("a URI with a plus sign = %s, want that of its owner", got)
	}
}

// TestUnionOfManyTemplates uses so many templates that comparing them all would take
// long. URIs left over count as shared.
func TestUnionOfManyTemplates(t *testing.T) {
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf("x://{a%d}/{b}", i))
	}
	a, b := stock("a", many...), stock("b")
	for i := range 10_000 {
		uri := fmt.Sprintf("x://%d", i)
		b.holds[uri] = true
		b.cat.Resources = append(b.cat.Resources, mcp.Resource{URI: uri, Name: "r"})
	}
	src := union(t, a, b)
	last := shownURIs(t, src)[9_999]
	if last != "b+x://9999" || readText(t, src, last) != "b" {
		t.Errorf("the last URI is shown as %s", last)
	}
}

func TestUnionLinksToTheSameSource(t *testing.T) {
	given := json.RawMessage(`{"uri":"x://1","name":"r","n":1.0}`)
	typed := mcp.ResourceLink(mcp.Resource{URI: "x://1", Name: "r", Raw: given})
	page := json.RawMessage(`{"ui":{"resourceUri":"ui://p","x":1.0},"ui/resourceUri":"ui://p","n":1e2}`)
	a, b := stock("a", "x://1", "ui://p", "x://own"), stock("b", "x://1", "ui://p")
	a.cat.Tools = []mcp.Tool{{Name: "t", Meta: page, Raw: json.RawMessage(`{"name":"t","_meta":` + string(page) + `}`)}}
	src := union(t, a, b)
	want := strings.ReplaceAll(string(page), "ui://p", "ui://a+p")
	tool := catalog(t, src).Tool("t")
	if string(tool.Meta) != want || string(tool.Raw) != `{"name":"t","_meta":`+want+`}` {
		t.Errorf("the page of a tool = %s in %s, want %s", tool.Meta, tool.Raw, want)
	}
	if string(a.cat.Tools[0].Meta) != string(page) {
		t.Error("the tool of the part was changed")
	}

	tests := []struct{ name, raw, want string }{
		{"shared", `{"content":[{"type":"resource_link","uri":"x:\/\/1","n":1.0}]}`,
			`{"content":[{"type":"resource_link","uri":"a+x://1","n":1.0}]}`},
		{"embedded", `{"content":[{"type":"resource","resource":{"uri":"x://1","text":"x://1"}}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"a+x://1","text":"x://1"}}]}`},
		{"of this source alone", `{"content":[{"uri":"x://own"}]}`, `{"content":[{"uri":"x://own"}]}`},
		{"of no source", `{"content":[{"uri":"y://1"},{"uri":"https://e/"}]}`,
			`{"content":[{"uri":"a+y://1"},{"uri":"https://e/"}]}`},
		{"no links", `{"content":[{"type":"text","text":"\"uri\":\"x://1\""}],"structuredContent":{"uri":"x://1"}}`,
			`{"content":[{"type":"text","text":"\"uri\":\"x://1\""}],"structuredContent":{"uri":"x://1"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := mcp.ParseRaw([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			for _, content := range []mcp.CallToolResult{{Raw: raw}, {Content: []mcp.Content{mcp.Text("1"), typed}}} {
				a.result = &content
				got, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
				if err != nil {
					t.Fatal(err)
				}
				if got.Raw != nil && string(got.Raw.Bytes()) != tt.want {
					t.Errorf("got %s\nwant %s", got.Raw.Bytes(), tt.want)
				}
				if got.Raw != nil {
					continue
				}
				link := got.Content[1].Link
				if link.URI != "a+x://1" || string(link.Raw) != `{"uri":"a+x://1","name":"r","n":1.0}` {
					t.Errorf("got a link %+v", link)
				}
			}
		})
	}
	if typed.Link.URI != "x://1" {
		t.Error("the result of the part was changed")
	}
}

// TestUnionLinksWithOneBudget has a result with so many links that comparing all of them with
// all templates would take long. The work is limited per result, not per link: the last
// links are prefixed, and lead to their source as well.
func TestUnionLinksWithOneBudget(t *testing.T) {
	var templates []string
	for i := range 1000 {
		templates = append(templates, fmt.Sprintf("x:%d/{n}", i))
	}
	a := stock("a", append(templates, "x:own/{n}")...)
	var links, contents, messages []string
	for i := range 1000 {
		link := fmt.Sprintf(`{"type":"resource_link","uri":"x:own/%d","name":"r"}`, i)
		links = append(links, link)
		contents = append(contents, fmt.Sprintf(`{"uri":"x:own/%d","text":"1"}`, i))
		messages = append(messages, `{"role":"user","content":`+link+`}`)
	}
	raw := func(format string, items []string) *mcp.Raw {
		r, err := mcp.ParseRaw(fmt.Appendf(nil, format, strings.Join(items, ",")))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a.cat.Tools = []mcp.Tool{{Name: "t"}}
	a.cat.Prompts = []mcp.Prompt{{Name: "p"}}
	a.result = &mcp.CallToolResult{Raw: raw(`{"content":[%s]}`, links)}
	a.read = &mcp.ReadResourceResult{Raw: raw(`{"contents":[%s]}`, contents)}
	a.prompt = &mcp.GetPromptResult{Raw: raw(`{"messages":[%s]}`, messages)}
	src := union(t, a, stock("b", "y:1"))

	call, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := src.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	read, err := src.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "x:own/asked"})
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]*mcp.Raw{"call": call.Raw, "prompt": prompt.Raw, "read": read.Raw} {
		text := string(got.Bytes())
		if !strings.Contains(text, `"uri":"x:own/0"`) || !strings.Contains(text, `"uri":"a+x:own/999"`) {
			t.Errorf("%s: %.100s ... %s", what, text, text[len(text)-100:])
		}
	}
}

func TestUnionSubscribesAtTheSource(t *testing.T) {
	a, b := watched{stock("a", "x://1", "x://a")}, watched{stock("b", "x://1", "x://b")}
	src, err := compose.Union(t.Context(), []compose.Named{{Name: "a", Source: a}, {Name: "b", Source: b}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	src.(mcp.Watcher).Watch(func(c mcp.Change) { got = append(got, c.URI) })
	for _, tell := range []struct {
		of  watched
		uri string
	}{{a, "x://a"}, {a, "x://1"}, {b, "x://1"}, {b, "x://a"}, {b, "y://none"}} {
		tell.of.tell(mcp.Change{URI: tell.uri})
	}
	want := []string{"x://a", "a+x://a", "a+x://1", "b+x://1", "b+x://a", "y://none", "b+y://none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}

	// A change reported on behalf of a source, as when another one replaces it.
	swap := compose.NewSwap(src)
	got = nil
	swap.Watch(func(c mcp.Change) { got = append(got, c.URI) })
	swap.TellOf("b", mcp.Change{URI: "x://1"})
	if !slices.Equal(got, []string{"b+x://1"}) {
		t.Errorf("changes = %q", got)
	}
}

// TestSubscribeToPartsThatNeedNoCall subscribes to a resource of a part that does not
// implement mcp.Subscriber, directly and as one that can be retired.
func TestSubscribeToPartsThatNeedNoCall(t *testing.T) {
	for name, part := range map[string]mcp.Source{
		"direct":    stock("a", "x://1"),
		"retirable": compose.NewRetirable(stock("a", "x://1")),
	} {
		t.Run(name, func(t *testing.T) {
			parts := []compose.Named{{Name: "a", Source: part}, {Name: "b", Source: watched{stock("b", "x://b")}}}
			src, err := compose.Union(t.Context(), parts, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := src.(mcp.Subscriber).Subscribe(t.Context(), "x://1"); err != nil {
				t.Error(err)
			}
		})
	}
}
