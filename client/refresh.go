package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// The pause before lists that the server failed to return are requested again, and the longest one.
const (
	firstListsPause = 30 * time.Second
	maxListsPause   = 10 * time.Minute
)

// The pause between two refreshes, and the longest one, for a server that announces changes again
// and again, and the time without a refresh that halves it.
const (
	firstRefreshPause = time.Second
	maxRefreshPause   = 16 * time.Second
	refreshPauseDecay = 10 * time.Second
)

// refreshPace limits how often the lists are requested: each refresh costs time and memory in
// everything that is computed from the catalog. A refresh waits only if the last one is more recent
// than the pause. Each refresh doubles the pause, and every 10 s before one that does not wait halve
// it: it remains short if changes are rare, but not if each one arrives just after the pause.
type refreshPace struct {
	last  time.Time // the end of the last refresh
	pause time.Duration
}

// wait waits until a refresh is due. It returns false if ctx is done first.
func (p *refreshPace) wait(ctx context.Context) bool {
	since := time.Since(p.last)
	next := 2 * p.pause
	if since >= p.pause {
		next >>= min(since/refreshPauseDecay, 62)
	} else {
		due := time.NewTimer(p.pause - since)
		defer due.Stop()
		select {
		case <-due.C:
		case <-ctx.Done():
		}
	}
	p.pause = min(max(next, firstRefreshPause), maxRefreshPause)
	return ctx.Err() == nil
}

// wantedLists are lists to request.
type wantedLists struct {
	// all means all lists, rather than those of methods.
	all     bool
	methods []string
	// size is the size of the other lists in bytes, which count for [Limits.ListBytes].
	size int64
}

func (w wantedLists) has(method string) bool {
	return w.all || slices.Contains(w.methods, method)
}

func (w wantedLists) none() bool { return !w.all && len(w.methods) == 0 }

// lists are the lists of a session that are to be requested.
type lists struct {
	mu     sync.Mutex
	wanted wantedLists
	// tried receives when lists were requested, for the supervisor.
	tried chan struct{}
	// pace is used by the goroutine of requestLists, of which there is one at a time.
	pace refreshPace
}

// noteFailed records the lists that the server failed to return, and the size of the others.
func (ses *session) noteFailed(failed []mcp.Missing, size int64) {
	ses.lists.mu.Lock()
	defer ses.lists.mu.Unlock()
	w := &ses.lists.wanted
	w.size = size
	w.methods = nil
	for _, m := range failed {
		w.methods = append(w.methods, m.List)
	}
}

// takeWanted returns the lists to request, and records that they are requested.
func (ses *session) takeWanted() wantedLists {
	ses.lists.mu.Lock()
	defer ses.lists.mu.Unlock()
	w := ses.lists.wanted
	if w.all {
		w.size = 0
	}
	ses.lists.wanted = wantedLists{size: w.size}
	return w
}

// wantAgain records that requested lists are to be requested again, because of an error.
func (ses *session) wantAgain(w wantedLists) {
	ses.lists.mu.Lock()
	defer ses.lists.mu.Unlock()
	ses.lists.wanted.all = ses.lists.wanted.all || w.all
	ses.lists.wanted.methods = w.methods
}

// lacksLists reports whether lists are to be requested again.
func (ses *session) lacksLists() bool {
	ses.lists.mu.Lock()
	defer ses.lists.mu.Unlock()
	return !ses.lists.wanted.none()
}

// refresh requests all lists again because the server has announced a change. What fails is
// requested again later.
func (ses *session) refresh() {
	ses.lists.mu.Lock()
	ses.lists.wanted.all = true
	ses.lists.mu.Unlock()
	ses.requestLists()
}

// requestLists requests the lists that are to be requested. Of several concurrent calls, the
// first does it for all, at the pace of [refreshPace].
func (ses *session) requestLists() {
	if ses.stale.Add(1) > 1 {
		return
	}
	ses.goWork(func(ctx context.Context) {
		for {
			if !ses.lists.pace.wait(ctx) {
				return
			}
			n := ses.stale.Load()
			ses.requestWanted(ctx)
			if ctx.Err() != nil {
				return
			}
			ses.lists.pace.last = time.Now()
			if ses.stale.CompareAndSwap(n, 0) {
				break
			}
		}
		select {
		case ses.lists.tried <- struct{}{}:
		default:
		}
	})
}

// requestWanted requests the lists once, and shows the catalog.
func (ses *session) requestWanted(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, ses.src.opts.Timeouts.Start)
	defer cancel()
	w := ses.takeWanted()
	old := ses.src.catalog.Load()
	if old == nil { // the first listing is not done
		w = wantedLists{all: true}
	}
	if w.none() {
		return
	}
	cat, failed, err := ses.list(limited, w, old)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		ses.wantAgain(w)
	default:
		ses.src.show(cat)
		err = keptError(cat, failed)
	}
	ses.src.reportRefresh(err)
}

// reportRefresh reports why lists remain as they were, unless err is nil.
func (s *Source) reportRefresh(err error) {
	if err != nil {
		s.report(Event{
			What:   EventLog,
			Err:    err,
			Detail: "the lists could not be refreshed",
		})
	}
}

// keptError returns an error that names the lists that failed and that cat has from an earlier
// catalog, or nil if there are none. [Source.show] reports the others.
func keptError(cat *mcp.Catalog, failed []mcp.Missing) error {
	kept := slices.DeleteFunc(slices.Clone(failed), func(m mcp.Missing) bool {
		return lacks(cat, "", m.List)
	})
	return listsError(kept)
}

// listsError returns an error that names the lists, or nil if there are none.
func listsError(failed []mcp.Missing) error {
	return (&mcp.Catalog{Missing: failed}).Incomplete()
}

// listsPause is how long to wait before lists are requested again after n failures in a row.
func listsPause(n int) time.Duration {
	return jittered(min(firstListsPause<<min(n-1, 10), maxListsPause))
}
