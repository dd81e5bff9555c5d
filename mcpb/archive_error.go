package mcpb

import (
	"fmt"

	"github.com/slipway-mcp/slipway/check"
)

// ArchiveError reports why an archive is refused.
type ArchiveError struct {
	// Rule is the violated rule.
	Rule check.Rule
	// Name is the name of the entry, as written in the archive, or empty.
	Name string
	// Reason is the problem in words.
	Reason string
	// Unsafe reports whether the archive is refused for safety. Otherwise it is only
	// broken.
	Unsafe bool
	// Repair is the effect of "slipway bundle unsign" if that repairs the archive, such
	// as "removes what is left of the signature", or empty.
	Repair string
}

// Hint returns the command that repairs the archive called file, with its effect, or an
// empty string.
func (e *ArchiveError) Hint(file string) string {
	if e.Repair == "" {
		return ""
	}
	return "slipway bundle unsign " + file + " " + e.Repair
}

// Error implements the error interface.
func (e *ArchiveError) Error() string {
	what := "broken archive: "
	if e.Unsafe {
		what = "unsafe archive: "
	}
	if e.Name != "" {
		what += fmt.Sprintf("%q: ", e.Name)
	}
	return what + e.Reason
}

// Finding returns the error as a finding about the archive called file.
func (e *ArchiveError) Finding(file string) check.Finding {
	r := check.Reporter{File: file}
	if e.Name != "" {
		return r.Finding(e.Rule, "", e.Hint(file), "%q: %s", e.Name, e.Reason)
	}
	return r.Finding(e.Rule, "", e.Hint(file), "%s", e.Reason)
}

func unsafef(rule check.Rule, name, format string, args ...any) error {
	return &ArchiveError{Rule: rule, Name: name, Reason: fmt.Sprintf(format, args...), Unsafe: true}
}

func damagedf(name, format string, args ...any) error {
	return &ArchiveError{Rule: ruleDamaged, Name: name, Reason: fmt.Sprintf(format, args...)}
}
