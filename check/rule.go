package check

import (
	"slices"
	"strings"
)

// Rule is one kind of problem that a check reports. Every format declares its rules in a
// [RuleSet] and returns them from a function Rules, from which the reference page is
// generated. Every [Finding] has a Rule.
type Rule struct {
	// ID is the format, a slash and a slug, such as "mcpb/entry-point". It never changes,
	// because users list the rules that they accept.
	ID string
	// Severity is the usual severity of the findings.
	Severity Severity
	// Title describes the problem, or the requirement, in one line of Markdown.
	Title string
	// Hint is the hint of findings without a more specific one, or empty.
	Hint string
	// Fixable reports whether a command repairs at least some of the findings.
	Fixable bool
}

// RuleSet is the rules of one package. Each rule is a package variable that one of its
// methods declares, so that a misspelt rule does not compile:
//
//	var rules check.RuleSet
//
//	var ruleURI = rules.Error("apps/uri", "a user interface whose URI is not `ui://…`")
//
// The zero value is empty. Declare rules only in package variables.
type RuleSet struct{ all []Rule }

// Error declares a rule whose findings are errors. hint, if given, is [Rule.Hint].
func (s *RuleSet) Error(id, title string, hint ...string) Rule {
	return s.declare(Error, id, title, hint)
}

// Warning declares a rule whose findings are warnings. hint, if given, is [Rule.Hint].
func (s *RuleSet) Warning(id, title string, hint ...string) Rule {
	return s.declare(Warning, id, title, hint)
}

// Note declares a rule whose findings are notes. hint, if given, is [Rule.Hint].
func (s *RuleSet) Note(id, title string, hint ...string) Rule {
	return s.declare(Note, id, title, hint)
}

func (s *RuleSet) declare(severity Severity, id, title string, hint []string) Rule {
	r := Rule{
		ID:       id,
		Severity: severity,
		Title:    title,
		Hint:     strings.Join(hint, "; "),
	}
	s.all = append(s.all, r)
	return r
}

// Fixable marks the rule that was declared last, r, as one some of whose findings a
// command can repair.
func (s *RuleSet) Fixable(r Rule) Rule {
	r.Fixable = true
	s.all[len(s.all)-1] = r
	return r
}

// All returns the rules in the order of their declaration.
func (s *RuleSet) All() []Rule { return slices.Clone(s.all) }

// As returns r with another severity, for a finding that is more or less serious than usual.
func (r Rule) As(s Severity) Rule {
	r.Severity = s
	return r
}

// Is reports whether r and other have the same ID. Their severities may differ.
func (r Rule) Is(other Rule) bool { return r.ID == other.ID }

// Anchor returns the fragment of the rule in the reference page, such as
// "mcpb-entry-point".
func (r Rule) Anchor() string { return strings.ReplaceAll(r.ID, "/", "-") }

// String returns the ID.
func (r Rule) String() string { return r.ID }

// MarshalText implements encoding.TextMarshaler with the ID.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.ID), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It sets only the ID.
func (r *Rule) UnmarshalText(text []byte) error {
	*r = Rule{ID: string(text)}
	return nil
}
