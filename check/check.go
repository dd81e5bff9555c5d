// Package check is how every rule of every format speaks: a [Finding] says what
// is wrong, where, and what to do about it, and a [Report] collects findings and
// writes them for people or for programs.
//
//	var r check.Report
//	r.Add(check.Finding{Rule: "mcpb/version", Severity: check.Error, File: "manifest.json", ...})
//	if !r.OK(strict) { ... }
//
// A rule belongs to the room of its format. This package knows none.
package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a finding is. The zero value is [Error].
type Severity uint8

const (
	// Error is a fault: the thing is invalid, or cannot work.
	Error Severity = iota
	// Warning is something that works here and will not everywhere. A strict
	// check refuses it, too.
	Warning
	// Note is worth knowing. No check fails for it.
	Note
)

// String returns "error", "warning" or "note".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Note:
		return "note"
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler with [Severity.String].
func (s Severity) MarshalText() ([]byte, error) {
	if s > Note {
		return nil, fmt.Errorf("no severity has the number %d", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, one := range []Severity{Error, Warning, Note} {
		if string(text) == one.String() {
			*s = one
			return nil
		}
	}
	return fmt.Errorf("no severity is called %q", text)
}

// Finding is one thing that a check has to say.
type Finding struct {
	// Rule is the format, a slash and a slug, such as "mcpb/entry-point". It is
	// stable: people write it into the lists of what they accept.
	Rule string `json:"rule"`
	// Severity is how bad it is.
	Severity Severity `json:"severity"`
	// File is where it is, as a path that the reader can open; for something
	// inside an archive, the path of the archive, "!" and the name in it. Empty
	// when it has no file.
	File string `json:"file"`
	// Line counts from 1; 0 when there is none.
	Line int `json:"line"`
	// Column counts characters from 1; 0 when there is none.
	Column int `json:"column"`
	// Pointer is the JSON pointer (RFC 6901) of the value, or of the member that
	// is missing. Empty for the whole document, and for what is no document.
	Pointer string `json:"pointer"`
	// Message says what is wrong and why, in one line without a full stop.
	Message string `json:"message"`
	// Hint is the next thing to type or to do, or empty.
	Hint string `json:"hint"`
}

// String returns the finding on one line: place, severity, message and rule.
// The hint is not part of it.
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
			if f.Column > 0 {
				fmt.Fprintf(&b, ":%d", f.Column)
			}
		}
		b.WriteString(": ")
	}
	b.WriteString(f.Severity.String())
	b.WriteString(": ")
	if f.Pointer != "" && f.Line == 0 {
		b.WriteString(f.Pointer)
		b.WriteString(": ")
	}
	b.WriteString(f.Message)
	b.WriteString(" [")
	b.WriteString(f.Rule)
	b.WriteByte(']')
	return b.String()
}

// DefaultLimit is how many findings of one severity a [Report] keeps.
const DefaultLimit = 10_000

// Report collects findings. The zero value is ready to use. It is not safe for
// concurrent use.
type Report struct {
	// Limit is how many findings of each severity are kept; those beyond are only
	// counted. Zero means [DefaultLimit], less than zero no limit.
	Limit int

	findings []Finding
	counts   [Note + 1]int
}

// Add adds findings.
func (r *Report) Add(findings ...Finding) {
	limit := r.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	for _, f := range findings {
		f.Severity = min(f.Severity, Note)
		r.counts[f.Severity]++
		if limit < 0 || r.counts[f.Severity] <= limit {
			r.findings = append(r.findings, f)
		}
	}
}

// Merge adds what another report has: its findings, and the number of those that
// it did not keep.
func (r *Report) Merge(other *Report) {
	r.Add(other.findings...)
	for s, n := range other.counts {
		for _, f := range other.findings {
			if int(f.Severity) == s {
				n--
			}
		}
		r.counts[s] += n
	}
}

// Count returns how many findings of a severity were added, those beyond the
// limit included.
func (r *Report) Count(s Severity) int {
	if s > Note {
		return 0
	}
	return r.counts[s]
}

// Omitted returns how many findings were counted and not kept.
func (r *Report) Omitted() int {
	all := 0
	for _, n := range r.counts {
		all += n
	}
	return all - len(r.findings)
}

// OK reports whether there is no error, and no warning either if strict.
func (r *Report) OK(strict bool) bool {
	return r.counts[Error] == 0 && !(strict && r.counts[Warning] > 0)
}

// Findings returns what was added and kept, in the order of files, then of
// places in them; findings of one place stay in the order they were added. The
// slice is the report's own.
func (r *Report) Findings() []Finding {
	slices.SortStableFunc(r.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.findings
}
