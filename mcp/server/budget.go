package server

import (
	"container/heap"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/clientaddr"
	"github.com/slipway-mcp/slipway/mcp"
)

// Budget limits everything a server keeps beyond the request that created it: sessions,
// open streams and connections, subscriptions, tasks and their results, events for
// clients that reconnect, and calls waiting for an answer from their client. The zero
// value uses the defaults.
//
// A client is a [mcp.Principal] or, without one, the network address of its requests (for
// IPv6, the /64 network). If a client exceeds its share, its own oldest entries are
// dropped. If a total is exhausted, the oldest entries of the client that uses the most
// are dropped. A request that still does not fit is rejected with [mcp.CodeToolBusy], over
// HTTP with status 503 and Retry-After.
type Budget struct {
	// Bytes is the total in bytes; 0 means 256 MiB.
	Bytes int64
	// ClientBytes is the share of one client in bytes; 0 means a quarter of Bytes.
	ClientBytes int64
	// ClientPercent is the share of one client in each of the following limits, and in
	// MaxSessions and [TaskOptions.Max]; 0 means 25, and 100 disables shares. A share is at least 100
	// entries. Clients without a principal that connect through the same proxy have the same
	// address, so they have one share together.
	ClientPercent int
	// Streams is the maximum number of open event streams; 0 means 40,000.
	Streams int
	// Connections is the maximum number of open connections of [Server.ServeConn] and of an
	// [SSEHandler]; 0 means 10,000.
	Connections int
	// Subscriptions is the maximum number of URIs and tasks that clients may be subscribed
	// to; 0 means 40,000.
	Subscriptions int
	// FinishedTasks is the maximum number of finished tasks that are kept; 0 means ten times
	// [TaskOptions.Max]. It does not apply to a custom TaskStore.
	FinishedTasks int
	// Questions is the maximum number of calls that may wait for an answer from their
	// client; 0 means 10,000.
	Questions int
	// Parked is the maximum number of calls that a Source may keep between two requests of
	// the same client, see [mcp.Request.Keep]; 0 means 1,000.
	Parked int

	// RequestBytes is the maximum total size in bytes of the requests being received and
	// served, and of their answers until they are written; 0 means 256 MiB. It must not be
	// smaller than the largest request or answer. Requests beyond the limit are rejected with
	// [mcp.CodeToolBusy], over HTTP with status 503 and Retry-After. An answer beyond it is
	// replaced by an error with [mcp.CodeInternalError]. RequestBytes is not part of Bytes.
	RequestBytes int64
	// ClientRequestBytes is the share of one client in RequestBytes; 0 means a quarter. It
	// applies to requests of more than 64 KiB, and to all requests and answers once half of
	// RequestBytes is in use. A client's only request is always within its share.
	ClientRequestBytes int64
}

// keptKind is the kind of a ledger entry.
type keptKind uint8

const (
	keptSession keptKind = iota
	keptStream
	keptConnection
	keptSubscription
	keptRunning
	keptFinished
	keptReplay
	keptQuestion
	keptParked
	keptKinds
)

var keptNames = [keptKinds]string{
	"session", "stream", "connection", "subscription", "running_task", "finished_task", "replay", "question",
	"parked_call",
}

// isWork reports whether entries of the kind have a goroutine. Such entries are asked to
// end when they are given up, and count until they have ended.
func (k keptKind) isWork() bool {
	return k == keptRunning || k == keptQuestion || k == keptParked
}

// The measured cost of an entry, in addition to the client's own bytes.
const (
	costSession      = 512
	costStream       = 2 << 10
	costConnection   = 4 << 10
	costSubscription = 192
	costTask         = 2 << 10
	costFinished     = 512
	costQuestion     = 2 << 10
)

// Limits of individual values that a client can make the server keep.
const (
	maxClientInfo = 16 << 10 // client info and capabilities of a session
	maxURI        = 8 << 10  // subscribed to
)

// kept is one entry of the ledger. It is a field of the object it accounts for.
type kept struct {
	seen atomic.Int64 // when it was last used, or expires: a time.Duration since the ledger's start
	// owner is ended if the entry is given up.
	owner keeper
	in    *account // nil: not booked; guarded by ledger.mu, like all fields below
	order int64    // value of seen when the heap was last ordered
	// size is in bytes.
	size int64
	n    int32 // how many it counts as
	at   int32 // index in the heap of its kind; -1: in none, because it is ending
	kind keptKind
	// inUse counts what uses it at present, which is not recorded in seen. Not guarded.
	inUse atomic.Int32
}

