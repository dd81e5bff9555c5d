package freeze

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Report is the result of a run.
type Report struct {
	// Asked counts the questions, Requests the requests sent for them, Reused the answers
	// taken from the previous site.
	Asked, Requests, Reused int
	// Stored counts the answers in the site, Failed those that could not be obtained,
	// Unstable those that differed.
	Stored, Failed, Unstable int
	// Build is the result of writing the output. Its report has all findings, including
	// those of the plan and the run.
	Build *sitewriter.Result
	// Report has the findings of the run.
	Report check.Report
}

// RefusedError is the error of a run that wrote nothing because answers or definitions
// contain secrets or personal data. The report lists them.
type RefusedError struct {
	// Answers counts the answers and definitions with such a finding.
	Answers int
}

// Error implements the error interface.
func (e *RefusedError) Error() string {
	if e.Answers == 1 {
		return "nothing was written: an answer contains a secret or personal data"
	}
	return fmt.Sprintf("nothing was written: %d answers contain secrets or personal data", e.Answers)
}

// ErrNoAnswers is the error of a run that wrote nothing because the source answered nothing.
var ErrNoAnswers = errors.New("the source gave no answer to any")

// Run makes the calls planned in p and writes the answers to out as a site. Answers that
// cannot be obtained are omitted, with a finding. If the source answers nothing at all
// ([ErrNoAnswers]), or an answer contains a secret ([*RefusedError]), Run returns an error and writes
// nothing. The Report is never nil. A plan can only be run once.
func Run(
	ctx context.Context,
	p *Plan,
	out sitewriter.Output,
	opts *sitewriter.Options,
) (*Report, error) {
	r := newRun(p)
	var o sitewriter.Options
	if opts != nil {
		o = *opts
	}
	o.Lenient = true
	o.OmitUnanswered = true
	r.scanDefinitions()
	site := r.site(ctx)
	record, err := r.record()
	if err != nil {
		return r.report, err
	}
	o.Record = record
	result, err := sitewriter.Write(ctx, site, out, &o)
	r.report.Build = result
	if result != nil {
		result.Report.Add(p.Report.Findings()...)
		result.Report.Add(r.report.Report.Findings()...)
	}
	if r.unwritable != nil {
		err = r.unwritable
	}
	return r.report, err
}

// run is one run of a plan.
type run struct {
	// plan is what to ask, and report the result so far.
	plan   *Plan
	report *Report
	// pace limits the rate of requests.
	pace pace

	// unwritable is the reason why the answers must not be written.
	unwritable error
	// refused counts what must not be published.
	refused int
}

// newRun returns a run of the plan with the pace that its options ask for.
func newRun(p *Plan) *run {
	r := &run{
		plan:   p,
		report: &Report{},
	}
	if p.opts.Rate > 0 {
		r.pace.every = time.Duration(float64(time.Second) / p.opts.Rate)
	}
	return r
}

// site describes the site to be written.
func (r *run) site(ctx context.Context) *sitewriter.Site {
	p := r.plan
	c := p.catalog
	site := &sitewriter.Site{
		Server:       c.Server,
		Instructions: c.Instructions,
		Extensions:   frozenExtensions(c.Extensions),
		Answers:      r.answers(ctx),
	}
	for i := range p.Subjects {
		s := &p.Subjects[i]
		if s.Skipped {
			continue
		}
		switch s.Kind {
		case "tool":
			site.Tools = append(site.Tools, *c.Tool(s.Name))
		case "prompt":
			site.Prompts = append(site.Prompts, *c.Prompt(s.Name))
		}
	}
	if !p.opts.NoResources {
		site.Templates = c.Templates
		site.Resources = func(yield func(*mcp.Resource, error) bool) {
			for i := range c.Resources {
				if !yield(&c.Resources[i], nil) {
					return
				}
			}
		}
	}
	return site
}

