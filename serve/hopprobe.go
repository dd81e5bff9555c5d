package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// A replica that is suspended keeps its connections and its lease for a while. So that
// requests forwarded to it do not wait, it is probed while there are any.
const (
	probeEvery   = 200 * time.Millisecond
	probeTimeout = 600 * time.Millisecond
	// probeLate is the delay of a timeout from which on this process was suspended or starved
	// itself, and cannot judge.
	probeLate = 200 * time.Millisecond
	// maxReplaced is how many probes in a row must reach another process until the replica has lost its address. One
	// alone may have been led elsewhere, by a proxy between the replicas.
	maxReplaced = 2
)

// errSuspended is the cause with which forwarded requests end if their owner does not answer
// a probe.
var errSuspended = errors.New("the replica does not answer")

// probes are the probes of the replicas to which requests are forwarded.
type probes struct {
	mu    sync.Mutex
	peers map[*cluster.Peer]*probe // a replica that left and is back is another one
}

// probe probes one replica while requests are in flight there, or while it does not answer.
type probe struct {
	suspended atomic.Bool
	began     time.Time
	heard     atomic.Int64 // when the replica last answered a request: the time since began, in nanoseconds

	// waiting cancel the requests in flight. The mutex of probes guards it.
	waiting map[*cluster.Canceler]struct{}
}

// suspended reports whether a replica does not answer at present.
func (p *probes) suspended(peer *cluster.Peer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	probe := p.peers[peer]
	return probe != nil && probe.suspended.Load()
}

// answers asks a replica that did not answer again, for at most probeTimeout. One that answers is no longer suspended.
func (p *probes) answers(peer *cluster.Peer) bool {
	if ping(peer) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.peers[peer]; b != nil {
		b.suspended.Store(false)
	}
	return true
}

// watch cancels a request with errSuspended if peer stops answering, or with [cluster.ErrGone] if it leaves or another
// process has its address, until unwatch.
func (p *probes) watch(peer *cluster.Peer, request *cluster.Canceler) *probe {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.peers[peer]
	if b == nil {
		b = &probe{began: time.Now(), waiting: make(map[*cluster.Canceler]struct{})}
		if p.peers == nil {
			p.peers = make(map[*cluster.Peer]*probe)
		}
		p.peers[peer] = b
		go p.run(peer, b) // until no request is in flight
	}
	b.waiting[request] = struct{}{}
	return b
}

// hear notes that the replica has answered a request.
func (b *probe) hear() {
	b.heard.Store(int64(time.Since(b.began)))
}

// hasAnswered reports whether the replica has answered a request since then.
func (b *probe) hasAnswered(since time.Time) bool {
	return b.began.Add(time.Duration(b.heard.Load())).After(since)
}

// unwatch is the opposite of watch, which has returned b.
func (p *probes) unwatch(b *probe, request *cluster.Canceler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(b.waiting, request)
}

// run probes a replica. It ends with the replica, or when no request is in flight and the
// replica answers.
func (p *probes) run(peer *cluster.Peer, b *probe) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	replaced := 0 // probes in a row that have reached another process
	for {
		select {
		case <-tick.C:
		case <-peer.Context().Done():
		}
		p.mu.Lock()
		gone := peer.Context().Err() != nil
		idle := len(b.waiting) == 0 && !b.suspended.Load()
		if gone || idle {
			for r := range b.waiting {
				r.Cancel(cluster.ErrGone)
			}
			delete(p.peers, peer)
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		began := time.Now()
		err := ping(peer)
		if errors.Is(err, errSuspended) && b.hasAnswered(began.Add(probeTimeout/2)) {
			err = nil // it is busy: had it been suspended since the probe, it could not have answered
		}
		b.suspended.Store(errors.Is(err, errSuspended))
		if errors.Is(err, cluster.ErrGone) {
			replaced++
		} else {
			replaced = 0
		}
		if err == nil || replaced > 0 && replaced < maxReplaced {
			continue
		}
		p.mu.Lock()
		for r := range b.waiting {
			r.Cancel(err)
		}
		p.mu.Unlock()
	}
}

// ping asks a replica for an answer. Silence is the error [errSuspended]. If another process answers at its address,
// the error is [cluster.ErrGone]: after a loss of power, nothing ends the connections to the replica. A refused
// connection is no error, as it fails the requests by itself.
func ping(peer *cluster.Peer) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(peer.Context(), probeTimeout)
	defer cancel()
	resp, err := askReplica(ctx, peer, hophttp.PingPath)
	if err != nil && ctx.Err() == nil { // perhaps on a connection that the death of the replica has not ended
		(&http.Client{Transport: peer.Transport()}).CloseIdleConnections()
		resp, err = askReplica(ctx, peer, hophttp.PingPath)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	if errors.Is(err, cluster.ErrReplaced) {
		return cluster.ErrGone
	}
	if ctx.Err() == nil ||
		peer.Context().Err() != nil ||
		time.Since(began) > probeTimeout+probeLate {
		return nil
	}
	return errSuspended
}

// askReplica sends GET to another replica.
func askReplica(ctx context.Context, peer *cluster.Peer, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+peer.Addr+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := peer.Transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection is kept
		_ = resp.Body.Close()
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp, nil
}
