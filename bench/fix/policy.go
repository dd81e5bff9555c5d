package fix

import (
	"fmt"
	"strings"
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
	for i := 2; i < Rules; i++ {
		server, group := i%100, i/100%50
		fmt.Fprintf(&b, "@id(\"r%d\") ", i)
		switch (i / 100) % 10 {
		case 0:
			fmt.Fprintf(&b, `permit (principal in Group::"g%d", action, resource in Server::"s%d");`, group, server)
		case 1:
			fmt.Fprintf(&b, `forbid (principal in Group::"g%d", action == Action::"call", resource in Server::"s%d") `+
				`when { context.arguments has path && context.arguments.path like "/secret%d/*" };`, group, server, i)
		case 2:
			fmt.Fprintf(&b, `permit (principal in Role::"r%d", action == Action::"call", resource in Server::"s%d") `+
				`when { context.hour >= 8 && context.hour < 18 };`, group, server)
		default:
			fmt.Fprintf(&b, `forbid (principal, action == Action::"call", resource == Tool::"s%d/t%d");`, server, i)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}
