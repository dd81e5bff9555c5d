package freeze_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// TestRoundTrip freezes a served site and expects identical files, byte for byte.
func TestRoundTrip(t *testing.T) {
	ctx := context.Background()
	const original = "../../examples/http-reference"
	site, err := staticmcp.OpenDir(ctx, original, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	plan, err := freeze.NewPlan(ctx, site, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := sitewriter.NewMemory()
	report, err := freeze.Run(ctx, plan, m, nil)
	if err != nil || report.Failed > 0 {
		t.Fatalf("%v: %v", err, ruletest.Findings(&report.Report))
	}
	want, got := files(t, os.DirFS(original)), files(t, m)
	delete(want, "README.md")
	delete(got, ".staticmcp/freeze.json")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(got) < 700 {
		t.Errorf("only %d files", len(got))
	}
}

// TestRoundTripOfCollisions freezes a site with name collisions, and with files that are
// not answers.
func TestRoundTripOfCollisions(t *testing.T) {
	ctx := context.Background()
	tool := mcp.Tool{
		Name:        "city",
		Description: "d",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}
	original := sitewriter.NewMemory()
	opts := &sitewriter.Options{Precompress: []string{"gzip"}, Host: sitewriter.Netlify}
	_, err := sitewriter.Write(ctx, &sitewriter.Site{
		Server: mcp.Implementation{Name: "cities", Version: "1"},
		Tools:  []mcp.Tool{tool},
		Answers: func(yield func(*sitewriter.Answer, error) bool) {
			for _, name := range []string{"東京", "北京", "Rome", strings.Repeat("A", 250)} {
				yield(sitewriter.Text("city", map[string]string{"name": name}, name), nil)
			}
			yield(&sitewriter.Answer{Path: ".staticmcp/search/words", Data: []byte{0, 1, 2}}, nil)
			yield(sitewriter.TextResource("a://x", "text/plain", "1"), nil)
			yield(sitewriter.TextResource("b://x", "text/plain", "2"), nil)
		},
	}, original, opts)
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, original, opts)
}

// checkRoundTrip freezes a site with the options it was written with, compares the files, and returns the site.
func checkRoundTrip(t *testing.T, original *sitewriter.Memory, opts *sitewriter.Options) mcp.Source {
	t.Helper()
	site, err := staticmcp.Open(t.Context(), original, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	plan, err := freeze.NewPlan(t.Context(), site, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found := plan.Report.Findings(); len(found) > 0 {
		t.Errorf("findings %v", found)
	}
	again := sitewriter.NewMemory()
	if _, err := freeze.Run(t.Context(), plan, again, opts); err != nil {
		t.Fatal(err)
	}
	got := files(t, again)
	delete(got, ".staticmcp/freeze.json")
	if diff := cmp.Diff(files(t, original), got); diff != "" {
		t.Error(diff)
	}
	return site
}

// TestRoundTripOfSearch freezes a site of documents, whose search tool has an index and no
// stored answers.
func TestRoundTripOfSearch(t *testing.T) {
	ctx := t.Context()
	original := sitewriter.NewMemory()
	_, err := sitewriter.Write(ctx, &sitewriter.Site{
		Server: mcp.Implementation{Name: "handbook", Version: "1"},
		Tools: []mcp.Tool{{
			Name:        "find",
			Description: "d",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			Meta: json.RawMessage(
				`{"io.github.slipway-mcp/search":{"index":".staticmcp/search","argument":"query"}}`),
		}},
		Answers: func(yield func(*sitewriter.Answer, error) bool) {
			b := search.NewBuilder(&search.Options{Language: "en"}, func(name string, data []byte) error {
				yield(&sitewriter.Answer{Path: search.Dir + "/" + name, Data: data}, nil)
				return nil
			})
			err := b.Add(search.Page{ID: "install", Title: "Install", Sections: []search.Section{{Text: "Unpack the archive."}}})
			if err := errors.Join(err, b.Close()); err != nil {
				yield(nil, err)
			}
		},
	}, original, nil)
	if err != nil {
		t.Fatal(err)
	}
	site := checkRoundTrip(t, original, nil)
	plan, err := freeze.NewPlan(ctx, site, &freeze.Options{Skip: []string{"find"}})
	if err != nil {
		t.Fatal(err)
	}
	if !plan.Subjects[0].Skipped {
		t.Errorf("Skip is ignored: %+v", plan.Subjects)
	}
}

func files(t *testing.T, fsys fs.FS) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// shop is a source whose tools have all kinds of answers.
type shop struct {
	mcp.Unimplemented
	calls   atomic.Int64
	mu      sync.Mutex
	flaky   map[string]int // how many more times a call fails
	secret  string
	deleted []string
}

func (*shop) Catalog(context.Context) (*mcp.Catalog, error) {
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "shop", Version: "2.0.0"},
		Tools: []mcp.Tool{
			{
				Name:        "list_items",
				Description: "d",
				Annotations: read,
				InputSchema: json.RawMessage(
					`{"type":"object","properties":{"page":{"type":"integer","minimum":1,"maximum":2,"default":1},` +
						`"sort":{"enum":["name","price"]}}}`),
			},
			{
				Name:        "get_item",
				Description: "d",
				Annotations: read,
				InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`),
			},
			{Name: "now", Description: "d", Annotations: read, InputSchema: json.RawMessage(`{"type":"object"}`)},
			{
				Name:        "delete_item",
				Description: "d",
				InputSchema: json.RawMessage(
					`{"type":"object","properties":{"id":{"type":"string","enum":["a"]}},"required":["id"]}`),
			},
			{
				Name:        "unknown",
				Description: "d",
				Annotations: read,
				InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`),
			},
		},
		Resources: []mcp.Resource{{URI: "shop://about", Name: "About", Description: "d", MIMEType: "text/plain"}},
		Templates: []mcp.ResourceTemplate{{URITemplate: "item://{id}", Name: "Item"}},
		Prompts: []mcp.Prompt{
			{Name: "sell", Description: "d", Arguments: []mcp.PromptArgument{{Name: "what", Description: "d", Required: true}}},
			{Name: "compute", Description: "d",
				Arguments: []mcp.PromptArgument{{Name: "n", Description: "d", Required: true}}},
		},
		Completions: true,
	}, nil
}

