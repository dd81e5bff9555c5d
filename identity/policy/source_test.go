package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go"
)

// TestReadWhenNeeded ensures that rules are read from their part of the file when a request needs
// them, and only then, and that comments between rules belong to none.
func TestReadWhenNeeded(t *testing.T) {
	text := `// the first; permit (principal, action, resource);
@id("a") permit (principal, action, resource in Server::"one"); // "a"
// a comment with @id("x")

  @id("b")
  // within
  forbid (principal, action == Action::"call", resource in Server::"two")
  when { context.arguments has path && context.arguments.path like "/secret; // */*" };
@id("c") forbid (principal, action, resource in Server::"three"); permit (principal, action, resource == Tool::"two/x");
// the end`
	document := []byte(text)
	s, err := Parse("x", document)
	if err != nil {
		t.Fatal(err)
	}
	clear(document) // the caller may use it for something else
	read := func() (ids []string) {
		for _, i := range slices.Sorted(maps.Keys(s.texts[0].made)) {
			ids = append(ids, s.texts[0].made[i].ID)
		}
		return ids
	}
	if ids := read(); len(ids) != 0 {
		t.Errorf("rules %v are read before a request", ids)
	}
	d := s.Decide(&Request{
		Action:    Call,
		Item:      Item{Kind: ToolKind, Servers: []string{"two"}, Name: "x"},
		Situation: Situation{Arguments: []byte(`{"path":"/secret; // a/b"}`)},
	})
	if d.Effect != Deny || d.RuleID() != "b" {
		t.Errorf("decision %s, want deny by b", &d)
	}
	if ids := read(); !slices.Equal(ids, []string{"b", "line-9"}) {
		t.Errorf("read %v, want b and line-9", ids)
	}
	for _, r := range s.texts[0].made {
		if r.program.conditions != nil {
			t.Errorf("rule %s is converted for Cedar, although its test is enough", r.ID)
		}
	}
	list, err := cedar.NewPolicyListFromBytes("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range s.Rules() {
		if want := strings.TrimSpace(string(list[i].MarshalCedar())); r.Text() != want {
			t.Errorf("rule %s is %s, want %s", r.ID, r.Text(), want)
		}
	}
}

// TestUnevaluable ensures that a rule which cannot be read again permits nothing, and denies as a forbid.
func TestUnevaluable(t *testing.T) {
	s, err := Parse("x", []byte(`@id("p") permit (principal, action, resource);
@id("q") permit (principal, action, resource in Server::"two");
@id("f") forbid (principal, action, resource in Server::"one");`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.texts[0].starts[1:] {
		s.texts[0].starts[i+1] += 2 // the rule begins within its annotation
	}
	for server, want := range map[string]string{"one": "deny by line-3", "two": "allow by p"} {
		d := s.Decide(&Request{Action: Call, Item: Item{Kind: ToolKind, Servers: []string{server}, Name: "x"}})
		if d.String() != want || len(d.Errors) == 0 {
			t.Errorf("%s: %s %v, want %s with an error", server, &d, d.Errors, want)
		}
	}
}
