package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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

// asking is the flags for querying a source.
type asking struct {
	tools       []string
	concurrency int
	rate        float64
	retries     int
	timeout     time.Duration
	replace     []string
}

func (a *asking) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&a.tools, "tool", nil, "call the tool `NAME` though it does not say that it changes nothing (repeatable)")
	f.IntVar(&a.concurrency, "concurrency", 4, "calls at the same time")
	f.Float64Var(&a.rate, "rate", 0, "most calls in a second; 0 is any number")
	f.IntVar(&a.retries, "retries", 2, "how often a call that failed is made again")
	f.DurationVar(&a.timeout, "timeout", 30*time.Second, "how long one call may take")
	f.StringArrayVar(&a.replace, "replace", nil, "replace in texts, as `REGEXP=>TEXT`, before they are compared and stored (repeatable)")
}

func (a *asking) options() (*freeze.Options, error) {
	o := &freeze.Options{Tools: a.tools, Concurrency: a.concurrency, Rate: a.rate, Retries: cmp.Or(max(a.retries, 0), -1), Timeout: a.timeout}
	for _, text := range a.replace {
		pattern, with, ok := strings.Cut(text, "=>")
		if !ok {
			return nil, usage("for example --replace '[0-9]+ ms=>0 ms'", "--replace %q has no =>", text)
		}
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, usage("", "--replace: %v", err)
		}
		o.Replace = append(o.Replace, freeze.Replacement{Pattern: compiled, With: with})
	}
	return o, nil
}

// freezing is the flags of site freeze.
type freezing struct {
	writing
	asking
	only, skip             []string
	refresh, allow         []string
	calls, traffic, expand []string
	noResources, noPrompts bool
	maxCalls, maxPerTool   int
	maxRange               int
	once, skipUnstable     bool
	againAfter             time.Duration
	keepErrors, verify     bool
	allowSecrets, env      []string
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
	f.asking.flags(flags)
	flags.StringArrayVar(&f.only, "only", nil, "freeze the tool `NAME` and no others (repeatable)")
	flags.StringArrayVar(&f.skip, "skip", nil, "leave out the tool `NAME` (repeatable)")
	flags.StringArrayVar(&f.refresh, "refresh", nil, "ask for answers of the tool `NAME` again, and keep those of all others (repeatable)")
	flags.StringArrayVar(&f.calls, "calls", nil, "a `file` with calls, one JSON object on each line; - is stdin (repeatable)")
	flags.StringArrayVar(&f.traffic, "traffic", nil, "a `file` with recorded JSON-RPC messages, one on each line (repeatable)")
	flags.StringArrayVar(&f.expand, "expand", nil, "a `rule` TOOL.ARGUMENT=TOOL:PATH that makes calls out of answers (repeatable)")
	flags.BoolVar(&f.noResources, "no-resources", false, "leave out resources")
	flags.BoolVar(&f.noPrompts, "no-prompts", false, "leave out prompts")
	flags.IntVar(&f.maxCalls, "max-calls", 0, "most questions in all (default 10000; no limit for a site)")
	flags.IntVar(&f.maxPerTool, "max-per-tool", 1000, "most combinations of arguments for one tool, template or prompt")
	flags.IntVar(&f.maxRange, "max-range", 100, "longest range of whole numbers that is gone through")
	flags.DurationVar(&f.againAfter, "again-after", 1100*time.Millisecond, "how long after its answer a question is asked again")
	flags.BoolVar(&f.once, "once", false, "ask each question once, and do not look for answers that differ")
	flags.BoolVar(&f.skipUnstable, "skip-unstable", false, "leave out answers that differ")
	flags.BoolVar(&f.keepErrors, "keep-errors", false, "store errors of tools, too")
	flags.StringSliceVar(&f.allow, "allow", nil, "store answers with findings of this `kind`: personal")
	allowSecretFlag(flags, &f.allowSecrets)
	flags.StringArrayVar(&f.env, "env", nil,
		"pass the variable `NAME` of the environment, or NAME=VALUE, to the command after -- (repeatable)")
	flags.BoolVar(&f.verify, "verify", false, "compare what the site has with what the source says, and write nothing")
	return cmd
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
	}
	if err := checkAllowed("freeze", f.allowSecrets); err != nil {
		return err
	}
	if f.verify && f.output == "-" {
		return usage("name the site with -o", "freeze: --verify has no site")
	}
	return f.writing.validate(cmd)
}

