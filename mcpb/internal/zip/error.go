package zip

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/process"
)

var rules check.RuleSet

// The rules of archives.
var (
	RuleDamaged = rules.Error("mcpb/archive-damaged",
		"an archive that is damaged, incomplete or not a zip file")
	RuleAmbiguous = rules.Error("mcpb/archive-ambiguous",
		"an archive that different zip readers read differently")
	RuleUnsupported = rules.Error("mcpb/archive-unsupported",
		"an archive that is encrypted, split, or compressed with an unsupported method")
	RuleName = rules.Error("mcpb/archive-name",
		"a name that points outside the archive, or has another meaning on some systems")
	RuleCollision = rules.Error("mcpb/archive-collision",
		"two entries with the same name, also ignoring case and Unicode form")
	RuleLink      = rules.Error("mcpb/archive-link", "an entry that is neither a file nor a folder")
	RuleOverlap   = rules.Error("mcpb/archive-overlap", "entries that share bytes")
	RuleLimit     = rules.Error("mcpb/archive-limit", "more entries or bytes than allowed")
	RuleBomb      = rules.Error("mcpb/archive-bomb", "a small archive that is far too large when unpacked")
	RuleSignature = rules.Error("mcpb/signature", "a signed bundle that differs from what was signed")
	RulePortable  = rules.Warning("mcpb/archive-portable", "folders that some systems treat as the same")
)

// Rules returns all rules in the order of their documentation.
func Rules() []check.Rule { return rules.All() }

// Error reports why an archive is refused.
type Error struct {
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
func (e *Error) Hint(file string) string {
	if e.Repair == "" {
		return ""
	}
	return "slipway bundle unsign " + process.PathWord(file) + " " + e.Repair
}

// ExceedsLimit reports whether the archive is refused only because it is larger than
// allowed.
func (e *Error) ExceedsLimit() bool {
	return e.Rule.Is(RuleLimit) || e.Rule.Is(RuleBomb)
}

// Error implements the error interface.
func (e *Error) Error() string {
	if e.Unsafe {
		return "unsafe archive: " + e.named()
	}
	return "broken archive: " + e.named()
}

// named returns the reason, prefixed with the name of the entry.
func (e *Error) named() string {
	if e.Name == "" {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", quoted(e.Name), e.Reason)
}

// maxShownName is how many bytes of a name errors contain. An entry may have one of 64 KiB.
const maxShownName = 200

// quoted returns the quoted start of a name.
func quoted(name string) string {
	if len(name) <= maxShownName {
		return strconv.Quote(name)
	}
	return strconv.Quote(strings.ToValidUTF8(name[:maxShownName], "")) + "…"
}

// Finding returns the error as a finding about the archive called file.
func (e *Error) Finding(file string) check.Finding {
	return check.Reporter{File: file}.Finding(e.Rule, "", e.Hint(file), "%s", e.named())
}

// unsafef returns an error for an archive that is refused for safety.
func unsafef(rule check.Rule, name, format string, args ...any) error {
	return &Error{
		Rule:   rule,
		Name:   name,
		Reason: fmt.Sprintf(format, args...),
		Unsafe: true,
	}
}

// damagedf returns an error for a broken archive.
func damagedf(name, format string, args ...any) error {
	return &Error{
		Rule:   RuleDamaged,
		Name:   name,
		Reason: fmt.Sprintf(format, args...),
	}
}
