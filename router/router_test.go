package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/router"
)

type where struct {
	City string `json:"city" doc:"city name"`
	Unit string `json:"unit" doc:"temperature unit" enum:"celsius,fahrenheit" default:"celsius"`
}

type weather struct {
	City string  `json:"city"`
	Temp float64 `json:"temp"`
	Unit string  `json:"unit"`
}

func (w weather) Text() string { return fmt.Sprintf("%s: %.0f %s", w.City, w.Temp, w.Unit) }

type note struct {
	Text string `json:"text" doc:"text of the note"`
}

type trip struct {
	City string `json:"city" doc:"where to"`
	Days int    `json:"days,omitempty" doc:"how long" minimum:"1"`
}

type spot struct {
	City string `json:"city"`
}

type forecast struct {
	City string `json:"city"`
	Days []int  `json:"days"`
}

var known = []string{"Lisbon", "London", "Lyon", "Oslo"}

func cities(_ context.Context, prefix string) (out []string, _ error) {
	for _, c := range known {
		if strings.HasPrefix(strings.ToLower(c), strings.ToLower(prefix)) {
			out = append(out, c)
		}
	}
	return out, nil
}

// newWeather returns a router with one feature of each kind.
func newWeather(t testing.TB, more ...router.Feature) *router.Router {
	t.Helper()
	var mu sync.Mutex
	var notes []string
	app := router.App("ui://weather/dashboard", "<!doctype html><title>Weather</title>",
		router.CSP{ConnectDomains: []string{"https://api.example.com"}}, router.Border(true))
	features := []router.Feature{
		app,
		router.Tool("get_weather", "Current weather in a city", func(_ context.Context, in where) (weather, error) {
			if !slices.Contains(known, in.City) {
				return weather{}, fmt.Errorf("unknown city %s", in.City)
			}
			return weather{in.City, 21, in.Unit}, nil
		}, router.Title("Weather"), router.ReadOnly, router.Idempotent, router.ClosedWorld, router.UI(app)),
		router.Tool("add_note", "Keep a note", func(_ context.Context, in note) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			notes = append(notes, in.Text)
			return "kept", nil
		}),
		router.Resource("notes", "notes://all", func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(notes, "\n"), nil
		}),
		router.Template("forecast", "weather://{city}/forecast", func(_ context.Context, v spot) (forecast, error) {
			return forecast{v.City, []int{21, 22, 19}}, nil
		}, router.Complete("city", cities)),
		router.Folder("docs", "docs://guide/", fstest.MapFS{
			"readme.md": {Data: []byte("# Guide")}, "img/logo.png": {Data: []byte{1, 2}}, "img/alt.txt": {Data: []byte("logo")},
		}),
		router.Prompt("plan_trip", "Plan a trip", func(_ context.Context, in trip) (router.Messages, error) {
			return router.User("Plan %d days in %s", in.Days, in.City), nil
		}, router.Complete("city", cities)),
	}
	r, err := router.New("weather", "1.0.0", append(features, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSource(t *testing.T) {
	changes := 0
	mcptest.TestSource(t, func(t *testing.T) mcp.Source { return newWeather(t) }, &mcptest.Options{
		Calls: []mcptest.Call{
			{
				Tool: "get_weather",
				Args: `{"city":"Lyon"}`,
				Want: `"structuredContent":{"city":"Lyon","temp":21,"unit":"celsius"}`,
			},
			{Tool: "get_weather", Args: `{"city":"Lyon"}`, Want: `{"type":"text","text":"Lyon: 21 celsius"}`},
			{Tool: "get_weather", Args: `{"city":"Rome"}`, Want: "unknown city Rome", WantError: true},
			{Tool: "get_weather", Args: `{"city":"Lyon","unit":"celcius"}`, Want: `did you mean`, WantError: true},
			{Tool: "add_note", Args: `{"text":"x"}`, Want: `"kept"`},
		},
		Reads: []mcptest.Read{
			{URI: "weather://Lyon/forecast", Want: `{\"city\":\"Lyon\",\"days\":[21,22,19]}`},
			{URI: "weather://S%C3%A3o%20Paulo/forecast", Want: `São Paulo`},
			{URI: "docs://guide/readme.md", Want: `"mimeType":"text/markdown","text":"# Guide"`},
			{URI: "docs://guide/img/logo.png", Want: `"blob":"AQI="`},
			{URI: "docs://guide/img", WantError: true},
			{URI: "docs://guide/../secret", WantError: true},
			{URI: "docs://guide/%2e%2e/secret", WantError: true},
			{URI: "weather://Lyon", WantError: true},
			{
				URI:  "ui://weather/dashboard",
				Want: `"_meta":{"ui":{"csp":{"connectDomains":["https://api.example.com"]},"prefersBorder":true}}`,
			},
		},
		Prompts: []mcptest.Prompt{
			{Name: "plan_trip", Args: map[string]string{"city": "Oslo", "days": "3"}, Want: "Plan 3 days in Oslo"},
			{Name: "plan_trip", Args: map[string]string{"city": "Oslo", "days": "many"}, WantError: true},
			{Name: "plan_trip", WantError: true},
		},
		Completions: []mcptest.Completion{
			{
				Params: mcp.CompleteParams{Prompt: "plan_trip", Argument: "city", Value: "l"},
				Want:   []string{"Lisbon", "London", "Lyon"},
			},
			{
				Params: mcp.CompleteParams{URITemplate: "weather://{city}/forecast", Argument: "city", Value: "o"},
				Want:   []string{"Oslo"},
			},
			{
				Params: mcp.CompleteParams{URITemplate: "docs://guide/{+path}", Argument: "path", Value: "img/"},
				Want:   []string{"img/logo.png", "img/alt.txt"},
			},
		},
		Change: func(t testing.TB, source mcp.Source) {
			changes++
			err := source.(*router.Router).Add(router.Tool(fmt.Sprint("later_", changes), "Added later",
				func(context.Context, router.Void) (string, error) { return "x", nil }))
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}

// TestVersions uses one feature of each kind with a client of every version.
func TestVersions(t *testing.T) {
	for _, v := range mcp.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			c := mcptest.Connect(t, newWeather(t), v, nil)
			got := c.CallTool("get_weather", map[string]any{"city": "Lyon"})
			if text := got.Content[0].Text; text != "Lyon: 21 celsius" {
				t.Errorf("text = %q", text)
			}
			if got := c.ReadResource("weather://Lyon/forecast").Contents[0]; got.MIMEType != "application/json" {
				t.Errorf("MIME type %q, want application/json", got.MIMEType)
			}
			if got := c.GetPrompt("plan_trip", map[string]string{
				"city": "Oslo",
				"days": "2",
			}); got.Messages[0].Content.Text != "Plan 2 days in Oslo" || got.Description != "Plan a trip" {
				t.Errorf("prompt = %+v", got)
			}
			if v >= mcp.Version20250326 {
				got := c.Complete(mcp.CompleteParams{Prompt: "plan_trip", Argument: "city", Value: "L"})
				if len(got.Values) != 3 || *got.Total != 3 || *got.HasMore {
					t.Errorf("completion = %+v", got)
				}
			}
		})
	}
}

// TestUIViews: every client sees an app-only tool, as some hosts show apps without
// declaring them; an option hides it from clients that declare nothing.
func TestUIViews(t *testing.T) {
	ui := []byte(`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`)
	for _, hide := range []bool{false, true} {
		r := newWeather(t, router.Options{HideAppTools: hide, ListOptions: publicLists},
			router.Tool("refresh", "For the button", func(context.Context, router.Void) (string, error) {
				return "fresh", nil
			}, router.VisibleTo(apps.VisibleToApp)))
		for _, v := range []mcp.Version{mcp.LatestLegacyVersion, mcp.LatestVersion} {
			for _, capabilities := range []string{string(ui), `{}`, `{"elicitation":{}}`} {
				c := mcptest.Connect(t, r, v, &mcptest.ConnectOptions{Capabilities: []byte(capabilities)})
				want := !hide || capabilities == string(ui)
				if got := names(c.Tools()); slices.Contains(got, "refresh") != want {
					t.Errorf("%v, hide %t: a client with %s sees %v, want refresh: %t", v, hide, capabilities, got, want)
				}
				_, err := c.Try("tools/call", map[string]any{"name": "refresh"})
				if (err == nil) != want || err != nil && err.Code != mcp.CodeInvalidParams {
					t.Errorf("%v, hide %t: a client with %s calls it: %v, want success: %t", v, hide, capabilities, err, want)
				}
				if !strings.Contains(string(c.Begun()), apps.Extension) {
					t.Errorf("%v: the extension is not declared: %s", v, c.Begun())
				}
			}
		}
		if got, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "refresh"}); err != nil ||
			got.Content[0].Text != "fresh" {
			t.Errorf("direct call = %v, %v", got, err)
		}
		if cat, _ := r.Catalog(context.Background()); cat.Cache.Public == hide {
			t.Errorf("hide %t: caches may share the lists: %t", hide, cat.Cache.Public)
		}
	}
}

