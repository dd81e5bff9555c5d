package policy_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/mcp"
)

// rules are used by several tests.
const rules = `
permit (principal in Group::"dev", action, resource in Server::"github");
@id("readers") permit (principal, action == Action::"call", resource is Tool) when { resource.readOnly };
@id("no-delete") forbid (principal, action == Action::"call", resource == Tool::"github/delete_repo");
@id("main-only") @message("push to main through a pull request")
forbid (principal, action == Action::"call", resource == Tool::"github/push")
when { context.arguments has branch && context.arguments.branch == "main" };
@id("limit") forbid (principal, action == Action::"call", resource == Tool::"billing/refund")
when { context.arguments.amount > 100 };
@id("billing") permit (principal in Role::"cashier", action == Action::"call", resource in Server::"billing");
@id("approve-merge") @approval("session")
forbid (principal, action == Action::"call", resource == Tool::"github/merge");
@id("no-web") forbid (principal, action, resource in Server::"wiki")
when { context has address && !context.address.isInRange(ip("10.0.0.0/8")) };
@id("wiki") permit (principal, action in Action::"use", resource in Server::"wiki");
@id("guests") forbid (principal == User::"", action == Action::"connect", resource == Server::"github");
@id("finance") permit (principal, action == Action::"call", resource == Tool::"ledger/read")
when { principal.hasTag("department") && principal.getTag("department").contains("finance") };
`

func parse(t testing.TB, text string) *policy.Set {
	t.Helper()
	set, err := policy.Parse("p.cedar", []byte(fixed(text)))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// fixed makes the rule about the amount valid: arguments are optional.
func fixed(text string) string {
	return strings.Replace(text, "when { context.arguments.amount > 100 }",
		"when { context.arguments has amount && context.arguments.amount > 100 }", 1)
}

func TestDecide(t *testing.T) {
	set := parse(t, rules)
	dev := &mcp.Principal{Name: "ann", Groups: []string{"dev"}}
	cashier := &mcp.Principal{Name: "bob", Roles: []string{"cashier"}}
	finance := &mcp.Principal{Name: "eve", Claims: map[string][]string{"department": {"finance", "x"}}}
	no := false
	safe := mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no}
	tool := func(server, name string) policy.Item {
		return policy.Item{Kind: policy.ToolKind, Servers: []string{server}, Name: name}
	}
	hinted := tool("mail", "read")
	hinted.Hints = safe
	locked := hinted
	locked.Locked = true
	for name, tt := range map[string]struct {
		who  *mcp.Principal
		item policy.Item
		args string
		addr string
		want string
	}{
		"permit by group":           {dev, tool("github", "create_issue"), "", "", "allow by line-2"},
		"no rule":                   {cashier, tool("github", "create_issue"), "", "", "deny by default"},
		"forbid overrides":          {dev, tool("github", "delete_repo"), "", "", "deny by no-delete"},
		"argument matches":          {dev, tool("github", "push"), `{"branch":"main"}`, "", "deny by main-only"},
		"escaped argument":          {dev, tool("github", "push"), `{"branch":"m\u0061in"}`, "", "deny by main-only"},
		"argument differs":          {dev, tool("github", "push"), `{"branch":"fix"}`, "", "allow by line-2"},
		"argument is absent":        {dev, tool("github", "push"), `{}`, "", "allow by line-2"},
		"argument is null":          {dev, tool("github", "push"), `{"branch":null}`, "", "allow by line-2"},
		"no arguments":              {dev, tool("github", "push"), "", "", "allow by line-2"},
		"argument is repeated":      {dev, tool("github", "push"), `{"branch":"x","branch":"x"}`, "", "deny by main-only"},
		"argument in another case":  {dev, tool("github", "push"), `{"Branch":"main"}`, "", "deny by main-only"},
		"also in another case":      {dev, tool("github", "push"), `{"branch":"x","Branch":"y"}`, "", "deny by main-only"},
		"another argument":          {dev, tool("github", "push"), `{"branches":"main"}`, "", "allow by line-2"},
		"hints of the lock":         {cashier, locked, "", "", "allow by readers"},
		"hints of the server":       {cashier, hinted, "", "", "deny by default"},
		"role":                      {cashier, tool("billing", "refund"), `{"amount":50}`, "", "allow by billing"},
		"over the limit":            {cashier, tool("billing", "refund"), `{"amount":101}`, "", "deny by limit"},
		"over it, with an exponent": {cashier, tool("billing", "refund"), `{"amount":1e3}`, "", "deny by limit"},
		"not comparable":            {cashier, tool("billing", "refund"), `{"amount":"50"}`, "", "deny by limit"},
		"a fraction":                {cashier, tool("billing", "refund"), `{"amount":100.5}`, "", "deny by limit"},
		"too large for a number":    {cashier, tool("billing", "refund"), `{"amount":1e300}`, "", "deny by limit"},
		"consent":                   {dev, tool("github", "merge"), "", "", "ask by approve-merge"},
		"consent permits nothing":   {cashier, tool("github", "merge"), "", "", "deny by default"},
		"address":                   {dev, tool("wiki", "search"), "", "10.1.1.1", "allow by wiki"},
		"another address":           {dev, tool("wiki", "search"), "", "192.0.2.1", "deny by no-web"},
		"mapped address":            {dev, tool("wiki", "search"), "", "::ffff:10.1.1.1", "allow by wiki"},
		"no connection":             {nil, tool("github", "create_issue"), "", "", "deny by guests"},
		"claim":                     {finance, tool("ledger", "read"), "", "", "allow by finance"},
		"no claim":                  {dev, tool("ledger", "read"), "", "", "deny by default"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Principal: tt.who, Action: policy.Call, Item: tt.item}
			if tt.args != "" {
				r.Situation.Arguments = json.RawMessage(tt.args)
			}
			if tt.addr != "" {
				r.Situation.Address = netip.MustParseAddr(tt.addr)
			}
			d := set.Decide(r)
			if got := d.String(); got != tt.want {
				t.Errorf("Decide = %s, want %s (errors %v)", got, tt.want, d.Errors)
			}
		})
	}
}

