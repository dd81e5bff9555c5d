package freeze

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Options configure which calls are made, and what is stored. A nil *Options and the zero
// value mean the defaults.
type Options struct {
	Requests
	// Only restricts the calls to these tools. Nil means all.
	Only []string
	// Skip excludes these tools.
	Skip []string
	// Calls are made in addition to the calls that are found.
	Calls []staticmcp.Question
	// Expand derives calls from answers.
	Expand []Expansion
	// NoResources and NoPrompts exclude resources and prompts.
	NoResources, NoPrompts bool
	// Limits bound the number of calls.
	Limits Limits
	// Repeat configures how unstable answers are found.
	Repeat Repeat
	// KeepErrors also stores tool results that are errors.
	KeepErrors bool
	// Allow lists findings that do not prevent publication.
	Allow Allow
	// Previous is the previously frozen site, or nil. The calls it has answers for are
	// repeated.
	Previous *staticmcp.Site
	// Refresh are the only tools that are called again: other calls are answered from
	// Previous if possible. Nil means that all calls are made.
	Refresh []string
	// Origin is recorded in the site.
	Origin Origin
	// Progress is called with the progress of a run, on the goroutine of Run.
	Progress func(sitewriter.Progress)
}

// Requests configure how a source is called. A nil *Requests and the zero value mean the
// defaults.
type Requests struct {
	// Tools are the names of tools that are called even if they are not marked readOnlyHint.
	// Their side effects do happen.
	Tools []string
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
	// Replace is applied to the text of each answer before it is compared or stored.
	Replace []Replacement
	// Environ is a list of NAME=VALUE whose secret values must not appear in any answer, in
	// any common encoding. Default: os.Environ(). A non-nil empty list disables this search.
	Environ []string
	// Compared, if not nil, is called by [Verify] and [Diff] before the first answer is
	// compared and after each, from several goroutines at once.
	Compared func(done, all int)
}

// Limits bound the number of calls.
type Limits struct {
	// Calls bounds the number of calls; more are skipped with a warning. Default: 10,000; no
	// limit for a site.
	Calls int
	// PerTool bounds the combinations of arguments tried for one tool, template or prompt.
	// Default: 1,000.
	PerTool int
	// Range is the largest range of integers that is enumerated. Default: 100.
	Range int
}

// Repeat configures how unstable answers are found: each call is made twice, and answers
// that differ are a finding.
type Repeat struct {
	// Off makes each call only once.
	Off bool
	// After is the delay between an answer and the repeated call, so that clocks in whole
	// seconds are detected. A negative value means no delay. Default: 1.1 s.
	After time.Duration
	// SkipUnstable omits answers that differ.
	SkipUnstable bool
}

// Allow lists findings that do not prevent publication.
type Allow struct {
	// Secrets accepts findings of the rule freeze/secret, each by the fingerprint in its
	// hint, or all of one kind: "dump", "private-key", "token", "pair" or "entropy". Values
	// of the environment are accepted by fingerprint only. By default, any secret makes the
	// whole run fail.
	Secrets []string
	// Personal stores answers that appear to contain personal data. By default, such an
	// answer makes the whole run fail.
	Personal bool
}

// Origin is the record of a run in the frozen site.
type Origin struct {
	// Source is the name of the frozen source. It must not contain a secret.
	Source string
	// Time is the time of the run; the zero time omits it.
	Time time.Time
}

// Replacement changes the text of answers that varies from call to call or must not be
// published.
type Replacement struct {
	// Pattern matches the text to replace, within one string of an answer.
	Pattern *regexp.Regexp
	// With is the replacement, with $1 for a group.
	With string
}

// ParseReplacement parses REGEXP=>TEXT, such as "[0-9]+ ms=>0 ms". The pattern has the
// syntax of package regexp, and ends at the first "=>".
func ParseReplacement(text string) (Replacement, error) {
	pattern, with, ok := strings.Cut(text, "=>")
	if !ok {
		return Replacement{}, errors.New("want REGEXP=>TEXT, such as '[0-9]+ ms=>0 ms'")
	}
	compiled, err := regexp.Compile(pattern)
	return Replacement{compiled, with}, err
}

// withDefaults returns a copy in which every limit is set and no function is nil.
func (o *Options) withDefaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	positive(&d.Limits.Calls, 10_000)
	positive(&d.Limits.PerTool, 1_000)
	positive(&d.Limits.Range, 100)
	positive(&d.Concurrency, 4)
	positive(&d.Backoff, 200*time.Millisecond)
	positive(&d.Timeout, 30*time.Second)
	d.Repeat.After = cmp.Or(d.Repeat.After, 1100*time.Millisecond)
	d.Retries = max(0, cmp.Or(d.Retries, 2))
	if d.Environ == nil {
		d.Environ = os.Environ()
	}
	if d.Progress == nil {
		d.Progress = func(sitewriter.Progress) {}
	}
	return &d
}

// positive replaces a value that is not positive by the default.
func positive[T int | time.Duration](value *T, standard T) {
	if *value <= 0 {
		*value = standard
	}
}

// OpenPrevious opens the site at path, a folder or a .zip file that an earlier run wrote. It
// returns nil if there is none.
func OpenPrevious(ctx context.Context, path string) (*staticmcp.Site, error) {
	if _, err := os.Stat(filepath.Join(path, "mcp.json")); err == nil {
		return staticmcp.OpenDir(ctx, path, &staticmcp.Options{Poll: -1})
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() ||
		!strings.EqualFold(filepath.Ext(path), ".zip") {
		return nil, nil
	}
	return staticmcp.OpenZip(ctx, path, nil)
}
