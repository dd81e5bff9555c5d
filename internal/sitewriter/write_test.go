package sitewriter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/naivesite"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// city is a tool with one argument, route one with two.
var (
	city = mcp.Tool{
		Name:        "city",
		Description: "About a city.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}
	route = mcp.Tool{
		Name:        "route",
		Description: "From a to b.",
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`),
	}
)

func answers(list ...*sitewriter.Answer) iter.Seq2[*sitewriter.Answer, error] {
	return func(yield func(*sitewriter.Answer, error) bool) {
		for _, a := range list {
			if !yield(a, nil) {
				return
			}
		}
	}
}

func site(list ...*sitewriter.Answer) *sitewriter.Site {
	return &sitewriter.Site{
		Server: mcp.Implementation{Name: "test", Version: "1.0.0"},
		Tools:  []mcp.Tool{city, route},
		Prompts: []mcp.Prompt{{
			Name:        "greet",
			Description: "Greets.",
			Arguments:   []mcp.PromptArgument{{Name: "who", Description: "Whom.", Required: true}},
		}},
		Answers: answers(list...),
	}
}

func named(name, text string) *sitewriter.Answer {
	return sitewriter.Text("city", map[string]string{"name": name}, text)
}

// written returns the files of a site in memory, without the index.
func written(t *testing.T, s *sitewriter.Site, opts *sitewriter.Options) (*sitewriter.Memory, *sitewriter.Result) {
	t.Helper()
	m := sitewriter.NewMemory()
	r, err := sitewriter.Write(context.Background(), s, m, opts)
	if err != nil {
		t.Fatalf("%v: %v", err, ruletest.Findings(&r.Report))
	}
	return m, r
}

func TestLayout(t *testing.T) {
	s := site(
		named("São Paulo", "a city"),
		sitewriter.Text("route", json.RawMessage(`{"b":7,"a":"x/y"}`), "a way"),
		sitewriter.TextResource("doc://Guide/Über uns", "text/plain", "us"),
		&sitewriter.Answer{
			Prompt:    "greet",
			Arguments: json.RawMessage(`{"who":"Ann"}`),
			Result:    json.RawMessage(`{"messages":[]}`),
		},
		&sitewriter.Answer{Completion: &sitewriter.Completion{Prompt: "greet", Argument: "who",
			Values: []string{"Ann"}}},
		&sitewriter.Answer{Path: ".staticmcp/search/terms.bin", Data: []byte{0, 1}},
	)
	s.Resources = func(yield func(*mcp.Resource, error) bool) {
		yield(&mcp.Resource{URI: "doc://Guide/Über uns", Name: "About"}, nil)
	}
	m, r := written(t, s, nil)
	want := ".nojekyll\n.staticmcp/index.json\n.staticmcp/search/terms.bin\ncompletions/prompts/greet/who.json\n" +
		"mcp.json\nprompts/greet/ann.json\nresources/guide/uber_uns.json\ntools/city/sao_paulo.json\ntools/route/x_y/7.json"
	if diff := cmp.Diff(want, m.String()); diff != "" {
		t.Error(diff)
	}
	if r.Answers != 6 || r.Created != 9 || r.Files != 9 {
		t.Errorf("got %d answers, %d created of %d", r.Answers, r.Created, r.Files)
	}
	got, _ := m.ReadFile("tools/city/sao_paulo.json")
	if want := "{\n  \"content\": [\n    {\n      \"type\": \"text\",\n      \"text\": \"a city\"\n    }\n  ]\n" +
		"}\n"; string(
		got) != want {
		t.Errorf("got %s", got)
	}
	naive := naivesite.Site{FS: m, Encode: staticmcp.EncodeName}
	if text, mimeType, err := naive.Resource("doc://Guide/Über uns"); text != "us" ||
		mimeType != "text/plain" ||
		err != nil {
		t.Errorf("got %q %q %v", text, mimeType, err)
	}
	if _, err := naive.Manifest(); err != nil {
		t.Error(err)
	}
}

// TestErrorNamesFolder: the paths in errors are below the folder that is written.
func TestErrorNamesFolder(t *testing.T) {
	for _, obstacle := range []string{".staticmcp", "mcp.json/x", "tools"} {
		dir := filepath.Join(t.TempDir(), "public")
		name := filepath.Join(dir, filepath.FromSlash(obstacle))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		opts := &sitewriter.Options{Adopt: true}
		_, err := sitewriter.Write(t.Context(), site(named("Rome", "Rome")), sitewriter.Dir(dir), opts)
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want an error that names %s", obstacle, err, dir)
		}
	}
}

func TestCollisions(t *testing.T) {
	ctx := context.Background()
	list := []*sitewriter.Answer{
		named("東京", "Tokyo"), named("北京", "Beijing"), named("Paris", "Paris"), named("paris", "small"),
		sitewriter.Text("route", json.RawMessage(`{"a":"é","b":1}`), "one"),
		sitewriter.Text("route", json.RawMessage(`{"a":"e","b":1}`), "two"),
		sitewriter.TextResource("a://x", "text/plain", "ax"), sitewriter.TextResource("b://x", "text/plain", "bx"),
		sitewriter.TextResource("b:///x", "text/plain", "b/x"),
		{
			Prompt:    "greet",
			Arguments: json.RawMessage(`{"who":"東"}`),
			Result:    json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"east"}}]}`),
		},
		{
			Prompt:    "greet",
			Arguments: json.RawMessage(`{"who":"西"}`),
			Result:    json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"west"}}]}`),
		},
	}
	m, r := written(t, site(list...), nil)
	opened, err := staticmcp.Open(ctx, m, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	calls := []struct{ tool, arguments, want string }{
		{"city", `{"name":"東京"}`, "Tokyo"}, {"city", `{"name":"北京"}`, "Beijing"},
		{"city", `{"name":"Paris"}`, "Paris"}, {"city", `{"name":"paris"}`, "small"},
		{"city", `{"name":"___97774e254b5a7bb2"}`, "Tokyo"},
		{"city", `{"name":"上海"}`, "2 answers share this name"},
		{"route", `{"a":"é","b":1}`, "one"}, {"route", `{"a":"e","b":1}`, "two"},
	}
	for _, c := range calls {
		result, err := opened.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.arguments)})
		got, _ := json.Marshal(result)
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s %s: got %s %v, want %s", c.tool, c.arguments, got, err, c.want)
		}
	}
	for uri, want := range map[string]string{"a://x": "ax", "b://x": "bx", "b:///x": "b/x"} {
		result, err := opened.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(string(result.Raw.Bytes()), fmt.Sprintf(`"text":%q`, want)) {
			t.Errorf("%s: got %v %v, want %s", uri, result, err, want)
		}
	}
	for who, want := range map[string]string{"東": "east", "西": "west"} {
		result, err := opened.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": who}})
		if err != nil || !strings.Contains(string(result.Raw.Bytes()), want) {
			t.Errorf("%s: got %v %v, want %s", who, result, err, want)
		}
	}
	if r.Report.Summary() != "5 notes" {
		t.Errorf("got %s", r.Report.Summary())
	}
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	other, _ := written(t, site(reversed...), nil)
	if diff := cmp.Diff(contents(t, m), contents(t, other)); diff != "" {
		t.Errorf("the order of answers matters: %s", diff)
	}
	refused, err := sitewriter.Write(ctx, site(list...), sitewriter.NewMemory(),
		&sitewriter.Options{Collisions: sitewriter.Refuse})
	var invalid *sitewriter.InvalidError
	if !errors.As(err, &invalid) || invalid.Errors != 5 {
		t.Errorf("got %v", err)
	}
	for _, f := range ruletest.Findings(&refused.Report) {
		if f.Rule.ID != "site/collision" {
			t.Errorf("got %v, want collisions only", f)
		}
	}
}

// TestSameAnswer stores one file for calls that share a name and an answer.
func TestSameAnswer(t *testing.T) {
	m, r := written(t, site(named("paris", "same"), named("Paris", "same"), named("PARIS", "same")), nil)
	if want := ".nojekyll\n.staticmcp/index.json\nmcp.json\ntools/city/paris.json"; m.String() != want ||
		len(ruletest.Findings(&r.Report)) > 0 {
		t.Errorf("got %s, %v", m, ruletest.Findings(&r.Report))
	}
	if index, _ := m.ReadFile(".staticmcp/index.json"); !strings.Contains(string(index), `{"name":"PARIS"}`) {
		t.Errorf("got %s", index)
	}
}

// contents returns all files by name.
func contents(t *testing.T, m *sitewriter.Memory) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for name := range strings.SplitSeq(m.String(), "\n") {
		data, err := m.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

func TestRefused(t *testing.T) {
	tests := map[string]struct {
		list []*sitewriter.Answer
		rule string
	}{
		"unknown tool": {[]*sitewriter.Answer{sitewriter.Text("nope", nil, "")}, "site/unknown-tool"},
		"unknown argument": {[]*sitewriter.Answer{sitewriter.Text("city", map[string]string{"nam": "x"}, "")},
			"site/arguments"},
		"not by the schema": {[]*sitewriter.Answer{sitewriter.Text("city", map[string]int{"name": 1}, "")},
			"site/arguments"},
		"arguments not encoded": {[]*sitewriter.Answer{sitewriter.Text("city", func() {}, "")}, "site/arguments"},
		"nothing to name by":    {[]*sitewriter.Answer{named("\u0301", "")}, "site/unnameable"},
		"no path for a URI": {[]*sitewriter.Answer{sitewriter.TextResource("x://", "text/plain", "")},
			"site/unnameable"},
		"two answers": {[]*sitewriter.Answer{named("x", "1"), named("x", "2")}, "site/duplicate-answer"},
		"no content": {
			[]*sitewriter.Answer{{Tool: "city", Arguments: json.RawMessage(`{"name":"x"}`), Result: json.RawMessage(`{}`)}},
			"site/result",
		},
		"another URI": {
			[]*sitewriter.Answer{{URI: "a://b", Result: json.RawMessage(`{"uri":"a://c","text":""}`)}},
			"site/result",
		},
		"path that leads out": {[]*sitewriter.Answer{{Path: "../x", Data: nil}}, "site/path"},
		"path of an answer":   {[]*sitewriter.Answer{{Path: "tools/x.json", Data: nil}}, "site/path"},
		"large":               {[]*sitewriter.Answer{named("x", strings.Repeat("x", 2000))}, "site/size"},
		"empty":               {[]*sitewriter.Answer{{}}, "site/empty-answer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := sitewriter.NewMemory()
			r, err := sitewriter.Write(context.Background(), site(test.list...), m, &sitewriter.Options{MaxAnswerBytes: 1000})
			var invalid *sitewriter.InvalidError
			if !errors.As(err, &invalid) || m.String() != "" {
				t.Fatalf("got %v and %q", err, m)
			}
			if got := ruletest.Findings(&r.Report)[0].Rule.ID; got != test.rule {
				t.Errorf("got %v, want %s", ruletest.Findings(&r.Report), test.rule)
			}
			if _, err := sitewriter.Write(context.Background(), site(test.list...), m, &sitewriter.Options{
				MaxAnswerBytes: 1000,
				Lenient:        true,
			}); err != nil || m.String() == "" {
				t.Errorf("lenient: %v", err)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "new", "site")
	write := func(opts *sitewriter.Options, list ...*sitewriter.Answer) *sitewriter.Result {
		t.Helper()
		r, err := sitewriter.Write(ctx, site(list...), sitewriter.Dir(dir), opts)
		if err != nil {
			t.Fatalf("%v: %v", err, ruletest.Findings(&r.Report))
		}
		return r
	}
	changes := func(r *sitewriter.Result) (list []string) {
		for _, c := range r.Changes {
			if !strings.HasPrefix(c.Path, ".staticmcp/") {
				list = append(list, string(c.Action)+" "+c.Path)
			}
		}
		return list
	}
	if r := write(&sitewriter.Options{DryRun: true}, named("a", "1")); r.Created != 4 || !r.Stale() {
		t.Errorf("dry run: %+v", r)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a dry run made the folder")
	}
	write(nil, named("a", "1"), named("b", "1"), named("c", "1"))
	os.WriteFile(filepath.Join(dir, "README.md"), []byte("mine"), 0o644)
	r := write(nil, named("a", "2"), named("b", "1"), named("d", "1"))
	want := []string{"update tools/city/a.json", "create tools/city/d.json", "delete tools/city/c.json"}
	if diff := cmp.Diff(want, changes(r)); diff != "" {
		t.Error(diff)
	}
	if r := write(nil, named("d", "1"), named("b", "1"), named("a", "2")); r.Stale() || r.Unchanged != 6 {
		t.Errorf("again: %+v", r)
	}
	os.WriteFile(filepath.Join(dir, "tools/city/d.json"), []byte("mine"), 0o644)
	if r := write(nil, named("b", "1")); !slices.Equal(r.Kept, []string{"tools/city/d.json"}) {
		t.Errorf("got %+v", r)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tools/city/*")); len(left) != 2 {
		t.Errorf("got %v", left)
	}
	var foreign *sitewriter.ForeignError
	if _, err := sitewriter.Write(ctx, site(named("d", "1")), sitewriter.Dir(dir), nil); !errors.As(err, &foreign) {
		t.Errorf("a file in the way: %v", err)
	}
	write(&sitewriter.Options{Adopt: true}, named("d", "1"))
	if data, err := os.ReadFile(filepath.Join(dir, "README.md")); string(data) != "mine" {
		t.Errorf("the README: %v", err)
	}
	if r := write(&sitewriter.Options{DryRun: true}, named("d", "2")); !slices.Equal(changes(r),
		[]string{"update tools/city/d.json"}) {
		t.Errorf("got %v", changes(r))
	}
}

func TestForeignSite(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "mcp.json"), []byte("{}"), 0o644)
	var foreign *sitewriter.ForeignError
	if _, err := sitewriter.Write(context.Background(), site(), sitewriter.Dir(dir), nil); !errors.As(err, &foreign) {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "mcp.json")); string(data) != "{}" {
		t.Errorf("got %s", data)
	}
	if _, err := sitewriter.Write(context.Background(), site(), sitewriter.Dir(dir),
		&sitewriter.Options{Adopt: true}); err != nil {
		t.Error(err)
	}
}

// TestCutShort interrupts a write: the previous site stays usable, and the next write
// leaves nothing behind.
func TestCutShort(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := sitewriter.Write(ctx, site(named("a", "1"), named("z", "1")), sitewriter.Dir(dir), nil); err != nil {
		t.Fatal(err)
	}
	var many []*sitewriter.Answer
	for i := range 200 {
		many = append(many, named(fmt.Sprintf("b%03d", i), "1"))
	}
	stop := &sitewriter.Options{Progress: func(p sitewriter.Progress) {
		if p.Stage == "writing" {
			cancel()
		}
	}}
	if _, err := sitewriter.Write(ctx, site(many...), sitewriter.Dir(dir), stop); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	half, _ := filepath.Glob(filepath.Join(dir, "tools/city/*.json"))
	if len(half) < 10 || len(half) > 150 {
		t.Errorf("%d files are there", len(half))
	}
	opened, err := staticmcp.OpenDir(context.Background(), dir, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if result, err := opened.CallTool(context.Background(), &mcp.CallToolParams{
		Name:      "city",
		Arguments: json.RawMessage(`{"name":"z"}`),
	}); err != nil || result.IsError {
		t.Errorf("the site before: %v %v", result, err)
	}
	// The remains of a killed program.
	os.WriteFile(filepath.Join(dir, "tools/city/.slipway-tmp"), []byte("half"), 0o644)
	if _, err := sitewriter.Write(context.Background(), site(named("c", "1")), sitewriter.Dir(dir), nil); err != nil {
		t.Fatal(err)
	}
	var left []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() {
			left = append(left, filepath.ToSlash(rel))
		}
		return err
	})
	if diff := cmp.Diff([]string{".nojekyll", ".staticmcp/index.json", "mcp.json", "tools/city/c.json"},
		left); diff != "" {
		t.Error(diff)
	}
}

func TestLongNames(t *testing.T) {
	long := strings.Repeat("A", 250)
	m, _ := written(t, site(named(long, "1")), nil)
	prefix := "tools/city/" + strings.Repeat("a", 183) + "_"
	for _, name := range []string{prefix + "6caae0a338faa11c.json", prefix + "00000000692b3860.json"} {
		if _, err := m.Stat(name); err != nil {
			t.Error(err)
		}
	}
	m, _ = written(t, site(named(long, "1")), &sitewriter.Options{NoAliases: true})
	if strings.Contains(m.String(), "692b3860") {
		t.Error("there is an alias")
	}
}

func TestInterchangeable(t *testing.T) {
	pair := mcp.Tool{
		Name:        "pair",
		Description: "d",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{},"y":{}},"required":["x","y"]}`),
	}
	s := site(sitewriter.Text("pair", map[string]string{"x": "a", "y": "b"}, "ab"),
		sitewriter.Text("pair", map[string]string{"x": "b", "y": "c"}, "bc"),
		sitewriter.Text("pair", map[string]string{"x": "c", "y": "b"}, "cb"))
	s.Tools, s.Interchangeable = append(s.Tools, pair), []string{"pair"}
	m, _ := written(t, s, nil)
	for name, want := range map[string]string{"a/b": "ab", "b/a": "ab", "b/c": "bc", "c/b": "cb"} {
		if data, _ := m.ReadFile("tools/pair/" + name + ".json"); !strings.Contains(string(data), `"`+want+`"`) {
			t.Errorf("%s: got %s, want %s", name, data, want)
		}
	}
}

