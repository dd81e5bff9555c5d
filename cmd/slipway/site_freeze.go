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
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// freezing is site freeze: the options of the library, and where to write.
type freezing struct {
	freeze.Options
	writing
	calls, traffic []string
	allow, env     []string
	verify         bool
}

func newSiteFreeze() *cobra.Command {
	f := &freezing{}
	cmd := &cobra.Command{
		Use:   "freeze SOURCE -o DIR|FILE|-",
		Short: "Store the answers of a source as a site",
		Long: `Ask a source everything there is to ask and store the answers as a StaticMCP
site. Only tools that say that they change nothing are called (readOnlyHint),
unless they are named with --tool.

Calls are made with the values that the definitions list: enum, const, boolean,
default, examples and short ranges of whole numbers. What an argument can be
otherwise is said by --calls, a file with one {"tool":...,"arguments":{...}} on
each line; by --traffic, recorded JSON-RPC messages; or by a rule that takes it
out of other answers: --expand 'get_item.id=list_items:$.items[*].id'. Resource
templates and prompts are asked for the values that the source suggests.

Everything is asked twice, and an answer that differs is a warning. If an answer
contains a secret or personal data, nothing is written (exit code 6); accept a
false alarm with --allow-secret. A command after -- gets PATH, HOME, the
language and similar variables only; --env adds others.

A folder that was frozen before is brought up to date. With --verify nothing is
written: every answer of the site is asked for again and compared.

` + sourceHelp,
		Example: `  slipway site freeze my-server.mcpb -o public/mcp --dry-run
  slipway site freeze my-server.mcpb -o public/mcp
  slipway site freeze my-server.mcpb -o public/mcp --verify
  slipway site freeze -o shop.zip --expand 'get_item.id=list_items:$.items[*].id' -- slipway serve --stdio shop`,
		Args: takesSource(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(cmd); err != nil {
				return err
			}
			defer interruptible(cmd)()
			arg := sourceFirst(cmd, args)[0]
			environ, err := f.environ(cmd, arg)
			if err != nil {
				return err
			}
			restrict := func(o *open.Options) { o.Live.Environ = environ }
			return withSourceOptions(cmd, arg, restrict, func(c *openSource) error { return f.run(cmd, arg, c) })
		},
	}
	bundleFlags(cmd)
	lockFlags(cmd)
	f.writing.flags(cmd)
	flags := cmd.Flags()
	requestFlags(flags, &f.Requests)
	flags.StringArrayVar(&f.Only, "only", nil, "freeze the tool `NAME` and no others (repeatable)")
	flags.StringArrayVar(&f.Skip, "skip", nil, "leave out the tool `NAME` (repeatable)")
	flags.StringArrayVar(&f.Refresh, "refresh", nil, "ask for answers of the tool `NAME` again, and keep those of all others (repeatable)")
	flags.StringArrayVar(&f.calls, "calls", nil, "a `file` with calls, one JSON object on each line; - is stdin (repeatable)")
	flags.StringArrayVar(&f.traffic, "traffic", nil, "a `file` with recorded JSON-RPC messages, one on each line (repeatable)")
	flags.Var(eachOf(&f.Expand, freeze.ParseExpansion), "expand", "a `rule` TOOL.ARGUMENT=TOOL:PATH that makes calls out of answers (repeatable)")
	flags.BoolVar(&f.NoResources, "no-resources", false, "leave out resources")
	flags.BoolVar(&f.NoPrompts, "no-prompts", false, "leave out prompts")
	flags.IntVar(&f.Limits.Calls, "max-calls", 0, "most questions in all (default 10000; no limit for a site)")
	flags.IntVar(&f.Limits.PerTool, "max-per-tool", 1000, "most combinations of arguments for one tool, template or prompt")
	flags.IntVar(&f.Limits.Range, "max-range", 100, "longest range of whole numbers that is gone through")
	flags.DurationVar(&f.Repeat.After, "again-after", 1100*time.Millisecond, "how long after its answer a question is asked again")
	flags.BoolVar(&f.Repeat.Off, "once", false, "ask each question once, and do not look for answers that differ")
	flags.BoolVar(&f.Repeat.SkipUnstable, "skip-unstable", false, "leave out answers that differ")
	flags.BoolVar(&f.KeepErrors, "keep-errors", false, "store errors of tools, too")
	flags.StringSliceVar(&f.allow, "allow", nil, "store answers with findings of this `kind`: personal")
	allowSecretFlag(flags, &f.Allow.Secrets)
	flags.StringArrayVar(&f.env, "env", nil,
		"pass the variable `NAME` of the environment, or NAME=VALUE, to the command after -- (repeatable)")
	flags.BoolVar(&f.verify, "verify", false, "compare what the site has with what the source says, and write nothing")
	return cmd
}

