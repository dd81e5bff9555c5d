package lock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// locked returns a lock of the source's current offer.
func locked(t testing.TB, src mcp.Source, origin string) *lock.File {
	t.Helper()
	s, report, err := lock.Record(t.Context(), "shop", src, origin)
	if err != nil || len(ruletest.Findings(report)) > 0 {
		t.Fatal(err, ruletest.Findings(report))
	}
	return &lock.File{Sources: map[string]*lock.Entry{"shop": s}}
}

// told collects the drifts that a guard reports.
type told struct {
	mu  sync.Mutex
	all []string
}

func (c *told) tell(d lock.Drift) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, d.String())
}

func TestRestrictIsASource(t *testing.T) {
	for name, policy := range map[string]lock.Policy{"block": lock.Block, "warn": lock.Warn} {
		t.Run(name, func(t *testing.T) {
			var s *shop
			mcptest.TestSource(t, func(t *testing.T) mcp.Source {
				s = newShop(nil)
				return lock.Restrict("shop", s, lock.NewGuard(locked(t, s, ""), &lock.GuardOptions{Policy: policy}), "")
			}, &mcptest.Options{
				CatalogAllocs: 1,
				Calls: []mcptest.Call{
					{Tool: "buy", Args: `{"x":1}`, Want: `shop:buy{\"x\":1}`},
					{Tool: "rob", WantError: true},
				},
				Reads: []mcptest.Read{
					{URI: "shop://list", Want: "at shop://list"}, {URI: "shop://item/7", Want: "at shop://item/7"},
					{URI: "ui://cart", Want: "cart"}, {URI: "nowhere://x", WantError: true},
				},
				Prompts: []mcptest.Prompt{{Name: "ask", Args: map[string]string{"a": "v"}, Want: "shop:ask:v"}},
				Completions: []mcptest.Completion{{
					Params: mcp.CompleteParams{Prompt: "ask", Argument: "what", Value: "mo"},
					Want:   []string{"shop", "ask", "mo"},
				}},
				Change: func(testing.TB, mcp.Source) {
					s.offer(shopCatalog(func(c *mcp.Catalog) { c.Server.Version += ".1" }))
					s.tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
				},
			})
		})
	}
}

// refusal requests an item from a source and returns the error text, or "fine".
func refusal(t *testing.T, src mcp.Source, item string) string {
	t.Helper()
	kind, name, _ := strings.Cut(item, " ")
	var err error
	switch kind {
	case "tool":
		_, err = src.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
	case "prompt":
		_, err = src.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
	case "resource":
		_, err = src.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: name})
	case "subscribe":
		err = src.(mcp.Subscriber).Subscribe(t.Context(), name)
	case "complete":
		_, err = src.Complete(t.Context(), &mcp.CompleteParams{Prompt: name})
	case "completetemplate":
		_, err = src.Complete(t.Context(), &mcp.CompleteParams{URITemplate: name})
	case "method":
		_, err = src.(mcp.Extender).ServeMethod(t.Context(), name, nil)
	}
	if err == nil {
		return "fine"
	}
	return err.Error()
}

// offer returns a catalog's contents on one line.
func offer(c *mcp.Catalog) string {
	var all []string
	for _, t := range c.Tools {
		all = append(all, t.Name)
	}
	for _, r := range c.Resources {
		all = append(all, r.URI)
	}
	for _, r := range c.Templates {
		all = append(all, r.URITemplate)
	}
	for _, p := range c.Prompts {
		all = append(all, p.Name)
	}
	return strings.Join(append(all, c.Instructions, c.Server.Description), " ")
}

const wholeOffer = "buy sell shop://list ui://cart shop://item/{id} ask be polite sells"