// options converts the flags to the options of the library.
func (f *freezing) options(cmd *cobra.Command, arg string) (*freeze.Options, error) {
	o, err := f.asking.options()
	if err != nil {
		return nil, err
	}
	o.Skip = f.skip
	o.Only, o.NoResources, o.NoPrompts = f.only, f.noResources, f.noPrompts
	o.MaxCalls, o.MaxPerTool, o.MaxRange = f.maxCalls, f.maxPerTool, f.maxRange
	o.Once, o.SkipUnstable, o.KeepErrors = f.once, f.skipUnstable, f.keepErrors
	o.AgainAfter = f.againAfter
	if f.againAfter == 0 {
		o.AgainAfter = -1
	}
	o.AllowSecrets, o.AllowPersonal = f.allowSecrets, slices.Contains(f.allow, "personal")
	o.Source, o.Time, o.Progress = publicName(arg), stamp(), f.progress(cmd)
	for _, text := range f.expand {
		rule, err := freeze.ParseRule(text)
		if err != nil {
			return nil, usage("for example --expand 'get_item.id=list_items:$.items[*].id'", "freeze: %v", err)
		}
		o.Expand = append(o.Expand, rule)
	}
	for _, name := range f.calls {
		if err := readQuestions(cmd, name, freeze.ReadCalls, o); err != nil {
			return nil, err
		}
	}
	for _, name := range f.traffic {
		if err := readQuestions(cmd, name, freeze.ReadTraffic, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func readQuestions(cmd *cobra.Command, name string, read func(io.Reader) ([]staticmcp.Question, error), o *freeze.Options) error {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	list, err := read(in)
	if err != nil {
		return &failure{code: exitInput, text: name + ": " + err.Error(), hint: `a line is {"tool":"NAME","arguments":{...}}`}
	}
	o.Calls = append(o.Calls, list...)
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
	o, err := f.options(cmd, arg)
	if err != nil {
		return err
	}
	before, err := f.before(ctx)
	if err != nil {
		return err
	}
	if before != nil {
		defer before.Close()
	}
	if f.verify {
		return f.compare(cmd, before, c, o)
	}
	o.Previous = before
	if len(f.refresh) > 0 {
		o.Reuse = func(q staticmcp.Question) bool { return !slices.Contains(f.refresh, q.Tool) }
	}
	plan, err := freeze.NewPlan(ctx, c.source, o)
	if err != nil {
		return unplanned(c.arg, err)
	}
	for _, name := range f.refresh {
		if !slices.ContainsFunc(plan.Subjects, func(s freeze.Subject) bool { return s.Kind == "tool" && s.Name == name }) {
			return unplanned(c.arg, &freeze.UnknownToolError{Name: name})
		}
	}
	if f.dryRun {
		return f.show(cmd, plan, before)
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

// before opens the existing site at the output path, or returns nil.
func (f *freezing) before(ctx context.Context) (*staticmcp.Site, error) {
	manifest := filepath.Join(f.output, "mcp.json")
	if _, err := os.Stat(manifest); err == nil {
		return staticmcp.OpenDir(ctx, f.output, &staticmcp.Options{Poll: -1})
	}
	if info, err := os.Stat(f.output); err == nil && info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(f.output), ".zip") {
		return staticmcp.OpenZip(ctx, f.output, nil)
	}
	if f.verify {
		return nil, &failure{code: exitInput, text: f.output + ": there is no site to compare with", hint: "freeze one without --verify first"}
	}
	return nil, nil
}

// planned is the output of --dry-run --json. Fields may be added.
type planned struct {
	Questions int              `json:"questions"`
	Requests  int              `json:"requests"`
	Seconds   float64          `json:"seconds"`
	Bytes     int64            `json:"bytes"`
	Subjects  []freeze.Subject `json:"subjects"`
}

// show prints the plan.
func (f *freezing) show(cmd *cobra.Command, plan *freeze.Plan, before *staticmcp.Site) error {
	requests, takes := plan.Estimate()
	var bytes int64
	if before != nil {
		entries, err := before.Index(cmd.Context())
		if err != nil {
			return err
		}
		for i := range entries {
			bytes += entries[i].Size
		}
	}
	out := cmd.OutOrStdout()
	if f.json {
		return printJSON(out, planned{len(plan.Questions), requests, takes.Seconds(), bytes, plan.Subjects})
	}
	for _, s := range plan.Subjects {
		state := count(s.Calls, "call")
		if s.Kind == "template" || s.Skipped {
			state = "-"
		}
		fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-10s %-24s %-10s %s", s.Kind, cmp.Or(s.Name, "listed"), state, s.Note), " "))
	}
	about := "less than a second"
	if takes >= time.Second {
		about = "about " + takes.Round(time.Second).String()
	}
	fmt.Fprintf(out, "%s, %s, %s", count(len(plan.Questions), "question"), count(requests, "request"), about)
	if bytes > 0 {
		fmt.Fprintf(out, "; the site had %s before", byteCount(bytes))
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
	result.Report.Add(plan.Report.Findings()...)
	result.Report.Add(r.Report.Findings()...)
	var refused *freeze.RefusedError
	switch {
	case errors.As(err, &refused):
		if err := result.Report.WriteText(stderr, colored(stderr)); err != nil {
			return err
		}
		return &failure{code: exitPolicy, text: "freeze: " + err.Error(),
			hint: "the findings above name each place and how to accept it"}
	case err != nil && r.Stored == 0 && r.Failed > 0:
		if err := result.Report.WriteText(stderr, colored(stderr)); err != nil {
			return err
		}
		return &failure{code: exitRemote, text: "freeze: " + err.Error()}
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
func (f *freezing) compare(cmd *cobra.Command, site *staticmcp.Site, c *openSource, o *freeze.Options) error {
	v, err := freeze.Verify(cmd.Context(), site, c.source, o)
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
