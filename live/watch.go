package live

import (
	"context"
	"errors"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// watcher is somebody who wants to know of changes.
type watcher struct{ changed func(mcp.Change) }

// Watch tells changed of changes of the lists, as the server says them or as they
// are found when it is started anew, and of resources.
func (s *Source) Watch(changed func(mcp.Change)) (stop func()) {
	w := &watcher{changed}
	s.mu.Lock()
	if s.watchers == nil {
		s.watchers = make(map[*watcher]struct{})
	}
	s.watchers[w] = struct{}{}
	s.mu.Unlock()
	return func() {
		s.telling.Lock() // what is being told is told before we return
		defer s.telling.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}
}

func (s *Source) changed(c mcp.Change) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Lock()
	all := make([]*watcher, 0, len(s.watchers))
	for w := range s.watchers {
		all = append(all, w)
	}
	s.mu.Unlock()
	for _, w := range all {
		w.changed(c)
	}
}

// show makes cat what the source offers, and tells of the difference.
func (s *Source) show(cat *mcp.Catalog) {
	old := s.catalog.Load()
	if old != nil && old.Version() == cat.Version() {
		return
	}
	params, _ := headersOf(cat)
	s.headers.Store(nil)
	if params != nil {
		s.headers.Store(&params)
	}
	s.catalog.Store(cat)
	if old != nil {
		s.tell(Event{What: "changed"})
		s.changed(mcp.Change{Tools: true, Resources: true, Prompts: true})
	}
}

// refresh asks for the lists again because the server has said that one changed.
// Of several calls at once, the first does it for all.
func (ses *session) refresh() {
	if ses.stale.Add(1) > 1 {
		return
	}
	ses.goWork(func(ctx context.Context) {
		for {
			n := ses.stale.Load()
			limited, cancel := context.WithTimeout(ctx, ses.src.opts.StartTimeout)
			cat, err := ses.list(limited)
			cancel()
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				ses.src.tell(Event{What: "log", Err: err, Detail: "the lists could not be read again"})
			default:
				ses.src.show(cat)
			}
			if ses.stale.CompareAndSwap(n, 0) {
				return
			}
		}
	})
}

// goWork runs f until the session is lost at the latest.
func (ses *session) goWork(f func(ctx context.Context)) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.end != nil {
		return
	}
	ses.handlers.Go(func() { f(ses.quit) })
}

// listen opens what is needed to hear of changes.
func (ses *session) listen() {
	lists := ses.declares("tools", "listChanged") || ses.declares("resources", "listChanged") || ses.declares("prompts", "listChanged")
	if !lists && !ses.declares("resources", "subscribe") {
		return
	}
	if l, ok := ses.link.(interface{ listen(again func()) }); ok && !ses.version.Modern() {
		l.listen(ses.refresh)
	}
	if e, ok := ses.src.transport.(*Endpoint); ses.version.Modern() && lists && !(ok && e.NoListen) {
		ses.goWork(ses.subscribe)
	}
}

// subscribe keeps a subscription of 2026-07-28 open.
func (ses *session) subscribe(ctx context.Context) {
	const filter = `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		c := newCall("subscriptions/listen")
		c.params = ses.params([]byte(filter), nil)
		_, err := ses.call(ctx, c)
		var e *mcp.Error
		if errors.As(err, &e) || ctx.Err() != nil {
			return // the server has no subscriptions
		}
		if failures++; time.Since(began) > ses.src.opts.ResetAfter {
			failures = 1
		}
		if !sleep(ctx, backoff(failures)) {
			return
		}
		ses.refresh() // who knows what has changed meanwhile
	}
}
