package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// freezing is site freeze: the options of the library, and where to write.
type freezing struct {
	freeze.Options
	writing        writing
	calls, traffic []string
	env            []string
	verify         bool
}

func newSiteFreeze() *cobra.Command {
	f := &freezing{}
	cmd := &cobra.Command{
		Use:   "freeze SOURCE -o DIR|FILE|-",
		Short: "Store the answers of a source as a site",
		Long: `Send a source all requests with known arguments, and store its answers as a
StaticMCP site. Only tools marked as read-only (readOnlyHint) are called, plus
those given with --tool.

Arguments come from the definitions: enum, const, boolean, default, examples and
short integer ranges. Additional ones come from --calls, a file with one
{"tool":...,"arguments":{...}} per line; from --traffic, recorded JSON-RPC
messages; or from a rule that extracts them from other answers:
--expand 'get_item.id=list_items:$.items[*].id'. Arguments of resource templates
and prompts are those that the source suggests.

Each request is sent twice; differing answers are warnings. If an answer
contains secrets or personal data, nothing is written (exit code 6); accept a
false alarm with --allow-secret. A command after -- gets PATH, HOME, the
language and similar variables only; --env adds others.

An existing site is updated. --verify writes nothing: it requests each answer of
the site again and compares.

` + sourceHelp,
		Example: `  slipway site freeze my-server.mcpb -o public/mcp --dry-run
  slipway site freeze my-server.mcpb -o public/mcp
  slipway site freeze my-server.mcpb -o public/mcp --verify
  slipway site freeze -o shop.zip --expand \
      'get_item.id=list_items:$.items[*].id' -- slipway serve --stdio shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(cmd); err != nil {
				return err
			}
			defer interruptible(cmd)()
			arg := args[0]
			environ, err := f.environ(cmd, arg)
			if err != nil {
				return err
			}
			restrict := func(o *open.Options) { o.Live.Environ = environ }
			return withSourceOptions(cmd, arg, restrict, func(c *openSource) error {
				return f.run(cmd, arg, c)
			})
		},
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	f.writing.flags(cmd)
	flags := cmd.Flags()
	requestFlags(flags, &f.Requests)
	flags.StringArrayVar(&f.Only, "only", nil, "freeze only the tool `NAME` (repeatable)")
	flags.StringArrayVar(&f.Skip, "skip", nil, "skip the tool `NAME` (repeatable)")
	flags.StringArrayVar(&f.Refresh, "refresh", nil,
		"call the tool `NAME` again, and keep stored answers of all others (repeatable)")
	flags.StringArrayVar(&f.calls, "calls", nil,
		"`file` with calls, one JSON object per line; - means stdin (repeatable)")
	flags.StringArrayVar(&f.traffic, "traffic", nil,
		"`file` with recorded JSON-RPC messages, one per line (repeatable)")
	flags.Var(eachOf(&f.Expand, freeze.ParseExpansion), "expand",
		"`rule` TOOL.ARGUMENT=TOOL:PATH that takes arguments from answers (repeatable)")
	flags.BoolVar(&f.NoResources, "no-resources", false, "skip resources")
	flags.BoolVar(&f.NoPrompts, "no-prompts", false, "skip prompts")
	f.Limits.PerTool = 1000
	f.Limits.Range = 100
	f.Repeat.After = 1100 * time.Millisecond
	flags.Var(atLeast(&f.Limits.Calls, 1), "max-calls",
		"maximum `number` of requests (default: 10000; no limit for a site)")
	flags.Var(atLeast(&f.Limits.PerTool, 1), "max-per-tool",
		"maximum `number` of argument combinations per tool, template or prompt")
	flags.Var(atLeast(&f.Limits.Range, 1), "max-range", "maximum `length` of an integer range to enumerate")
	flags.Var((*duration)(&f.Repeat.After), "again-after",
		"`time` between an answer and its second request")
	flags.BoolVar(&f.Repeat.Off, "once", false, "send each request once, without detecting unstable answers")
	flags.BoolVar(&f.Repeat.SkipUnstable, "skip-unstable", false, "skip unstable answers")
	flags.BoolVar(&f.KeepErrors, "keep-errors", false, "also store tool errors")
	flags.Var(each(new([]string), f.allowKind), "allow", "store answers with findings of this `kind`: personal")
	allowSecretFlag(flags, &f.Allow.Secrets)
	flags.StringArrayVar(&f.env, "env", nil,
		"pass the environment variable `NAME`, or NAME=VALUE, to the command after -- (repeatable)")
	flags.BoolVar(&f.verify, "verify", false,
		"compare the site with the current answers of the source, without writing")
	groupFlags(cmd, "Requests", "tool", "only", "skip", "refresh", "calls", "traffic", "expand", "no-resources",
		"no-prompts", "max-calls", "max-per-tool", "max-range", "concurrency", "rate", "retries", "timeout", "env")
	groupFlags(cmd, "Answers", "replace", "again-after", "once", "skip-unstable", "keep-errors", "allow", "allow-secret",
		"verify")
	groupFlags(cmd, "Output", "output", "format", "collisions", "host", "site-root", "precompress", "compact",
		"no-aliases", "no-index", "force", "dry-run", "lenient", "json")
	groupFlags(cmd, "Source", "set", "values", "require-signer", "secrets-from", "allow-network", "lock", "lock-policy")
	return handlesSignals(cmd)
}

// requestFlags adds the flags for how a source is called.
func requestFlags(flags *pflag.FlagSet, o *freeze.Requests) {
	flags.StringArrayVar(&o.Tools, "tool", nil,
		"also call the tool `NAME`, although it is not marked as read-only (repeatable)")
	o.Concurrency = 4
	o.Retries = 2
	o.Timeout = 30 * time.Second
	flags.Var(atLeast(&o.Concurrency, 1), "concurrency", "maximum `number` of concurrent calls")
	flags.Var(atLeast(&o.Rate, 0), "rate", "maximum `calls` per second; 0 means no limit")
	flags.Var(atLeast(&o.Retries, 0), "retries", "`number` of retries of a failed call")
	flags.Var(longerThanZero(&o.Timeout), "timeout", "maximum `time` for a call")
	flags.Var(eachOf(&o.Replace, freeze.ParseReplacement), "replace",
		"replace text in answers before they are compared and stored, as `REGEXP=>TEXT` (repeatable)")
}

// validate checks the flags, and marks a zero that the user gave as -1: in the options, zero
// is the default.
func (f *freezing) validate(cmd *cobra.Command) error {
	if f.verify && f.writing.output == "-" {
		return usage("name the site with -o", "freeze: --verify has no site")
	}
	f.Retries, f.Repeat.After = cmp.Or(f.Retries, -1), cmp.Or(f.Repeat.After, -1)
	return f.writing.complete(cmd)
}

// allowKind accepts findings of a kind.
func (f *freezing) allowKind(kind string) error {
	switch kind {
	case "personal":
		f.Allow.Personal = true
		return nil
	case "secret":
		return usage("accept each finding with --allow-secret and the fingerprint in its hint",
			"--allow secret is not supported")
	}
	return usage("the only kind is personal", "unknown kind %q", kind)
}

// readCalls adds the calls in the files that flags name.
func (f *freezing) readCalls(stdin io.Reader) error {
	for i, name := range slices.Concat(f.calls, f.traffic) {
		read := freeze.ReadCalls
		if i >= len(f.calls) {
			read = freeze.ReadTraffic
		}
		in := stdin
		if name != "-" {
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			in = file
		}
		list, err := read(in)
		if err != nil {
			return badInput(`a line is {"tool":"NAME","arguments":{...}}`, "%s: %v", name, err)
		}
		f.Calls = append(f.Calls, list...)
	}
	return nil
}

// publicName returns the part of an argument that may be published: without credentials
// and query, and of a command only its name.
func publicName(arg string) string {
	u, err := url.Parse(strings.TrimPrefix(strings.TrimPrefix(arg, "live:"), "site:"))
	if err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + u.Path
	}
	if strings.HasPrefix(arg, "exec:") {
		return open.Argument(arg).Name()
	}
	return filepath.Base(arg)
}

// stamp returns the time to record: SOURCE_DATE_EPOCH if set, so that a build can be
// reproduced.
func stamp() time.Time {
	var seconds int64
	if _, err := fmt.Sscan(os.Getenv("SOURCE_DATE_EPOCH"), &seconds); err == nil {
		return time.Unix(seconds, 0)
	}
	return time.Now()
}

// run plans the questions to a source, asks them, and writes the answers. An earlier site in
// the output is read first: its answers are reused as the flags allow. With --verify the
// source is compared with that site instead, and with --dry-run only the plan is printed.
func (f *freezing) run(cmd *cobra.Command, arg string, c *openSource) error {
	ctx := cmd.Context()
	if err := f.readCalls(cmd.InOrStdin()); err != nil {
		return err
	}
	previous, err := freeze.OpenPrevious(ctx, f.writing.output)
	if err != nil {
		return err
	}
	if previous != nil {
		defer previous.Close()
	}
	if f.verify {
		return f.compare(cmd, previous, c)
	}
	f.Previous, f.Origin = previous, freeze.Origin{
		Source: publicName(arg),
		Time:   stamp(),
	}
	wait := f.follow(cmd)
	defer wait.finish()
	plan, err := freeze.NewPlan(ctx, c.source, &f.Options)
	if err != nil {
		return unplanned(c.arg, err)
	}
	if f.writing.dryRun {
		wait.finish()
		return f.show(cmd, plan)
	}
	report, err := freeze.Run(ctx, plan, f.writing.target(cmd.OutOrStdout()), &f.writing.Options)
	wait.finish()
	return f.tell(cmd, plan, report, err)
}

// follow makes a tracker show the requests, and then the writing.
func (f *freezing) follow(cmd *cobra.Command) *tracker {
	t := newTracker(cmd, countOnly)
	t.update("asking", 0, 0)
	t.tick()
	f.Progress = func(p sitebuild.Progress) {
		if p.Stage != "reading" && p.Stage != "done" { // answers are read as they arrive
			t.update(p.Stage, int64(p.Done), int64(p.Total))
		}
	}
	f.writing.Progress = f.Progress
	return t
}

// unplanned returns the error of a plan: an error in a flag is not the source's fault.
func unplanned(arg string, err error) error {
	var unknown *freeze.UnknownToolError
	if !errors.As(err, &unknown) {
		return answered(arg, err)
	}
	hint := "slipway ls lists the tools"
	if unknown.Near != "" {
		hint = fmt.Sprintf("did you mean %q?", unknown.Near)
	}
	return usage(hint, "freeze: %s has no tool %q", arg, unknown.Name)
}

// show prints the plan.
func (f *freezing) show(cmd *cobra.Command, plan *freeze.Plan) error {
	e, err := plan.Estimate(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if wantsJSON(cmd) {
		return printJSON(out, e)
	}
	for _, s := range e.Subjects {
		state := count(s.Calls, "call")
		if s.Kind == "template" || s.Skipped {
			state = "-"
		}
		fmt.Fprintln(out,
			strings.TrimRight(fmt.Sprintf("%-10s %-24s %-10s %s", s.Kind, cmp.Or(s.Name, "listed"), state, s.Note), " "))
	}
	about := "less than a second"
	if e.Seconds >= 1 {
		about = "about " + time.Duration(e.Seconds*float64(time.Second)).Round(time.Second).String()
	}
	fmt.Fprintf(out, "%s, %s, %s", count(e.Questions, "question"), count(e.Requests, "request"), about)
	if e.Bytes > 0 {
		fmt.Fprintf(out, "; the site had %s before", byteCount(e.Bytes))
	}
	fmt.Fprintln(out)
	printFindings(cmd, &plan.Report)
	return nil
}

// tell reports the outcome.
func (f *freezing) tell(cmd *cobra.Command, plan *freeze.Plan, r *freeze.Report, err error) error {
	result := r.Build
	if result == nil {
		return answered(cmd.Name(), err)
	}
	var stopped *failure
	var refused *freeze.RefusedError
	switch {
	case errors.As(err, &refused):
		stopped = denied("the findings above name each place and how to accept it", "freeze: %v", err)
	case errors.Is(err, freeze.ErrNoAnswers):
		stopped = remoteFailed("", "freeze: %v", err)
	}
	if stopped != nil {
		printFindings(cmd, &result.Report)
		return stopped
	}
	if err == nil && !f.writing.quiet && !f.writing.json {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, %s, %d stored, %d failed, %d unstable, %d reused\n",
			plan.Name(), count(r.Asked, "question"), count(r.Requests, "request"), r.Stored, r.Failed, r.Unstable, r.Reused)
	}
	if err := f.writing.finish(cmd, result, err); err != nil {
		return err
	}
	if n := result.Report.Count(check.Error); n > 0 {
		return no("fix what the errors above name, or skip these tools with --skip",
			"freeze: the site lacks answers: %s",
			count(n, "error"))
	}
	return nil
}

// compare queries the source again and compares the answers with the site.
func (f *freezing) compare(cmd *cobra.Command, site *staticmcp.Site, c *openSource) error {
	if site == nil {
		return badInput("freeze one without --verify first", "%s: no site to compare with", f.writing.output)
	}
	t := newTracker(cmd, countOnly)
	f.Compared = t.compared
	t.tick()
	v, err := freeze.Verify(cmd.Context(), site, c.source, &f.Requests)
	t.finish()
	if err != nil {
		return answered(c.arg, err)
	}
	if err := showFindings(cmd, &v.Report); err != nil {
		return err
	}
	text := fmt.Sprintf("%s: %s compared, %d different, %d failed",
		f.writing.output, count(v.Compared, "answer"), v.Different, v.Failed)
	if !v.OK() {
		return no("freeze it again without --verify", "%s", text)
	}
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), text)
	return err
}