func (s *shop) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	n := s.calls.Add(1)
	text := ""
	switch p.Name {
	case "list_items":
		page, _ := p.Arguments, n
		text = `{"items":[{"id":"a"},{"id":"b"}],"for":` + string(quoted(string(page))) + `}`
	case "get_item":
		id, _ := p.StringArgument("id")
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.flaky[id] > 0 {
			s.flaky[id]--
			return nil, errors.New("try again")
		}
		text = "item " + id + s.secret
	case "now":
		text = fmt.Sprintf("call %d", n)
	case "delete_item":
		id, _ := p.StringArgument("id")
		s.deleted = append(s.deleted, id)
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("gone")}, IsError: true}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

func quoted(s string) []byte { raw, _ := json.Marshal(s); return raw }

func (*shop) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{
		URI:      p.URI,
		MIMEType: "text/plain",
		Text:     "about " + p.URI,
	}}}, nil
}

func (*shop) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	text := "Sell " + p.Arguments["what"] + " now, " + p.Arguments["what"] + "!"
	if p.Name == "compute" {
		text = fmt.Sprint(len(p.Arguments["n"]))
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(text)}}}, nil
}

func (*shop) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if p.URITemplate != "" {
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{"a", "B"}}}, nil
	}
	return &mcp.CompleteResult{}, nil
}

