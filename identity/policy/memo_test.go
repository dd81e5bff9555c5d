package policy

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
)

// randomWorld makes policies, callers, catalogs and situations in which rules of every kind
// matter.
type randomWorld struct{ *rand.Rand }

func (w randomWorld) one(list ...string) string { return list[w.IntN(len(list))] }

func (w randomWorld) some(list ...string) (some []string) {
	for _, s := range list {
		if w.IntN(2) == 0 {
			some = append(some, s)
		}
	}
	return some
}

// policy returns up to six rules.
func (w randomWorld) policy(t *testing.T) *Set {
	t.Helper()
	var text strings.Builder
	for i := range 1 + w.IntN(6) {
		var b strings.Builder
		effect := w.one("permit", "permit", "forbid")
		fmt.Fprintf(&b, "@id(\"r%d\") ", i)
		if effect == "forbid" {
			b.WriteString(w.one("", "", `@approval("once") `, `@scopes("write") `))
		}
		fmt.Fprintf(&b, "%s (%s, %s, %s)", effect,
			w.one("principal", "principal", `principal in Group::"dev"`, `principal == User::"ann"`,
				`principal in Scope::"write"`, `principal in Role::"boss"`, `principal in Client::"ide"`),
			w.one("action", `action == Action::"call"`, `action == Action::"call"`, `action == Action::"connect"`,
				`action in [Action::"call", Action::"list"]`),
			w.one("resource", "resource", `resource in Server::"one"`, `resource in Server::"two"`,
				`resource == Tool::"one/read"`, `resource == Server::"two"`))
		if w.IntN(2) == 0 {
			fmt.Fprintf(&b, " %s { %s }", w.one("when", "unless"), w.one(
				`context.hour < 12`, `context.weekday > 5`, `context.transport == "stdio"`,
				`context.origin like "https://*"`, `context.endpoint == "support"`, `context.application == "bad"`,
				`context has address && context.address.isInRange(ip("10.0.0.0/8"))`,
				`context.time > datetime("2026-06-01")`,
				`principal.tenant == "acme"`, `principal.groups.contains("dev")`,
				`principal.hasTag("team") && principal.getTag("team").contains("core")`))
		}
		b.WriteString(";\n")
		if _, err := Parse("one", []byte(b.String())); err == nil { // an action may not go with the resource
			text.WriteString(b.String())
		}
	}
	for _, when := range w.some(`context.arguments has path && context.arguments.path like "/etc/*"`,
		`context.arguments has n && context.arguments.n > 7`) {
		fmt.Fprintf(&text, "%s (principal, action == Action::\"call\", resource) when { %s };\n",
			w.one("permit", "forbid"), when)
	}
	if w.IntN(2) == 0 {
		text.WriteString(`forbid (principal, action == Action::"call", resource is Tool) when { resource.destructive };`)
	}
	set, err := Parse("random", []byte(text.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	if w.IntN(3) == 0 {
		set, err = set.WithToolScopes(map[string][]string{w.one("read", "one/*", "*"): {w.one("write", "admin")}},
			map[string][]string{"admin": {"write"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// caller returns a caller, or nil.
func (w randomWorld) caller() *mcp.Principal {
	if w.IntN(8) == 0 {
		return nil
	}
	return &mcp.Principal{
		Name:   w.one("ann", "bob"),
		Client: w.one("", "ide"),
		Tenant: w.one("", "acme"),
		Groups: w.some("dev", "ops"),
		Roles:  w.some("boss"),
		Scopes: w.some("write", "admin"),
		Claims: map[string][]string{"team": w.some("core")},
	}
}

// catalog returns a catalog with tools of two servers.
func (w randomWorld) catalog() *mcp.Catalog {
	cat := &mcp.Catalog{Sources: []mcp.JoinedSource{{Name: "one"}, {Name: "two"}}}
	for _, name := range []string{"read", "write", "gone"} {
		if name == "gone" && w.IntN(2) == 0 {
			continue
		}
		cat.Tools = append(cat.Tools, mcp.Tool{Name: name, Origins: []mcp.Origin{{Source: w.one("one", "two"), Name: name}}})
	}
	return cat
}

func (w randomWorld) situation() *Situation {
	now := &Situation{
		Arguments: json.RawMessage(w.one("", `{"path":"/etc/passwd"}`, `{"path":"/home","n":8}`, `{"n":"x"}`,
			`{"path":["/etc/x"]}`)),
		Time:        time.Date(2026, time.Month(1+w.IntN(12)), 1+w.IntN(28), w.IntN(24), 0, 0, 0, time.UTC),
		Transport:   w.one("http", "stdio"),
		Origin:      w.one("", "https://web.example"),
		Endpoint:    w.one("", "support"),
		Application: w.one("good", "bad"),
	}
	if w.IntN(2) == 0 {
		now.Address = netip.MustParseAddr(w.one("10.1.1.1", "192.0.2.1"))
	}
	return now
}

// hints returns hints of a lock, which differ by release.
func hints(release int) func(server, tool string) (mcp.ToolAnnotations, bool) {
	return func(server, tool string) (mcp.ToolAnnotations, bool) {
		harmless := (len(server)+len(tool)+release)%2 == 0
		destructive := !harmless
		return mcp.ToolAnnotations{ReadOnlyHint: harmless, DestructiveHint: &destructive}, tool != "write"
	}
}

// giveOwnPlaces makes memos for calls of tools displace none of each other. By chance, few would be used.
func giveOwnPlaces(tools ...string) {
	for {
		places := make(map[*atomic.Pointer[memo]]bool)
		var row memoRow
		for _, tool := range tools {
			places[row.place(tool)] = true
		}
		if len(places) == len(tools) {
			return
		}
		memoSeed = maphash.MakeSeed()
	}
}

// TestMemo decides random requests by an engine that remembers, while the policy and the catalog
// change and callers come with other tokens, and by one that has never decided before. It
// compares everything that a decision consists of.
func TestMemo(t *testing.T) {
	w := randomWorld{rand.New(rand.NewPCG(16, 106))}
	effects := map[Effect]int{}
	found, allowed := 0, 0
	policies, least := 150, 200
	if race.Short() { // one goroutine decides
		policies, least = 40, 20
	}
	giveOwnPlaces("read", "write", "gone")
	for range policies {
		opts := &EngineOptions{Hints: hints(w.IntN(2))}
		set := w.policy(t)
		e := NewEngine(set, opts)
		cats := []*mcp.Catalog{w.catalog(), w.catalog()}
		callers := []*mcp.Principal{w.caller(), w.caller(), w.caller()}
		now := w.situation()
		for range 150 {
			switch w.IntN(20) {
			case 0:
				set = w.policy(t)
				e.Replace(set)
			case 1:
				cats[w.IntN(len(cats))] = w.catalog()
			case 2:
				callers[w.IntN(len(callers))] = w.caller()
			}
			who, cat := callers[w.IntN(len(callers))], cats[w.IntN(len(cats))]
			name := w.one("read", "write", "gone")
			if next := w.situation(); w.IntN(3) == 0 {
				now = next
			} else { // in the same surroundings
				same := *now
				same.Arguments = next.Arguments
				now = &same
			}
			if e.state.Load().view(cat).memos.find(who, name) != nil {
				found++
			}
			rule, item, ok := e.Allows(who, cat, name, now)
			got, want := e.Tool(who, cat, name, now), NewEngine(set, opts).Tool(who, cat, name, now)
			if ok {
				allowed++
				checkAllowed(t, rule, item, &want)
			}
			if g, w := describe(&got), describe(&want); g != w {
				t.Fatalf("%+v calls %s of %v in %+v: %s, want %s\n%v", who, name, cat.Tools, now, g, w, rulesOf(set))
			}
			effects[got.Effect]++
		}
	}
	if found < 20*policies {
		t.Errorf("%d decisions by memos, want more", found)
	}
	if allowed < 3*policies {
		t.Errorf("%d calls are allowed by memos alone, want more", allowed)
	}
	for _, effect := range []Effect{Allow, Ask, Deny} {
		if effects[effect] < least {
			t.Errorf("%d decisions are %s, want more", effects[effect], effect)
		}
	}
}

// checkAllowed compares the answer of [Engine.Allows] with the whole decision.
func checkAllowed(t *testing.T, rule, item string, want *Decision) {
	t.Helper()
	if want.Effect != Allow || len(want.Errors) > 0 || rule != want.RuleID() || item != want.ItemID {
		t.Fatalf("%s is allowed by %s, want %s", item, rule, describe(want))
	}
}

// describe returns all of a decision as text.
func describe(d *Decision) string {
	text := fmt.Sprintf("%s about %s for %q, scopes %q", d, d.ItemID, d.Approval, d.Scopes)
	for _, e := range d.Errors {
		text += fmt.Sprintf(", %s: %s", e.Rule.ID, e.Reason)
	}
	return text
}

func rulesOf(s *Set) (texts []string) {
	for _, r := range s.Rules() {
		texts = append(texts, r.Text())
	}
	return texts
}

// TestMemoOfAnother: no memo is found for another caller, tool, catalog or policy, whatever the
// hashes are, and a caller with equal content is another one.
func TestMemoOfAnother(t *testing.T) {
	set, err := Parse("x", []byte(`permit (principal, action, resource);`))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(set, nil)
	cat := &mcp.Catalog{Sources: []mcp.JoinedSource{{Name: "s"}}}
	for i := range 500 {
		cat.Tools = append(cat.Tools, mcp.Tool{Name: fmt.Sprint("t", i), Origins: []mcp.Origin{{Source: "s", Name: "t"}}})
	}
	callers := make([]*mcp.Principal, 200)
	for i := range callers {
		callers[i] = &mcp.Principal{Name: "ann"}
		for j := range cat.Tools {
			e.Tool(callers[i], cat, cat.Tools[j].Name, &Situation{})
		}
	}
	view := e.state.Load().view(cat)
	kept := 0
	for _, p := range callers {
		for i := range cat.Tools {
			m := view.memos.find(p, cat.Tools[i].Name)
			if m == nil {
				continue
			}
			kept++
			if use := m.use; use.who.principal != p || use.what != view.tools[cat.Tools[i].Name] {
				t.Fatalf("the memo for %p, %s is about %p, %s", p, cat.Tools[i].Name, use.who.principal, use.what.id)
			}
		}
	}
	if kept == 0 || kept > memoRows*memoColumns {
		t.Errorf("%d memos are kept, want 1 to %d", kept, memoRows*memoColumns)
	}
	if view.memos.find(&mcp.Principal{Name: "ann"}, "t1") != nil {
		t.Error("a memo is found for a caller who is equal only")
	}
	if e.state.Load().view(cat.Copy()).memos.find(callers[0], "t1") != nil {
		t.Error("a memo is found in another catalog")
	}
	e.Replace(set)
	if e.state.Load().view(cat).memos.find(callers[199], "t499") != nil {
		t.Error("a memo outlives its policy")
	}
}

// TestMemoriesAreBounded: many callers leave no more than the most recent ones in memory.
func TestMemoriesAreBounded(t *testing.T) {
	set, err := Parse("x", []byte(`permit (principal, action, resource);`))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(set, nil)
	cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t"}}}
	first := &mcp.Principal{Name: "first"}
	e.Tool(first, cat, "t", &Situation{})
	for range maxSubjects {
		e.Tool(&mcp.Principal{Name: "other"}, cat, "t", &Situation{})
	}
	s := e.state.Load()
	if s.subjects[first] != nil || s.view(cat).memos.find(first, "t") != nil {
		t.Error("the first caller is remembered")
	}
	for i := range s.view(cat).memos {
		row := s.view(cat).memos[i].Load()
		for j := 0; row != nil && j < len(row); j++ {
			if m := row[j].Load(); m != nil && s.subjects[m.caller] != m.use.who {
				t.Fatal("a memo of a forgotten caller is kept")
			}
		}
	}
	for i := range s.decided {
		for q := range s.decided[i].known {
			if s.subjects[q.who.principal] != q.who {
				t.Fatal("rules of a forgotten caller are kept")
			}
		}
	}
}

// TestViewsAreBounded: a server that changes its large catalog again and again leaves few of them in memory.
func TestViewsAreBounded(t *testing.T) {
	set, err := Parse("x", []byte(`permit (principal, action, resource);`))
	if err != nil {
		t.Fatal(err)
	}
	for size, most := range map[int]int{8 << 20: 4, 40 << 20: 1} {
		e := NewEngine(set, nil)
		cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t", Raw: make([]byte, size)}}}
		for range 10 {
			e.Tool(&mcp.Principal{}, cat.Copy(), "t", &Situation{})
		}
		if s := e.state.Load(); len(s.views) > most || len(s.views) == 0 || s.viewed != int64(len(s.views))*cat.Size() {
			t.Errorf("%d catalogs of %d bytes are kept, counted as %d bytes, want at most %d",
				len(s.views), size, s.viewed, most)
		}
	}
}

// TestPinned: the rules of a pinned engine stay, and nothing that it remembers permits by the new ones.
func TestPinned(t *testing.T) {
	permit, err := Parse("x", []byte(`permit (principal, action, resource);`))
	if err != nil {
		t.Fatal(err)
	}
	forbid, err := Parse("x", []byte(`forbid (principal, action, resource);`))
	if err != nil {
		t.Fatal(err)
	}
	e := NewEngine(permit, nil)
	cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t"}}}
	who := &mcp.Principal{Name: "ann"}
	decide := func(e *Engine) Effect {
		d := e.Tool(who, cat, "t", &Situation{})
		return d.Effect
	}
	pinned := e.Pinned()
	e.Replace(forbid)
	if pinned.Set() != permit || decide(pinned) != Allow || decide(e) != Deny || decide(e.Pinned()) != Deny {
		t.Errorf("pinned %s, engine %s, pinned again %s", decide(pinned), decide(e), decide(e.Pinned()))
	}
}

// TestMemoOfAnotherLock: a lock that is read again applies to a catalog that stays the same.
func TestMemoOfAnotherLock(t *testing.T) {
	set, err := Parse("x", []byte(`permit (principal, action, resource is Tool) when { resource.readOnly };`))
	if err != nil {
		t.Fatal(err)
	}
	harmless := true
	e := NewEngine(set, &EngineOptions{
		Hints: func(_, _ string) (mcp.ToolAnnotations, bool) {
			return mcp.ToolAnnotations{ReadOnlyHint: harmless}, true
		},
		Lock: func() any { return harmless },
	})
	cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t"}}}
	who := &mcp.Principal{Name: "ann"}
	for _, harmless = range []bool{true, true, false, false, true} {
		d := e.Tool(who, cat, "t", &Situation{})
		if allowed := d.Effect == Allow; allowed != harmless {
			t.Errorf("the tool is harmless by the lock: %v, decision %s", harmless, &d)
		}
		if _, _, ok := e.Allows(who, cat, "t", &Situation{}); ok != harmless {
			t.Errorf("the tool is harmless by the lock: %v, allowed by a memo: %v", harmless, ok)
		}
		listed := len(e.Visible(who, cat, "tools/list", &Situation{}).Tools) == 1
		if listed != harmless {
			t.Errorf("the tool is harmless by the lock: %v, listed: %v", harmless, listed)
		}
	}
}

// TestMemoRace replaces the policy while callers decide: after Replace has returned, no decision
// is by the rules before.
func TestMemoRace(t *testing.T) {
	var sets [2]*Set
	for i, effect := range []string{"permit", "forbid"} {
		set, err := Parse("x", fmt.Appendf(nil, `@id("p%d") %s (principal, action, resource);`, i, effect))
		if err != nil {
			t.Fatal(err)
		}
		sets[i] = set
	}
	e := NewEngine(sets[1], nil)
	cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t"}}}
	who := &mcp.Principal{Name: "ann"}
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					e.Tool(who, cat, "t", &Situation{})
				}
			}
		})
	}
	for i := range 500 {
		e.Replace(sets[i%2])
		if _, _, ok := e.Allows(who, cat, "t", &Situation{}); ok && i%2 == 1 {
			t.Errorf("after policy 1 a request is allowed")
		}
		if d := e.Tool(who, cat, "t", &Situation{}); d.RuleID() != fmt.Sprint("p", i%2) {
			t.Errorf("after policy %d a request is decided by %s", i%2, d.RuleID())
		}
	}
	close(stop)
	others.Wait()
}

// TestIndex compares the rules that the index finds with those whose scope names an entity that
// the caller, the action and the item are or are in, of all rules.
func TestIndex(t *testing.T) {
	w := randomWorld{rand.New(rand.NewPCG(7, 8))}
	rules := 0
	for range 300 {
		set := w.policy(t)
		cat := w.catalog()
		for range 20 {
			who := newSubject(w.caller())
			tool := &cat.Tools[w.IntN(len(cat.Tools))]
			what := newObject(set.withToolScopes(Item{
				Kind:    ToolKind,
				Servers: []string{tool.Origins[0].Source},
				Name:    tool.Name,
			}))
			action := allActions()[w.IntN(int(actions))]
			var got, want []int
			set.find(who, action, what, func(r *Rule) { got = append(got, r.index) })
			for i, r := range set.Rules() {
				if r.index != i {
					t.Fatalf("rule %d has index %d", i, r.index)
				}
				if r.actions.has(action) && slices.Contains(who.keys, scopeOf(r.principal)) &&
					slices.Contains(what.keys, scopeOf(r.resource)) {
					want = append(want, i)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("the index finds %v, want %v", got, want)
			}
			rules += len(got)
		}
	}
	if rules < 1000 {
		t.Errorf("the index found %d rules, want more", rules)
	}
}
