package freeze

import (
	"os"
	"regexp"
	"time"

	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Options configure which calls are made, and how. A nil *Options and the zero value mean
// the defaults.
type Options struct {
	// Tools are the names of tools that are called even if they are not marked readOnlyHint.
	// Their side effects do happen.
	Tools []string
	// Only restricts the calls to these tools. Nil means all.
	Only []string
	// Skip excludes these tools.
	Skip []string
	// Calls are made in addition to the calls that are found.
	Calls []staticmcp.Question
	// Expand are rules that derive calls from answers.
	Expand []Rule
	// NoResources and NoPrompts exclude resources and prompts.
	NoResources, NoPrompts bool

	// MaxCalls bounds the number of calls; more are skipped with a warning. Default: 10,000.
	MaxCalls int
	// MaxPerTool bounds the combinations of arguments tried for one tool, template or
	// prompt. Default: 1,000.
	MaxPerTool int
	// MaxRange is the largest range of integers that is enumerated. Default: 100.
	MaxRange int

	// Concurrency is the number of concurrent calls. Default: 4.
	Concurrency int
	// Rate is the maximum number of calls per second. Default: no limit.
	Rate float64
	// Retries is how often a failed call is retried. A negative value means never. Default:
	// 2.
	Retries int
	// Backoff is the delay before the first retry, doubled each time. Default: 200 ms.
	Backoff time.Duration
	// Timeout bounds one call. Default: 30 s.
	Timeout time.Duration
	// Once makes each call only once. By default, each call is made twice, and answers that
	// differ are a finding.
	Once bool
	// AgainAfter is the delay between an answer and the repeated call, so that clocks in
	// whole seconds are detected. A negative value means no delay. Default: 1.1 s.
	AgainAfter time.Duration
	// SkipUnstable omits answers that differ.
	SkipUnstable bool
	// KeepErrors also stores tool results that are errors.
	KeepErrors bool
	// Replace is applied to the text of each answer before it is compared or stored.
	Replace []Replacement

	// AllowSecrets accepts findings of the rule freeze/secret, each by the fingerprint in
	// its hint, or all of one kind: "dump", "private-key", "token", "pair" or "entropy".
	// Values of the environment are accepted by fingerprint only. By default, any secret
	// makes the whole run fail.
	AllowSecrets []string
	// AllowPersonal stores answers that appear to contain personal data. By default, such an
	// answer makes the whole run fail.
	AllowPersonal bool
	// Environ is a list of NAME=VALUE whose secret values must not appear in any answer, in
	// any common encoding. Default: os.Environ(). A non-nil empty list disables this search.
	Environ []string

	// Previous is the previously frozen site, or nil. The calls it has answers for are
	// repeated; with Reuse, its answers to calls in the plan are used instead.
	Previous *staticmcp.Site
	// Reuse reports whether the answer in Previous can be reused. Nil means never.
	Reuse func(staticmcp.Question) bool

	// Source is the name of the frozen source, for the record. It must not contain a secret.
	// Time is the time of the run, for the record; the zero time omits it.
	Source string
	Time   time.Time
	// Progress is called with the progress of a run, on the goroutine of Run.
	Progress func(sitebuild.Progress)
}

// Replacement changes the text of answers that varies from call to call or must not be
// published.
type Replacement struct {
	Pattern *regexp.Regexp
	// With is the replacement, with $1 for a group.
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
		d.Progress = func(sitebuild.Progress) {}
	}
	return &d
}

func positive[T int | time.Duration](value *T, standard T) {
	if *value <= 0 {
		*value = standard
	}
}