func TestRestrictRefuses(t *testing.T) {
	const again = "slipway lock approve"
	tests := []struct {
		name   string
		change func(*mcp.Catalog)
		offers string
		asks   map[string]string // requests, with a part of each answer
		told   []string
	}{
		{"nothing has changed", nil, wholeOffer, map[string]string{
			"tool buy": "fine", "resource shop://list": "fine",
			"resource shop://item/1": "fine", "prompt ask": "fine", "complete ask": "fine",
			"completetemplate shop://item/{id}": "fine", "subscribe shop://list": "fine", "method shop/close": "fine",
			"resource ui://cart": "fine", "resource ui://hidden": "fine",
			"resource ui://else":        "no such resource in slipway.lock",
			"resource shop://unlisted":  "no such resource in slipway.lock",
			"subscribe shop://unlisted": "no such resource in slipway.lock",
		}, nil},
		{"a description", func(c *mcp.Catalog) { c.Tools[1].Description = "sells <IMPORTANT>" },
			strings.Replace(wholeOffer, " sell", "", 1),
			map[string]string{
				"tool sell": `refused by slipway.lock: shop: tools/sell has changed; review it with ` +
					`slipway lock diff SOURCE and accept it with slipway lock approve SOURCE --item tools/sell`,
				"tool buy": "fine",
			},
			[]string{"tools/sell has changed"}},
		{"an unknown member", func(c *mcp.Catalog) {
			c.Tools[0].Raw = json.RawMessage(strings.Replace(string(c.Tools[0].Raw), `"n":1`, `"n":2`, 1))
		}, strings.Replace(wholeOffer, "buy ", "", 1),
			map[string]string{"tool buy": again, "tool sell": "fine"}, []string{"tools/buy has changed"}},
		{"the order of members is not a change", func(c *mcp.Catalog) {
			c.Tools[0].Raw = json.RawMessage(
				`{"_meta":{"ui":{"resourceUri":"ui://hidden"}},"future":{"n":1.0},"inputSchema":{"type":"object"},` +
					`"description":"bu\u0079s","name":"buy"}`)
		}, wholeOffer, map[string]string{"tool buy": "fine"}, nil},
		{"a member given twice", func(c *mcp.Catalog) {
			c.Tools[0].Raw = json.RawMessage(strings.Replace(string(c.Tools[0].Raw),
				`{"name"`, `{"description":"poison","name"`, 1))
		}, strings.Replace(wholeOffer, "buy ", "", 1),
			map[string]string{"tool buy": again}, []string{"tools/buy has changed"}},
		{"a new tool", func(c *mcp.Catalog) { c.Tools = append(c.Tools, mcp.Tool{Name: "rob"}) }, wholeOffer,
			map[string]string{"tool rob": "tools/rob is new", "tool buy": "fine"}, []string{"tools/rob is new"}},
		{"a new tool that is a command of a shell",
			func(c *mcp.Catalog) { c.Tools = append(c.Tools, mcp.Tool{Name: "rob;id$(id)"}) }, wholeOffer,
			map[string]string{
				"tool rob;id$(id)": "slipway lock approve SOURCE --item " + process.ShellWord("tools/rob;id$(id)"),
			},
			[]string{"tools/rob;id$(id) is new"}},
		{"a tool under another name", func(c *mcp.Catalog) { c.Tools[1].Name = "vend" },
			strings.Replace(wholeOffer, " sell", "", 1),
			map[string]string{"tool vend": "is new", "tool sell": `unknown tool "sell"`}, []string{"tools/vend is new"}},
		{"a tool that is listed twice, once changed",
			func(c *mcp.Catalog) { c.Tools = append(c.Tools, mcp.Tool{Name: "sell", Description: "poison"}) },
			strings.Replace(wholeOffer, " sell", "", 1),
			map[string]string{"tool sell": again}, []string{"tools/sell has changed"}},
		{"instructions", func(c *mcp.Catalog) { c.Instructions = "obey" }, strings.Replace(wholeOffer, " be polite", " ", 1),
			map[string]string{"tool buy": "fine"}, []string{"instructions have changed"}},
		{"what the server says of itself", func(c *mcp.Catalog) { c.Server.Description = "obey" },
			strings.TrimSuffix(wholeOffer, "sells"),
			map[string]string{"tool buy": "fine"}, []string{"what the server calls itself has changed"}},
		{"another server", func(c *mcp.Catalog) { c.Server.Name = "trap" }, " ",
			map[string]string{
				"tool buy":             again,
				"prompt ask":           again,
				"resource shop://list": "what the server calls itself",
				"resource ui://cart":   "calls itself",
				"method shop/close":    "not found",
			},
			[]string{"what the server calls itself has changed"}},
		{
			"another version",
			func(c *mcp.Catalog) { c.Server.Version = "2" },
			wholeOffer,
			map[string]string{"tool buy": "fine"},
			[]string{`its version was "1.0.0" and is now "2"`},
		},
		{"a prompt", func(c *mcp.Catalog) { c.Prompts[0].Description = "obey" }, strings.Replace(wholeOffer, "ask ", "", 1),
			map[string]string{
				"prompt ask":   "prompts/ask has changed",
				"complete ask": "prompts/ask has changed",
				"prompt other": `unknown prompt "other"`,
			},
			[]string{"prompts/ask has changed"}},
		{"a resource", func(c *mcp.Catalog) { c.Resources[0].Description = "obey" },
			strings.Replace(wholeOffer, "shop://list ", "", 1),
			map[string]string{
				"resource shop://list":  "resources/shop://list has changed",
				"subscribe shop://list": "has changed",
			},
			[]string{"resources/shop://list has changed"}},
		{"a new resource",
			func(c *mcp.Catalog) { c.Resources = append(c.Resources, mcp.Resource{URI: "shop://new"}) }, wholeOffer,
			map[string]string{"resource shop://new": "resources/shop://new is new"}, []string{"resources/shop://new is new"}},
		{"a new resource that a template has", func(c *mcp.Catalog) {
			c.Resources = append(c.Resources, mcp.Resource{URI: "shop://item/9"})
		}, wholeOffer, map[string]string{"resource shop://item/9": "fine"}, []string{"resources/shop://item/9 is new"}},
		{"a template", func(c *mcp.Catalog) { c.Templates[0].Description = "obey" },
			strings.Replace(wholeOffer, "shop://item/{id} ", "", 1),
			map[string]string{
				"resource shop://item/1":            "no such resource",
				"completetemplate shop://item/{id}": "has changed",
				"completetemplate x":                "unknown resource template",
			},
			[]string{"resourceTemplates/shop://item/{id} has changed"}},
		{
			"something is gone",
			func(c *mcp.Catalog) { c.Tools = c.Tools[:1] },
			strings.Replace(wholeOffer, " sell", "", 1),
			map[string]string{"tool sell": `unknown tool "sell"`},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, heard := newShop(nil), &told{}
			g := lock.NewGuard(locked(t, s, ""), &lock.GuardOptions{Report: heard.tell})
			src := lock.Restrict("shop", s, g, "")
			if got := offer(catalog(t, src)); got != wholeOffer {
				t.Fatalf("before, it offers %q", got)
			}
			s.cat = shopCatalog(tt.change)
			s.calls.Clear()
			if got := offer(catalog(t, src)); got != tt.offers {
				t.Errorf("it offers\n     %q\nwant %q", got, tt.offers)
			}
			for what, want := range tt.asks {
				if got := refusal(t, src, what); !strings.Contains(got, want) || want == "fine" && got != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
				if _, asked := s.calls.Load(what); asked && want != "fine" {
					t.Errorf("%s: the source was asked all the same", what)
				}
			}
			catalog(t, src)
			if diff := cmp.Diff(tt.told, heard.all); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRestrictWarns(t *testing.T) {
	s, heard := newShop(nil), &told{}
	src := lock.Restrict("shop", s,
		lock.NewGuard(locked(t, s, "was"), &lock.GuardOptions{Policy: lock.Warn, Report: heard.tell}), "is")
	s.cat = shopCatalog(func(c *mcp.Catalog) {
		c.Tools[1].Description = "other"
		c.Tools = append(c.Tools, mcp.Tool{Name: "rob"})
	})
	s.screens["ui://cart"] = "other"
	for range 2 {
		if got := len(catalog(t, src).Tools); got != 3 {
			t.Errorf("%d tools are offered, want all 3", got)
		}
		for _, what := range []string{"tool sell", "tool rob", "resource ui://cart", "resource shop://unlisted"} {
			if got := refusal(t, src, what); got != "fine" {
				t.Errorf("%s: %s", what, got)
			}
		}
	}
	want := []string{
		"how it is started or reached has changed", "tools/sell has changed",
		"tools/rob is new", "the contents of ui://cart have changed",
	}
	if diff := cmp.Diff(want, heard.all); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestRestrictDoesNotAskAStranger: a source that is missing from the lock, or has a
// different origin, is not even asked for its catalog.
func TestRestrictDoesNotAskAStranger(t *testing.T) {
	file := locked(t, newShop(nil), "sha256/v1:was")
	for name, at := range map[string]struct{ name, origin string }{
		"unknown": {"other", "sha256/v1:was"}, "started otherwise": {"shop", "sha256/v1:is"},
		"not started any more": {"shop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := lock.NewGuard(file, nil)
			src := lock.Restrict(at.name, &shop{err: errors.New("it was asked")}, g, at.origin)
			if got := offer(catalog(t, src)); got != " " {
				t.Errorf("it offers %q", got)
			}
			for _, what := range []string{"tool buy", "prompt ask", "resource shop://list", "subscribe shop://list"} {
				if got := refusal(t, src, what); got == "fine" || strings.Contains(got, "it was asked") {
					t.Errorf("%s: %s", what, got)
				}
			}
			var stranger *lock.RefusedError
			if err := g.Admit(at.name, at.origin); !errors.As(err, &stranger) {
				t.Errorf("Admit = %v", err)
			}
		})
	}
}

func TestRestrictUI(t *testing.T) {
	s := newShop(nil)
	src := lock.Restrict("shop", s, lock.NewGuard(locked(t, s, ""), nil), "")
	s.screens["ui://cart"] += "<script>"
	for uri, want := range map[string]string{
		"ui://cart":   "the contents of ui://cart have changed",
		"ui://hidden": "fine",
	} {
		if got := refusal(t, src, "resource "+uri); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}

// TestRestrictCallRacesAChange: the result of a call is discarded if its tool changed
// during the call, and passed on otherwise.
func TestRestrictCallRacesAChange(t *testing.T) {
	s := newShop(nil)
	src := lock.Restrict("shop", s, lock.NewGuard(locked(t, s, ""), nil), "")
	s.during = func() { s.offer(shopCatalog(func(c *mcp.Catalog) { c.Tools[1].Description = "poison" })) }
	if got := refusal(t, src, "tool buy"); got != "fine" {
		t.Errorf("buy: %s", got)
	}
	s.offer(shopCatalog(nil))
	if got := refusal(t, src, "tool sell"); !strings.Contains(got, "tools/sell has changed") {
		t.Errorf("sell: %s, want a refusal", got)
	}
	s.during = func() { s.offer(shopCatalog(func(c *mcp.Catalog) { c.Tools = c.Tools[:1] })) }
	s.offer(shopCatalog(nil))
	if got := refusal(t, src, "tool sell"); got != "fine" {
		t.Errorf("sell, which is gone when it has answered: %s", got)
	}
}

// TestGuardReplace: approved items are offered at once, and clients are notified.
func TestGuardReplace(t *testing.T) {
	s := newShop(nil)
	g := lock.NewGuard(locked(t, s, ""), &lock.GuardOptions{Replaced: true})
	src := lock.Restrict("shop", s, g, "")
	w, ok := mcp.AsWatcher(src)
	if !ok {
		t.Fatal("it cannot be watched")
	}
	var changes []mcp.Change
	stop := w.Watch(func(c mcp.Change) { changes = append(changes, c) })
	s.cat = shopCatalog(func(c *mcp.Catalog) { c.Tools[1].Description = "better" })
	before := catalog(t, src)
	g.Replace(locked(t, s, ""))
	after := catalog(t, src)
	if len(before.Tools) != 1 || len(after.Tools) != 2 || len(changes) != 1 {
		t.Errorf("%d tools, then %d, and %d changes were reported", len(before.Tools), len(after.Tools), len(changes))
	}
	s.tell(mcp.Change{URI: "shop://list"})
	s.tell(mcp.Change{URI: "shop://unlisted"})
	if want := []mcp.Change{
		{Tools: true, Resources: true, Prompts: true},
		{URI: "shop://list"},
	}; !slices.Equal(changes, want) {
		t.Errorf("told %v, want %v", changes, want)
	}
	stop()
	g.Replace(locked(t, s, ""))
	s.tell(mcp.Change{Tools: true})
	if len(changes) != 2 {
		t.Errorf("told %v after the end", changes[2:])
	}
}

// TestRestrictServesOnWhileAnotherTakesItsPlace: when a new lock has another origin for the
// server, the running one stays pinned to its old entry until it is replaced.
func TestRestrictServesOnWhileAnotherTakesItsPlace(t *testing.T) {
	s := newShop(nil)
	was := locked(t, s, "sha256/v1:was")
	g := lock.NewGuard(was, nil)
	old, fresh := lock.Restrict("shop", s, g, "sha256/v1:was"), lock.Restrict("shop", s, g, "sha256/v1:is")
	catalog(t, old)
	if got := len(catalog(t, fresh).Tools); got != 0 {
		t.Errorf("before it is approved, the other offers %d tools", got)
	}
	next := newShop(func(c *mcp.Catalog) { c.Tools[1].Description = "sells better" })
	g.Replace(locked(t, next, "sha256/v1:is"))
	for what, want := range map[string]string{"tool sell": "fine", "resource ui://cart": "fine"} {
		if got := refusal(t, old, what); got != want {
			t.Errorf("the one that runs: %s: %s", what, got)
		}
	}
	if got := refusal(t, fresh, "tool sell"); !strings.Contains(got, "tools/sell has changed") {
		t.Errorf("the other: %s, want it to be held to the new lock", got)
	}
	s.offer(shopCatalog(func(c *mcp.Catalog) { c.Tools[0].Raw = json.RawMessage(`{"name":"buy"}`) }))
	if got := refusal(t, old, "tool buy"); !strings.Contains(got, "tools/buy has changed") {
		t.Errorf("the one that runs has changed: %s", got)
	}
	g.Replace(&lock.File{})
	if got := refusal(t, old, "tool sell"); got == "fine" {
		t.Error("the lock does not know it any more, and it is called")
	}
}

// TestServerSaysWhyAToolIsWithheld: the reason reaches clients through a union and a
// server.
func TestServerSaysWhyAToolIsWithheld(t *testing.T) {
	s := newShop(nil)
	pinned := lock.Restrict("shop", s, lock.NewGuard(locked(t, s, ""), nil), "")
	s.cat = shopCatalog(func(c *mcp.Catalog) { c.Tools[1].Description, c.Prompts[0].Description = "poison", "poison" })
	other := newShop(func(c *mcp.Catalog) { c.Tools, c.Resources, c.Templates = []mcp.Tool{{Name: "find"}}, nil, nil })
	src, err := compose.Union(t.Context(),
		[]compose.Named{{Name: "shop", Source: pinned}, {Name: "b", Source: other}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range mcp.Versions() {
		c := mcptest.Connect(t, src, v, nil)
		if _, err := c.Try("tools/call", map[string]string{"name": "sell"}); err == nil ||
			!strings.Contains(err.Error(), "tools/sell has changed") {
			t.Errorf("%s: calling the tool: %v", v, err)
		}
		if _, err := c.Try("prompts/get", map[string]string{"name": "shop_ask"}); err == nil ||
			!strings.Contains(err.Error(), "prompts/ask has changed") {
			t.Errorf("%s: getting the prompt: %v", v, err)
		}
	}
}

// constant is a Source that answers without allocating.
type constant struct {
	mcp.Unimplemented
	cat    *mcp.Catalog
	result *mcp.CallToolResult
}

func (c *constant) Catalog(context.Context) (*mcp.Catalog, error) { return c.cat, nil }
func (c *constant) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return c.result, nil
}

func layered(t testing.TB) (plain, over mcp.Source) {
	c := &constant{cat: shopCatalog(nil), result: &mcp.CallToolResult{}}
	c.cat.Resources, c.cat.Tools = nil, c.cat.Tools[1:]
	src, err := compose.Edit(lock.Restrict("shop", c, lock.NewGuard(locked(t, c, ""), nil), ""),
		&compose.Edits{Disabled: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	return c, src
}

func TestLayersCostNoAllocation(t *testing.T) {
	_, over := layered(t)
	ctx, params := t.Context(), &mcp.CallToolParams{Name: "sell"}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := over.CallTool(ctx, params); err != nil {
			t.Fatal(err)
		}
		_, _ = over.Catalog(ctx)
	}); n != 0 {
		t.Errorf("a call through a lock and a filter allocates %v times, want 0", n)
	}
}

func BenchmarkPinnedCall(b *testing.B) {
	plain, over := layered(b)
	for name, src := range map[string]mcp.Source{"plain": plain, "pinned": over} {
		b.Run(name, func(b *testing.B) {
			ctx, params := b.Context(), &mcp.CallToolParams{Name: "sell"}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := src.CallTool(ctx, params); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJudge measures a changed list: the digests of 1,000 tools.
func BenchmarkJudge(b *testing.B) {
	const n = 1000
	schema := `{"type":"object","properties":{"path":{"type":"string","description":"where it is"},` +
		`"limit":{"type":"integer","minimum":1}},"required":["path"]}`
	catalog := func() *mcp.Catalog {
		cat := &mcp.Catalog{Server: mcp.Implementation{Name: "shop", Version: "1"}}
		for i := range n {
			name := fmt.Sprintf("tool_%d", i)
			cat.Tools = append(cat.Tools, mcp.Tool{
				Name: name,
				Raw: json.RawMessage(`{"name":"` + name + `","description":"` + strings.Repeat("long ", 40) + `","inputSchema":` +
					schema + `}`),
			})
		}
		return cat
	}
	c := &constant{cat: catalog()}
	src := lock.Restrict("shop", c, lock.NewGuard(locked(b, c, ""), nil), "")
	other := [2]*mcp.Catalog{c.cat, catalog()}
	for i := 0; b.Loop(); i++ {
		c.cat = other[i%2]
		if cat, err := src.Catalog(b.Context()); err != nil || len(cat.Tools) != n {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

// TestLayers: the lock uses the names of the source, clients those of the edits.
func TestLayers(t *testing.T) {
	s, ours := newShop(nil), "ours"
	pinned := lock.Restrict("shop", s, lock.NewGuard(locked(t, s, ""), nil), "")
	src, err := compose.Edit(pinned,
		&compose.Edits{Tools: map[string]compose.ToolEdit{
			"sell": {Name: "vend", Description: &ours},
			"buy":  {Description: &ours},
		}})
	if err != nil {
		t.Fatal(err)
	}
	if got := offer(catalog(t, src)); got != strings.Replace(wholeOffer, "sell", "vend", 1) {
		t.Errorf("it offers %s", got)
	}
	s.cat = shopCatalog(func(c *mcp.Catalog) { c.Tools[1].Description = "poison" })
	if got := refusal(t, src, "tool vend"); !strings.Contains(got, "tools/sell has changed") {
		t.Errorf("vend: %s", got)
	}
	if got := catalog(t, src).WithheldTools["vend"]; !strings.Contains(got, "tools/sell has changed") {
		t.Errorf("of vend it says %q", got)
	}
}
