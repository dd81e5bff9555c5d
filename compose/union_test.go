package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// part is a Source over a replaceable catalog. It answers with its own name and the
// request.
type part struct {
	mcp.Unimplemented
	name   string
	holds  map[string]bool     // URIs that can be read
	result *mcp.CallToolResult // returned by tools, if not nil
	read   *mcp.ReadResourceResult
	prompt *mcp.GetPromptResult
	closed error

	mu       sync.Mutex
	cat      *mcp.Catalog
	err      error
	watchers map[int]func(mcp.Change)
}

func (p *part) Catalog(context.Context) (*mcp.Catalog, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cat, p.err
}

func (p *part) offer(cat *mcp.Catalog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cat = cat
}

func (p *part) CallTool(_ context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.result != nil {
		return p.result, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(p.name + ":" + params.Name +
		string(params.Arguments))}}, nil
}

func (p *part) ReadResource(_ context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if params.URI == "x://broken" {
		return nil, errors.New("disk on fire")
	}
	if p.read != nil {
		return p.read, nil
	}
	if !p.holds[params.URI] {
		return nil, mcp.ResourceNotFound(params.URI, p.name+" does not have it")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: params.URI, Text: p.name}}}, nil
}

func (p *part) GetPrompt(_ context.Context, params *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if p.prompt != nil {
		return p.prompt, nil
	}
	return &mcp.GetPromptResult{Description: p.name + ":" + params.Name + ":" + params.Arguments["a"]}, nil
}

func (p *part) Complete(_ context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{
		p.name,
		params.Prompt + params.URITemplate,
		params.Value,
	}}}, nil
}

func (p *part) Close() error { return p.closed }

// watched is a part that can change.
type watched struct{ *part }

func (w watched) Watch(changed func(mcp.Change)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers = make(map[int]func(mcp.Change))
	}
	id := len(w.watchers)
	w.watchers[id] = changed
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watchers, id)
	}
}

func (w watched) tell(c mcp.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, changed := range w.watchers {
		changed(c)
	}
}

func tools(names ...string) []mcp.Tool {
	var list []mcp.Tool
	for _, n := range names {
		list = append(list, mcp.Tool{Name: n, Description: "about " + n})
	}
	return list
}

