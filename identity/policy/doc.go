// Package policy decides which caller may do what, by rules in the Cedar language.
//
//	permit (principal in Group::"support", action, resource in Server::"tickets");
//
//	@id("no-refunds-over-100")
//	forbid (principal, action == Action::"call", resource == Tool::"billing/refund")
//	when { context.arguments has amount && context.arguments.amount > 100 };
//
// [Parse] reads and validates rules. [Set.Decide] decides one [Request]. An [Engine] does
// that for a server: it restricts a catalog to what a caller may use, and remembers what
// does not depend on the request.
//
// Everything that no rule permits is denied, a forbid overrides every permit, and a forbid
// that cannot be evaluated denies. Rules name items by their source and their original
// name, never by the name under which a client sees them. [Schema] describes everything that
// rules can refer to.
//
// A forbid with the annotation @approval("once"), "session" or "always" is lifted by the
// user's consent.
package policy