func names(tools []mcp.Tool) (all []string) {
	for _, tool := range tools {
		all = append(all, tool.Name)
	}
	return all
}

func TestChanges(t *testing.T) {
	r := newWeather(t)
	var told []mcp.Change
	stop := r.Watch(func(c mcp.Change) { told = append(told, c) })
	later := router.Tool("later", "", func(context.Context, router.Void) (string, error) { return "x", nil })
	if err := r.Add(later); err != nil {
		t.Fatal(err)
	}
	if _, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "later"}); err != nil {
		t.Error(err)
	}
	if err := r.Add(later); err == nil ||
		!strings.Contains(err.Error(), `tool "later": is already the name of a tool at router_test.go:`) {
		t.Errorf("Add twice = %v", err)
	}
	if err := r.Add(router.Prompt("p", "", func(context.Context, router.Void) (string, error) {
		return "x", nil
	})); err != nil {
		t.Error(err)
	}
	r.Notify("notes://all")
	if err := r.Remove(router.KindTool, "later"); err != nil {
		t.Error(err)
	}
	if err := r.Remove(router.KindTool, "later"); err == nil {
		t.Error("Remove twice = nil, want an error")
	}
	if err := r.Remove(router.KindResource, "ui://weather/dashboard"); err == nil ||
		!strings.Contains(err.Error(), "is not registered") {
		t.Errorf("Remove of an app that a tool needs = %v", err)
	}
	if err := r.Remove(router.KindTemplate, "docs"); err != nil {
		t.Error(err)
	}
	stop()
	r.Notify("notes://all")
	want := []mcp.Change{{Tools: true}, {Prompts: true}, {URI: "notes://all"}, {Tools: true}, {Resources: true}}
	if !slices.Equal(told, want) {
		t.Errorf("told %+v, want %+v", told, want)
	}
	if err := r.Add(router.Options{}); err == nil {
		t.Error("Add(Options) = nil, want an error")
	}
}

