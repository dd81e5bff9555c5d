package stax

import (
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// ErrorsByServer groups the errors in a report about definitions: the first error for each
// server, by name, and the errors about the file as a whole. If the report omits findings,
// all errors count as being about the whole file.
func ErrorsByServer(report *check.Report) (servers map[string]check.Finding, whole []check.Finding) {
	servers = make(map[string]check.Finding)
	for _, f := range report.Findings() {
		if f.Severity != check.Error {
			continue
		}
		tokens := strings.Split(f.Pointer, "/")
		if len(tokens) < 3 ||
			!slices.Contains([]string{"servers", "bindings", "tools"}, tokens[1]) || report.Omitted() > 0 {
			whole = append(whole, f)
			continue
		}
		name := jsonscan.UnescapeToken(tokens[2])
		if _, known := servers[name]; !known {
			servers[name] = f
		}
	}
	return servers, whole
}
