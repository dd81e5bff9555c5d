package stax_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/stax"
)

// overriding returns a document with a server s and overrides.
func overriding(members, tools string) string {
	return `{"servers": {"s": {"command": "x"` + members + `}}, "tools": ` + tools + `}`
}

func TestOverrides(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"fine", overriding("", `{"s": {"a": {"name": "b", "title": "", "description": "d"}}}`), nil},
		{
			"names exchanged",
			overriding(`, "enabledTools": ["a", "b"]`, `{"s": {"a": {"name": "b"}, "b": {"name": "a"}}}`),
			nil,
		},
		{"no server", overriding("", `{"r": {"a": {"name": "b"}}}`), []string{"override error 1:54 /tools/r/a"}},
		{
			"no name of a tool",
			overriding("", `{"s": {"a": {"name": "b c"}}}`),
			[]string{"override error 1:60 /tools/s/a/name"},
		},
		{
			"one name for two",
			overriding("", `{"s": {"a": {"name": "z"}, "b": {"name": "z"}}}`),
			[]string{"tool-collision error 1:74 /tools/s/b"},
		},
		{
			"the name of another that is overridden",
			overriding("", `{"s": {"a": {"title": "A"}, "b": {"name": "a"}}}`),
			[]string{"tool-collision error 1:75 /tools/s/b"},
		},
		{
			"the name of an enabled one",
			overriding(`, "enabledTools": ["a", "b"]`, `{"s": {"a": {"name": "b"}}}`),
			[]string{"tool-collision error 1:82 /tools/s/a"},
		},
		{
			"of one that is not enabled",
			overriding(`, "enabledTools": ["b"]`, `{"s": {"a": {"name": "z"}}}`),
			[]string{"override warning 1:77 /tools/s/a"},
		},
		{
			"of one that is disabled",
			overriding(`, "disabledTools": ["a"]`, `{"s": {"a": {"name": "z"}}}`),
			[]string{"override warning 1:78 /tools/s/a"},
		},
		{"nothing", overriding("", `{"s": {"a": {}}}`), []string{"override warning 1:54 /tools/s/a"}},
		{
			"other members",
			overriding("", `{"s": {"a": {"nam": "x", "title": 1}}}`),
			[]string{
				"override warning 1:54 /tools/s/a",
				"unknown-field warning 1:60 /tools/s/a/nam",
				"type error 1:72 /tools/s/a/title",
			},
		},
		{"other types", overriding("", `[]`), []string{"type error 1:38 /tools"}},
		{"other types further down", overriding("", `{"s": []}`), []string{"type error 1:48 /tools/s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { expect(t, found(t, tt.text), tt.want...) })
	}
}