func expansions(t *testing.T, list ...string) []freeze.Expansion {
	t.Helper()
	var all []freeze.Expansion
	for _, text := range list {
		r, err := freeze.ParseExpansion(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func frozen(t *testing.T, src mcp.Source, opts *freeze.Options) (*sitewriter.Memory, *freeze.Plan, *freeze.Report,
	error) {
	t.Helper()
	opts.Backoff = 1
	if opts.Repeat.After == 0 {
		opts.Repeat.After = -1
	}
	plan, err := freeze.NewPlan(context.Background(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	m := sitewriter.NewMemory()
	report, err := freeze.Run(context.Background(), plan, m, nil)
	return m, plan, report, err
}

func TestFreeze(t *testing.T) {
	src := &shop{flaky: map[string]int{"a": 2}}
	m, plan, report, err := frozen(t, src,
		&freeze.Options{Expand: expansions(t, "get_item.id=list_items:$.content[0].text.items[*].id")})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		".nojekyll", ".staticmcp/freeze.json", ".staticmcp/index.json", "completions/resources/_id_/id.json", "mcp.json",
		"prompts/sell.json", "resources/a.json", "resources/about.json", "resources/b.json",
		"tools/get_item/a.json", "tools/get_item/b.json",
		"tools/list_items.json", "tools/list_items/2.json", "tools/list_items/2/name.json",
		"tools/list_items/2/price.json",
		"tools/list_items/name.json", "tools/list_items/price.json", "tools/now.json",
	}, "\n")
	if diff := cmp.Diff(want, m.String()); diff != "" {
		t.Error(diff)
	}
	if report.Unstable != 1 || report.Failed != 1 || len(src.deleted) > 0 {
		t.Errorf("got %d unstable, %d failed, deleted %v: %v",
			report.Unstable, report.Failed, src.deleted, ruletest.Findings(&report.Report))
	}
	left := map[string]string{}
	for _, s := range plan.Subjects {
		if s.Skipped {
			left[s.Name] = s.Note
		}
	}
	if diff := cmp.Diff(map[string]string{
		"delete_item": "not marked as read-only (readOnlyHint)",
		"unknown":     "no values are known for q",
	},
		left); diff != "" {
		t.Error(diff)
	}
	site, err := staticmcp.Open(context.Background(), m, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	prompt, err := site.GetPrompt(context.Background(), &mcp.GetPromptParams{
		Name:      "sell",
		Arguments: map[string]string{"what": "cake"},
	})
	if got, _ := json.Marshal(prompt); err != nil || !strings.Contains(string(got), "Sell cake now, cake!") {
		t.Errorf("got %s, %v", got, err)
	}
	if err := verify(site, src, 1); err != nil {
		t.Error(err)
	}
}

// verify expects the given number of different answers.
func verify(site *staticmcp.Site, src mcp.Source, different int) error {
	v, err := freeze.Verify(context.Background(), site, src, nil)
	if err != nil {
		return err
	}
	if v.Different != different || v.Failed > 0 {
		found := ruletest.Findings(&v.Report)
		return fmt.Errorf("%d different, %d failed of %d: %v", v.Different, v.Failed, v.Compared, found)
	}
	return nil
}

func TestNamedTools(t *testing.T) {
	src := &shop{}
	_, _, report, err := frozen(t, src, &freeze.Options{
		Requests: freeze.Requests{Tools: []string{"delete_item"}},
		Repeat:   freeze.Repeat{Off: true, SkipUnstable: true},
	})
	if err != nil || !slices.Equal(src.deleted, []string{"a"}) || report.Failed != 2 {
		t.Errorf("got %v %v: %v", src.deleted, err, ruletest.Findings(&report.Report))
	}
	m, _, _, err := frozen(t, src, &freeze.Options{
		Requests:   freeze.Requests{Tools: []string{"delete_item"}},
		KeepErrors: true,
	})
	if err != nil || !strings.Contains(m.String(), "tools/delete_item/a.json") {
		t.Errorf("an error that is to be kept: %v", err)
	}
}

func TestCalls(t *testing.T) {
	calls, err := freeze.ReadCalls(
		strings.NewReader("{\"tool\":\"get_item\",\"arguments\":{\"id\":\"z\"}}\n\n{\"uri\":\"item://q\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	traffic, err := freeze.ReadTraffic(
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"unknown","arguments":{"q":"x"}}}
{"time":1,"message":{"method":"resources/read","params":{"uri":"item://r"}}}
{"jsonrpc":"2.0","id":1,"result":{}}
{"data":"{\"method\":\"tools/call\",\"params\":{\"name\":\"unknown\",\"arguments\":{\"q\":\"x\"}}}"}
`))
	if err != nil || len(traffic) != 2 {
		t.Fatalf("got %v %v", traffic, err)
	}
	m, _, _, err := frozen(t, &shop{}, &freeze.Options{Calls: append(calls, traffic...)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"tools/get_item/z.json", "tools/unknown/x.json", "resources/q.json",
		"resources/r.json",
	} {
		if _, err := m.Stat(name); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"{", `{"tool":"a","uri":"b"}`, `{"tol":"a"}`} {
		if _, err := freeze.ReadCalls(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

// Numbers in a table, and amounts, often have the check digit of a card number.
func TestNumbersAreNoCards(t *testing.T) {
	numbers := map[string]bool{
		"4111 1111 1111 1111": true, "4111-1111-1111-1111": true, "4111111111111111": true,
		"3782 822463 10005": true, "3056 9309 0259 04": false, "30569309025904": true, "6011 1111 1111 1117": true,
		"32602 10 2026 07": false, "32412601976210393": false, "4111 1111-1111 1111": false,
		"41111111 11111111":   false,
		"4111 1111 1111 1112": false, "5000000000000009": false,
	}
	for number, card := range numbers {
		t.Run(number, func(t *testing.T) {
			calls := []staticmcp.Question{{Tool: "get_item", Arguments: json.RawMessage(`{"id":"a"}`)}}
			_, _, _, err := frozen(t, &shop{secret: " it is " + number + ", is it"}, &freeze.Options{Calls: calls})
			if (err != nil) != card {
				t.Errorf("got %v, want a card: %v", err, card)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	tests := map[string]struct {
		text, rule string
		allow      freeze.Options
	}{
		"key": {"key AKIA" + "ABCDEFGHIJKLMNOP end",
			"freeze/secret", freeze.Options{Allow: freeze.Allow{Secrets: []string{"token"}}}},
		"url": {"postgres://admin:hunter2@db.internal/x", "freeze/secret",
			freeze.Options{Allow: freeze.Allow{Secrets: []string{"token"}}}},
		"card": {"card 4111 1111 1111 1111", "freeze/personal",
			freeze.Options{Allow: freeze.Allow{Personal: true}}},
		"iban": {"pay DE89 3704 0044 0532 0130 00 now", "freeze/personal",
			freeze.Options{Allow: freeze.Allow{Personal: true}}},
		"replaced": {"", "", freeze.Options{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			calls := []staticmcp.Question{{Tool: "get_item", Arguments: json.RawMessage(`{"id":"a"}`)}}
			src := &shop{secret: test.text}
			m, _, report, err := frozen(t, src, &freeze.Options{Calls: calls})
			if test.rule == "" {
				return
			}
			var refused *freeze.RefusedError
			if !errors.As(err, &refused) || m.String() != "" {
				t.Fatalf("got %v and %q", err, m)
			}
			if !slices.ContainsFunc(rulesOf(report), func(r string) bool { return r == test.rule }) {
				t.Errorf("got %v", ruletest.Findings(&report.Report))
			}
			for _, f := range ruletest.Findings(&report.Report) {
				if strings.Contains(f.Message, test.text[8:]) {
					t.Errorf("the message tells: %s", f.Message)
				}
			}
			test.allow.Calls = calls
			if _, _, _, err := frozen(t, src, &test.allow); err != nil {
				t.Errorf("allowed: %v", err)
			}
			replace := []freeze.Replacement{{Pattern: regexp.MustCompile(`item a.*`), With: "item a"}}
			if _, _, _, err := frozen(t, src, &freeze.Options{
				Calls:    calls,
				Requests: freeze.Requests{Replace: replace},
			}); err != nil {
				t.Errorf("replaced: %v", err)
			}
		})
	}
	_, _, report, err := frozen(t,
		&shop{secret: " order 1234567890123 of 2026-01-01, write to me@example.com or to ann@corp.com"},
		&freeze.Options{Calls: []staticmcp.Question{{Tool: "get_item", Arguments: json.RawMessage(`{"id":"a"}`)}}})
	if err != nil || !slices.Contains(rulesOf(report), "freeze/email") {
		t.Errorf("got %v %v", err, ruletest.Findings(&report.Report))
	}
}

func rulesOf(r *freeze.Report) (list []string) {
	for _, f := range ruletest.Findings(&r.Report) {
		list = append(list, f.Rule.ID)
	}
	return list
}

// TestAgain freezes a second time: previously stored answers are requested again, or
// reused.
func TestAgain(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "site")
	src := &shop{}
	run := func(opts *freeze.Options) *freeze.Report {
		t.Helper()
		opts.Repeat.After = -1
		plan, err := freeze.NewPlan(ctx, src, opts)
		if err != nil {
			t.Fatal(err)
		}
		r, err := freeze.Run(ctx, plan, sitewriter.Dir(dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	run(&freeze.Options{
		Calls:  []staticmcp.Question{{Tool: "get_item", Arguments: json.RawMessage(`{"id":"Ä"}`)}},
		Repeat: freeze.Repeat{SkipUnstable: true},
	})
	before, err := staticmcp.OpenDir(ctx, dir, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	r := run(&freeze.Options{Previous: before, Repeat: freeze.Repeat{SkipUnstable: true}})
	if r.Build.Created+r.Build.Changed+r.Build.Deleted > 0 {
		t.Errorf("got %+v", r.Build.Changes)
	}
	calls := src.calls.Load()
	r = run(&freeze.Options{
		Previous: before,
		Repeat:   freeze.Repeat{SkipUnstable: true},
		Refresh:  []string{"get_item"},
	})
	if asked := src.calls.Load() - calls; asked != 4 || r.Reused < 8 { // get_item and now, twice each
		t.Errorf("%d calls, %d reused", asked, r.Reused)
	}
	if r.Build.Created+r.Build.Changed+r.Build.Deleted > 0 {
		t.Errorf("got %+v", r.Build.Changes)
	}
}

func TestDead(t *testing.T) {
	_, _, _, err := frozen(t, &dead{}, &freeze.Options{Requests: freeze.Requests{Retries: -1}})
	if err == nil || !strings.Contains(err.Error(), "no answer to any of 1 question") {
		t.Errorf("got %v", err)
	}
}

type dead struct{ mcp.Unimplemented }

func (*dead) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "dead", Version: "1"},
		Resources: []mcp.Resource{{URI: "a://b", Name: "b"}},
	}, nil
}

func (*dead) ReadResource(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return nil, errors.New("no")
}

func TestDiff(t *testing.T) {
	ctx := context.Background()
	a, _, _, err := frozen(t, &shop{}, &freeze.Options{Repeat: freeze.Repeat{SkipUnstable: true}})
	if err != nil {
		t.Fatal(err)
	}
	site, err := staticmcp.Open(ctx, a, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	other := &shop{}
	list, err := freeze.Diff(ctx, site, other, &freeze.DiffOptions{Definitions: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []freeze.Difference{
		{"added", "tool", "now"}, {"added", "tool", "delete_item"},
		{"added", "tool", "unknown"}, {"added", "prompt", "compute"},
	}
	list = slices.DeleteFunc(list, func(d freeze.Difference) bool { return d.Kind == "tool" && d.Name == "get_item" })
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	list, err = freeze.Diff(ctx, site, site, nil)
	if err != nil || len(list) > 0 {
		t.Errorf("got %v %v", list, err)
	}
}

// partial is a source that does not return its prompts.
type partial struct{ mcp.Unimplemented }

func (partial) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Missing: []mcp.Missing{{List: "prompts/list", Why: "prompts/list: database down"}}}, nil
}

// TestDiffIncomplete verifies that an error says which of the two sources it is about.
func TestDiffIncomplete(t *testing.T) {
	for _, tt := range []struct {
		a, b  mcp.Source
		names [2]string
		want  string
	}{
		{partial{}, &shop{}, [2]string{}, "first source: "},
		{&shop{}, partial{}, [2]string{}, "second source: "},
		{&shop{}, partial{}, [2]string{"a", "b"}, "b: "},
	} {
		_, err := freeze.Diff(t.Context(), tt.a, tt.b, &freeze.DiffOptions{Names: tt.names})
		if !errors.As(err, new(*mcp.IncompleteError)) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Diff = %v, want an error with the prefix %q", err, tt.want)
		}
	}
}

// clock returns the time in whole seconds.
type clock struct{ mcp.Unimplemented }

func (clock) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Server: mcp.Implementation{Name: "clock", Version: "1"}, Tools: []mcp.Tool{
		{Name: "now", Description: "The time", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}}}, nil
}

func (clock) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(time.Now().Format(time.DateTime))}}, nil
}

func TestAgainAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, report, err := frozen(t, clock{}, &freeze.Options{Repeat: freeze.Repeat{After: 1100 * time.Millisecond}})
		if err != nil || report.Unstable != 1 || report.Requests != 2 {
			t.Errorf("got %d unstable of %d requests, want the clock found out: %v", report.Unstable, report.Requests, err)
		}
		_, _, report, err = frozen(t, clock{}, &freeze.Options{})
		if err != nil || report.Unstable != 0 {
			t.Errorf("got %d unstable when asked right after, want 0: %v", report.Unstable, err)
		}
	})
}
