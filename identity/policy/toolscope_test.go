package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/mcp"
)

// withScopes returns rules with tool scopes; text is empty for a server without a policy.
func withScopes(t *testing.T, text string, scopes, implies map[string][]string) *policy.Set {
	t.Helper()
	set := policy.Unrestricted()
	if text != "" {
		set = parse(t, text)
	}
	set, err := set.WithToolScopes(scopes, implies)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestToolScopes(t *testing.T) {
	scopes := map[string][]string{"delete_*": {"write"}, "geo/delete_city": {"write", "admin"}, "s?y": {"speak"}}
	implies := map[string][]string{"root": {"admin"}, "admin": {"write"}, "loop": {"loop"}}
	file := `@id("geo") permit (principal in Group::"geo", action, resource in Server::"geo");
@id("by-scope") permit (principal in Scope::"speak", action, resource == Tool::"talk/say");
@id("never") forbid (principal, action, resource == Tool::"geo/delete_earth");
@id("ask") @approval("once") forbid (principal, action, resource == Tool::"geo/delete_lake");`
	geo := []string{"geo"}
	for _, tt := range []struct {
		name, file, tool string
		who              *mcp.Principal
		effect           policy.Effect
		rule             string
		offered          string
	}{
		{"no policy, no pattern", "", "geo/find", nil, policy.Allow, "no-policy", ""},
		{"no policy, no token", "", "geo/delete_x", nil, policy.Deny, "tool-scope:delete_*", "write"},
		{"no policy, no scope", "", "geo/delete_x", &mcp.Principal{Name: "ann"}, policy.Deny, "tool-scope:delete_*", "write"},
		{"no policy, scope", "", "geo/delete_x", &mcp.Principal{Name: "ann", Scopes: []string{"write"}}, policy.Allow,
			"no-policy", ""},
		{"two patterns, one scope", "", "geo/delete_city", &mcp.Principal{Name: "ann", Scopes: []string{"write"}},
			policy.Deny, "tool-scope:geo/delete_city", "write admin"},
		{"implied, also transitively", "", "geo/delete_city", &mcp.Principal{Name: "ann", Scopes: []string{"root"}},
			policy.Allow, "no-policy", ""},
		{"other source", "", "sea/delete_city", &mcp.Principal{Name: "ann", Scopes: []string{"write"}}, policy.Allow,
			"no-policy", ""},
		{"any byte", "", "talk/say", &mcp.Principal{Name: "ann"}, policy.Deny, "tool-scope:s?y", "speak"},
		{"policy and scope", file, "geo/delete_x", &mcp.Principal{Name: "ann", Groups: geo, Scopes: []string{"write"}},
			policy.Allow, "geo", ""},
		{"policy, no scope", file, "geo/delete_x", &mcp.Principal{Name: "ann", Groups: geo}, policy.Deny,
			"tool-scope:delete_*", "write"},
		{"nothing permits it with the scope either", file, "geo/delete_x", &mcp.Principal{Name: "eve"}, policy.Deny,
			"default", ""},
		{"the scope also permits it", file, "talk/say", &mcp.Principal{Name: "eve"}, policy.Deny, "tool-scope:s?y", "speak"},
		{"a forbid that no scope lifts", file, "geo/delete_earth", &mcp.Principal{Name: "ann", Groups: geo}, policy.Deny,
			"never", ""},
		{"scope before consent", file, "geo/delete_lake", &mcp.Principal{Name: "ann", Groups: geo}, policy.Deny,
			"tool-scope:delete_*", "write"},
		{"consent after scope", file, "geo/delete_lake", &mcp.Principal{Name: "ann", Groups: geo, Scopes: []string{"write"}},
			policy.Ask, "ask", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := withScopes(t, tt.file, scopes, implies)
			item, err := policy.ParseItem(policy.ToolKind, tt.tool)
			if err != nil {
				t.Fatal(err)
			}
			r := &policy.Request{Principal: tt.who, Action: policy.Call, Item: item}
			d := set.Decide(r)
			if d.Effect != tt.effect || !slices.ContainsFunc(d.Rules, func(r *policy.Rule) bool { return r.ID == tt.rule }) &&
				d.RuleID() != tt.rule || strings.Join(d.Scopes, " ") != tt.offered {
				t.Errorf("%s, offering %q; want %v by %s, offering %q", &d, d.Scopes, tt.effect, tt.rule, tt.offered)
			}
			if might, _ := set.Might(r); might.Effect != d.Effect || !slices.Equal(might.Scopes, d.Scopes) {
				t.Errorf("at best %s, offering %q", &might, might.Scopes)
			}
		})
	}
}