// TestShards writes more files than one index lists.
func TestShards(t *testing.T) {
	const many = staticmcp.IndexShardFiles + 100
	s := site()
	s.Answers = func(yield func(*sitewriter.Answer, error) bool) {
		for n := range many {
			if !yield(named(fmt.Sprint("N", n), "1"), nil) {
				return
			}
		}
	}
	m, _ := written(t, s, &sitewriter.Options{
		SpoolOptions: sitewriter.SpoolOptions{SpoolBytes: 1 << 20},
	})
	shards, err := m.ReadDir(".staticmcp/index")
	if err != nil || len(shards) < 5 {
		t.Fatalf("got %d shards, %v", len(shards), err)
	}
	opened, err := staticmcp.Open(context.Background(), m, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	questions, err := opened.Questions(context.Background())
	if err != nil || len(questions) != many {
		t.Errorf("got %d questions, %v", len(questions), err)
	}
	if string(questions[0].Arguments) != `{"name":"N0"}` {
		t.Errorf("got %s", questions[0].Arguments)
	}
}

func TestHostLimits(t *testing.T) {
	large := &sitewriter.Answer{Path: "extra.bin", Data: make([]byte, 25<<20+1)}
	for host, want := range map[sitewriter.Host]string{
		sitewriter.CloudflarePages: "1 error",
		sitewriter.GitHubPages:     "no findings",
		sitewriter.NoHost:          "no findings",
	} {
		r, err := sitewriter.Write(context.Background(), site(large), sitewriter.NewMemory(), &sitewriter.Options{Host: host})
		if got := r.Report.Summary(); got != want || (err == nil) != (want == "no findings") {
			t.Errorf("%q: got %s, %v, want %s", host, got, err, want)
		}
	}
	if _, err := sitewriter.Write(context.Background(), site(),
		sitewriter.NewMemory(), &sitewriter.Options{Host: "nowhere"}); err == nil {
		t.Error("an unknown host is no error")
	}
}

// TestCollisionsOfStructured: a tool with an outputSchema answers a shared name with an
// error, as clients reject any other result without structuredContent.
func TestCollisionsOfStructured(t *testing.T) {
	structured := city
	structured.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	s := site(
		sitewriter.Structured("city", map[string]string{"name": "東京"}, "Tokyo", json.RawMessage(`{"n":1}`)),
		sitewriter.Structured("city", map[string]string{"name": "北京"}, "Beijing", json.RawMessage(`{"n":2}`)),
	)
	s.Tools[0] = structured
	m, _ := written(t, s, nil)
	shared, err := fs.ReadFile(m, "tools/city/__.json")
	if err != nil || !strings.Contains(string(shared), `"isError": true`) {
		t.Errorf("got %s %v, want an error that lists the two", shared, err)
	}
	plain, _ := written(t, site(named("東京", "Tokyo"), named("北京", "Beijing")), nil)
	if shared, err := fs.ReadFile(plain, "tools/city/__.json"); err != nil || strings.Contains(string(shared), "isError") {
		t.Errorf("got %s %v, want an answer that lists the two", shared, err)
	}
}
