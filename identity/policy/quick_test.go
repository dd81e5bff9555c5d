package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestQuick decides by tests of arguments and by Cedar alone: the decisions, with their rules
// and errors, are the same for every condition and every form of an argument.
func TestQuick(t *testing.T) {
	conditions := []string{
		`true`, `false`, `context has arguments`, `context.arguments has a`, `!(context.arguments has a)`,
		`context.arguments has a && context.arguments.a like "/home/*"`,
		`context.arguments has a && context.arguments.a like "*ai*"`,
		`context.arguments has a && context.arguments.a like "**"`,
		`context.arguments has a && context.arguments.a == "x\n"`,
		`context.arguments has a && "main" == context.arguments.a`,
		`context.arguments has a && context.arguments.a != "main"`,
		`context.arguments has a && ["main", "x\n"].contains(context.arguments.a)`,
		`context.arguments has a && (context.arguments.a like "m*" || context.arguments.a like "*n")`,
		`(context.arguments has b && context.arguments.b == "x") || context.arguments has a`,
		`context.arguments has a && !(context.arguments.a like "*")`,
		`context.arguments has n && context.arguments.n > 100`,
		`context.arguments has n && 100 >= context.arguments.n`,
		`context.arguments has n && context.arguments.n == 7`,
		`context.arguments has n && (context.arguments.n < 0 || context.arguments.n >= 9223372036854775807)`,
		`if context.arguments has n then context.arguments.n <= 7 else true`,
		`context.arguments has d && context.arguments.d.lessThan(decimal("1.5"))`,
		`context.arguments has l && context.arguments.l.contains("x")`,
		`context.arguments has o.p && context.arguments.o.p == 1`,
		`(context.arguments has a && context.arguments.a == "main") ||
(context.arguments has b && context.arguments.b == "q") ||
(context.arguments has l && context.arguments.l == "q") || (context.arguments has n && context.arguments.n == 101) ||
(context.arguments has z && context.arguments.z == 1)`, // more than given has at hand
		`context.arguments has a && context.hour > 3`,
		`context.arguments has a && principal.authenticated`,
	}
	texts := []string{
		`""`, `"main"`, `"/home/ann"`, `"x\n"`, `"ma\u0069n"`, `"\ud800"`,
		`7`, `-7`, `007`, `1e2`, `101`, `100.5`, `-0`, `7.0`,
		`9223372036854775807`, `9223372036854775808`, `1e300`, `true`, `null`, `[]`, `["x"]`, `{}`, `{"p":1}`,
		`[` + strings.Repeat(`"y",`, maxArgumentItems) + `"x"]`,
	}
	var arguments []string
	for _, name := range []string{"a", "n", "d", "l", "o"} {
		for _, text := range texts {
			arguments = append(arguments, fmt.Sprintf(`{ "%s" : %s }`, name, text),
				fmt.Sprintf(`{"b":"x","%s":%s,"z":1}`, name, text))
		}
	}
	arguments = append(arguments, ``, `{}`, `[]`, `{"a":"main","a":"x"}`, `{"n":7,"b":"y","n":101,"b":"x"}`,
		`{"o":{"p":1,"p":2}}`, `{"z":1,"z":2,"a":"main"}`)
	if race.Short() { // one goroutine decides
		conditions = conditions[5:9]
	}
	cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t", Origins: []mcp.Origin{{Source: "s", Name: "t"}}}}}
	sure, allowed := 0, 0
	for _, condition := range conditions {
		for _, form := range []string{"forbid when", "permit when", "forbid unless", "ask when"} {
			effect, word, _ := strings.Cut(form, " ")
			text := "permit (principal, action, resource);\n"
			switch effect {
			case "permit":
				text = ""
			case "ask":
				effect = "forbid"
				text += "@approval(\"once\") "
			}
			text += fmt.Sprintf(`%s (principal, action == Action::"call", resource) %s { %s };`, effect, word, condition)
			quick, err := Parse("quick", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			slow, err := Parse("slow", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range slow.Rules() {
				r.program.test = nil
			}
			e := NewEngine(quick, nil)
			who := &mcp.Principal{Name: "ann"}
			for _, raw := range arguments {
				r := &Request{
					Principal: who,
					Action:    Call,
					Item:      Item{Kind: ToolKind, Servers: []string{"s"}, Name: "t"},
					Situation: Situation{Arguments: json.RawMessage(raw), Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
				}
				got, want := quick.Decide(r), slow.Decide(r)
				if got.String() != want.String() || len(got.Errors) != len(want.Errors) || got.Approval != want.Approval {
					t.Errorf("%s { %s } with %.80s = %s, %d errors; want %s, %d", form, condition, raw, &got, len(got.Errors),
						&want, len(want.Errors))
				}
				indexed := *r
				indexed.Situation.Index = indexOf(r.Situation.Arguments)
				for _, set := range []*Set{quick, slow} {
					if got := set.Decide(&indexed); got.String() != want.String() || len(got.Errors) != len(want.Errors) {
						t.Errorf("%s { %s } with an index of %.80s = %s, %d errors; want %s, %d", form, condition, raw, &got,
							len(got.Errors), &want, len(want.Errors))
					}
				}
				e.Tool(who, cat, "t", &r.Situation)
				if _, _, ok := e.Allows(who, cat, "t", &indexed.Situation); ok {
					checkAllowed(t, want.RuleID(), want.ItemID, &want)
				}
				if rule, item, ok := e.Allows(who, cat, "t", &r.Situation); ok {
					allowed++
					checkAllowed(t, rule, item, &want)
				}
				for _, rule := range quick.Rules() {
					if rule.program.test == nil || !rule.readsContext() {
						continue
					}
					if _, ok := rule.program.test.decide(&given{raw: r.Situation.Arguments}); ok {
						sure++
					}
				}
			}
		}
	}
	if all := len(conditions) * 4 * len(arguments); sure < all/2 {
		t.Errorf("%d of %d tests were sure, want at least half", sure, all)
	} else if allowed < all/10 {
		t.Errorf("%d of %d calls were allowed by memos alone, want more", allowed, all)
	}
}

// indexOf returns the index of arguments, as a server has it.
func indexOf(raw json.RawMessage) *jsonscan.Index {
	x := &jsonscan.Index{}
	_, _ = x.ValueAt(raw, 0, 0)
	return x
}

// TestArgumentIndex decides by an index about arguments that a scan does not find.
func TestArgumentIndex(t *testing.T) {
	for _, condition := range []string{
		`context.arguments.a == "x"`,
		`context.arguments.a == "x" && context.arguments has b.c && context.arguments.b.c == 1`, // by Cedar
	} {
		set, err := Parse("p", []byte(`permit (principal, action, resource);
forbid (principal, action == Action::"call", resource) when { context.arguments has a && `+condition+` };`))
		if err != nil {
			t.Fatal(err)
		}
		e := NewEngine(set, nil)
		who := &mcp.Principal{Name: "ann"}
		cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t", Origins: []mcp.Origin{{Source: "s", Name: "t"}}}}}
		now := &Situation{Arguments: json.RawMessage(`{"b":{"c":1},"a":"x"}`)}
		now.Index = indexOf(now.Arguments)
		e.Tool(who, cat, "t", &Situation{})
		now.Arguments[0] = '-'
		if _, _, ok := e.Allows(who, cat, "t", now); ok {
			t.Errorf("%s: the memo has not used the index", condition)
		}
		if d := e.Tool(who, cat, "t", now); d.Effect != Deny {
			t.Errorf("%s: %s, want deny", condition, &d)
		}
	}
}

// TestSettled decides requests in changing surroundings by an engine, which remembers, and by a
// new one each time.
func TestSettled(t *testing.T) {
	const rules = `@id("day") permit (principal, action == Action::"call", resource)
when { context.hour >= 8 && context.hour < 18 };
@id("weekend") forbid (principal, action == Action::"call", resource) when { context.weekday > 5 };
@id("web") forbid (principal, action == Action::"call", resource) when { context.origin like "https://evil*" };
@id("app") forbid (principal, action == Action::"call", resource) when { context.application == "bad" };
@id("office") permit (principal, action == Action::"call", resource)
when { context has address && context.address.isInRange(ip("10.0.0.0/8")) };
@id("stdio") @approval("once") forbid (principal, action == Action::"call", resource)
when { context.transport == "stdio" };
@id("path") forbid (principal, action == Action::"call", resource)
when { context.arguments has path && context.arguments.path like "/etc/*" };
@id("new year") @scopes("party") forbid (principal, action == Action::"call", resource)
when { context.time > datetime("2027-01-01") && !(principal in Scope::"party") };`
	set, err := Parse("p", []byte(strings.ReplaceAll(rules, "new year", "new-year")))
	if err != nil {
		t.Fatal(err)
	}
	cat := &mcp.Catalog{
		Sources: []mcp.JoinedSource{{Name: "s"}},
		Tools:   []mcp.Tool{{Name: "t", Origins: []mcp.Origin{{Source: "s", Name: "t"}}}},
	}
	e := NewEngine(set, nil)
	who := &mcp.Principal{Name: "ann"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	effects := map[string]int{}
	for range 5000 {
		now := &Situation{
			Arguments:   json.RawMessage(pick("", `{"path":"/etc/passwd"}`, `{"path":"/home"}`, `{"path":1}`)),
			Time:        time.Date(2026, 12, 25+random.IntN(12), random.IntN(24), 59, 59, 0, time.UTC),
			Transport:   pick("http", "stdio"),
			Origin:      pick("", "https://evil.example", "https://good.example"),
			Application: pick("good", "bad"),
		}
		if random.IntN(2) == 0 {
			now.Address = netip.MustParseAddr(pick("10.1.1.1", "192.0.2.1"))
		}
		got := e.Tool(who, cat, "t", now)
		want := NewEngine(set, nil).Tool(who, cat, "t", now)
		if got.String() != want.String() || strings.Join(got.Scopes, " ") != strings.Join(want.Scopes, " ") {
			t.Fatalf("%+v = %s, %q; want %s, %q", now, &got, got.Scopes, &want, want.Scopes)
		}
		seen := e.Visible(who, cat, "tools/list", now)
		if fresh := NewEngine(set, nil).Visible(who, cat, "tools/list", now); len(seen.Tools) != len(fresh.Tools) {
			t.Fatalf("%+v lists %d tools, want %d", now, len(seen.Tools), len(fresh.Tools))
		}
		effects[got.Effect.String()]++
	}
	for _, effect := range []string{"allow", "ask", "deny"} {
		if effects[effect] < 20 {
			t.Errorf("%d decisions are %s, want more", effects[effect], effect)
		}
	}
}
