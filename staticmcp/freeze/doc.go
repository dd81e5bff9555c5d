// Package freeze makes a StaticMCP site of any source: it asks what there is to
// ask, and stores the answers.
//
//	plan, err := freeze.NewPlan(ctx, source, nil)
//	report, err := freeze.Run(ctx, plan, build.Dir("public/mcp"), nil)
//
// [NewPlan] finds out what will be asked and asks nothing that could change
// anything: lists, and completions. [Run] asks. Only tools that say of themselves
// that they change nothing are called, unless they are named. [Verify] asks again
// and compares, [Diff] compares two sources, and [Fallback] serves a site and
// passes on what it has no answer for.
package freeze