// TestReasonOfArguments ensures that a caller learns which argument no rule could be evaluated for, also if
// it is in an object, and nothing about other rules that fail.
func TestReasonOfArguments(t *testing.T) {
	set := parse(t, `
@id("home") permit (principal, action == Action::"call", resource in Server::"files")
when { context.arguments has path && context.arguments.path like "/home/*" };
@id("mine") permit (principal, action == Action::"call", resource in Server::"git");
@id("theirs") forbid (principal, action == Action::"call", resource in Server::"git")
when { context.arguments has repo && context.arguments.repo has owner && context.arguments.repo.owner != "me" };`)
	const same = ", which servers that ignore case read as the same"
	for name, tt := range map[string]struct{ server, args, want string }{
		"permit": {"files", `{"Path":"/home/a"}`, `no rule permits it: argument path is spelled "Path"` + same},
		"member": {
			"git", `{"repo":{"owner":"me","Owner":1}}`, `rule theirs: argument repo: owner is spelled "Owner"` + same,
		},
		"repeated": {"git", `{"repo":{},"repo":{}}`, `rule theirs: argument repo is repeated`},
		"type":     {"git", `{"repo":{"owner":1}}`, `rule theirs`},
	} {
		d := set.Decide(&policy.Request{
			Action:    policy.Call,
			Item:      policy.Item{Kind: policy.ToolKind, Servers: []string{tt.server}, Name: "x"},
			Situation: policy.Situation{Arguments: json.RawMessage(tt.args)},
		})
		if want := "denied by policy: " + tt.want; d.Effect != policy.Deny || d.Reason() != want {
			t.Errorf("%s: %s, %s, want deny, %s", name, d.Effect, d.Reason(), want)
		}
	}
}

