package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/glob"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Quota limits the calls of tools by each caller, or by all callers together.
type Quota struct {
	// Pattern selects tools as SERVER/TOOL or TOOL, by original names; "*" matches any text.
	Pattern string
	// Calls is how many calls are allowed in each period Per, or, if Per is 0, at the same time.
	Calls int
	Per   time.Duration
	// Shared means that all callers share the quota. Otherwise each principal or, without
	// authentication, each address has its own.
	Shared bool
}

// quotaPeriods are the periods by name.
var quotaPeriods = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "concurrent": 0,
}

// ParseQuota parses a quota in the form PATTERN=CALLS/PERIOD, such as github/*=100/day. The
// period is second, minute, hour, day or concurrent; "all:" before the number makes it
// shared.
func ParseQuota(text string) (Quota, error) {
	pattern, limit, ok := strings.Cut(text, "=")
	limit, shared := strings.CutPrefix(limit, "all:")
	number, period, _ := strings.Cut(limit, "/")
	calls, err := strconv.Atoi(number)
	per, known := quotaPeriods[period]
	if !ok ||
		pattern == "" ||
		err != nil ||
		calls < 1 ||
		calls > 1e9 ||
		!known {
		return Quota{}, fmt.Errorf("%q is not PATTERN=CALLS/PERIOD, such as github/*=100/day; a period is second, minute, "+
			"hour, day or concurrent", text)
	}
	return Quota{
		Pattern: pattern,
		Calls:   calls,
		Per:     per,
		Shared:  shared,
	}, nil
}

// Limits of what quotas keep.
const (
	maxQuotas   = 64
	maxCounters = 10_000
)

// quotas enforces Limits.Quotas. Periods are aligned with the clock in UTC, so that a day
// begins at midnight.
type quotas struct {
	all     []Quota
	servers []string // names of the whole Source

	mu       sync.Mutex
	counters map[counterKey]*counter

	// replicas is how many share the quotas; 0 without a cluster. changed are the counters that
	// the others do not know; urgent is called when they should.
	replicas int
	changed  map[counterKey]struct{}
	urgent   func()
}

// counterKey identifies the use of a quota by a caller.
type counterKey struct {
	quota  int
	client clientKey // zero if the quota is shared
}

// counter is the use of a quota.
type counter struct {
	period int64 // the number of the period
	// used are the calls of the period here, and running those that have not ended.
	used    int
	running int
	// sent is the part of used that the other replicas know; others is what they have used.
	sent   int
	others map[string]quotaCount
}

// quotaCount is what one replica has used of a quota.
type quotaCount struct {
	Used, Running int
}

// total adds the usage of all replicas.
func (c *counter) total() quotaCount {
	all := quotaCount{c.used, c.running}
	for _, u := range c.others {
		all.Used += u.Used
		all.Running += u.Running
	}
	return all
}

var _ server.Gate = (*quotas)(nil)

// newQuotas returns nil without quotas.
func newQuotas(o *Options) *quotas {
	if len(o.Limits.Quotas) == 0 {
		return nil
	}
	return &quotas{
		all:      o.Limits.Quotas[:min(len(o.Limits.Quotas), maxQuotas)],
		counters: make(map[counterKey]*counter),
		servers:  o.SourceNames,
	}
}

// applies reports whether a quota is for a tool.
func (q *quotas) applies(quota *Quota, t *mcp.Tool) bool {
	own := t.Name
	if len(t.Origins) > 0 {
		own = t.Origins[0].Name
	}
	if !strings.Contains(quota.Pattern, "/") && glob.Match(quota.Pattern, own) {
		return true
	}
	for i := range t.Origins {
		if s := t.Origins[i].Source; s != "" && glob.Match(quota.Pattern, s+"/"+own) {
			return true
		}
	}
	for _, s := range q.servers {
		if glob.Match(quota.Pattern, s+"/"+own) {
			return true
		}
	}
	return false
}

// unused returns the patterns that match no tool of a catalog.
func (q *quotas) unused(cat *mcp.Catalog) (patterns []string) {
	for i := range q.all {
		matches := func(t mcp.Tool) bool { return q.applies(&q.all[i], &t) }
		if !slices.ContainsFunc(cat.Tools, matches) {
			patterns = append(patterns, q.all[i].Pattern)
		}
	}
	return patterns
}

// keys returns the quotas of a call.
func (q *quotas) keys(ctx context.Context, op server.Operation) []counterKey {
	if op.Method != methodCall || op.Follows || op.Catalog == nil {
		return nil
	}
	t := op.Catalog.Tool(op.Name)
	if t == nil {
		return nil
	}
	client := addressKey(remoteOf(ctx))
	if p := principalOf(ctx); p != nil {
		client = clientKey{principal: p.Name}
	}
	var keys []counterKey
	for i := range q.all {
		if !q.applies(&q.all[i], t) {
			continue
		}
		key := counterKey{quota: i}
		if !q.all[i].Shared {
			key.client = client
		}
		keys = append(keys, key)
	}
	return keys
}