// TestToolScopesAreListed: a tool that needs another token is listed, if a token could
// permit it; a client could otherwise not ask for one.
func TestToolScopesAreListed(t *testing.T) {
	cat := &mcp.Catalog{}
	for _, name := range []string{"look", "say", "scream"} {
		cat.Tools = append(cat.Tools, mcp.Tool{Name: name, Origins: []mcp.Origin{{Source: "talk", Name: name}}})
	}
	cat.Sources = []mcp.JoinedSource{{Name: "talk"}}
	scopes := map[string][]string{"say": {"speak"}, "scream": {"loud"}}
	rule := `permit (principal == User::"ann", action == Action::"call", resource == Tool::"talk/say");`
	for _, tt := range []struct{ name, file, user, want string }{
		{"no policy", "", "ann", "look say scream"},
		{"permitted", rule, "ann", "say"},
		{"not permitted", rule, "eve", ""},
	} {
		e := policy.NewEngine(withScopes(t, tt.file, scopes, nil), nil)
		who := &mcp.Principal{Name: tt.user}
		var seen []string
		for _, tool := range e.Visible(who, cat, "tools/list", &policy.Situation{}).Tools {
			seen = append(seen, tool.Name)
		}
		if got := strings.Join(seen, " "); got != tt.want {
			t.Errorf("%s: %s sees %q, want %q", tt.name, tt.user, got, tt.want)
		}
		if d := e.Connect(who, cat, &policy.Situation{}); (d.Effect == policy.Allow) != (tt.want != "") {
			t.Errorf("%s: %s connects: %s", tt.name, tt.user, &d)
		}
	}
}