// keeper gives up the object of an entry. giveUp is called without holding ledger locks,
// when the entry no longer counts. For work, it asks the goroutine to end. It must not
// wait.
type keeper interface{ giveUp() }

// tally is a number of entries and their size.
type tally struct{ n, bytes int64 }

func (t *tally) add(n, bytes int64) {
	t.n = t.n + n
	t.bytes = t.bytes + bytes
}

// account is the usage of one client.
type account struct {
	// name identifies the client; all and kinds are what it holds.
	name string
	rank [keptKinds + 1]int32 // indexes in the rankings
	all  tally
	// kinds has, for each kind, what is in use, what is ending, and the entries by age.
	kinds [keptKinds]struct {
		used, ending tally
		oldest       entryHeap
	}
}

// ledger accounts for everything that outlives a request, by client and in total. Its
// lock is the innermost of the package.
type ledger struct {
	start time.Time
	ttl   time.Duration // of an idle session
	// limits are the numbers of entries of each kind, and bytes that of all together.
	limits [keptKinds]int64
	bytes  int64
	share  int64 // bytes of one client
	// percent is the part of a limit that one client may use while others need room.
	percent int64

	mu sync.Mutex
	// accounts are by client.
	accounts map[string]*account
	used     [keptKinds]tally
	ending   [keptKinds]tally
	all      tally
	ranks    [keptKinds + 1]ranking // by number of entries of each kind; the last one is by bytes
	// shed and refused count entries given up and requests refused, for metrics.
	shed    [keptKinds]int64
	refused [keptKinds]int64
	// swept is when expired entries were last removed.
	swept time.Duration
}

const byBytes = keptKinds

// newLedger returns an empty ledger with the limits of o and their defaults.
func newLedger(o *Options) *ledger {
	b := o.Budget
	or := func(n, other int) int64 {
		if n > 0 {
			return int64(n)
		}
		return int64(other)
	}
	l := &ledger{
		start:    time.Now(),
		ttl:      o.SessionTTL,
		accounts: make(map[string]*account),
		bytes:    b.Bytes,
		share:    b.ClientBytes,
		percent:  or(b.ClientPercent, 25),
	}
	if l.bytes <= 0 {
		l.bytes = 256 << 20
	}
	if l.share <= 0 {
		l.share = l.bytes / 4
	}
	l.limits = [keptKinds]int64{
		keptSession:      int64(o.MaxSessions),
		keptStream:       or(b.Streams, 40_000),
		keptConnection:   or(b.Connections, 10_000),
		keptSubscription: or(b.Subscriptions, 40_000),
		keptRunning:      int64(o.Tasks.Max),
		keptFinished:     or(b.FinishedTasks, 10*o.Tasks.Max),
		keptQuestion:     or(b.Questions, 10_000),
		keptParked:       or(b.Parked, 1000),
	}
	for i := range l.ranks {
		l.ranks[i].by = i
	}
	return l
}

func (l *ledger) now() time.Duration {
	return time.Since(l.start)
}

// touch marks k as used.
func (l *ledger) touch(k *kept) { k.seen.Store(int64(l.now())) }

// lastUse returns when a session was last used.
func (l *ledger) lastUse(k *kept) time.Duration {
	if k.inUse.Load() > 0 {
		return l.now()
	}
	return time.Duration(k.seen.Load())
}

// accountName names the client of a request. The name is empty for the single client of a
// pair of streams, whose share is the total.
func accountName(p *mcp.Principal, remote string) string {
	switch {
	case p != nil:
		return principalID(p)
	case remote == "":
		return ""
	}
	return "address:" + clientaddr.Of(remote)
}

// shareOf returns how many entries of a kind a client may have.
func (l *ledger) shareOf(a *account, kind keptKind) int64 {
	return l.shareIn(l.limits[kind], a.name)
}

// shareIn returns the share of a client in limit entries of any kind.
func (l *ledger) shareIn(limit int64, client string) int64 {
	if client == "" {
		return limit
	}
	return min(limit, max(100, limit*l.percent/100))
}

// bytesOf returns how many bytes may be kept for a client.
func (l *ledger) bytesOf(a *account) int64 {
	if a.name == "" {
		return l.bytes
	}
	return min(l.share, l.bytes)
}

var errBudget = unavailable("the server's memory for sessions and tasks is full: try again later")

