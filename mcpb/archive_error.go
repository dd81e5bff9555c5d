package mcpb

import (
	"fmt"

	"github.com/slipway-mcp/slipway/check"
)

// The rules for archives.
const (
	ruleDamaged     = "mcpb/archive-damaged"     // not a zip, or an incomplete one
	ruleAmbiguous   = "mcpb/archive-ambiguous"   // zip readers disagree on the content
	ruleUnsupported = "mcpb/archive-unsupported" // encrypted, split, or an unsupported compression method
	ruleName        = "mcpb/archive-name"        // a name that is outside the bundle, or differs between systems
	ruleCollision   = "mcpb/archive-collision"   // two entries with the same name
	ruleLink        = "mcpb/archive-link"        // neither a file nor a folder
	ruleOverlap     = "mcpb/archive-overlap"     // files that share bytes
	ruleLimit       = "mcpb/archive-limit"       // exceeds a limit
	ruleBomb        = "mcpb/archive-bomb"        // expands too much
	ruleSignature   = "mcpb/signature"           // differs from what was signed
)

// ArchiveError reports why an archive is refused.
type ArchiveError struct {
	// Rule is the violated rule, such as "mcpb/archive-name".
	Rule string
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
	f := check.Finding{Rule: e.Rule, Severity: check.Error, File: file, Message: e.Reason, Hint: e.Hint(file)}
	if e.Name != "" {
		f.Message = fmt.Sprintf("%q: %s", e.Name, e.Reason)
	}
	return f
}

func unsafef(rule, name, format string, args ...any) error {
	return &ArchiveError{Rule: rule, Name: name, Reason: fmt.Sprintf(format, args...), Unsafe: true}
}

func damagedf(name, format string, args ...any) error {
	return &ArchiveError{Rule: ruleDamaged, Name: name, Reason: fmt.Sprintf(format, args...)}
}
