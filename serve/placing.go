package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
)

// placing decides at which replica a session starts whose servers have a process for each session, and which one is
// the home of a caller, see callerHomes: where the fewest run. Later requests follow the session. Without a cluster
// it only refuses sessions for which no process may start.
type placing struct {
	load func() ProcessLoad // nil if the source runs no processes for clients

	mu    sync.Mutex
	peers map[string]*peerLoad // by id: those that have answered in the last round

	// refused and placed count new sessions.
	refused atomic.Int64
	placed  [len(placedAt)]atomic.Int64
}

// peerLoad is the load of another replica.
type peerLoad struct {
	ReplicaLoad
	placed int // sessions that this replica has started there since it was asked
}

// Where sessions start.
const (
	placedHere = iota
	placedThere
)

// placedAt are the labels of where new sessions were placed.
var placedAt = [...]string{"here", "other"}

const (
	// loadEach is how often the other replicas are asked for their load.
	loadEach = time.Second
	// peekedBody is how much of a request is searched for its method.
	peekedBody = 4 << 10
	// maxPlacements bounds the replicas that are tried for a session.
	maxPlacements = 4
	// lastResort makes a replica that is full unless sessions were counted twice, or have ended, the last choice.
	lastResort = 1 << 30
)

// processes returns the load of this process, or nil.
func (p *placing) processes() *ProcessLoad {
	if p.load == nil {
		return nil
	}
	l := p.load()
	return &l
}

// active reports whether sessions have processes.
func (p *placing) active() bool { return p.load != nil && p.load().PerSession }

// follow asks the other replicas for their load while sessions or callers have processes, until ctx ends. The
// engine is not asked, so sessions are placed while it fails.
func (p *placing) follow(ctx context.Context, h *hop) {
	tick := time.NewTicker(loadEach)
	defer tick.Stop()
	for {
		if p.active() || h.homes.active() {
			p.ask(ctx, h)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask makes one round. A replica that does not answer gets no sessions until it does.
func (p *placing) ask(ctx context.Context, h *hop) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	before := p.placedSoFar()
	var mu sync.Mutex
	loads := make(map[string]*peerLoad)
	turns := make(chan struct{}, 16)
	var asking sync.WaitGroup
	for _, peer := range h.replica.Peers() {
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			one := &peerLoad{}
			if readLoad(ctx, peer, &one.ReplicaLoad) != nil || one.Processes == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			loads[peer.ID] = one
		})
	}
	asking.Wait()
	p.renew(loads, before)
}

// placedSoFar returns how many sessions were started at each replica since it was asked.
func (p *placing) placedSoFar() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	placed := make(map[string]int, len(p.peers))
	for id, l := range p.peers {
		placed[id] = l.placed
	}
	return placed
}

// renew replaces the loads. before are the sessions that were started when the replicas were asked.
func (p *placing) renew(loads map[string]*peerLoad, before map[string]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, l := range p.peers {
		if next := loads[id]; next != nil {
			next.placed = max(l.placed-before[id], 0) // some may be in its answer, and count twice for a round
		}
	}
	p.peers = loads
}

// choose returns the replica with the fewest processes and sessions, or nil for this one. ok is false if
// no replica may run another process. It counts the session, so that those that start before
// the next round are spread.
func (p *placing) choose(h *hop) (peer *cluster.Peer, ok bool) {
	own := h.load()
	if own.Processes == nil { // a program that sets Live.Callers alone
		own.Processes = &ProcessLoad{}
	}
	least := own.Processes.Running + own.Sessions
	ok = !own.Processes.full()
	if h.retiring.Load() {
		least = math.MaxInt
	}
	var best *peerLoad
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, l := range p.peers {
		known := h.replica.Known(id) // another peer than the one that was asked if it has left and is back since
		if l.Processes.full() ||
			l.Draining ||
			known == nil ||
			h.probes.suspended(known) {
			continue
		}
		if n := l.weight(); !ok || n < least {
			ok = true
			least = n
			best = l
			peer = known
		}
	}
	if best == nil {
		return nil, ok
	}
	best.placed++
	return peer, true
}

// weight returns the number of processes and sessions, with those that were started since.
func (l *peerLoad) weight() int {
	now := *l.Processes
	now.Running += l.placed
	n := now.Running + l.Sessions + l.placed
	if now.full() {
		n += lastResort
	}
	return n
}

// withdraw discounts a session that has not started: requests are placed before they are authenticated.
func (p *placing) withdraw(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.peers[id]; l != nil && l.placed > 0 {
		l.placed--
	}
}

// forget records that a replica cannot be reached.
func (p *placing) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.peers, id)
}