// frozenExtensions omits the extension that only a running server can have.
func frozenExtensions(extensions json.RawMessage) json.RawMessage {
	kept := omit(extensions, "io.modelcontextprotocol/tasks")
	if len(kept) <= len(`{}`) {
		return nil
	}
	return kept
}

// outcome is the outcome of one question.
type outcome struct {
	// q is the question, and doc its answer.
	q        staticmcp.Question
	doc      json.RawMessage // nil if there is no answer
	template bool            // for a prompt: it has placeholders
	// requests is how many were needed, with retries; reused reports an answer of the
	// previous run, and unstable that two requests had different answers.
	requests int
	reused   bool
	unstable bool
	// err is why there is no answer.
	err error
	// again requests that the question be asked again, some time after it was answered.
	again    bool
	answered time.Time
	// more are the questions derived from the answer.
	more []staticmcp.Question
}

// answers asks all questions, and yields the answers as they arrive.
func (r *run) answers(ctx context.Context) iter.Seq2[*sitewriter.Answer, error] {
	return func(yield func(*sitewriter.Answer, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		results := make(chan *outcome)
		tasks := make(chan *outcome)
		var workers sync.WaitGroup
		for range r.plan.opts.Concurrency {
			workers.Go(func() {
				for o := range tasks {
					r.answer(ctx, o)
					results <- o
				}
			})
		}
		defer workers.Wait()
		defer close(tasks)
		pending := 0
		// Workers that are still running must be able to deliver their results.
		defer func() {
			for range pending {
				<-results
			}
		}()
		defer cancel()
		r.drive(ctx, tasks, results, &pending, yield)
	}
}

// repeats is the queue of answers whose questions will be asked again, the oldest first.
type repeats struct {
	// list are the answers to ask for again; bytes limits how much is kept for that.
	list  []*outcome
	bytes int
}

// maxRepeatBytes is how many bytes of answers may be queued. Beyond it, questions are asked
// again sooner.
const maxRepeatBytes = 64 << 20

// add adds an answer at the end of the queue.
func (q *repeats) add(o *outcome) {
	q.list = append(q.list, o)
	q.bytes += len(o.doc)
}

// removeFirst removes the oldest answer. The queue must not be empty.
func (q *repeats) removeFirst() {
	q.bytes -= len(q.list[0].doc)
	q.list[0] = nil
	q.list = q.list[1:]
}

// due returns the time until the first question of the queue is asked again.
func (q *repeats) due(after time.Duration) time.Duration {
	if q.bytes > maxRepeatBytes {
		return 0
	}
	return time.Until(q.list[0].answered.Add(after))
}

// drive distributes questions and collects answers until none are left.
func (r *run) drive(
	ctx context.Context, tasks chan<- *outcome, results <-chan *outcome, pending *int,
	yield func(*sitewriter.Answer, error) bool,
) {
	p := r.plan
	next := 0
	done := 0
	var again repeats
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for next < len(p.Questions) || *pending > 0 || len(again.list) > 0 {
		var out chan<- *outcome
		var task *outcome
		repeat := len(again.list) > 0 && again.due(p.opts.Repeat.After) <= 0
		switch {
		case *pending >= p.opts.Concurrency:
		case repeat:
			out = tasks
			task = again.list[0]
		case next < len(p.Questions):
			out = tasks
			task = &outcome{q: p.Questions[next]}
		case len(again.list) > 0:
			alarm.Reset(again.due(p.opts.Repeat.After))
		}
		select {
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		case <-alarm.C:
		case out <- task:
			*pending++
			if repeat {
				again.removeFirst()
			} else {
				next++
			}
		case o := <-results:
			*pending--
			for _, q := range o.more {
				p.add(q)
			}
			o.more = nil
			if o.again {
				again.add(o)
				continue
			}
			done++
			p.opts.Progress(sitewriter.Progress{
				Stage: "asking",
				Done:  done,
				Total: len(p.Questions),
			})
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			a := r.collect(o)
			if a != nil && !yield(a, nil) {
				return
			}
		}
	}
	r.end(ctx, yield)
}

// end adds the files that are not answers, and decides whether the site may be written.
func (r *run) end(ctx context.Context, yield func(*sitewriter.Answer, error) bool) {
	report := r.report
	p := r.plan
	for i := range p.opts.Expand {
		if x := &p.opts.Expand[i]; p.expanded[i].Load() == 0 {
			message := fmt.Sprintf("the rule for %s finds nothing in the answers of %s", x.Tool, x.From)
			check.Reporter{Report: &report.Report}.Add(ruleExpand, "",
				"slipway call SOURCE "+process.ShellWord(x.From)+" --json shows an answer that the path is for", "%s", message)
		}
	}
	for _, c := range p.completions {
		if p.suggested(c) && !r.scanCompletion(c) {
			r.refused++
		}
	}
	switch {
	case r.refused > 0:
		r.unwritable = &RefusedError{r.refused}
	case report.Stored == 0 && report.Failed > 0:
		r.unwritable = fmt.Errorf("%w of %d questions", ErrNoAnswers, report.Failed)
	}
	if r.unwritable != nil {
		yield(nil, r.unwritable)
		return
	}
	for _, c := range p.completions {
		if !p.suggested(c) {
			continue
		}
		a := &sitewriter.Answer{Completion: &sitewriter.Completion{
			Prompt:      c.prompt,
			URITemplate: c.uriTemplate,
			Argument:    c.argument,
			Values:      c.values,
		}}
		if !yield(a, nil) {
			return
		}
	}
	if site, ok := p.source.(*staticmcp.Site); ok {
		others(ctx, site, yield)
	}
}

// others yields the files of a site that are not answers, such as those of a search
// index, as far as its index lists them.
func others(ctx context.Context, site *staticmcp.Site, yield func(*sitewriter.Answer, error) bool) {
	entries, err := site.Index(ctx)
	if err != nil {
		yield(nil, err)
		return
	}
	for i := range entries {
		name := entries[i].Path
		first, _, _ := strings.Cut(name, "/")
		if name == "mcp.json" ||
			strings.HasSuffix(name, ".gz") ||
			strings.HasPrefix(name, packs.Dir+"/") ||
			slices.Contains([]string{"tools", "resources", "prompts"}, first) {
			continue // derived from the answers
		}
		data, err := site.ReadFile(ctx, name)
		if !yield(&sitewriter.Answer{
			Path: name,
			Data: data,
		}, err) || err != nil {
			return
		}
	}
}

// suggested reports whether values must be stored for the site to suggest them, because
// it cannot derive them from its file names and its list of resources.
func (p *Plan) suggested(c *completed) bool {
	if c.uriTemplate != "" {
		for i := range p.catalog.Resources {
			if uri := p.catalog.Resources[i].URI; strings.Contains(c.uriTemplate, "{") &&
				strings.HasPrefix(uri,
					c.uriTemplate[:strings.IndexByte(c.uriTemplate, '{')]) {
				return false
			}
		}
		return true
	}
	return slices.ContainsFunc(c.values, func(v string) bool {
		return staticmcp.EncodeName(v) != v
	})
}

// collect records the outcome of a question and returns the answer to be stored, if any.
func (r *run) collect(o *outcome) *sitewriter.Answer {
	report := r.report
	report.Asked++
	report.Requests += o.requests
	if o.reused {
		report.Reused++
	}
	if o.err != nil {
		report.Failed++
		r.found(ruleFailed, o.q, "", "%s", o.err.Error())
		return nil
	}
	if o.unstable {
		report.Unstable++
		hint := "skip such answers with --skip-unstable, or replace the part that changes with --replace"
		r.found(ruleUnstable, o.q, hint,
			"the answer differs when the request is repeated")
		if r.plan.opts.Repeat.SkipUnstable {
			return nil
		}
	}
	if o.doc == nil || !r.acceptable(o) {
		return nil
	}
	report.Stored++
	q := o.q
	return &sitewriter.Answer{
		Tool:      q.Tool,
		URI:       q.URI,
		Prompt:    q.Prompt,
		Arguments: q.Arguments,
		Result:    o.doc,
		Template:  o.template,
		From:      nameOf(q),
	}
}

// found reports a finding about a question.
func (r *run) found(rule check.Rule, q staticmcp.Question, hint, format string, args ...any) {
	in := check.Reporter{
		Report: &r.report.Report,
		Redact: r.plan.secrets.Redact,
	}
	in.Add(rule, "", hint, "%s: %s", nameOf(q), fmt.Sprintf(format, args...))
}

// nameOf names a question for messages.
func nameOf(q staticmcp.Question) string {
	name := q.Tool + q.URI + q.Prompt
	if q.URI == "" && len(q.Arguments) > len(`{}`) {
		name += " " + string(q.Arguments)
	}
	return name
}

// answer answers a question for the first time or, if o has an answer, again. It is called
// by several goroutines.
func (r *run) answer(ctx context.Context, o *outcome) {
	p := r.plan
	q := o.q
	if o.again {
		doc, err := r.fetch(ctx, o, q)
		o.again = false
		o.unstable = err != nil || !bytes.Equal(o.doc, doc)
		return
	}
	if p.opts.Previous != nil && p.opts.Refresh != nil &&
		!slices.Contains(p.opts.Refresh, q.Tool) {
		doc, err := storedAnswer(ctx, p.opts.Previous, q)
		if err == nil && doc != nil {
			o.doc = doc
			o.reused = true
			o.more = p.expand(q, doc)
			return
		}
	}
	if q.Prompt != "" && q.Arguments == nil && p.placeholders[q.Prompt] {
		r.requestTemplate(ctx, o)
		return
	}
	o.doc, o.err = r.fetch(ctx, o, q)
	if o.err == nil && o.doc != nil {
		o.again = !p.opts.Repeat.Off
		o.answered = time.Now()
		o.more = p.expand(q, o.doc)
	}
}

// expand returns the questions derived from an answer.
func (p *Plan) expand(q staticmcp.Question, doc json.RawMessage) (list []staticmcp.Question) {
	for i := range p.opts.Expand {
		x := &p.opts.Expand[i]
		if x.From != q.Tool || q.Tool == "" {
			continue
		}
		calls := x.calls(doc, p.catalog.Tool(x.Tool).InputSchema)
		p.expanded[i].Add(int64(len(calls)))
		list = append(list, calls...)
	}
	return list
}

// fetch calls the source, with retries.
func (r *run) fetch(
	ctx context.Context,
	o *outcome,
	q staticmcp.Question,
) (json.RawMessage, error) {
	opts := r.plan.opts
	wait := opts.Backoff
	for attempt := 0; ; attempt++ {
		if err := r.pace.wait(ctx); err != nil {
			return nil, err
		}
		o.requests++
		one, cancel := context.WithTimeout(ctx, opts.Timeout)
		doc, err := request(one, r.plan.source, q)
		cancel()
		if err == nil {
			return r.normalize(q, doc)
		}
		if ctx.Err() != nil || attempt >= opts.Retries || !retryable(err) {
			return nil, err
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// normalize returns an answer as it is compared and stored, or nil for one that must not be
// stored.
func (r *run) normalize(q staticmcp.Question, doc json.RawMessage) (json.RawMessage, error) {
	if q.Tool != "" && !r.plan.opts.KeepErrors {
		var result struct {
			IsError bool `json:"isError"`
			Content []struct{ Text string }
		}
		if json.Unmarshal(doc, &result) == nil && result.IsError {
			text := "no text"
			if len(result.Content) > 0 {
				text = result.Content[0].Text
			}
			return nil, fmt.Errorf("the tool answers with an error: %s", short(text))
		}
	}
	return replaceTexts(doc, r.plan.opts.Replace), nil
}

// short cuts a text to 200 bytes for messages, at the boundary of a character.
func short(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// retryable reports whether the same question may succeed a moment later.
func retryable(err error) bool {
	var e *mcp.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Code {
	case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeInvalidRequest:
		return false
	}
	return true
}

// request asks one question and returns the answer without the members that belong to the
// transfer.
func request(ctx context.Context, src mcp.Source, q staticmcp.Question) (json.RawMessage, error) {
	var result any
	var err error
	switch {
	case q.Tool != "":
		result, err = src.CallTool(ctx, &mcp.CallToolParams{
			Name:      q.Tool,
			Arguments: q.Arguments,
		})
	case q.URI != "":
		result, err = src.ReadResource(ctx, &mcp.ReadResourceParams{URI: q.URI})
	default:
		arguments := make(map[string]string)
		if q.Arguments != nil {
			if err := json.Unmarshal(q.Arguments, &arguments); err != nil {
				return nil, mcp.Errorf(mcp.CodeInvalidParams, "prompt arguments must be strings")
			}
		}
		result, err = src.GetPrompt(ctx, &mcp.GetPromptParams{
			Name:      q.Prompt,
			Arguments: arguments,
		})
	}
	if err != nil {
		return nil, err
	}
	return clean(result)
}

// storedAnswer returns the answer stored in a site, or nil.
func storedAnswer(
	ctx context.Context,
	site *staticmcp.Site,
	q staticmcp.Question,
) (json.RawMessage, error) {
	if q.Tool == "" {
		return request(ctx, site, q)
	}
	result, stored, err := site.Lookup(ctx, &mcp.CallToolParams{
		Name:      q.Tool,
		Arguments: q.Arguments,
	})
	if err != nil || !stored {
		return nil, err
	}
	return clean(result)
}

// pace spaces requests. It is safe for concurrent use.
type pace struct {
	// every is the time between two requests; 0 means no limit. mu guards next, the time from which
	// the next request may begin.
	every time.Duration
	mu    sync.Mutex
	next  time.Time
}

// wait reserves the next point in time, then waits for it, so that concurrent callers are
// spread evenly.
func (p *pace) wait(ctx context.Context) error {
	if p.every == 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	pause := p.next.Sub(now)
	p.next = p.next.Add(p.every)
	p.mu.Unlock()
	return sleep(ctx, pause)
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// recordName is the file that records the origin of a frozen site.
const recordName = "freeze.json"

// record is the origin of a frozen site.
type record struct {
	// Source describes what was frozen, and Server is how it identified itself.
	Source string             `json:"source,omitempty"`
	Server mcp.Implementation `json:"server"`
	Time   string             `json:"time,omitempty"`
	// AskedTwice reports that each question was asked again to find answers that vary.
	AskedTwice   bool `json:"askedTwice"`
	Replacements int  `json:"replacements"`
	// Planned is the number of questions, and Subjects says what they were about.
	Planned         int       `json:"planned"`
	Subjects        []Subject `json:"subjects"`
	ProtocolVersion string    `json:"protocolVersion"`
}

// record returns the record as a file of the site.
func (r *run) record() (map[string][]byte, error) {
	p := r.plan
	rec := record{
		Source:          p.opts.Origin.Source,
		Server:          p.catalog.Server,
		AskedTwice:      !p.opts.Repeat.Off,
		Replacements:    len(p.opts.Replace),
		Planned:         len(p.Questions),
		Subjects:        p.Subjects,
		ProtocolVersion: mcp.LatestLegacyVersion.String(),
	}
	if !p.opts.Origin.Time.IsZero() {
		rec.Time = p.opts.Origin.Time.UTC().Format(time.RFC3339)
	}
	doc, err := json.MarshalIndent(rec, "", "  ")
	return map[string][]byte{recordName: append(doc, '\n')}, err
}
