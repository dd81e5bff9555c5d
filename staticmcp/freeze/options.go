package freeze

import (
	"os"
	"regexp"
	"time"

	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/build"
)

// Options say what is asked, and how. A nil *Options and the zero value are the
// defaults.
type Options struct {
	// Tools are the names of tools that are called even if they do not say that
	// they change nothing. What they do, they do.
	Tools []string
	// Only leaves out all tools but these. Nil means all.
	Only []string
	// Skip leaves out these tools.
	Skip []string
	// Calls are asked in addition to what is found out.
	Calls []staticmcp.Question
	// Expand are rules that make calls out of answers.
	Expand []Rule
	// NoResources and NoPrompts leave these out.
	NoResources, NoPrompts bool

	// MaxCalls bounds all calls; more are left out with a warning. Default:
	// 10,000.
	MaxCalls int
	// MaxPerTool bounds the combinations of arguments tried for one tool, template
	// or prompt. Default: 1,000.
	MaxPerTool int
	// MaxRange is the longest range of whole numbers that is gone through.
	// Default: 100.
	MaxRange int

	// Concurrency is the number of calls at the same time. Default: 4.
	Concurrency int
	// Rate is the most calls in a second. Default: no limit.
	Rate float64
	// Retries is how often a call that failed is made again. A negative value
	// means never. Default: 2.
	Retries int
	// Backoff is the time before the first of them, doubled each time. Default:
	// 200 ms.
	Backoff time.Duration
	// Timeout bounds one call. Default: 30 s.
	Timeout time.Duration
	// Once asks each question once. By default it is asked twice, and an answer
	// that is not the same both times is a finding.
	Once bool
	// AgainAfter is how long after its answer a question is asked again, so that a
	// clock in whole seconds shows. Less than zero means right away. Default: 1.1 s.
	AgainAfter time.Duration
	// SkipUnstable leaves such answers out.
	SkipUnstable bool
	// KeepErrors stores answers of tools that are errors, too.
	KeepErrors bool
	// Replace is done to the text of each answer before it is compared or stored.
	Replace []Replacement

	// AllowSecrets accepts findings of the rule freeze/secret, each by the fingerprint
	// in its hint, or all of one kind: "dump", "private-key", "token", "pair" or
	// "entropy". Values of the environment are accepted by fingerprint only. By
	// default every secret refuses the whole run.
	AllowSecrets []string
	// AllowPersonal stores answers that seem to contain personal data. By default
	// such an answer refuses the whole run.
	AllowPersonal bool
	// Environ is a list of NAME=VALUE whose secret values no answer may contain, in
	// any usual encoding. Default: os.Environ(). An empty list that is not nil
	// searches for none.
	Environ []string

	// Previous is the site that was frozen before, or nil. What it has answers
	// for is asked again; with Reuse, what the plan has in common with it is taken
	// from there.
	Previous *staticmcp.Site
	// Reuse reports whether the answer that Previous has is still good enough. Nil
	// means never.
	Reuse func(staticmcp.Question) bool

	// Source is the name of what is frozen, for the record. It must hold no
	// secret. Time is when, for the record; the zero time leaves it out.
	Source string
	Time   time.Time
	// Progress is told how far a run is, from the goroutine of Run.
	Progress func(build.Progress)
}

// Replacement changes the text of answers: what differs from call to call, or is
// nobody's business.
type Replacement struct {
	Pattern *regexp.Regexp
	// With is what takes the place, with $1 for a group.
	With string
}

const (
	defaultMaxCalls    = 10_000
	defaultMaxPerTool  = 1_000
	defaultMaxRange    = 100
	defaultConcurrency = 4
	defaultRetries     = 2
	defaultBackoff     = 200 * time.Millisecond
	defaultTimeout     = 30 * time.Second
	defaultAgainAfter  = 1100 * time.Millisecond
)

func (o *Options) withDefaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	positive(&d.MaxCalls, defaultMaxCalls)
	positive(&d.MaxPerTool, defaultMaxPerTool)
	positive(&d.MaxRange, defaultMaxRange)
	positive(&d.Concurrency, defaultConcurrency)
	positive(&d.Backoff, defaultBackoff)
	positive(&d.Timeout, defaultTimeout)
	if d.AgainAfter == 0 {
		d.AgainAfter = defaultAgainAfter
	}
	if d.Retries == 0 {
		d.Retries = defaultRetries
	}
	d.Retries = max(0, d.Retries)
	if d.Environ == nil {
		d.Environ = os.Environ()
	}
	if d.Progress == nil {
		d.Progress = func(build.Progress) {}
	}
	return &d
}

func positive[T int | time.Duration](value *T, standard T) {
	if *value <= 0 {
		*value = standard
	}
}