// requestFlags adds the flags for how a source is called.
func requestFlags(flags *pflag.FlagSet, o *freeze.Requests) {
	flags.StringArrayVar(&o.Tools, "tool", nil, "call the tool `NAME` though it does not say that it changes nothing (repeatable)")
	flags.IntVar(&o.Concurrency, "concurrency", 4, "calls at the same time")
	flags.Float64Var(&o.Rate, "rate", 0, "most calls in a second; 0 is any number")
	flags.IntVar(&o.Retries, "retries", 2, "how often a call that failed is made again")
	flags.DurationVar(&o.Timeout, "timeout", 30*time.Second, "how long one call may take")
	flags.Var(eachOf(&o.Replace, freeze.ParseReplacement), "replace", "replace in texts, as `REGEXP=>TEXT`, before they are compared and stored (repeatable)")
}

func (f *freezing) validate(cmd *cobra.Command) error {
	for _, kind := range f.allow {
		if kind == "secret" {
			return usage("accept each finding with --allow-secret and the fingerprint in its hint",
				"freeze: --allow secret is not supported")
		}
		if kind != "personal" {
			return usage("the only kind is personal", "freeze: --allow %q", kind)
		}
		f.Allow.Personal = true
	}
	if err := checkAllowed("freeze", f.Allow.Secrets); err != nil {
		return err
	}
	if f.verify && f.output == "-" {
		return usage("name the site with -o", "freeze: --verify has no site")
	}
	f.Retries, f.Repeat.After = cmp.Or(f.Retries, -1), cmp.Or(f.Repeat.After, -1)
	return f.writing.validate(cmd)
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
			return &failure{code: exitInput, text: name + ": " + err.Error(), hint: `a line is {"tool":"NAME","arguments":{...}}`}
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
		return open.Name(arg)
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

func (f *freezing) run(cmd *cobra.Command, arg string, c *openSource) error {
	ctx := cmd.Context()
	if err := f.readCalls(cmd.InOrStdin()); err != nil {
		return err
	}
	previous, err := freeze.OpenPrevious(ctx, f.output)
	if err != nil {
		return err
	}
	if previous != nil {
		defer previous.Close()
	}
	if f.verify {
		return f.compare(cmd, previous, c)
	}
	f.Previous, f.Origin = previous, freeze.Origin{Source: publicName(arg), Time: stamp()}
	f.Progress = f.writing.progress(cmd)
	plan, err := freeze.NewPlan(ctx, c.source, &f.Options)
	if err != nil {
		return unplanned(c.arg, err)
	}
	if f.dryRun {
		return f.show(cmd, plan)
	}
	report, err := freeze.Run(ctx, plan, f.target(cmd.OutOrStdout()), f.writing.options(cmd))
	return f.tell(cmd, plan, report, err)
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
	if f.json {
		return printJSON(out, e)
	}
	for _, s := range e.Subjects {
		state := count(s.Calls, "call")
		if s.Kind == "template" || s.Skipped {
			state = "-"
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-10s %-24s %-10s %s", s.Kind, cmp.Or(s.Name, "listed"), state, s.Note), " "))
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
	return plan.Report.WriteText(cmd.ErrOrStderr(), colored(cmd.ErrOrStderr()))
}

// tell reports the outcome.
func (f *freezing) tell(cmd *cobra.Command, plan *freeze.Plan, r *freeze.Report, err error) error {
	stderr := cmd.ErrOrStderr()
	result := r.Build
	if result == nil {
		return answered(cmd.Name(), err)
	}
	var stopped *failure
	var refused *freeze.RefusedError
	switch {
	case errors.As(err, &refused):
		stopped = &failure{code: exitPolicy, text: "freeze: " + err.Error(),
			hint: "the findings above name each place and how to accept it"}
	case errors.Is(err, freeze.ErrNoAnswers):
		stopped = &failure{code: exitRemote, text: "freeze: " + err.Error()}
	}
	if stopped != nil {
		if err := result.Report.WriteText(stderr, colored(stderr)); err != nil {
			return err
		}
		return stopped
	}
	if err == nil && !f.quiet && !f.json {
		fmt.Fprintf(stderr, "%s: %s, %s, %d stored, %d failed, %d unstable, %d reused\n",
			plan.Name(), count(r.Asked, "question"), count(r.Requests, "request"), r.Stored, r.Failed, r.Unstable, r.Reused)
	}
	if err := f.finish(cmd, result, err); err != nil {
		return err
	}
	if n := result.Report.Count(check.Error); n > 0 {
		return no("fix what the errors above name, or skip these tools with --skip", "freeze: the site lacks answers: %s",
			count(n, "error"))
	}
	return nil
}

// compare queries the source again and compares the answers with the site.
func (f *freezing) compare(cmd *cobra.Command, site *staticmcp.Site, c *openSource) error {
	if site == nil {
		return &failure{code: exitInput, text: f.output + ": there is no site to compare with", hint: "freeze one without --verify first"}
	}
	v, err := freeze.Verify(cmd.Context(), site, c.source, &f.Requests)
	if err != nil {
		return answered(c.arg, err)
	}
	out := cmd.OutOrStdout()
	if f.json {
		err = v.Report.WriteJSON(out)
	} else {
		err = v.Report.WriteText(out, colored(out))
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s: %s compared, %d different, %d failed", f.output, count(v.Compared, "answer"), v.Different, v.Failed)
	if !v.OK() {
		return &failure{code: exitNo, text: text, hint: "freeze it again without --verify"}
	}
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), text)
	return err
}