// TestListChanged: a connected client is notified of a change.
func TestListChanged(t *testing.T) {
	r := newWeather(t)
	c := mcptest.ConnectStdio(t, r, mcp.LatestLegacyVersion, nil)
	c.Call("ping", nil) // by then notifications/initialized has been read
	if err := r.Add(router.Tool("later", "", func(context.Context, router.Void) (string, error) {
		return "x", nil
	})); err != nil {
		t.Fatal(err)
	}
	if got := names(c.Tools()); !slices.Contains(got, "later") {
		t.Errorf("tools = %v, want later among them", got)
	}
	told := func(n mcptest.Notification) bool { return n.Method == "notifications/tools/list_changed" }
	for late := time.Now().Add(30 * time.Second); time.Now().Before(late); { // it may arrive after the answer
		if slices.ContainsFunc(c.Notifications(), told) {
			return
		}
		c.Call("ping", nil)
	}
	t.Errorf("notifications = %+v, want tools/list_changed", c.Notifications())
}

func TestFilter(t *testing.T) {
	shared := router.Options{ListOptions: publicLists}
	r, err := router.New("x", "1", shared, router.Group("admin_",
		router.Filter(func(ctx context.Context, i router.Item) bool {
			p := mcp.PrincipalFrom(ctx)
			return p != nil && p.Name == "root"
		}),
		router.Tool("stop", "", func(context.Context, router.Void) (string, error) { return "stopped", nil }),
		router.Resource("log", "log://all", func(context.Context) (string, error) { return "secret", nil }),
		router.Template("part", "log:///{n}", func(_ context.Context, v map[string]string) (string, error) {
			return v["n"], nil
		}),
		router.Prompt("p", "", func(context.Context, router.Void) (string, error) { return "hi", nil }),
	), router.Tool("all", "", func(context.Context, router.Void) (string, error) { return "all", nil }))
	if err != nil {
		t.Fatal(err)
	}
	anonymous := context.Background()
	root := mcp.WithPrincipal(anonymous, &mcp.Principal{Name: "root"})
	full, _ := r.Catalog(root)
	if got := names(full.Tools); !slices.Equal(got, []string{"admin_stop", "all"}) {
		t.Errorf("root sees %v", got)
	}
	few, _ := r.Catalog(anonymous)
	if got := names(few.Tools); !slices.Equal(got, []string{"all"}) ||
		len(few.Resources)+len(few.Templates)+len(few.Prompts) > 0 {
		t.Errorf("an anonymous caller sees %v and more", got)
	}
	if again, _ := r.Catalog(anonymous); again != few {
		t.Error("the same view is built twice")
	}
	if few.Cache.Public {
		t.Error("a filtered list may be shared between callers")
	}
	for name, err := range map[string]error{
		"tool":     second(r.CallTool(anonymous, &mcp.CallToolParams{Name: "admin_stop"})),
		"resource": second(r.ReadResource(anonymous, &mcp.ReadResourceParams{URI: "log://all"})),
		"template": second(r.ReadResource(anonymous, &mcp.ReadResourceParams{URI: "log:///1"})),
		"prompt":   second(r.GetPrompt(anonymous, &mcp.GetPromptParams{Name: "admin_p"})),
	} {
		var e *mcp.Error
		if !errors.As(err, &e) {
			t.Errorf("%s that is filtered out: %v, want an mcp.Error", name, err)
		}
	}
	if _, err := r.CallTool(root, &mcp.CallToolParams{Name: "admin_stop"}); err != nil {
		t.Errorf("root: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestManyViews: more distinct callers than cached views.
func TestManyViews(t *testing.T) {
	var features []router.Feature
	for i := range 8 {
		features = append(features,
			router.Tool(fmt.Sprintf("t%d", i), "", func(context.Context, router.Void) (string, error) { return "", nil }))
	}
	type bits struct{}
	features = append(features,
		router.Options{ListOptions: router.ListOptions{MaxViews: 4}},
		router.Filter(func(ctx context.Context, i router.Item) bool {
			return ctx.Value(bits{}).(int)>>(i.Name[1]-'0')&1 == 1
		}))
	r, err := router.New("x", "1", features...)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for mask := range 256 {
			c, _ := r.Catalog(context.WithValue(context.Background(), bits{}, mask))
			want := 0
			for i := range 8 {
				want += mask >> i & 1
			}
			if len(c.Tools) != want {
				t.Fatalf("round %d, mask %b: %d tools, want %d", round, mask, len(c.Tools), want)
			}
		}
	}
}

type shouting struct{ mcp.Source }

func (s shouting) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	r, err := s.Source.CallTool(ctx, p)
	if err == nil {
		r.Content[0].Text = strings.ToUpper(r.Content[0].Text)
	}
	return r, err
}

type recorder struct {
	mu   sync.Mutex
	seen []server.Event
}

func (r *recorder) Observe(_ context.Context, e server.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, e)
}

