package freeze

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Plan is the list of calls that a run will make.
type Plan struct {
	// Questions are the calls known so far; expansions may add more during the run.
	Questions []staticmcp.Question
	// Subjects describe what is planned for each tool, template and prompt.
	Subjects []Subject
	// Report lists what was skipped, and why.
	Report check.Report
	// Round is the longest response time of the requests made while planning.
	Round time.Duration

	// source is asked for completions while planning, and for answers by the run. catalog is its
	// catalog at the beginning.
	source  mcp.Source
	catalog *mcp.Catalog
	opts    *Options
	// layouts are the file layouts of the tools, and seen the keys of the questions, so that none is
	// asked twice.
	layouts map[string]*staticmcp.ToolLayout
	seen    map[string]bool
	full    bool // a question was skipped because of Limits.Calls

	// secrets finds secrets in answers, and completions caches what the source suggested.
	secrets      *secrets.Scanner
	completions  []*completed
	placeholders map[string]bool // prompts that are stored with placeholders
	expanded     []atomic.Int64  // how many calls each expansion produced
}

// completed holds the values that the source suggests for an argument.
type completed struct {
	// prompt or uriTemplate has the argument, whose suggestions are values.
	prompt, uriTemplate, argument string
	values                        []string
}

// Subject is one tool, template or prompt, or all resources, in a plan.
type Subject struct {
	Kind string `json:"kind"` // "tool", "resources", "template" or "prompt"
	Name string `json:"name,omitempty"`
	// Calls is the number of calls planned so far.
	Calls int `json:"calls"`
	// Note states why there are no calls, or what limits them; it may be empty.
	Note string `json:"note,omitempty"`
	// Skipped reports whether the site will have no answers of it.
	Skipped bool `json:"skipped"`
}

// Name returns the name of the frozen server.
func (p *Plan) Name() string { return p.catalog.Server.Name }

// Estimate is the expected effort of a run. Fields may be added.
type Estimate struct {
	// Questions is the number of answers that are planned.
	Questions int `json:"questions"`
	// Requests is the minimum number of requests, Seconds about how long they take.
	Requests int     `json:"requests"`
	Seconds  float64 `json:"seconds"`
	// Bytes is the size of the previously frozen site, or 0.
	Bytes int64 `json:"bytes"`
	// Subjects are those of the plan.
	Subjects []Subject `json:"subjects"`
}

// Estimate returns the expected effort of a run: its requests, its duration at the
// measured response time, and the size of the previous site. It calls no tool. The
// error is that of reading the previous site, or ctx's.
func (p *Plan) Estimate(ctx context.Context) (*Estimate, error) {
	e := &Estimate{
		Questions: len(p.Questions),
		Requests:  len(p.Questions),
		Subjects:  p.Subjects,
	}
	if !p.opts.Repeat.Off {
		e.Requests *= 2
	}
	requests := float64(e.Requests)
	e.Seconds = p.Round.Seconds() * requests / float64(p.opts.Concurrency)
	if p.opts.Rate > 0 {
		e.Seconds = max(e.Seconds, requests/p.opts.Rate)
	}
	if p.opts.Previous == nil {
		return e, nil
	}
	entries, err := p.opts.Previous.Index(ctx)
	for i := range entries {
		e.Bytes += entries[i].Size
	}
	return e, err
}

// NewPlan determines which calls to make to src. ctx bounds the planning; src must stay
// usable until the run has finished. If opts names a tool that does not exist, the error
// is an [UnknownToolError].
func NewPlan(ctx context.Context, src mcp.Source, opts *Options) (*Plan, error) {
	began := time.Now()
	catalog, err := src.Catalog(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the source: %w", err)
	}
	if err := catalog.Incomplete(); err != nil {
		return nil, err
	}
	p := &Plan{
		source:       src,
		catalog:      catalog,
		opts:         opts.withDefaults(),
		Round:        time.Since(began),
		layouts:      make(map[string]*staticmcp.ToolLayout),
		seen:         make(map[string]bool),
		placeholders: make(map[string]bool),
	}
	p.secrets = secrets.New(p.opts.Environ)
	p.expanded = make([]atomic.Int64, len(p.opts.Expand))
	if p.isSite() {
		p.opts.Repeat.Off = true // files do not change between two reads
		if opts == nil || opts.Limits.Calls <= 0 {
			p.opts.Limits.Calls = math.MaxInt
		}
	}
	for i := range catalog.Tools {
		t := &catalog.Tools[i]
		p.layouts[t.Name] = staticmcp.NewToolLayout(t.Name, t.InputSchema)
	}
	if err := p.checkNames(); err != nil {
		return nil, err
	}
	if err := p.known(ctx); err != nil {
		return nil, err
	}
	p.tools()
	if !p.opts.NoResources {
		if err := p.resources(ctx); err != nil {
			return nil, err
		}
	}
	if !p.opts.NoPrompts {
		if err := p.prompts(ctx); err != nil {
			return nil, err
		}
	}
	for _, q := range p.opts.Calls {
		p.add(q)
	}
	p.finish()
	return p, nil
}

