package mcp

import (
	"sync"
	"time"
)

// hub tells everyone who wants to know that the source has changed. It watches
// the source from the first listener on.
type hub struct {
	source Source

	mu        sync.Mutex
	listeners map[listener]struct{}
	stop      func() // ends watching; nil while nobody listens
	closed    bool

	// Standing connections have no goroutine of their own: one writer serves
	// all of them, and runs while there are any.
	standing map[*standing]struct{}
	dirty    []*standing // to be written to
	wake     chan struct{}
	writing  bool
	idle     *time.Ticker // while writing
}

// listener is told of changes. deliver must not wait.
type listener interface{ deliver(Change) }

func newHub(source Source) *hub {
	return &hub{
		source:    source,
		listeners: make(map[listener]struct{}),
		standing:  make(map[*standing]struct{}),
		wake:      make(chan struct{}, 1),
	}
}

// watched reports whether the source can change at all.
func (h *hub) watched() bool {
	_, ok := AsWatcher(h.source)
	return ok
}

// add makes l hear of changes from now on. It reports false after close.
func (h *hub) add(l listener) bool {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return false
	}
	h.listeners[l] = struct{}{}
	w, ok := AsWatcher(h.source)
	start := ok && h.stop == nil
	if start {
		h.stop = func() {}
	}
	h.mu.Unlock()
	if !start {
		return true
	}
	stop := w.Watch(h.changed) // may call changed at once
	h.mu.Lock()
	closed := h.closed
	h.stop = stop
	h.mu.Unlock()
	if closed {
		stop()
	}
	return true
}

// remove makes l hear no more. With the last listener, watching ends.
func (h *hub) remove(l listener) {
	h.mu.Lock()
	_, was := h.listeners[l]
	delete(h.listeners, l)
	var stop func()
	if was && len(h.listeners) == 0 {
		stop, h.stop = h.stop, nil
	}
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (h *hub) changed(c Change) {
	h.mu.Lock()
	all := make([]listener, 0, len(h.listeners))
	for l := range h.listeners {
		all = append(all, l)
	}
	h.mu.Unlock()
	for _, l := range all {
		l.deliver(c)
	}
}

// close ends watching and returns the standing connections to be ended.
func (h *hub) close() []*standing {
	h.mu.Lock()
	h.closed = true
	stop := h.stop
	h.stop = nil
	open := make([]*standing, 0, len(h.standing))
	for s := range h.standing {
		open = append(open, s)
	}
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
	return open
}

// keepAlive is how often an idle standing connection carries a comment, so that
// proxies keep it and a client that has gone is noticed.
const keepAlive = 25 * time.Second

// hold begins to serve a standing connection.
func (h *hub) hold(s *standing) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.standing[s] = struct{}{}
	if !h.writing {
		h.writing = true
		h.idle = time.NewTicker(keepAlive)
		go h.write()
	}
	return true
}

// release stops serving s; the writer ends with the last one.
func (h *hub) release(s *standing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.standing, s)
	h.signal()
}

func (h *hub) markDirty(s *standing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.standing[s]; ok {
		h.queue(s)
	}
}

// queue makes the writer come to s. The caller holds the lock.
func (h *hub) queue(s *standing) {
	if !s.queued {
		s.queued = true
		h.dirty = append(h.dirty, s)
		h.signal()
	}
}

func (h *hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// writeTurn is how long the writer stays with a connection that takes nothing.
// Then another goroutine becomes the writer for all others, and this one is left
// alone with its connection, for as long as that may take.
const writeTurn = time.Millisecond

// write writes to standing connections while there are any. There is one writer
// at a time.
func (h *hub) write() {
	turn := time.AfterFunc(keepAlive, h.write)
	turn.Stop()
	for {
		s, idle := h.next()
		if s == nil {
			return
		}
		turn.Reset(writeTurn)
		s.flush(idle)
		leads := turn.Stop()
		h.written(s)
		if !leads {
			return
		}
	}
}

// next waits for a connection that is due and that nobody is writing to. It
// returns nil once there are no connections.
func (h *hub) next() (s *standing, idle bool) {
	for {
		s, idle, tick := h.due()
		if s != nil || tick == nil {
			return s, idle
		}
		select {
		case <-h.wake:
		case <-tick:
			h.wakeIdle()
		}
	}
}

// due returns the first connection that is due, or else what to wait for; that
// is nil once there are no connections.
func (h *hub) due() (s *standing, idle bool, tick <-chan time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.standing) == 0 {
		h.idle.Stop()
		h.writing, h.dirty = false, nil
		return nil, false, nil
	}
	for i, s := range h.dirty {
		s.queued = false
		if s.writing {
			s.again = true
			continue
		}
		h.dirty = h.dirty[i+1:]
		idle, s.idle, s.writing = s.idle, false, true
		return s, idle, nil
	}
	h.dirty = nil
	return nil, false, h.idle.C
}

// written says that nobody is writing to s any more.
func (h *hub) written(s *standing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.writing = false
	if s.again {
		s.again = false
		h.queue(s)
	}
}

// wakeIdle makes every connection due.
func (h *hub) wakeIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.standing {
		s.idle = true
		h.queue(s)
	}
}

// pending is what a listener has not been told yet. Changes are merged, so it
// stays small however slow the client is.
type pending struct {
	mu    sync.Mutex
	lists listChanges
	uris  map[string]struct{}
	// ids are those of tasks, or for a session of elicitations.
	ids map[string]struct{}
}

// listChanges says which lists are different. Every session has one, so it is
// small.
type listChanges struct{ Tools, Resources, Prompts bool }

// merge adds a change as far as wants allows it, and reports whether that is news.
func (p *pending) merge(c Change, wants func(uri string) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists.Tools = p.lists.Tools || c.Tools
	p.lists.Resources = p.lists.Resources || c.Resources
	p.lists.Prompts = p.lists.Prompts || c.Prompts
	news := c.Tools || c.Resources || c.Prompts
	if c.URI != "" && wants(c.URI) {
		if p.uris == nil {
			p.uris = make(map[string]struct{})
		}
		p.uris[c.URI] = struct{}{}
		news = true
	}
	if c.id != "" && len(p.ids) < maxSubscribedURIs {
		if p.ids == nil {
			p.ids = make(map[string]struct{})
		}
		p.ids[c.id] = struct{}{}
		news = true
	}
	return news
}

// take returns what is pending and forgets it.
func (p *pending) take() (lists listChanges, uris []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lists = p.lists
	p.lists = listChanges{}
	for uri := range p.uris {
		uris = append(uris, uri)
	}
	p.uris = nil
	return lists, uris
}

// takeIDs returns the ids that are pending and forgets them.
func (p *pending) takeIDs() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.ids {
		ids = append(ids, id)
	}
	p.ids = nil
	return ids
}
