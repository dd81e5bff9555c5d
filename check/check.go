// Package check defines how the checks of every format report their results: a [Finding]
// states what is wrong, where, and how to fix it; a [Reporter] makes findings of a [Rule];
// a [Report] collects them and writes them in one of several formats.
//
//	var rules check.RuleSet
//
//	var ruleVersion = rules.Warning("mcpb/version", "a version that is not semantic")
//
//	r := check.Reporter{Report: &check.Report{}, File: "manifest.json", Document: document}
//	r.Add(ruleVersion, "/version", "three numbers, such as 1.0.0", "%q is not a version", version)
//	if !r.Report.OK(strict) { ... }
//
// The rules themselves belong to the package of their format; this package has none.
package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
)

// Severity is how serious a finding is. The zero value is [Error].
type Severity uint8

const (
	// Error means that the input is invalid or cannot work.
	Error Severity = iota
	// Warning means that the input works here but not everywhere. A strict check fails on
	// it, too.
	Warning
	// Note is for information. No check fails on it.
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
		return nil, fmt.Errorf("unknown severity %d", uint8(s))
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
	return fmt.Errorf("unknown severity %q", text)
}

// Finding is one result of a check.
type Finding struct {
	// Rule is the violated rule. In JSON it is the ID.
	Rule Rule `json:"rule"`
	// Severity is how serious the finding is.
	Severity Severity `json:"severity"`
	// File is a path that the reader can open; for an entry of an archive, the path of the
	// archive, "!" and the name of the entry. Empty if the finding has no file.
	File string `json:"file"`
	// Line counts from 1; 0 if there is none.
	Line int `json:"line"`
	// Column counts characters from 1; 0 if there is none.
	Column int `json:"column"`
	// EndColumn is the column after the last character of the value if that is on the same
	// line; 0 if it is not known. It is not in JSON.
	EndColumn int `json:"-"`
	// Pointer is the JSON pointer (RFC 6901) of the value, or of the missing member. Empty
	// for the whole document, or if the input is not a document.
	Pointer string `json:"pointer"`
	// Message states what is wrong and why, on one line without a full stop.
	Message string `json:"message"`
	// Hint is the next command to type or step to take, or empty.
	Hint string `json:"hint"`
}

// String returns the place, severity, message and rule on one line, without the hint.
func (f Finding) String() string {
	var b strings.Builder
	if where := f.where(); where != "" {
		b.WriteString(where)
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
	b.WriteString(f.Rule.ID)
	b.WriteByte(']')
	return b.String()
}

// where returns the file with line and column, as far as they are known.
func (f Finding) where() string {
	where := f.File
	if where != "" && f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
		if f.Column > 0 {
			where += fmt.Sprintf(":%d", f.Column)
		}
	}
	return where
}

// DefaultLimit is the number of findings of each severity that a [Report] keeps.
const DefaultLimit = 10_000

// Report collects findings. The zero value is ready to use. It is not safe for
// concurrent use.
type Report struct {
	// Limit is the number of findings of each severity to keep; others are only counted.
	// Zero means [DefaultLimit], a negative value no limit.
	Limit int

	findings []Finding
	counts   [Note + 1]int
}

// Add adds findings.
func (r *Report) Add(findings ...Finding) {
	for _, f := range findings {
		f.Severity = min(f.Severity, Note)
		if !r.full(f.Severity) {
			r.findings = append(r.findings, f)
		}
		r.counts[f.Severity]++
	}
}

// full reports whether more findings of a severity are only counted.
func (r *Report) full(s Severity) bool {
	limit := cmp.Or(r.Limit, DefaultLimit)
	return limit >= 0 && r.counts[s] >= limit
}

// Merge adds the findings of another report, and its count of omitted ones.
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

// Count returns how many findings of a severity were added, including those over the
// limit.
func (r *Report) Count(s Severity) int {
	if s > Note {
		return 0
	}
	return r.counts[s]
}

// Omitted returns how many findings were counted but not kept.
func (r *Report) Omitted() int {
	all := 0
	for _, n := range r.counts {
		all += n
	}
	return all - len(r.findings)
}

// OK reports whether there are no errors and, if strict, no warnings.
func (r *Report) OK(strict bool) bool {
	return r.counts[Error] == 0 && !(strict && r.counts[Warning] > 0)
}

// Findings returns the findings that were kept, sorted by file and place; those of one
// place stay in the order in which they were added. The slice belongs to the report.
func (r *Report) Findings() []Finding {
	order.StableBy(r.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
	return r.findings
}