// isSite reports whether the source is a site, whose answers are known.
func (p *Plan) isSite() bool {
	_, ok := p.source.(*staticmcp.Site)
	return ok
}

// known adds the questions that a site has answers for, either the source or the
// previously frozen site.
func (p *Plan) known(ctx context.Context) error {
	sites := []*staticmcp.Site{p.opts.Previous}
	if site, ok := p.source.(*staticmcp.Site); ok {
		sites = append(sites, site)
	}
	for _, site := range sites {
		if site == nil {
			continue
		}
		questions, err := site.Questions(ctx)
		if err != nil {
			return fmt.Errorf("list the answers of a site: %w", err)
		}
		for _, q := range questions {
			// What is no longer defined is no longer stored.
			if q.Tool != "" && p.catalog.Tool(q.Tool) != nil ||
				q.Prompt != "" && p.catalog.Prompt(q.Prompt) != nil && !p.opts.NoPrompts ||
				q.URI != "" && site == p.source && !p.opts.NoResources {
				p.add(q)
			}
		}
	}
	return nil
}

// add adds a question, if it is permitted and new.
func (p *Plan) add(q staticmcp.Question) bool {
	if q.Tool != "" {
		if p.refusal(q.Tool) != "" {
			return false
		}
		ordered, err := p.layouts[q.Tool].Ordered(q.Arguments)
		if err != nil {
			p.reporter().Add(ruleArguments, "", "", "%s %s: %v", q.Tool, q.Arguments, err)
			return false
		}
		q.Arguments = ordered
	}
	key := keyOf(q)
	if p.seen[key] {
		return false
	}
	if len(p.Questions) >= p.opts.Limits.Calls {
		p.full = true
		return false
	}
	p.seen[key] = true
	p.Questions = append(p.Questions, q)
	return true
}

// keyOf returns a key that differs between any two questions.
func keyOf(q staticmcp.Question) string {
	return q.Tool + "\x00" + q.URI + "\x00" + q.Prompt + "\x00" + string(q.Arguments)
}

// Reasons why a tool is not called.
const (
	notChosen   = "not selected"
	notReadOnly = "not marked as read-only (readOnlyHint)"
)

// refusal returns why a tool must not be called, or "".
func (p *Plan) refusal(name string) string {
	t := p.catalog.Tool(name)
	switch {
	case t == nil:
		return "no such tool"
	case slices.Contains(p.opts.Skip, name), p.opts.Only != nil &&
		!slices.Contains(p.opts.Only, name):
		return notChosen
	case slices.Contains(p.opts.Tools, name):
		return ""
	case t.Annotations == nil || !t.Annotations.ReadOnlyHint:
		return notReadOnly
	}
	return ""
}

// tools plans the calls of all tools. Those of another site are known by its files.
func (p *Plan) tools() {
	for i := range p.catalog.Tools {
		t := &p.catalog.Tools[i]
		s := Subject{
			Kind: "tool",
			Name: t.Name,
		}
		if why := p.refusal(t.Name); why != "" {
			s.Note = why
			s.Skipped = true
		} else if !p.isSite() {
			calls, note := toolCalls(p.layouts[t.Name], t.Name, t.InputSchema,
				p.opts.Limits)
			for _, q := range calls {
				p.add(q)
			}
			s.Note = note
		}
		p.Subjects = append(p.Subjects, s)
	}
}

// resources plans to read all resources, listed or described by a template.
func (p *Plan) resources(ctx context.Context) error {
	for i := range p.catalog.Resources {
		p.add(staticmcp.Question{URI: p.catalog.Resources[i].URI})
	}
	p.Subjects = append(p.Subjects, Subject{
		Kind:  "resources",
		Calls: len(p.catalog.Resources),
	})
	for i := range p.catalog.Templates {
		t := &p.catalog.Templates[i]
		s := Subject{
			Kind: "template",
			Name: t.URITemplate,
		}
		var err error
		if s.Note, err = p.template(ctx, t.URITemplate); err != nil {
			return err
		}
		p.Subjects = append(p.Subjects, s)
	}
	return nil
}

// template adds the resources that a template expands to.
func (p *Plan) template(ctx context.Context, text string) (note string, err error) {
	if p.isSite() {
		return "", nil
	}
	t, err := uritemplate.Parse(text)
	if err != nil {
		return "it cannot be read: " + err.Error(), nil
	}
	names := t.Names()
	options := make([][]string, len(names))
	for i, name := range names {
		if options[i], err = p.suggestions(ctx, "", text, name); err != nil {
			return "", err
		}
		if len(options[i]) == 0 {
			return "no values are known for " + name, nil
		}
	}
	n := 0
	combinations(options, func(chosen []string) bool {
		if n == p.opts.Limits.PerTool {
			note = fmt.Sprintf("only the first %d combinations", n)
			return false
		}
		n++
		values := make(map[string]string, len(names))
		for i, name := range names {
			values[name] = chosen[i]
		}
		p.add(staticmcp.Question{URI: t.Expand(values)})
		return true
	})
	return note, nil
}