func TestMiddlewareAndObserver(t *testing.T) {
	var rec recorder
	r := newWeather(t, router.Options{
		Middleware: func(next mcp.Source) mcp.Source { return shouting{next} },
		Observer:   &rec,
	}, router.Tool("crash", "", func(context.Context, router.Void) (string, error) { panic("boom") }))
	c := mcptest.Connect(t, r, mcp.LatestVersion, nil)
	if got := c.CallTool("add_note", map[string]string{"text": "x"}).Content[0].Text; got != "KEPT" {
		t.Errorf("behind the middleware the text is %q, want KEPT", got)
	}
	if got := c.CallTool("add_note", map[string]int{"text": 5}); !got.IsError {
		t.Error("a wrong argument is no error")
	}
	c.ReadResource("notes://all")
	if _, err := c.Try("tools/call", map[string]string{"name": "crash"}); err == nil || err.Code != mcp.CodeToolCrashed {
		t.Errorf("crash = %v, want -31002", err)
	}
	var lines []string
	for _, e := range rec.seen {
		if e.Kind == server.EventAnswer {
			line := e.Method + " " + e.Name
			if e.Err != nil {
				line += fmt.Sprint(" ", e.Err.Code)
			}
			if e.Outcome == server.OutcomePanicked {
				line += " panicked"
			}
			if e.Duration <= 0 {
				t.Errorf("%s has no duration", line)
			}
			lines = append(lines, line)
		}
	}
	want := []string{"tools/call add_note", "tools/call add_note -32602", "resources/read notes://all",
		"tools/call crash panicked"}
	if !slices.Equal(lines, want) {
		t.Errorf("observed %q, want %q", lines, want)
	}
	if len(rec.seen) != 2*len(want) {
		t.Errorf("%d events, want one before and one after each of %d calls", len(rec.seen), len(want))
	}
}

// TestConcurrentChanges changes a router while it is in use.
func TestConcurrentChanges(t *testing.T) {
	r := newWeather(t, router.Filter(func(context.Context, router.Item) bool { return true }))
	stop := r.Watch(func(mcp.Change) {})
	defer stop()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			name := fmt.Sprint("t", i)
			for range 50 {
				if err := r.Add(router.Tool(name, "", nothing)); err != nil {
					t.Error(err)
				}
				if _, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: name}); err != nil {
					t.Error(err)
				}
				if c, _ := r.Catalog(context.Background()); c.Tool(name) == nil {
					t.Errorf("%s is not listed", name)
				}
				if err := r.Remove(router.KindTool, name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// publicLists lets clients share cached lists.
var publicLists = router.ListOptions{Cache: mcp.CacheHint{Public: true}}