// TestInvalid: mistakes are found when the rules are read, with the line.
func TestInvalid(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"syntax": {
			"permit (principal, action, resource)",
			`p.cedar:1:37: unexpected end of the policy, want ";"`,
		},
		"unexpected token":  {"permit (principal; action, resource);", `unexpected ";", want ","`},
		"unexpected string": {`permit (principal, action, "x");`, `unexpected "x", want "resource"`},
		"tool without a server": {
			`forbid (principal, action, resource == Tool::"delete");`,
			`p.cedar:1:1: Tool::"delete" names no server: want Tool::"SERVER/NAME"`,
		},
		"resource without a server": {
			`forbid (principal, action, resource) when { resource == Resource::"file:///etc/passwd" };`,
			`Resource::"file:///etc/passwd" names no server: want Resource::"SERVER/URI"`,
		},
		"URN without a server": {
			`forbid (principal, action, resource == Resource::"urn:isbn:1/2");`,
			`Resource::"urn:isbn:1/2" names no server`,
		},
		"path without a server": {
			`forbid (principal, action, resource == Resource::"/etc/passwd");`,
			`Resource::"/etc/passwd" names no server`,
		},
		"prompt without a name": {
			`permit (principal, action, resource) when { resource in [Server::"a", Prompt::"a/"] };`,
			`Prompt::"a/" names no server`,
		},
		"hint": {
			"\npermit (principal, action == Action::\"call\", resource) when { resource.readonly };",
			"p.cedar:2:1: ",
		},
		"action": {
			`permit (principal, action == Action::"do", resource);`,
			`p.cedar:1:1: unknown action Action::"do": want list, call, read, `,
		},
		"near action": {`permit (principal, action in [Action::"use", Action::"cal"], resource);`, "did you mean call?"},
		"near type":   {`permit (principal == Usr::"x", action, resource);`, "unknown type Usr: did you mean User?"},
		"type": {
			`permit (principal in Team::"x", action, resource is Folder in Server::"y");`,
			`p.cedar:1:1: unknown type Team: want Client, Group, Prompt, Resource, Role, Scope, Server, Tool, ToolScope, ` +
				`User; unknown type Folder: want`,
		},
		"optional": {
			`permit (principal, action == Action::"call", resource) when { context.arguments.a == "x" };`,
			"p.cedar:1",
		},
		"consent for a session without an id": {
			"\n@approval(\"session\")\nforbid (principal, action, resource);",
			`p.cedar:2:1: @approval("session") needs an @id, by which the consent is remembered: add @id("NAME")`,
		},
		"consent without an id": {`@approval("always") forbid (principal, action, resource);`, `add @id("NAME")`},
		"no arguments":          {`permit (principal, action, resource) when { context.arguments has a };`, "arguments"},
		"two types": {
			`permit (principal, action == Action::"call", resource)
			when { context.arguments has a && (context.arguments.a == "x" || context.arguments.a == 1) };`,
			"String and as Long",
		},
		"whole context": {`permit (principal, action, resource) when { context == {} };`, "single attributes"},
		"same id": {
			`@id("a") permit (principal, action, resource); @id("a") permit (principal, action, resource);`,
			"same id",
		},
		"bad id":         {`@id("a b") permit (principal, action, resource);`, "@id"},
		"annotation":     {`@aprove("once") forbid (principal, action, resource);`, "@aprove"},
		"approval":       {`@approval("daily") forbid (principal, action, resource);`, "daily"},
		"approved grant": {`@approval("once") permit (principal, action, resource);`, "belongs to a forbid"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse("p.cedar", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse = %v, want an error with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "applicable action") {
				t.Errorf("Parse = %v, want the cause alone", err)
			}
		})
	}
}