// suggestions requests the values of an argument from the source.
func (p *Plan) suggestions(ctx context.Context, prompt, uriTemplate, argument string) ([]string, error) {
	if !p.catalog.Completions {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	began := time.Now()
	result, err := p.source.Complete(ctx, &mcp.CompleteParams{
		Prompt:      prompt,
		URITemplate: uriTemplate,
		Argument:    argument,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, nil // no suggestions for this argument
	}
	p.Round = max(p.Round, time.Since(began))
	values, err := completionOf(result)
	if err == nil && len(values) > 0 {
		p.completions = append(p.completions, &completed{prompt, uriTemplate, argument, values})
	}
	return values, err
}

// completionOf returns the suggestions of a result, which a forwarded one has as raw JSON
// only.
func completionOf(result *mcp.CompleteResult) ([]string, error) {
	if result.Raw == nil {
		return result.Completion.Values, nil
	}
	var r struct{ Completion mcp.Completion }
	err := json.Unmarshal(result.Raw.Bytes(), &r)
	return r.Completion.Values, err
}

// prompts plans the prompts, with arguments for which suggestions exist, or with
// placeholders.
func (p *Plan) prompts(ctx context.Context) error {
	for i := range p.catalog.Prompts {
		prompt := &p.catalog.Prompts[i]
		s := Subject{
			Kind: "prompt",
			Name: prompt.Name,
		}
		if !p.isSite() {
			var err error
			if s.Note, err = p.prompt(ctx, prompt); err != nil {
				return err
			}
		}
		p.Subjects = append(p.Subjects, s)
	}
	return nil
}

// prompt adds the calls for a prompt: with the values that the source suggests or, for
// free arguments, with placeholders.
func (p *Plan) prompt(ctx context.Context, prompt *mcp.Prompt) (note string, err error) {
	names := make([]string, len(prompt.Arguments))
	options := make([][]json.RawMessage, len(prompt.Arguments))
	open := false
	for i, a := range prompt.Arguments {
		names[i] = a.Name
		values, err := p.suggestions(ctx, prompt.Name, "", a.Name)
		if err != nil {
			return "", err
		}
		if !a.Required {
			options[i] = append(options[i], nil)
		}
		for _, v := range values {
			options[i] = append(options[i], quote(v))
		}
		open = open || len(values) == 0
	}
	if open {
		p.placeholders[prompt.Name] = true
		p.add(staticmcp.Question{Prompt: prompt.Name})
		return "stored with places to fill in, if it is a text with places", nil
	}
	n := 0
	combinations(options, func(chosen []json.RawMessage) bool {
		q := staticmcp.Question{Prompt: prompt.Name}
		if q.Arguments = object(names, chosen); len(q.Arguments) == len(`{}`) {
			q.Arguments = nil
		}
		p.add(q)
		n++
		return n < p.opts.Limits.PerTool
	})
	return note, nil
}

// quote returns a text as a JSON string.
func quote(s string) json.RawMessage {
	raw, _ := mcp.Marshal(s) // a string always encodes
	return raw
}

// searched reports whether the source answers a tool from a search index, which the
// frozen site gets too.
func (p *Plan) searched(name string) bool {
	var meta map[string]json.RawMessage
	return p.isSite() && json.Unmarshal(p.catalog.Tool(name).Meta, &meta) == nil && meta[staticmcp.MetaSearch] != nil
}

// finish counts the calls and reports what is missing.
func (p *Plan) finish() {
	calls := make(map[string]int)
	for _, q := range p.Questions {
		calls[q.Tool+"\x00"+q.Prompt]++
	}
	for i := range p.Subjects {
		s := &p.Subjects[i]
		switch s.Kind {
		case "tool":
			s.Calls = calls[s.Name+"\x00"]
			expanded := slices.ContainsFunc(p.opts.Expand, func(x Expansion) bool {
				return x.Tool == s.Name
			})
			if expanded && !s.Skipped {
				s.Note = "more calls may follow from other answers"
			} else if s.Calls == 0 && (s.Skipped || !p.searched(s.Name)) {
				s.Skipped = true
				s.Note = cmp.Or(s.Note, "no arguments are known for it")
				if s.Note == notChosen {
					continue
				}
				p.reporter().Add(ruleLeftOut, "", hintFor(s.Note),
					"the tool %s is skipped: %s", s.Name, s.Note)
			}
		case "prompt":
			s.Calls = calls["\x00"+s.Name]
		}
	}
	if p.full {
		p.reporter().Add(ruleTooMany, "", "raise --max-calls",
			"there are more than %d questions; the others are skipped", p.opts.Limits.Calls)
	}
}

// hintFor returns the hint for a tool without calls, by the note that says why it has none.
func hintFor(note string) string {
	if note == notReadOnly {
		return "name it with --tool if calling it does no harm"
	}
	return "pass calls with --calls FILE, or a rule with --expand"
}

// reporter returns a reporter that keeps secrets out of its findings.
func (p *Plan) reporter() check.Reporter {
	return check.Reporter{
		Report: &p.Report,
		Redact: p.secrets.Redact,
	}
}