// unavailable returns an error for a request that may succeed a second later.
func unavailable(message string) *mcp.Error {
	return &mcp.Error{
		Code:    mcp.CodeToolBusy,
		Message: message,
		Status:  http.StatusServiceUnavailable,
		Header:  http.Header{"Retry-After": {"1"}},
	}
}

// book enters k for a client, as n entries of a kind with size bytes, and gives up other
// entries to make room. It reports whether k fits.
func (l *ledger) book(k *kept, client string, kind keptKind, n int, size int64, owner keeper) bool {
	victims, ok := l.enter(k, client, kind, n, size, owner)
	victims.giveUp()
	return ok
}

// victims are entries that have been given up.
type victims []*kept

// giveUp notifies the owners. The caller must not hold a lock that an owner takes.
func (v victims) giveUp() {
	for _, k := range v {
		k.owner.giveUp()
	}
}

// enter is book for a caller that gives up the victims itself.
func (l *ledger) enter(k *kept, client string, kind keptKind, n int, size int64, owner keeper) (victims, bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var gone victims
	if now-l.swept > l.ttl/8 {
		l.swept = now
		for _, a := range l.accounts {
			gone = l.expire(a, now, gone)
		}
	}
	a := l.accounts[client]
	if a == nil {
		a = &account{name: client}
		l.open(a)
	}
	gone, ok := l.makeRoom(a, nil, kind, int64(n), size, now, gone)
	if !ok {
		l.refused[kind]++
		l.closeIfEmpty(a)
		return gone, false
	}
	if l.accounts[client] != a {
		l.open(a) // the account was closed in between because it was empty
	}
	if k.seen.Load() == 0 {
		k.seen.Store(int64(now))
	}
	k.owner, k.kind, k.n, k.size, k.order, k.in = owner, kind, int32(n), size, k.seen.Load(), a
	heap.Push(&a.kinds[kind].oldest, k)
	l.count(a, kind, int64(n), size)
	return gone, true
}

// grow changes the size of an entry by delta, and reports whether it fits. An entry that
// has been given up cannot grow.
func (l *ledger) grow(k *kept, delta int64) bool {
	gone, ok := l.resize(k, delta)
	gone.giveUp()
	return ok
}