func toolNames(t *testing.T, src mcp.Source) []string {
	t.Helper()
	cat := catalog(t, src)
	var names []string
	for _, tool := range cat.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func catalog(t *testing.T, src mcp.Source) *mcp.Catalog {
	t.Helper()
	cat, err := src.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func union(t *testing.T, parts ...*part) mcp.Source {
	t.Helper()
	src, err := compose.Union(t.Context(), named(parts...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func named(parts ...*part) (list []compose.Named) {
	for _, p := range parts {
		list = append(list, compose.Named{Name: p.name, Source: p})
	}
	return list
}

func TestUnionNamesTools(t *testing.T) {
	long := strings.Repeat("n", 62)
	tests := []struct {
		name string
		a, b []string
		want []string
	}{
		{"distinct names stay", []string{"one", "two"}, []string{"three"}, []string{"one", "two", "three"}},
		{"both owners of a name get their prefix", []string{"x", "one"}, []string{"x"}, []string{"a_x", "one", "b_b_x"}},
		{"a name used twice by one part is no collision", []string{"x", "x"}, []string{"y"}, []string{"x", "y"}},
		{"used twice by one part and once by another", []string{"x", "x"}, []string{"x"}, []string{"a_x", "b_b_x"}},
		{
			"64 characters are kept whole",
			[]string{long},
			[]string{"n" + long[1:]},
			[]string{"a_" + long, "b_b_" + long[:51] + "_8ba07776"},
		},
		{
			"names are cut that do not collide",
			[]string{strings.Repeat("x", 70)},
			[]string{"short"},
			[]string{strings.Repeat("x", 55) + "_c71bd109", "short"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := union(t,
				&part{name: "a", cat: &mcp.Catalog{Tools: tools(tt.a...)}},
				&part{name: "b.b", cat: &mcp.Catalog{Tools: tools(tt.b...)}})
			if diff := cmp.Diff(tt.want, toolNames(t, src)); diff != "" {
				t.Errorf("tool names (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnionNamesStayDistinct ensures that no part can take a name from another, or prevent the union,
// whatever names it chooses, and that names do not depend on the order of the parts.
func TestUnionNamesStayDistinct(t *testing.T) {
	type offer struct {
		part  string
		tools []string
	}
	for _, tt := range []struct {
		name   string
		offers []offer
		want   []string // sorted
	}{
		{
			"a plain name that is the prefixed one of another",
			[]offer{{"a", []string{"x"}}, {"b", []string{"x"}}, {"c", []string{"a_x"}}},
			[]string{"a_x", "b_x", "c_a_x"},
		},
		{
			"a part that takes both names of another",
			[]offer{{"victim", []string{"t"}}, {"evil", []string{"t", "victim_t", "evil_t", "evil_victim_t"}}},
			[]string{"evil_evil_t", "evil_evil_victim_t", "evil_t", "evil_victim_t", "victim_t"},
		},
		{
			"parts whose names begin with each other",
			[]offer{{"a", []string{"b_c", "c"}}, {"a_b", []string{"c", "b_c"}}},
			[]string{"a_b_b_c", "a_b_c_0c1d18f5", "a_b_c_662f0bbb", "a_c"},
		},
		{
			"a name with the hash of another",
			[]offer{{"a", []string{"b_c", "c"}}, {"a_b", []string{"c", "b_c"}},
				{"evil", []string{"a_b_c_0c1d18f5", "a_b_c"}}},
			[]string{"a_b_b_c", "a_b_c_0c1d18f5", "a_b_c_662f0bbb", "a_c", "evil_a_b_c", "evil_a_b_c_0c1d18f5"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before []string
			for _, reversed := range []bool{false, true} {
				offers := slices.Clone(tt.offers)
				if reversed {
					slices.Reverse(offers)
				}
				var parts []*part
				for _, o := range offers {
					parts = append(parts, &part{name: o.part, cat: &mcp.Catalog{Tools: tools(o.tools...)}})
				}
				got := toolNames(t, union(t, parts...))
				slices.Sort(got)
				if len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("tool names %q are not distinct", got)
				}
				if tt.want != nil && !slices.Equal(got, tt.want) || before != nil && !slices.Equal(got, before) {
					t.Errorf("reversed %t: tool names %q, want %q", reversed, got, append(tt.want, before...))
				}
				before = got
			}
		})
	}
}

func TestUnionRefusesWhatItCannotName(t *testing.T) {
	with := func(name string, names ...string) *part {
		return &part{name: name, cat: &mcp.Catalog{Tools: tools(names...)}}
	}
	tests := []struct {
		name  string
		parts []*part
		want  string
	}{
		{"no source", nil, "no sources"},
		{"an empty name", []*part{with("")}, "distinct"},
		{"two of one name", []*part{with("a"), with("a")}, `"a"`},
		{"a part that fails", []*part{with("a"), {name: "b", err: errors.New("gone")}}, "b: gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := compose.Union(t.Context(), named(tt.parts...), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Union: error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestUnionOfIncompleteParts guards that what a part lacks is lacking in the union, by its name.
func TestUnionOfIncompleteParts(t *testing.T) {
	down := []mcp.Missing{{List: "prompts/list", Why: "prompts/list: database down"}}
	src, err := compose.Union(t.Context(), named(
		&part{name: "a", cat: &mcp.Catalog{Tools: tools("x")}},
		&part{name: "b", cat: &mcp.Catalog{Tools: tools("y"), Missing: down}},
	), nil)
	if err != nil {
		t.Fatal(err)
	}
	cat, err := src.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const want = "the server does not return all of its lists: b: prompts/list: database down"
	if got := cat.Incomplete(); got == nil || got.Error() != want {
		t.Errorf("Incomplete = %v, want %s", got, want)
	}
	if got := cat.Copy().Incomplete(); got == nil {
		t.Error("a copy is complete")
	}
}

func TestUnionPrefixes(t *testing.T) {
	a, b := named(&part{name: "a", cat: &mcp.Catalog{Tools: tools("x", "one")}}, &part{
		name: "b",
		cat:  &mcp.Catalog{Tools: tools("x")},
	}), named(&part{name: "a", cat: &mcp.Catalog{Tools: tools("x")}})
	always, err := compose.Union(t.Context(), a, &compose.UnionOptions{Prefix: compose.PrefixAlways})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a_x", "a_one", "b_x"}, toolNames(t, always)); diff != "" {
		t.Error(diff)
	}
	single, err := compose.Union(t.Context(), b, &compose.UnionOptions{Prefix: compose.PrefixAlways})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a_x"}, toolNames(t, single)); diff != "" {
		t.Error(diff)
	}
	_, err = compose.Union(t.Context(), a, &compose.UnionOptions{Prefix: compose.PrefixNever})
	if err == nil || !strings.Contains(err.Error(), `tool "x" of "a" and tool "x" of "b"`) {
		t.Errorf("got %v, want both owners named", err)
	}
}

// TestUnionCollidesLater: when two sources begin to collide, the union keeps serving
// their previous offer, and all other sources.
func TestUnionCollidesLater(t *testing.T) {
	a, b := &part{name: "a", cat: &mcp.Catalog{Tools: tools("x")}}, &part{name: "b", cat: &mcp.Catalog{Tools: tools("y")}}
	var log strings.Builder
	opts := &compose.UnionOptions{
		Prefix:   compose.PrefixNever,
		KeepLast: true,
		Logger:   slog.New(slog.NewJSONHandler(&log, nil)),
	}
	src, err := compose.Union(t.Context(), named(a, b), opts)
	if err != nil {
		t.Fatal(err)
	}
	b.offer(&mcp.Catalog{Tools: tools("x", "y")})
	for range 2 {
		if diff := cmp.Diff([]string{"x", "y"}, toolNames(t, src)); diff != "" {
			t.Error(diff)
		}
	}
	var logged struct{ Error string }
	if err := json.Unmarshal([]byte(log.String()), &logged); err != nil { // of several lines, too
		t.Error(err)
	}
	if want := `tool "x" of "a" and tool "x" of "b" would both be shown as "x"`; logged.Error != want {
		t.Errorf("logged %q, want %q", logged.Error, want)
	}
	b.offer(&mcp.Catalog{Tools: tools("z")})
	if diff := cmp.Diff([]string{"x", "z"}, toolNames(t, src)); diff != "" {
		t.Error(diff)
	}
}

func TestUnionOfOneIsThatOne(t *testing.T) {
	p := &part{name: "a", cat: &mcp.Catalog{}}
	if got := union(t, p); got != mcp.Source(p) {
		t.Errorf("Union of one source = %T, want the source itself", got)
	}
}

func TestUnionKeepsTheBytesOfDefinitions(t *testing.T) {
	raw := json.RawMessage(`{"x":1.0e2,"name":"a","inputSchema":{"name":"kept"},"_meta":{"n":9007199254740993}}`)
	a := &part{name: "p", cat: &mcp.Catalog{Tools: []mcp.Tool{{Name: "a", Raw: raw}}}}
	b := &part{name: "q", cat: &mcp.Catalog{Tools: []mcp.Tool{{Name: "a"}, {Name: "alone", Raw: raw}}}}
	cat := catalog(t, union(t, a, b))
	want := strings.Replace(string(raw), `"name":"a"`, `"name":"p_a"`, 1)
	if got := string(cat.Tool("p_a").Raw); got != want {
		t.Errorf("renamed definition = %s, want %s", got, want)
	}
	if got := string(cat.Tool("alone").Raw); got != string(raw) {
		t.Errorf("definition that keeps its name = %s, want %s", got, raw)
	}
	if got := string(a.cat.Tools[0].Raw); got != string(raw) {
		t.Errorf("the part's own definition was changed to %s", got)
	}
}

func TestUnionCallsTheOwner(t *testing.T) {
	src := union(t,
		&part{name: "a", cat: &mcp.Catalog{Tools: tools("x", "only")}},
		&part{name: "b", cat: &mcp.Catalog{Tools: tools("x")}})
	tests := []struct{ call, want string }{
		{"a_x", `a:x{"k":1}`},
		{"b_x", `b:x{"k":1}`},
		{"only", `a:only{"k":1}`},
		{"x", `unknown tool "x"`},
		{"b_only", `unknown tool "b_only"`},
	}
	for _, tt := range tests {
		t.Run(tt.call, func(t *testing.T) {
			params := &mcp.CallToolParams{Name: tt.call, Arguments: json.RawMessage(`{"k":1}`)}
			result, err := src.CallTool(t.Context(), params)
			got := fmt.Sprint(err)
			if err == nil {
				got = result.Content[0].Text
			}
			if got != tt.want {
				t.Errorf("CallTool(%q) = %q, want %q", tt.call, got, tt.want)
			}
			if params.Name != tt.call {
				t.Errorf("the caller's params were changed to %q", params.Name)
			}
		})
	}
}

func TestUnionReads(t *testing.T) {
	parts := named(
		&part{name: "tools only", cat: &mcp.Catalog{Tools: tools("t")}, holds: map[string]bool{"x://secret": true}},
		&part{name: "a",
			cat:   &mcp.Catalog{Resources: []mcp.Resource{{Name: "s", URI: "x://a"}, {Name: "s", URI: "x://lost"}}},
			holds: map[string]bool{"x://a": true}},
		&part{name: "b", cat: &mcp.Catalog{Resources: []mcp.Resource{{Name: "s", URI: "x://b"}}},
			holds: map[string]bool{"x://b": true, "x://lost": true, "x://unlisted": true}})
	src, err := compose.Union(t.Context(), parts, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, uri, want string }{
		{"a listed URI", "x://b", "b"},
		{"a listed URI belongs to its owner alone", "x://lost", "a does not have it"},
		{"an unlisted URI is looked for in turn", "x://unlisted", "b"},
		{"a part that offers no resources is not asked", "x://secret", "a does not have it"},
		{"no part has it", "x://nowhere", "a does not have it"},
		{"another failure ends the search", "x://broken", "disk on fire"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := readText(t, src, tt.uri); got != tt.want {
				t.Errorf("ReadResource(%q) = %q, want %q", tt.uri, got, tt.want)
			}
		})
	}
}

// readText returns the text of a resource, or the error of reading it.
func readText(t *testing.T, src mcp.Source, uri string) string {
	t.Helper()
	result, err := src.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return err.Error()
	}
	return result.Contents[0].Text
}

func TestUnionPromptsAndCompletion(t *testing.T) {
	prompt := []mcp.Prompt{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}
	src := union(t,
		&part{name: "a", cat: &mcp.Catalog{Prompts: prompt, Completions: true}},
		&part{name: "b", cat: &mcp.Catalog{Prompts: prompt, Templates: []mcp.ResourceTemplate{{URITemplate: "x://{id}"}}}},
		&part{name: "c", cat: &mcp.Catalog{Templates: []mcp.ResourceTemplate{{URITemplate: "y://{id}"}}, Completions: true}})
	got, err := src.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "b_p", Arguments: map[string]string{"a": "v"}})
	if err != nil || got.Description != "b:p:v" {
		t.Errorf("GetPrompt(b_p) = %+v, %v, want b:p:v", got, err)
	}
	if _, err := src.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"}); err == nil {
		t.Error("GetPrompt(p) answers, though only a_p and b_p are shown")
	}
	if raw := string(catalog(t, src).Prompt("b_p").Raw); raw != `{"name":"b_p"}` {
		t.Errorf("renamed prompt = %s", raw)
	}
	tests := []struct {
		name   string
		params mcp.CompleteParams
		want   string
	}{
		{"prompt of the owner, in its own name", mcp.CompleteParams{Prompt: "a_p", Value: "v"}, "[a p v]"},
		{"owner without completions", mcp.CompleteParams{Prompt: "b_p"}, "[]"},
		{"template", mcp.CompleteParams{URITemplate: "y://{id}", Value: "v"}, "[c y://{id} v]"},
		{"unknown template", mcp.CompleteParams{URITemplate: "z"}, `unknown resource template "z"`},
		{"unknown prompt", mcp.CompleteParams{Prompt: "p"}, `unknown prompt "p"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			result, err := src.Complete(t.Context(), &tt.params)
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(result.Completion.Values)
			}
			if got != tt.want {
				t.Errorf("Complete = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUnionKeepsItsCatalogUntilAPartChanges(t *testing.T) {
	a := &part{name: "a", cat: &mcp.Catalog{Tools: tools("x")}}
	b := &part{name: "b", cat: &mcp.Catalog{Tools: tools("y")}}
	src := union(t, a, b)
	first := catalog(t, src)
	if second := catalog(t, src); second != first {
		t.Error("the joined catalog is a new one though no part changed")
	}
	if n := testing.AllocsPerRun(100, func() { catalog(t, src) }); n > 0 {
		t.Errorf("asking for an unchanged catalog allocates %v times, want 0", n)
	}
	b.offer(&mcp.Catalog{Tools: tools("x")})
	if diff := cmp.Diff([]string{"a_x", "b_x"}, toolNames(t, src)); diff != "" {
		t.Errorf("tool names after a change (-want +got):\n%s", diff)
	}
}

func TestUnionMakesOneCatalogForAll(t *testing.T) {
	a := &part{name: "a", cat: &mcp.Catalog{Tools: tools("x")}}
	b := &part{name: "b", cat: &mcp.Catalog{Tools: tools("y")}}
	src := union(t, a, b)
	for range 100 {
		b.offer(&mcp.Catalog{Tools: tools("y")})
		var got [4]*mcp.Catalog
		var callers sync.WaitGroup
		for i := range got {
			callers.Go(func() { got[i], _ = src.Catalog(t.Context()) })
		}
		callers.Wait()
		if got != [4]*mcp.Catalog{got[0], got[0], got[0], got[0]} {
			t.Fatal("callers at the same time got different catalogs of the same parts")
		}
	}
}

func TestUnionJoinsSettings(t *testing.T) {
	a := &mcp.Catalog{
		Server: mcp.Implementation{Name: "one", Version: "1"}, Instructions: "be kind", PageSize: 50,
		Extensions: json.RawMessage(`{"e":{"v":1},"f":{}}`),
		Cache:      mcp.CacheHint{TTL: time.Hour, Public: true}, Logging: true,
	}
	b := &mcp.Catalog{
		Server: mcp.Implementation{Name: "two", Version: "2"}, Instructions: "be brief", PageSize: 20,
		Extensions: json.RawMessage(`{"e":{"v":2},"g":1.0e2}`),
		Cache:      mcp.CacheHint{TTL: time.Minute, Public: true}, Completions: true,
	}
	cat := catalog(t, union(t, &part{name: "a", cat: a}, &part{name: "b", cat: b}))
	got := fmt.Sprintf("%v %q %d %s %v %t %t",
		cat.Server, cat.Instructions, cat.PageSize, cat.Extensions, cat.Cache, cat.Completions, cat.Logging)
	want := fmt.Sprintf("%v %q %d %s %v %t %t",
		mcp.Implementation{Name: "one+two", Version: "1+2"}, "a: be kind\n\nb: be brief", 20,
		`{"e":{"v":1},"f":{},"g":1.0e2}`, mcp.CacheHint{TTL: time.Minute, Public: true}, true, true)
	if got != want {
		t.Errorf("joined settings\n got %s\nwant %s", got, want)
	}
}

// TestUnionForgetsNoField sets every field of a catalog in turn, to catch fields that are
// added to mcp.Catalog and missing from unions.
func TestUnionForgetsNoField(t *testing.T) {
	fields := reflect.TypeFor[mcp.Catalog]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if !f.IsExported() {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			offer := func() *mcp.Catalog {
				cat := new(mcp.Catalog)
				switch v := reflect.ValueOf(cat).Elem().Field(i); v.Kind() {
				case reflect.Bool:
					v.SetBool(true)
				case reflect.String:
					v.SetString("x")
				case reflect.Int:
					v.SetInt(1)
				case reflect.Map:
					v.Set(reflect.ValueOf(map[string]string{"gone": "why"}))
				case reflect.Slice:
					v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				case reflect.Struct:
					v.Set(reflect.ValueOf(map[string]any{
						"Server": mcp.Implementation{Name: "n", Version: "1"},
						"Cache":  mcp.CacheHint{TTL: time.Second, Public: true},
					}[f.Name]))
				}
				return cat
			}
			got := catalog(t, union(t, &part{name: "a", cat: offer()}, &part{name: "b", cat: offer()}))
			if reflect.ValueOf(got).Elem().Field(i).IsZero() {
				t.Errorf("%s is lost", f.Name)
			}
		})
	}
}

// extended is a part with a custom method.
type extended struct{ *part }

func (e extended) ServeMethod(_ context.Context, method string, _ json.RawMessage) (*mcp.MethodResult, error) {
	switch method {
	case e.name + "/do":
		return &mcp.MethodResult{}, nil
	case e.name + "/fail":
		return nil, errors.New("broken")
	}
	return nil, mcp.MethodNotFound(method)
}

func TestUnionServesTheMethodsOfItsParts(t *testing.T) {
	src, err := compose.Union(t.Context(), []compose.Named{
		{Name: "plain", Source: &part{name: "plain", cat: &mcp.Catalog{}}},
		{Name: "a", Source: extended{&part{name: "a", cat: &mcp.Catalog{}}}},
		{Name: "b", Source: extended{&part{name: "b", cat: &mcp.Catalog{}}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{"a/do": "", "b/do": "", "a/fail": "broken", "c/do": "not found"} {
		result, err := src.(mcp.Extender).ServeMethod(t.Context(), method, nil)
		if want == "" && (err != nil || result == nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ServeMethod(%s) = %v, %v, want error %q", method, result, err, want)
		}
	}
}

func TestUnionWatchesThePartsThatChange(t *testing.T) {
	plain := &part{name: "plain", cat: &mcp.Catalog{}}
	if _, ok := union(t, plain, &part{name: "b", cat: &mcp.Catalog{}}).(mcp.Watcher); ok {
		t.Error("a union of sources that never change is a Watcher")
	}
	w := watched{&part{name: "w", cat: &mcp.Catalog{}}}
	src, err := compose.Union(t.Context(), []compose.Named{{Name: "plain", Source: plain}, {Name: "w", Source: w}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []mcp.Change
	stop := src.(mcp.Watcher).Watch(func(c mcp.Change) { got = append(got, c) })
	w.tell(mcp.Change{Tools: true})
	if want := []mcp.Change{{Tools: true}}; !slices.Equal(got, want) {
		t.Errorf("changes = %+v, want %+v", got, want)
	}
	if stop(); len(w.watchers) != 0 {
		t.Errorf("%d watchers are left after stop", len(w.watchers))
	}
}

func TestUnionClosesEveryPart(t *testing.T) {
	a := &part{name: "a", cat: &mcp.Catalog{}, closed: errors.New("stuck")}
	b := &part{name: "b", cat: &mcp.Catalog{}, closed: errors.New("lost")}
	err := union(t, a, b).(interface{ Close() error }).Close()
	if !errors.Is(err, a.closed) || !errors.Is(err, b.closed) {
		t.Errorf("Close = %v, want the errors of both parts", err)
	}
}

// TestUnionOfContinuingSources guards what a union says about sessions of other servers: it loses what one of
// its parts would lose, and does not continue them if one part does not.
func TestUnionOfContinuingSources(t *testing.T) {
	end, restart, stateless := &mcp.Catalog{}, &mcp.Catalog{Restartable: true}, &mcp.Catalog{Stateless: true}
	for name, tt := range map[string]struct {
		parts                  []*mcp.Catalog
		stateless, restartable bool
	}{
		"stateless":             {[]*mcp.Catalog{stateless, stateless}, true, true},
		"restart and stateless": {[]*mcp.Catalog{restart, stateless}, false, true},
		"one of them ends":      {[]*mcp.Catalog{restart, end, stateless}, false, false},
	} {
		var parts []*part
		for i := range tt.parts {
			parts = append(parts, &part{name: string(rune('a' + i)), cat: tt.parts[i].Copy()})
		}
		cat, err := union(t, parts...).Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if cat.Stateless != tt.stateless || cat.Restartable != tt.restartable {
			t.Errorf("%s: Stateless %v, Restartable %v, want %v, %v", name, cat.Stateless, cat.Restartable,
				tt.stateless, tt.restartable)
		}
	}
}

// TestUnionBoundsTheWorkOfNotifications guards that a part which reports changes in a loop cannot occupy a core by
// the comparison of their URIs with templates: each notification had a budget of its own.
func TestUnionBoundsTheWorkOfNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &mcp.Catalog{Templates: []mcp.ResourceTemplate{{URITemplate: "own:{id}", Name: "own"}}}
		for i := range 2000 {
			busy.Templates = append(busy.Templates, mcp.ResourceTemplate{URITemplate: fmt.Sprintf("x:{a}/%d", i), Name: "x"})
		}
		w := watched{&part{name: "w", cat: busy}}
		other := &part{name: "other", cat: &mcp.Catalog{Resources: []mcp.Resource{{URI: "other:1", Name: "other"}}}}
		src, err := compose.Union(t.Context(), []compose.Named{{Name: "w", Source: w}, {Name: "other", Source: other}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		catalog(t, src)
		var got []string
		defer src.(mcp.Watcher).Watch(func(c mcp.Change) { got = append(got, c.URI) })()
		reports := func() bool {
			got = nil
			w.tell(mcp.Change{URI: "own:1"})
			return slices.Contains(got, "own:1")
		}
		if !reports() {
			t.Fatal("a change is not reported")
		}
		for range 200 { // 32 MiB of comparisons
			w.tell(mcp.Change{URI: "x:none"})
		}
		if reports() {
			t.Error("200 notifications were compared with 2,000 templates at once")
		}
		time.Sleep(10 * time.Second)
		if !reports() {
			t.Error("a change is not reported after the flood")
		}
	})
}