// TestArgumentForms decides by every form in which a rule can name arguments: they are
// evaluated as attributes of the context, and a form that was missed would not forbid.
func TestArgumentForms(t *testing.T) {
	for _, tt := range []struct {
		condition, arguments string
		want                 policy.Effect
	}{
		{`context has arguments`, `{}`, policy.Deny},
		{`context has arguments && context.arguments has path`, `{"path":"x"}`, policy.Deny},
		{`context has arguments && context.arguments has path`, `{}`, policy.Allow},
		{`context has arguments.path`, `{"path":"x"}`, policy.Deny},
		{`context has arguments.path`, `{"other":"x"}`, policy.Allow},
		{`context["arguments"] has "a b" && context["arguments"]["a b"] == "x"`, `{"a b":"x"}`, policy.Deny},
		{`context.arguments has o.p && context.arguments.o.p == 1`, `{"o":{"p":1}}`, policy.Deny},
		{`context.arguments has o.p && context.arguments.o.p == 1`, `{"o":{"p":2}}`, policy.Allow},
		{`context.arguments has l && context.arguments.l.contains("x")`, `{"l":["x"]}`, policy.Deny},
		{`if context.arguments has n then context.arguments.n > 3 else false`, `{"n":4}`, policy.Deny},
		{`if context.arguments has n then context.arguments.n > 3 else false`, `{"n":"4"}`, policy.Deny}, // fails
		// Cedar's == and contains are false for another type, and do not fail.
		{`context.arguments has n && context.arguments.n == 7`, `{"n":8}`, policy.Allow},
		{`context.arguments has n && context.arguments.n == 7`, `{"n":"7"}`, policy.Deny},
		{`context.arguments has n && context.arguments.n == 7`, `{"n":7.5}`, policy.Deny},
		{`context.arguments has n && 7 != context.arguments.n`, `{"n":"7"}`, policy.Deny},
		{`context.arguments has a && context.arguments.a == "main"`, `{"a":["x"]}`, policy.Deny},
		{`context.arguments has a && context.arguments.a == principal.name`, `{"a":{}}`, policy.Deny},
		{`context.arguments has a && !(context.arguments.a == "main")`, `{"a":7}`, policy.Deny},
		{`context.arguments has a && ["main"].contains(context.arguments.a)`, `{"a":["x"]}`, policy.Deny},
		{`context.arguments has a && ["main"].contains(context.arguments.a)`, `{"a":"x"}`, policy.Allow},
		{`context.arguments has o.p && context.arguments.o.p == true`, `{"o":{"p":"true"}}`, policy.Deny},
		{`context.arguments has o.p && context.arguments.o.p == true`, `{"o":{"p":false}}`, policy.Allow},
		{`context.arguments has d && context.arguments.d == decimal("1.5")`, `{"d":"1.5"}`, policy.Deny},
		{`context.arguments has d && context.arguments.d == decimal("1.5")`, `{"d":1.25}`, policy.Allow},
		{`context.arguments has l && context.arguments.l == ["x"]`, `{"l":"x"}`, policy.Deny},
		{`context.arguments has l && context.arguments.l == ["x"]`, `{"l":["y"]}`, policy.Allow},
		{`context.arguments has l && context.arguments.l.contains("x")`, `{"l":["y",["x"]]}`, policy.Deny},
		{`context.arguments has l && context.arguments.l.contains("x")`, `{"l":["y",null]}`, policy.Allow},
		{`context.arguments has l && context.arguments.l.containsAny(["x"])`, `{"l":[7]}`, policy.Deny},
		{`context.arguments has l && context.arguments.l.isEmpty()`, `{"l":[7,"x"]}`, policy.Allow},
		{`context.arguments has n && context.arguments.n > 9007199254740992`, `{"n":9007199254740993.0}`, policy.Deny},
		{`context.arguments has n && context.arguments.n > 9007199254740991`, `{"n":9007199254740991.0}`, policy.Allow},
		{`!(context.arguments has path)`, `{}`, policy.Deny},
		{`context.arguments has path && context.arguments.path == "\".\""`, `{"path":"\".\""}`, policy.Deny},
	} {
		set := parse(t, "permit (principal, action, resource);\n"+
			`forbid (principal, action == Action::"call", resource) when { `+tt.condition+` };`)
		d := set.Decide(&policy.Request{
			Action:    policy.Call,
			Item:      policy.Item{Kind: policy.ToolKind, Name: "t"},
			Situation: policy.Situation{Arguments: json.RawMessage(tt.arguments)},
		})
		if d.Effect != tt.want {
			t.Errorf("%s with %s = %v, want %v", tt.condition, tt.arguments, &d, tt.want)
		}
	}
}

