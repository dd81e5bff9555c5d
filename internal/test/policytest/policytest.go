// Package policytest writes policies of the size that a company has, for tests and benchmarks.
package policytest

import (
	"fmt"
	"strings"
)

// Rules returns the rules of a policy, in Cedar, with the numbers from first to before end: about groups, roles,
// servers s0 to s99 and their tools. Of ten rules, one reads an argument and one the time.
func Rules(first, end int) string {
	var b strings.Builder
	for i := first; i < end; i++ {
		server := i % 100
		group := i / 100 % 50
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
	return b.String()
}
