package serve

import (
	"cmp"
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/clientaddr"
)

// Limits bound the use of a server by its clients. A client is a principal or, without
// authentication, an IP address (for IPv6, a /64 network). The zero value sets no limits.
//
// Over HTTP, a request beyond a limit is answered with 429, or with 503 for InFlight, and
// Retry-After, beyond Rate also with RateLimit and RateLimit-Policy; within a batch or over a
// connection, with the error [mcp.CodeToolBusy].
type Limits struct {
	// Rate is the sustained number of requests per second of one client; 0 means no limit.
	Rate float64
	// Burst is how many requests a client may make at once after a pause; 0 means twice the
	// Rate, and at least 10.
	Burst int
	// ClientInFlight bounds the concurrent requests of one client, InFlight those of all
	// clients; 0 means no limit. Open event streams do not count.
	ClientInFlight, InFlight int
	// Quotas limit the calls of tools, at most 64. A [Control] does not change them.
	Quotas []Quota
	// Clients is how many clients are tracked; 0 means 10,000. Beyond it, some are dropped,
	// together with their usage.
	Clients int
}

// none reports whether nothing is limited, so that requests need not be counted.
func (l Limits) none() bool {
	return l.Rate <= 0 && l.ClientInFlight <= 0 && l.InFlight <= 0
}

// limiter enforces the limits of clients.
type limiter struct {
	// limits can change while the server runs.
	limits atomic.Pointer[Limits]
	// Times are durations since start, and seed that of the hash that chooses a shard.
	start time.Time
	seed  maphash.Seed
	// shards spread clients over several locks.
	shards [clientShards]clientShard
	all    atomic.Int64 // requests in flight

	// shared is set if other replicas receive what clients use. changed are the clients
	// with usage that they do not know.
	shared    atomic.Pointer[limiterSharing]
	changedMu sync.Mutex
	changed   []*client
}

// limiterSharing says when the other replicas must receive what a client has used: urgent is
// called for tokens beyond slack seconds of the client's rate. Otherwise they wait.
type limiterSharing struct {
	slack  float64
	urgent func()
}

// clientShards is the number of locks that the clients are divided among. It divides the limit of
// clients, too.
const clientShards = 16

// clientShard has the clients whose keys have the same hash modulo clientShards.
type clientShard struct {
	mu      sync.Mutex
	clients map[clientKey]*client
}

// clientKey identifies a principal or an address.
type clientKey struct {
	// principal identifies an authenticated client; others are identified by their
	// address.
	principal string
	addr      netip.Addr
	other     string // an address that is not an IP address, such as of a Unix socket
}

// client is the current usage of one client.
type client struct {
	key clientKey
	// inFlight is the number of requests in flight.
	inFlight atomic.Int64

	mu sync.Mutex
	// tokens are those left in the client's bucket.
	tokens float64
	at     time.Duration // when tokens was updated, since the limiter's start
	// spent are the tokens taken here that the other replicas do not know.
	spent int
}

// newLimiter returns nil if there is nothing to limit.
func newLimiter(l Limits) *limiter {
	if l.none() {
		return nil
	}
	return startLimiter(l)
}

// startLimiter returns a limiter, even if there is nothing to limit yet.
func startLimiter(l Limits) *limiter {
	started := &limiter{
		start: time.Now(),
		seed:  maphash.MakeSeed(),
	}
	started.set(l)
	return started
}

// set replaces the limits. What clients have used counts on.
func (l *limiter) set(limits Limits) {
	if limits.Burst <= 0 {
		limits.Burst = max(10, int(math.Ceil(2*limits.Rate)))
	}
	limits.Clients = cmp.Or(max(limits.Clients, 0), 10_000)
	l.limits.Store(&limits)
}

// addressKey returns the key of the client at the other end of a connection.
func addressKey(remote string) clientKey {
	if addr, ok := clientaddr.Network(remote); ok {
		return clientKey{addr: addr}
	}
	return clientKey{other: remote}
}