// growIfBooked is grow for an entry that may not be booked, which always fits. grown reports whether the entry has
// grown.
func (l *ledger) growIfBooked(k *kept, delta int64) (fits, grown bool) {
	if l.grow(k, delta) {
		return true, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return k.in == nil, false
}

// resize is grow for a caller that gives up the victims itself.
func (l *ledger) resize(k *kept, delta int64) (gone victims, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := k.in
	if a == nil {
		return nil, false
	}
	if delta > 0 {
		if gone, ok = l.makeRoom(a, k, k.kind, 0, delta, l.now(), nil); !ok {
			l.refused[k.kind]++
			return gone, false
		}
		if k.in == nil {
			return gone, false // it had expired
		}
	}
	k.size += delta
	if k.at < 0 {
		l.end(a, k.kind, 0, delta)
	}
	l.count(a, k.kind, 0, delta)
	return gone, true
}

// shrink makes an entry count for n fewer, and size fewer bytes.
func (l *ledger) shrink(k *kept, n int, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := k.in
	if a == nil {
		return // it has been given up
	}
	k.n -= int32(n)
	k.size -= size
	if k.at < 0 {
		l.end(a, k.kind, -int64(n), -size)
	}
	l.count(a, k.kind, -int64(n), -size)
}

// release removes an entry that has ended. It may have been given up before.
func (l *ledger) release(k *kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.in != nil {
		l.remove(k)
	}
}

// makeRoom gives up entries until n more entries of a kind with size bytes fit. k, if not
// nil, is the growing entry, which is not given up.
func (l *ledger) makeRoom(
	a *account, k *kept, kind keptKind, n, size int64, now time.Duration, gone victims,
) (victims, bool) {
	if n > l.shareOf(a, kind) && n > 0 || size > l.bytesOf(a) {
		return gone, false
	}
	swept := false
	for {
		over, from, which := l.excess(a, kind, n, size)
		if over == 0 {
			return gone, true
		}
		if !swept {
			swept = true
			gone = l.expire(a, now, gone)
			continue
		}
		if over < 0 || from == nil {
			return gone, false // the entries that are ending will make room
		}
		v := from.kinds[which].oldest.first()
		if v == nil || v == k {
			return gone, false
		}
		l.shed[v.kind]++
		gone = append(gone, v)
		if !v.kind.isWork() {
			l.remove(v)
			continue
		}
		heap.Remove(&from.kinds[which].oldest, int(v.at))
		l.end(from, v.kind, int64(v.n), v.size)
	}
}

// excess determines whether n more entries of a kind with size bytes fit. It returns 0 if
// they do, a negative number if enough entries are already ending, and a positive number
// if the oldest entry of kind which, of the account from, has to be given up.
func (l *ledger) excess(a *account, kind keptKind, n, size int64) (over int, from *account, which keptKind) {
	own := &a.kinds[kind]
	switch {
	case n > 0 && own.used.n+n > l.shareOf(a, kind):
		return verdict(own.used.n+n-l.shareOf(a, kind), own.ending.n), a, kind
	case a.all.bytes+size > l.bytesOf(a):
		ending, which := a.heaviest()
		return verdict(a.all.bytes+size-l.bytesOf(a), ending), a, which
	case n > 0 && l.used[kind].n+n > l.limits[kind]:
		return verdict(l.used[kind].n+n-l.limits[kind],
			l.ending[kind].n), l.most(kind), kind
	case l.all.bytes+size > l.bytes:
		ending := int64(0)
		for i := range l.ending {
			ending += l.ending[i].bytes
		}
		from = l.ranks[byBytes].first()
		_, which = from.heaviest()
		return verdict(l.all.bytes+size-l.bytes, ending), from, which
	}
	return 0, nil, 0
}

// most returns the client with the most entries of a kind. First it reorders accounts
// whose oldest entry has been used since they were ranked.
func (l *ledger) most(kind keptKind) *account {
	for {
		a := l.ranks[kind].first()
		if a == nil {
			return nil
		}
		before := a.unused(int(kind))
		if a.kinds[kind].oldest.first(); a.unused(int(kind)) == before {
			return a
		}
		heap.Fix(&l.ranks[kind], int(a.rank[kind]))
	}
}

// verdict returns -1 if entries that are already ending make enough room, otherwise 1.
func verdict(excess, ending int64) int {
	if excess <= ending {
		return -1
	}
	return 1
}

// heaviest returns the kind with the most bytes that can be given up, and the number of
// bytes that are already ending.
func (a *account) heaviest() (ending int64, which keptKind) {
	most := int64(-1)
	for i := range a.kinds {
		k := &a.kinds[i]
		ending += k.ending.bytes
		if len(k.oldest) > 0 && k.used.bytes-k.ending.bytes > most {
			most, which = k.used.bytes-k.ending.bytes, keptKind(i)
		}
	}
	return ending, which
}

// shedOne gives up the oldest entry of a kind, from the client that has the most.
func (l *ledger) shedOne(kind keptKind) bool {
	l.mu.Lock()
	var v *kept
	if a := l.most(kind); a != nil {
		v = a.kinds[kind].oldest.first()
	}
	if v != nil {
		l.shed[kind]++
		l.remove(v)
	}
	l.mu.Unlock()
	if v != nil {
		v.owner.giveUp()
	}
	return v != nil
}

// expire gives up entries that a client has not used for too long.
func (l *ledger) expire(a *account, now time.Duration, gone victims) victims {
	for _, kind := range []keptKind{keptSession, keptFinished} {
		ttl := time.Duration(0) // for a finished task, seen is the expiry time
		if kind == keptSession {
			ttl = l.ttl
		}
		for {
			k := a.kinds[kind].oldest.first()
			if k == nil || now-time.Duration(k.seen.Load()) <= ttl {
				break
			}
			if k.inUse.Load() > 0 {
				k.seen.Store(int64(now)) // moves it after those that may have expired
				continue
			}
			l.remove(k)
			gone = append(gone, k)
		}
	}
	return gone
}

// remove removes a booked entry from all data structures.
func (l *ledger) remove(k *kept) {
	a := k.in
	k.in = nil
	if k.at >= 0 {
		heap.Remove(&a.kinds[k.kind].oldest, int(k.at))
	} else {
		l.end(a, k.kind, -int64(k.n), -k.size)
	}
	l.count(a, k.kind, -int64(k.n), -k.size)
	l.closeIfEmpty(a)
}

// count changes the usage of a client.
func (l *ledger) count(a *account, kind keptKind, n, bytes int64) {
	a.kinds[kind].used.add(n, bytes)
	a.all.add(n, bytes)
	l.used[kind].add(n, bytes)
	l.all.add(n, bytes)
	heap.Fix(&l.ranks[kind], int(a.rank[kind]))
	heap.Fix(&l.ranks[byBytes], int(a.rank[byBytes]))
}

// end changes how much of a client's usage is ending.
func (l *ledger) end(a *account, kind keptKind, n, bytes int64) {
	a.kinds[kind].ending.add(n, bytes)
	l.ending[kind].add(n, bytes)
}

// open adds an account to the rankings.
func (l *ledger) open(a *account) {
	l.accounts[a.name] = a
	for i := range l.ranks {
		heap.Push(&l.ranks[i], a)
	}
}

// closeIfEmpty drops the account of a client for which nothing is kept.
func (l *ledger) closeIfEmpty(a *account) {
	if a.all != (tally{}) || l.accounts[a.name] != a {
		return
	}
	delete(l.accounts, a.name)
	for i := range l.ranks {
		heap.Remove(&l.ranks[i], int(a.rank[i]))
	}
}

// stats fills in the figures about kept state.
func (l *ledger) stats(st *Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st.KeptBytes = l.all.bytes
	st.MaxKeptBytes = l.bytes
	st.Kept = make([]KeptStats, keptKinds)
	for i := range st.Kept {
		st.Kept[i] = KeptStats{
			Kind:    keptNames[i],
			Count:   l.used[i].n,
			Bytes:   l.used[i].bytes,
			Shed:    l.shed[i],
			Refused: l.refused[i],
		}
	}
}

// entryHeap orders entries of one kind of one client, least recently used first.
type entryHeap []*kept

func (h entryHeap) Len() int { return len(h) }
func (h entryHeap) Less(i, j int) bool {
	return h[i].order < h[j].order
}

func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = int32(i), int32(j)
}

