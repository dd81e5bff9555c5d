// Package freeze makes a StaticMCP site from any source: it calls the source and stores
// the answers.
//
//	plan, err := freeze.NewPlan(ctx, source, nil)
//	report, err := freeze.Run(ctx, plan, sitebuild.Dir("public/mcp"), nil)
//
// [NewPlan] determines the calls. It only makes requests without side effects: lists and
// completions. [Run] makes the calls. Only tools marked readOnlyHint are called, unless
// they are named in the options. [Verify] repeats the calls and compares the answers,
// [Diff] compares two sources, and [Fallback] serves a site and passes on calls that it
// has no answer for.
package freeze
