package fix

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/test/policytest"
)

// Rules is the number of rules in [Policy].
const Rules = 10_000

// Policy returns the rules of the workload with policy, in Cedar: about groups, servers and
// tools of a company, of which a few are about the caller and the tool of the workload. One of
// these reads the time, and one the arguments.
func Policy() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "@id(\"bench\") permit (principal in Scope::\"tools:call\", action == Action::\"call\", "+
		"resource in Server::%q) when { context.hour >= 0 };\n", ServerName)
	fmt.Fprintf(&b, "@id(\"message\") forbid (principal, action == Action::\"call\", resource == Tool::\"%s/%s\") "+
		"when { context.arguments has message && context.arguments.message like \"*secret*\" };\n", ServerName, Echo)
	b.WriteString(policytest.Rules(2, Rules))
	return []byte(b.String())
}