// Enter implements [server.Gate].
func (q *quotas) Enter(ctx context.Context, op server.Operation) error {
	keys := q.keys(ctx, op)
	if len(keys) == 0 {
		return nil
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range keys { // all of them first, so that a refused call counts nowhere
		if c := q.counterLocked(key, now); q.left(key, c) <= 0 {
			return q.exceeded(key, now)
		}
	}
	header := make(http.Header, 2)
	for _, key := range keys {
		c := q.counterLocked(key, now)
		if q.all[key.quota].Per == 0 {
			c.running++
			q.noteLocked(key, c)
			continue
		}
		c.used++
		q.noteLocked(key, c)
		q.describe(header, key, c, now)
	}
	if len(header) > 0 {
		server.AddNote(ctx, server.Note{Header: header})
	}
	return nil
}

// Leave implements [server.Gate].
func (q *quotas) Leave(ctx context.Context, op server.Operation) {
	keys := q.keys(ctx, op)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range keys {
		c := q.counters[key]
		if c != nil && q.all[key.quota].Per == 0 && c.running > 0 {
			c.running--
			q.noteLocked(key, c)
		}
	}
}

// counterLocked returns the counter of a quota in the current period.
func (q *quotas) counterLocked(key counterKey, now time.Time) *counter {
	period := int64(0)
	if per := q.all[key.quota].Per; per > 0 {
		period = now.UnixNano() / int64(per)
	}
	c := q.counters[key]
	if c == nil {
		if len(q.counters) >= maxCounters {
			q.dropLocked(now)
		}
		c = &counter{period: period}
		q.counters[key] = c
	}
	if c.period != period {
		*c = counter{period: period}
	}
	return c
}

// dropLocked makes room: it drops counters of earlier periods, otherwise any of a caller
// that is not calling, so that a flood of new callers cannot fill the memory.
func (q *quotas) dropLocked(now time.Time) {
	before := len(q.counters)
	for key, c := range q.counters {
		per := q.all[key.quota].Per
		if c.running == 0 && (per == 0 || c.period != now.UnixNano()/int64(per)) {
			delete(q.counters, key)
		}
	}
	if len(q.counters) < before {
		return
	}
	for key, c := range q.counters {
		if c.running == 0 && key.client != (clientKey{}) {
			delete(q.counters, key)
			return
		}
	}
}

// left returns how many calls a quota still allows, here and at other replicas together. It is
// negative after replicas have exceeded it at the same time. Without a period, the quota limits
// calls that run.
func (q *quotas) left(key counterKey, c *counter) int {
	if q.all[key.quota].Per == 0 {
		return q.all[key.quota].Calls - c.total().Running
	}
	return q.all[key.quota].Calls - c.total().Used
}

// describe adds the fields of a quota.
func (q *quotas) describe(h http.Header, key counterKey, c *counter, now time.Time) {
	quota := &q.all[key.quota]
	describeLimit(h, "quota-"+strconv.Itoa(key.quota+1), quota.Calls, int(quota.Per.Seconds()),
		q.left(key, c), resetAfter(quota.Per, now))
}

// describeLimit adds the fields of draft-ietf-httpapi-ratelimit-headers for a limit of calls in a
// window of seconds, of which some are left, and more in after seconds.
func describeLimit(h http.Header, name string, calls, window, left, after int) {
	h["Ratelimit-Policy"] = append(h["Ratelimit-Policy"], fmt.Sprintf("%q;q=%d;w=%d", name, calls, window))
	h["Ratelimit"] = append(h["Ratelimit"], fmt.Sprintf("%q;r=%d;t=%d", name, max(0, left), after))
}

// resetAfter returns the seconds until the next period.
func resetAfter(per time.Duration, now time.Time) int {
	rest := per - time.Duration(now.UnixNano()%int64(per))
	return int((rest + time.Second - 1) / time.Second)
}

// exceeded returns the error for a call beyond a quota.
func (q *quotas) exceeded(key counterKey, now time.Time) error {
	quota := &q.all[key.quota]
	e := &mcp.Error{
		Code:    mcp.CodeToolBusy,
		Message: fmt.Sprintf("too many calls: the quota of %s is %d at the same time", quota.Pattern, quota.Calls),
		Status:  http.StatusTooManyRequests,
		Header:  http.Header{"Retry-After": {"1"}},
	}
	if quota.Per > 0 {
		after := resetAfter(quota.Per, now)
		e.Message = fmt.Sprintf("too many calls: the quota of %s is %d in %v; try again in %v", quota.Pattern, quota.Calls,
			quota.Per, time.Duration(after)*time.Second)
		e.Header.Set("Retry-After", strconv.Itoa(after))
		q.describe(e.Header, key, q.counters[key], now)
	}
	return e
}

// methodCall is the only method that quotas count.
const methodCall = "tools/call"