// TestKindsOfOtherRules guards an argument that other rules use as another type, in whatever order: its numbers are
// converted for the rule that compares numbers, and whole numbers and decimals exclude each other.
func TestKindsOfOtherRules(t *testing.T) {
	text := func(conditions ...string) string {
		all := "permit (principal, action, resource);\n"
		for i, c := range conditions {
			all += fmt.Sprintf(`forbid (principal, action == Action::"call", resource == Tool::"s/%d")
when { context.arguments has a && %s };`+"\n", i, c)
		}
		return all
	}
	for _, numbers := range [][2]string{
		{`context.arguments.a == 7`, `{"a":7.0}`},
		{`context.arguments.a.lessThan(decimal("7.5"))`, `{"a":7}`},
		{`context.arguments.a.contains(decimal("2.0"))`, `{"a":[2]}`},
		{`context.arguments.a.contains(2)`, `{"a":[2.0]}`},
	} {
		others := []string{
			`context.arguments.a like "z*"`,
			`context.arguments.a.contains("z")`,
			`context.arguments.a == true`,
		}
		for place := range len(others) + 1 {
			set := parse(t, text(slices.Insert(slices.Clone(others), place, numbers[0])...))
			d := set.Decide(&policy.Request{
				Action:    policy.Call,
				Item:      policy.Item{Kind: policy.ToolKind, Servers: []string{"s"}, Name: fmt.Sprint(place)},
				Situation: policy.Situation{Arguments: json.RawMessage(numbers[1])},
			})
			if d.Effect != policy.Deny || len(d.Errors) > 0 {
				t.Errorf("%s at %d with %s = %v, errors %v; want deny", numbers[0], place, numbers[1], &d, d.Errors)
			}
		}
	}
	for _, both := range [][]string{
		{`context.arguments.a like "z*"`, `context.arguments.a == 7`, `context.arguments.a.lessThan(decimal("1.5"))`},
		{`context.arguments.a.lessThan(decimal("1.5"))`, `context.arguments.a like "z*"`, `context.arguments.a == 7`},
		{
			`context.arguments.a.contains(2)`,
			`context.arguments.a.contains("z")`,
			`context.arguments.a.contains(decimal("2.0"))`,
		},
	} {
		if _, err := policy.Parse("x", []byte(text(both...))); err == nil ||
			!strings.Contains(err.Error(), "whole numbers and with decimals") {
			t.Errorf("%q: %v", both, err)
		}
	}
}

// TestArgumentsOfOtherRules decides by the arguments that the rules for the tool read: one that
// only the rule for another tool reads may exceed the limits.
func TestArgumentsOfOtherRules(t *testing.T) {
	set := parse(t, `permit (principal, action, resource);
@id("one") forbid (principal, action == Action::"call", resource == Tool::"a/one")
when { context.arguments has list && context.arguments.list.contains("x") };
@id("two") forbid (principal, action == Action::"call", resource == Tool::"a/two")
when { context.arguments has path && context.arguments.path == "/etc" };`)
	list := strings.TrimSuffix(strings.Repeat(`"y",`, 10_001), ",")
	for tool, want := range map[string]policy.Effect{"a/one": policy.Deny, "a/two": policy.Allow} {
		item, err := policy.ParseItem(policy.ToolKind, tool)
		if err != nil {
			t.Fatal(err)
		}
		d := set.Decide(&policy.Request{
			Action:    policy.Call,
			Item:      item,
			Situation: policy.Situation{Arguments: json.RawMessage(`{"path":"/home","list":[` + list + `]}`)},
		})
		if d.Effect != want {
			t.Errorf("%s: Decide = %s (errors %v), want %v", tool, &d, d.Errors, want)
		}
	}
}

// TestRepeatedArgument: a call that repeats an argument which a rule reads is denied, whichever value the
// server reads.
func TestRepeatedArgument(t *testing.T) {
	set := parse(t, `permit (principal, action, resource);
@id("path") forbid (principal, action == Action::"call", resource == Tool::"a/path")
when { context.arguments has path && context.arguments.path like "/etc/*" };
@id("deep") forbid (principal, action == Action::"call", resource == Tool::"a/deep")
when { context.arguments has file.path && context.arguments.file.path == "/etc" };`)
	for _, tt := range []struct {
		tool, arguments string
		want            policy.Effect
	}{
		{"a/path", `{"path":"/etc/passwd","path":"/home"}`, policy.Deny},
		{"a/path", `{"path":"/etc/passwd","p\u0061th":"/home"}`, policy.Deny},
		{"a/path", `{"path":"/etc/passwd","path":null}`, policy.Deny},
		{"a/path", `{"path":"/home","other":1,"other":2}`, policy.Allow},
		{"a/deep", `{"file":{"path":"/etc","path":"/home"}}`, policy.Deny},
		{"a/deep", `{"file":{"path":"/home"}}`, policy.Allow},
	} {
		item, err := policy.ParseItem(policy.ToolKind, tt.tool)
		if err != nil {
			t.Fatal(err)
		}
		d := set.Decide(&policy.Request{
			Action:    policy.Call,
			Item:      item,
			Situation: policy.Situation{Arguments: json.RawMessage(tt.arguments)},
		})
		if d.Effect != tt.want || tt.want == policy.Deny && len(d.Errors) == 0 {
			t.Errorf("%s with %s: %s (errors %v), want %s", tt.tool, tt.arguments, &d, d.Errors, tt.want)
		}
	}
}