// TestScopesAnnotation: rules in files have @scopes too, and no ids of the others.
func TestScopesAnnotation(t *testing.T) {
	set := parse(t, `permit (principal, action, resource);
@id("w") @scopes("write all") forbid (principal, action == Action::"read", resource)
unless { principal.scopes.contains("write") };`)
	item, _ := policy.ParseItem(policy.ResourceKind, "a/a://1")
	d := set.Decide(&policy.Request{Principal: &mcp.Principal{Name: "ann"}, Action: policy.Read, Item: item})
	if d.Effect != policy.Deny || !slices.Equal(d.Scopes, []string{"write", "all"}) {
		t.Errorf("%s, offering %q", &d, d.Scopes)
	}
	for text, want := range map[string]string{
		`@scopes("w") permit (principal, action, resource);`:                   "belongs to a forbid",
		`@scopes("w") @approval("once") forbid (principal, action, resource);`: "belongs to a forbid",
		`@scopes("") forbid (principal, action, resource);`:                    "one scope or more",
		`@scopes("a\"b") forbid (principal, action, resource);`:                "cannot be a scope",
		`@id("tool-scope:x") forbid (principal, action, resource);`:            "--tool-scope",
		`@id("no-policy") permit (principal, action, resource);`:               "--tool-scope",
		`@id("tool-scope") permit (principal, action, resource);`:              "--tool-scope",
	} {
		if _, err := policy.Parse("x.cedar", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestServerAndItem: rules about a server and about what is in it decide together. What nothing
// lifts comes first, scopes are asked for at once, and consent to one rule skips no other.
func TestServerAndItem(t *testing.T) {
	const (
		calls       = `permit (principal, action == Action::"call", resource);`
		callWithB   = `permit (principal in Scope::"b", action == Action::"call", resource);`
		serverScope = `@id("sa") @scopes("a") forbid (principal, action == Action::"connect", resource == Server::"s")
unless { principal in Scope::"a" };`
		parentScope = `@id("pc") @scopes("c") forbid (principal, action == Action::"connect", resource == Server::"p")
unless { principal in Scope::"c" };`
		serverAsk = `@id("ask-s") @approval("always")
forbid (principal, action == Action::"connect", resource == Server::"s");`
		itemScope = `@id("ib") @scopes("b") forbid (principal, action == Action::"call", resource == Tool::"s/x")
unless { principal in Scope::"b" };`
		itemAsk = `@id("ask-i") @approval("session")
forbid (principal, action == Action::"call", resource == Tool::"s/x");`
		itemForbid   = `@id("no") forbid (principal, action == Action::"call", resource == Tool::"s/x");`
		serverForbid = `@id("no-s") forbid (principal, action == Action::"connect", resource == Server::"s");`
	)
	for _, tt := range []struct {
		name, rules, scopes string
		want, offered       string
		approval            policy.Approval
	}{
		{"no rule permits connect", calls + serverScope, "", "deny by sa", "a", ""},
		{"with the scope", calls + serverScope, "a", "allow by line-1", "", ""},
		{"both", calls + serverScope + itemScope, "", "deny by sa, ib", "a b", ""},
		{"both, one held", calls + serverScope + itemScope, "a", "deny by ib", "b", ""},
		{"two servers and the item", calls + serverScope + parentScope + itemScope, "", "deny by sa, pc, ib", "a c b", ""},
		{"the scope would permit", callWithB + serverScope + itemScope, "", "deny by sa, ib", "a b", ""},
		{"no scope would permit", serverScope + itemScope, "", "deny by default", "", ""},
		{"no scope lifts a forbid", calls + serverScope + itemForbid, "", "deny by no", "", ""},
		{"nor one of the server", calls + serverForbid + itemScope, "", "deny by no-s", "", ""},
		{"consent without a permit to connect", calls + serverAsk, "", "ask by ask-s", "", policy.ApproveAlways},
		{"consent to both", calls + serverAsk + itemAsk, "", "ask by ask-s, ask-i", "", policy.ApproveSession},
		{"consent lifts no forbid of the item", calls + serverAsk + itemForbid, "", "deny by no", "", ""},
		{"nor does it permit", serverAsk, "", "deny by default", "", ""},
		{"scopes come before consent", calls + serverAsk + itemScope, "", "deny by ib, ask-s", "b", ""},
		{"of the server too", calls + serverScope + itemAsk, "", "deny by sa, ask-i", "a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := parse(t, strings.ReplaceAll(tt.rules, ";@", ";\n@"))
			who := &mcp.Principal{Name: "ann", Scopes: strings.Fields(tt.scopes)}
			cat := &mcp.Catalog{
				Sources: []mcp.JoinedSource{{Name: "s"}},
				Tools:   []mcp.Tool{{Name: "s_x", Origins: []mcp.Origin{{Source: "s", Name: "x"}, {Source: "p"}}}},
			}
			item := policy.Item{Kind: policy.ToolKind, Servers: []string{"s", "p"}, Name: "x"}
			e := policy.NewEngine(set, nil)
			now := &policy.Situation{}
			might, _ := set.Might(&policy.Request{Principal: who, Action: policy.Call, Item: item})
			for by, d := range map[string]policy.Decision{
				"Decide": set.Decide(&policy.Request{Principal: who, Action: policy.Call, Item: item}),
				"Tool":   e.Tool(who, cat, "s_x", now),
				"ToolOf": e.ToolOf(who, &cat.Tools[0], now),
				"Items":  e.Items(who, cat)[0].Decision,
				"Might":  might,
			} {
				if d.String() != tt.want || strings.Join(d.Scopes, " ") != tt.offered || d.Approval != tt.approval {
					t.Errorf("%s = %s, offering %q, consent %q; want %s, %q, %q",
						by, &d, d.Scopes, d.Approval, tt.want, tt.offered, tt.approval)
				}
			}
		})
	}
}

// TestDecideKeepsTheRequest decides one request by two sets: the patterns of the first are not
// those of the second.
func TestDecideKeepsTheRequest(t *testing.T) {
	item, err := policy.ParseItem(policy.ToolKind, "geo/find")
	if err != nil {
		t.Fatal(err)
	}
	r := &policy.Request{Action: policy.Call, Item: item}
	narrow := withScopes(t, "", map[string][]string{"find": {"read"}}, nil)
	wide := withScopes(t, "", map[string][]string{"geo/*": {"geo"}}, nil)
	for _, set := range []*policy.Set{narrow, wide} {
		if d := set.Decide(r); d.Effect != policy.Deny {
			t.Errorf("Decide = %s, want deny", &d)
		}
		if d, _ := set.Might(r); d.Effect != policy.Deny || r.Item.ToolScopes != nil {
			t.Errorf("Might = %s with the patterns %q in the request, want deny with none", &d, r.Item.ToolScopes)
		}
	}
}
