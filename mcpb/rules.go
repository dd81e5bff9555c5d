package mcpb

import "github.com/slipway-mcp/slipway/check"

// Rule is something that [Check] looks at.
type Rule struct {
	ID       string         // as in the findings
	Severity check.Severity // the worst that it reports
	About    string         // what it finds, on one line
}

// The rules about the manifest as a document.
const (
	ruleNoManifest = "mcpb/no-manifest"
	ruleJSON       = "mcpb/json"
	ruleBOM        = "mcpb/bom"
	ruleUTF8       = "mcpb/utf-8"
	ruleDuplicate  = "mcpb/duplicate-key"
	ruleVersion    = "mcpb/manifest-version"
	ruleDXT        = "mcpb/dxt-version"
	ruleRequired   = "mcpb/required"
	ruleType       = "mcpb/type"
	ruleEnum       = "mcpb/enum"
	ruleUnknown    = "mcpb/unknown-field"
	ruleTooNew     = "mcpb/newer-field"
	ruleURL        = "mcpb/url"
	ruleEmail      = "mcpb/email"
	ruleFormat     = "mcpb/format"
	ruleReference  = "mcpb/reference-refuses"
)

// tolerable reports whether a host can work with a manifest that breaks rule.
func tolerable(rule string) bool {
	switch rule {
	case ruleBOM, ruleUnknown, ruleTooNew, ruleURL, ruleEmail, ruleFormat:
		return true
	}
	return false
}

// referenceRules are the rules whose errors the reference CLI reports, too.
func referenceRules() []string {
	return []string{ruleJSON, ruleBOM, ruleVersion, ruleRequired, ruleType, ruleEnum, ruleUnknown, ruleTooNew, ruleURL, ruleEmail, ruleFormat, ruleIcon}
}