// client returns the client with that key, adding it if it is new.
func (l *limiter) client(key clientKey) *client {
	sh := &l.shards[maphash.Comparable(l.seed, key)%clientShards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if c := sh.clients[key]; c != nil {
		return c
	}
	if sh.clients == nil {
		sh.clients = make(map[clientKey]*client)
	}
	if len(sh.clients) >= max(1, l.limits.Load().Clients/clientShards) {
		l.forget(sh)
	}
	c := &client{
		key:    key,
		tokens: float64(l.limits.Load().Burst),
		at:     time.Since(l.start),
	}
	sh.clients[key] = c
	return c
}

// forget makes room: it drops clients that have their full share again, otherwise any
// client without requests in flight, otherwise any client.
func (l *limiter) forget(sh *clientShard) {
	now := time.Since(l.start)
	var idle, any clientKey
	before := len(sh.clients)
	for key, c := range sh.clients {
		any = key
		if c.inFlight.Load() > 0 {
			continue
		}
		idle = key
		if l.full(c, now) {
			delete(sh.clients, key)
		}
	}
	switch {
	case len(sh.clients) < before:
	case idle != clientKey{}:
		delete(sh.clients, idle)
	default:
		delete(sh.clients, any)
	}
}

// full reports whether a client has its whole burst again, so that dropping it changes
// nothing.
func (l *limiter) full(c *client, now time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	limits := l.limits.Load()
	return c.tokens+(now-c.at).Seconds()*limits.Rate >= float64(limits.Burst)
}

// take consumes one request of c's share, if any is left.
func (l *limiter) take(c *client) *refusal {
	limits := l.limits.Load()
	if limits.Rate <= 0 {
		return nil
	}
	now := time.Since(l.start)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = min(float64(limits.Burst), c.tokens+(now-c.at).Seconds()*limits.Rate)
	c.at = now
	if c.tokens >= 1 {
		c.tokens--
		if s := l.shared.Load(); s != nil {
			l.noteLocked(c)
			if float64(c.spent) >= s.slack*limits.Rate {
				s.urgent()
			}
		}
		return nil
	}
	wait := math.Ceil((1 - c.tokens) / limits.Rate)
	return &refusal{
		status:  http.StatusTooManyRequests,
		message: "too many requests",
		after:   int(min(wait, 3600)),
		burst:   limits.Burst,
		window:  int(min(math.Ceil(float64(limits.Burst)/limits.Rate), math.MaxInt32)),
	}
}

// noteLocked counts a token for the other replicas. c.mu is held.
func (l *limiter) noteLocked(c *client) {
	c.spent++
	if c.spent == 1 {
		l.changedMu.Lock()
		l.changed = append(l.changed, c)
		l.changedMu.Unlock()
	}
}

// spent returns the tokens taken here since the last call, by client.
func (l *limiter) spent() map[clientKey]int {
	l.changedMu.Lock()
	changed := l.changed
	l.changed = nil
	l.changedMu.Unlock()
	all := make(map[clientKey]int, len(changed))
	for _, c := range changed {
		c.mu.Lock()
		all[c.key] += c.spent
		c.spent = 0
		c.mu.Unlock()
	}
	return all
}

// charge takes tokens that a client has taken at another replica. The bucket may become
// negative, so what was taken too much is paid back.
func (l *limiter) charge(key clientKey, tokens int) {
	limits := l.limits.Load()
	if limits.Rate <= 0 {
		return
	}
	c := l.client(key)
	now := time.Since(l.start)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = min(float64(limits.Burst), c.tokens+(now-c.at).Seconds()*limits.Rate) - float64(tokens)
	c.at = now
}

// enter counts a request in flight, if another one is allowed.
func (l *limiter) enter(c *client) *refusal {
	limits := l.limits.Load()
	if n := limits.ClientInFlight; c.inFlight.Add(1) > int64(n) && n > 0 {
		c.inFlight.Add(-1)
		return &refusal{
			status:  http.StatusTooManyRequests,
			message: "too many requests at the same time",
			after:   1,
		}
	}
	if n := limits.InFlight; l.all.Add(1) > int64(n) && n > 0 {
		l.leave(c)
		return &refusal{
			status:  http.StatusServiceUnavailable,
			message: "the server is busy",
			after:   1,
		}
	}
	return nil
}

// leave ends a request that enter has counted.
func (l *limiter) leave(c *client) {
	c.inFlight.Add(-1)
	l.all.Add(-1)
}