// Push implements heap.Interface.
func (h *entryHeap) Push(x any) {
	k := x.(*kept)
	k.at = int32(len(*h))
	*h = append(*h, k)
}

// Pop implements heap.Interface.
func (h *entryHeap) Pop() any {
	last := len(*h) - 1
	k := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	k.at = -1
	return k
}

// first returns the least recently used entry, or nil. An entry is only moved when it
// becomes first, so that using it does not require the ledger's lock.
func (h *entryHeap) first() *kept {
	for len(*h) > 0 {
		k := (*h)[0]
		seen := k.seen.Load()
		if seen == k.order {
			return k
		}
		k.order = seen
		heap.Fix(h, 0)
	}
	return nil
}

// unused returns when the entry of a kind that would be given up first was last used, as
// far as is known.
func (a *account) unused(kind int) int64 {
	if oldest := a.kinds[kind].oldest; len(oldest) > 0 {
		return oldest[0].order
	}
	return math.MaxInt64
}

// ranking orders clients by usage, heaviest first. Among clients with the same number of
// entries, the one with the least recently used entry comes first.
type ranking struct {
	by       int // a keptKind, or byBytes
	accounts []*account
}

func (r *ranking) weight(i int) int64 {
	if r.by == int(byBytes) {
		return r.accounts[i].all.bytes
	}
	return r.accounts[i].kinds[r.by].used.n
}

func (r *ranking) Len() int { return len(r.accounts) }

// Less orders accounts by what they hold, so that the first one has to give something up.
func (r *ranking) Less(i, j int) bool {
	w, v := r.weight(i), r.weight(j)
	if w != v || r.by == int(byBytes) {
		return w > v
	}
	return r.accounts[i].unused(r.by) < r.accounts[j].unused(r.by)
}

func (r *ranking) Swap(i, j int) {
	a := r.accounts
	a[i], a[j] = a[j], a[i]
	a[i].rank[r.by], a[j].rank[r.by] = int32(i), int32(j)
}

// Push implements heap.Interface.
func (r *ranking) Push(x any) {
	a := x.(*account)
	a.rank[r.by] = int32(len(r.accounts))
	r.accounts = append(r.accounts, a)
}

// Pop implements heap.Interface.
func (r *ranking) Pop() any {
	last := len(r.accounts) - 1
	a := r.accounts[last]
	r.accounts[last] = nil
	r.accounts = r.accounts[:last]
	return a
}

func (r *ranking) first() *account {
	if len(r.accounts) == 0 {
		return nil
	}
	return r.accounts[0]
}