// TestOverridesAreMerged: the overrides of a server are replaced as a whole, as bindings
// are, and survive the compiled form.
func TestOverridesAreMerged(t *testing.T) {
	var docs []*stax.Document
	for _, text := range []string{
		overriding("", `{"s": {"a": {"name": "b"}, "c": {"title": ""}}, "o": {"x": {"name": "y"}}}`),
		`{"servers": {}, "tools": {"s": {"d": {"description": "D"}}}}`,
	} {
		d, report := stax.Parse("x.json", []byte(text), nil)
		if !report.OK(false) {
			t.Fatal(ruletest.Findings(report))
		}
		docs = append(docs, d)
	}
	m := stax.Merge(docs...)
	text, err := json.Marshal(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"tools":{"o":{"x":{"name":"y"}},"s":{"d":{"description":"D"}}}}`; !strings.HasSuffix(string(text), want) {
		t.Errorf("merged: %s, want %s at the end", text, want)
	}
	again, report := stax.Parse("y.json", text, nil)
	if diff := cmp.Diff(m.Config.Overrides, again.Config.Overrides); diff != "" || !report.OK(false) {
		t.Errorf("read again (-was +is):\n%s%v", diff, ruletest.Findings(report))
	}
}

// warnings collects the warnings about servers.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) observe(e client.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.What == client.EventWarning {
		w.all = append(w.all, e.Name+": "+e.Err.Error())
	}
}

// box is a server whose tools can change.
type box struct {
	toolbox
	mu      sync.Mutex
	about   string
	changed func(mcp.Change)
}

func (b *box) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := b.toolbox.Catalog(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	cat.Tools[0].Description = b.about
	return cat, err
}

func (b *box) Watch(changed func(mcp.Change)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = changed
	return func() {}
}

func (b *box) become(about string) {
	b.mu.Lock()
	b.about = about
	changed := b.changed
	b.mu.Unlock()
	if changed != nil {
		changed(mcp.Change{Tools: true})
	}
}

// boxAt serves a box and returns definitions of it with additional members.
func boxAt(t *testing.T, members, tools string) (*box, *stax.Merged) {
	t.Helper()
	b := &box{about: "opens"}
	server := mcpserver.New(b, nil)
	web := httptest.NewServer(server.HTTPHandler(nil))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); _ = server.Shutdown(context.Background()) })
	text := fmt.Sprintf(`{"servers": {"s": {"url": %q, "transport": "http" %s}}, "tools": {"s": %s}}`,
		web.URL+"/mcp", members, tools)
	d, report := stax.Parse("x.json", []byte(text), nil)
	if !report.OK(false) {
		t.Fatal(ruletest.Findings(report))
	}
	return b, stax.Merge(d)
}

func opened(t *testing.T, r *stax.Resolver, m *stax.Merged, opts *stax.OpenOptions) mcp.Source {
	t.Helper()
	src, err := r.Open(t.Context(), m, "s", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

func toolNames(t *testing.T, src mcp.Source) (names []string) {
	t.Helper()
	cat, err := src.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range cat.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestOpenOverrides(t *testing.T) {
	_, m := boxAt(t, `, "enabledTools": ["open", "gone"]`,
		`{"open": {"name": "unlock", "description": "Ours"}, "lost": {"title": "x"}}`)
	m.Config.Overrides[1].Tool = "lost"
	heard := &warnings{}
	src := opened(t, &stax.Resolver{}, m, &stax.OpenOptions{Live: &client.Options{Observe: heard.observe}})
	cat, err := src.Catalog(t.Context())
	if err != nil || len(cat.Tools) != 1 || cat.Tools[0].Name != "unlock" || cat.Tools[0].Description != "Ours" {
		t.Fatalf("it offers %+v, %v", cat.Tools, err)
	}
	result, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "unlock"})
	if text, _ := json.Marshal(result); err != nil || !strings.Contains(string(text), `"open"`) {
		t.Errorf("unlock = %s, %v, want the tool open to answer", text, err)
	}
	if want := []string{"s: it has no tool gone, lost, which its definition names"}; !slices.Equal(heard.all, want) {
		t.Errorf("warned of %q, want %q", heard.all, want)
	}
	whole := opened(t, &stax.Resolver{}, m, &stax.OpenOptions{Whole: true})
	if got := toolNames(t, whole); !slices.Equal(got, []string{"open", "shut"}) {
		t.Errorf("whole, it offers %q", got)
	}
}

// lockOf returns a lock of the server's current tools.
func lockOf(t *testing.T, m *stax.Merged) *lock.File {
	t.Helper()
	origin, err := m.Config.Server("s").Origin()
	if err != nil {
		t.Fatal(err)
	}
	snap, _, err := lock.Record(t.Context(), "s", opened(t, &stax.Resolver{}, m, &stax.OpenOptions{Whole: true}),
		origin)
	if err != nil {
		t.Fatal(err)
	}
	return &lock.File{Sources: map[string]*lock.Entry{"s": snap}}
}

// TestOpenHoldsToTheLock: a tool that changes at runtime is blocked, identified by the
// server's own name for it, and shown again once the change is approved.
func TestOpenHoldsToTheLock(t *testing.T) {
	b, m := boxAt(t, "", `{"open": {"name": "unlock"}}`)
	guard := lock.NewGuard(lockOf(t, m), &lock.GuardOptions{Replaced: true})
	src := opened(t, &stax.Resolver{Guard: guard}, m, nil)
	if got := toolNames(t, src); !slices.Equal(got, []string{"unlock", "shut"}) {
		t.Fatalf("it offers %q", got)
	}
	changes := make(chan mcp.Change, 10)
	w, _ := mcp.AsWatcher(src)
	defer w.Watch(func(c mcp.Change) { changes <- c })()
	for tick := time.NewTicker(10 * time.Millisecond); len(changes) == 0; <-tick.C {
		b.become("opens <IMPORTANT>") // takes effect once the event stream is open
	}
	<-changes
	if got := toolNames(t, src); !slices.Equal(got, []string{"shut"}) {
		t.Errorf("changed, it offers %q", got)
	}
	if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "unlock"}); err == nil ||
		!strings.Contains(err.Error(), "--item tools/open") {
		t.Errorf("the changed tool is called: %v", err)
	}
	guard.Replace(lockOf(t, m))
	if got := toolNames(t, src); !slices.Equal(got, []string{"unlock", "shut"}) {
		t.Errorf("approved, it offers %q", got)
	}
}

// TestOpenDoesNotStartAStranger: a server that is missing from the lock, or whose
// definition has changed, is not started. A compose.Union includes it once it is
// approved.
func TestOpenDoesNotStartAStranger(t *testing.T) {
	_, m := boxAt(t, "", `{}`)
	file := lockOf(t, m)
	other := *file.Sources["s"]
	other.Items = map[lock.Item]lock.Pin{}
	for name, l := range map[string]*lock.File{
		"unknown":           {},
		"defined otherwise": {Sources: map[string]*lock.Entry{"s": &other}},
	} {
		t.Run(name, func(t *testing.T) {
			guard := lock.NewGuard(l, &lock.GuardOptions{Replaced: true})
			r := &stax.Resolver{Guard: guard}
			var stranger *lock.RefusedError
			if _, err := r.Open(t.Context(), m, "s", nil); !errors.As(err, &stranger) {
				t.Fatalf("Open: %v", err)
			}
			events := make(chan client.Event, 10)
			src := opened(t, r, m,
				&stax.OpenOptions{Live: &client.Options{Optional: true, Observe: func(e client.Event) { events <- e }}})
			if e := <-events; e.What != client.EventFailed || !errors.As(e.Err, &stranger) {
				t.Errorf("told %+v", e)
			}
			if got := toolNames(t, src); len(got) > 0 {
				t.Errorf("it offers %q", got)
			}
			opened(t, &stax.Resolver{}, m, nil) // takes as long as starting this one would have
			if st := src.(interface{ State() client.State }).State(); st.Phase != client.Stopped || st.Starts != 0 {
				t.Errorf("State = %+v, want a server that was not started", st)
			}
			guard.Replace(file)
			for e := range events {
				if e.What == client.EventStarted {
					break
				}
			}
			if got := toolNames(t, src); !slices.Equal(got, []string{"open", "shut"}) {
				t.Errorf("approved, it offers %q", got)
			}
		})
	}
}