// fill records that a replica has refused a session because it is full.
func (p *placing) fill(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.peers[id]; l != nil {
		l.Processes.Running = max(l.Processes.Running, l.Processes.Max)
		l.placed = max(l.placed-1, 0) // choose has counted the session
	}
}

// replicas returns how many replicas are known, including this one.
func (p *placing) replicas() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.peers) + 1
}

// placeNew starts the session of an initialize request at the least loaded replica, or refuses it. It
// reports whether it has answered; otherwise the result is the request to serve here.
func (h *Handler) placeNew(w http.ResponseWriter, r *http.Request) (_ *http.Request, done bool) {
	p := h.placing
	if r.Method != http.MethodPost || !p.active() || h.serverAt(r.URL.Path) == nil ||
		r.Header.Get("Mcp-Protocol-Version") >= mcp.Version20260728.String() {
		return r, false
	}
	r, initializes := peekInitialize(r)
	if !initializes {
		return r, false
	}
	if h.hop == nil || hoppedFrom(r.Context()) != nil {
		if !p.processes().full() {
			return r, false
		}
		if h.hop != nil {
			w.Header().Set(hopDeclined, "true")
		}
		p.refuse(w, r, 1)
		return r, true
	}
	for range maxPlacements {
		peer, ok := p.choose(h.hop)
		if !ok {
			p.refuse(w, r, p.replicas())
			return r, true
		}
		if peer == nil {
			break
		}
		as := &hopped{
			hops:      1,
			elsewhere: true,
		}
		if h.hop.forward(w, r, peer, as) {
			if w.Header().Get("Mcp-Session-Id") == "" {
				p.withdraw(peer.ID)
				return r, true
			}
			p.placed[placedThere].Add(1)
			return r, true
		}
		if as.declined {
			p.fill(peer.ID)
			continue
		}
		p.forget(peer.ID)
	}
	if p.processes().full() {
		p.refuse(w, r, p.replicas())
		return r, true
	}
	p.placed[placedHere].Add(1)
	return r, false
}

// peekInitialize reports whether a request seems to be initialize, and returns it with the whole body, which has
// arrived then: a client that stops in the middle of it is not placed. What is placed by mistake is served all
// the same.
func peekInitialize(r *http.Request) (*http.Request, bool) {
	start := make([]byte, peekedBody)
	n, err := io.ReadFull(r.Body, start)
	start = start[:n]
	initializes := bytes.Contains(start, []byte(`"initialize"`))
	if initializes && err == nil {
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(r.Body, int64(maxKeptBody-n)))
		start = append(start, rest...)
		if err == nil && len(start) < maxKeptBody {
			err = io.EOF
		}
	}
	whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	rest := io.Reader(r.Body)
	if err != nil && !whole {
		rest = failedReader{err}
	}
	r = r.WithContext(r.Context()) // a copy: the request belongs to the caller
	r.Body = &struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), r.Body}
	return r, initializes && whole
}

// failedReader is the rest of a body that could not be read.
type failedReader struct{ err error }

func (f failedReader) Read([]byte) (int, error) { return 0, f.err }

// refuse refuses a session because no process may start for it.
func (p *placing) refuse(w http.ResponseWriter, r *http.Request, replicas int) {
	p.refused.Add(1)
	w.Header().Set("Retry-After", "5")
	closeUnread(w, r)
	where := ""
	if replicas > 1 {
		where = fmt.Sprintf(" at each of %d replicas", replicas)
	}
	writeError(w, r, http.StatusServiceUnavailable, mcp.CodeToolBusy, fmt.Sprintf(
		"no process may start for another session: %d run already%s, the limit of --max-processes; try again later",
		p.load().Max, where))
}

// metrics writes the processes, and where sessions have started.
func (p *placing) metrics(t *exposition, clustered bool) {
	l := p.processes()
	if l == nil || !l.PerSession && l.Running == 0 && l.Max == 0 {
		return
	}
	t.gauge("slipway_client_processes", "Processes of isolated servers.", float64(l.Running))
	t.gauge("slipway_client_processes_limit", "The limit of --max-processes; 0 means none.", float64(l.Max))
	t.family("slipway_sessions_refused_total", "counter", "Sessions refused because no process could start for them.")
	t.sample("slipway_sessions_refused_total", float64(p.refused.Load()))
	if !clustered {
		return
	}
	t.family("slipway_cluster_sessions_placed_total", "counter",
		"Sessions with processes that this replica has started, or let another one start.")
	for i, at := range placedAt {
		t.sample("slipway_cluster_sessions_placed_total", float64(p.placed[i].Load()), "at", at)
	}
}