// TestMisnamed suggests names of rules for those of a request.
func TestMisnamed(t *testing.T) {
	set := parse(t, `permit (principal in Group::"staff", action, resource in Server::"github");
permit (principal, action, resource == Tool::"billing/refund") when { principal in Role::"clerk" };`)
	for _, tt := range []struct{ tool, group, role, name, near string }{
		{"github/x", "staff", "clerk", "", ""},
		{"gihtub/x", "staff", "", `Server::"gihtub"`, `Server::"github"`},
		{"biling/refund", "", "", `Server::"biling"`, `Server::"billing"`},
		{"billing/refnd", "", "", `Tool::"billing/refnd"`, `Tool::"billing/refund"`},
		{"github/x", "staf", "", `Group::"staf"`, `Group::"staff"`},
		{"github/x", "", "clark", `Role::"clark"`, `Role::"clerk"`},
		{"unlike/x", "others", "", "", ""},
	} {
		item, err := policy.ParseItem(policy.ToolKind, tt.tool)
		if err != nil {
			t.Fatal(err)
		}
		who := &mcp.Principal{Groups: []string{tt.group}, Roles: []string{tt.role}}
		if name, near := set.Misnamed(&policy.Request{Principal: who, Item: item}); name != tt.name || near != tt.near {
			t.Errorf("Misnamed(%+v) = %s, %s, want %s, %s", tt, name, near, tt.name, tt.near)
		}
	}
}

// TestItemOfUnusualSource: the name of a source in a library may be empty, or have a colon, and rules about its items
// apply.
func TestItemOfUnusualSource(t *testing.T) {
	for uid, item := range map[string]policy.Item{
		"Tool":      {Kind: policy.ToolKind, Name: "t"},
		"Resource":  {Kind: policy.ResourceKind, Name: "file:///etc/passwd"},
		"Resource ": {Kind: policy.ResourceKind, Servers: []string{"a:b"}, Name: "test://a"},
		"Prompt":    {Kind: policy.PromptKind, Servers: []string{"a:b"}, Name: "p"},
	} {
		text := fmt.Sprintf("permit (principal, action, resource == %s::%q);", uid, item.ID())
		set, err := policy.Parse("p.cedar", []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if d := set.Decide(&policy.Request{Item: item}); d.Effect != policy.Allow {
			t.Errorf("%s: %s", item.ID(), d.Reason())
		}
	}
}

// TestMistakesInCases: a mistake in a case says where and what it is, rather than test something else.
func TestMistakesInCases(t *testing.T) {
	for text, want := range map[string]string{
		`{"cases":[]}`:   "0 cases, want 1 to 10000",
		"\n":             "0 cases, want 1 to 10000",
		`{"case":[{}]}`:  `unknown member "case": did you mean cases?`,
		`"x"`:            "unexpected string, want a list of cases, each an object",
		`[3]`:            "case 1: unexpected number",
		`[{"name":"n"}]`: "n: want one of tool, prompt, resource and server",
		`[{"tool":"a/b","expect":"deny"},{"name":"n","tool":"a/b","expct":"deny"}]`: `n: unknown member "expct": did you ` +
			`mean expect?`,
		`[{"tool":"a/b","expect":"deny","arguments":"x"}]`:   "case 1: arguments: want an object",
		`[{"tool":"a/b","expect":"deny","groups":"x"}]`:      "case 1: groups: unexpected string",
		`[{"tool":"a/b","expect":"deny","time":"tomorrow"}]`: `case 1: time "tomorrow": want a time such as 2026-`,
		`[{"tool":"a/b","expect":"deny","time":5}]`:          "case 1: time: want a string",
		`[{"tool":"a/b","expect":"deny","address":"x"}]`:     `case 1: address "x": want an IP address`,
		`[{"tool":"a/b","expect":"deny","address":[]}]`:      "case 1: address: want a string",
		`[{"tool":"a/b","expect":"deny","hints":{"readonlyHint":true}}]`: `case 1: hints: unknown member "readonlyHint": ` +
			`did you mean readOnlyHint?`,
		`[{"tool":"a/b","expect":"maybe"}]`: `case 1: expect "maybe": want "allow", "deny" or "ask"`,
		`[{"tool":"b","expect":"deny"}]`:    `case 1: "b" is not SERVER/NAME`,
	} {
		if _, err := policy.ParseCases([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseCases(%s) = %v, want %q", text, err, want)
		}
	}
}
