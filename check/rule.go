package check

import "strings"

// Rule is one kind of problem that a check reports. Every format declares its rules as
// package variables and lists them in a function Rules, from which the reference page is
// generated. A [Finding] can only be made from a Rule.
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

// Rule returns a rule with severity s.
func (s Severity) Rule(id, title, hint string) Rule {
	return Rule{ID: id, Severity: s, Title: title, Hint: hint}
}

// As returns r with another severity, for a finding that is more or less serious than usual.
func (r Rule) As(s Severity) Rule {
	r.Severity = s
	return r
}

// WithFix returns r as a rule some of whose findings a command can repair.
func (r Rule) WithFix() Rule {
	r.Fixable = true
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
