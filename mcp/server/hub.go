package server

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// hub notifies listeners of changes of the source. It watches the source while it has
// listeners.
type hub struct {
	// source is watched while there are listeners.
	source mcp.Source

	mu        sync.Mutex
	listeners map[listener]struct{}
	watch     *watch // nil while there are no listeners
	closed    bool

	// Notification streams do not have their own goroutine: one writer serves all of them,
	// and runs while any exist.
	streams map[*notificationStream]struct{}
	dirty   []*notificationStream // to be written to
	wake    chan struct{}
	writing bool
	idle    *time.Ticker // while writing

	// share, if not nil, passes changes of the source to other servers, and merges theirs.
	share *sharing
}

// change is a [mcp.Change] of the source, or of a task of this server or an elicitation.
type change struct {
	mcp.Change
	id string // of the task or elicitation, or empty
	// everything means that any resource may have changed.
	everything bool
}

// listener receives changes. deliver must not wait.
type listener interface{ deliver(change) }

// newHub returns a hub that does not watch its source yet.
func newHub(source mcp.Source) *hub {
	return &hub{
		source:    source,
		listeners: make(map[listener]struct{}),
		streams:   make(map[*notificationStream]struct{}),
		wake:      make(chan struct{}, 1),
	}
}

// watched reports whether the source can change at all.
func (h *hub) watched() bool {
	_, ok := mcp.AsWatcher(h.source)
	return ok
}

// add adds a listener. It returns false after close.
func (h *hub) add(l listener) bool {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return false
	}
	h.listeners[l] = struct{}{}
	source, ok := mcp.AsWatcher(h.source)
	if !ok || h.watch != nil {
		h.mu.Unlock()
		return true
	}
	w := &watch{}
	h.watch = w
	h.mu.Unlock()
	stop := source.Watch(h.sourceChanged) // may call it immediately
	h.mu.Lock()
	w.stop = stop
	over := w.over
	h.mu.Unlock()
	if over {
		stop()
	}
	return true
}

// addSession is add for a session. One that has ended meanwhile is no listener, as nothing would remove it.
func (h *hub) addSession(s *session) bool {
	if !h.add(s) {
		return false
	}
	if s.hasEnded() {
		h.remove(s)
		return false
	}
	return true
}

// watch is one period in which the source is watched. hub.mu guards it.
type watch struct {
	stop func() // nil until Watch has returned
	over bool
}

// endWatch ends the current period. The caller calls the result without the lock, unless it is nil.
func (h *hub) endWatch() (stop func()) {
	w := h.watch
	h.watch = nil
	if w == nil {
		return nil
	}
	w.over = true
	return w.stop
}

// remove removes a listener. After the last one, the hub stops watching.
func (h *hub) remove(l listener) {
	h.mu.Lock()
	_, was := h.listeners[l]
	delete(h.listeners, l)
	var stop func()
	if was && len(h.listeners) == 0 {
		stop = h.endWatch()
	}
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// sourceChanged receives a change from the source.
func (h *hub) sourceChanged(c mcp.Change) {
	h.mu.Lock()
	share := h.share
	h.mu.Unlock()
	if share == nil {
		h.changed(change{Change: c})
		return
	}
	if share.publish != nil {
		share.publish(c)
	}
	share.collect(change{Change: c})
}

// changed delivers a change to all listeners, without holding the lock.
func (h *hub) changed(c change) {
	h.mu.Lock()
	all := slices.Collect(maps.Keys(h.listeners))
	h.mu.Unlock()
	for _, l := range all {
		l.deliver(c)
	}
}

// close stops watching and returns the notification streams, which the caller must end.
func (h *hub) close() []*notificationStream {
	h.mu.Lock()
	h.closed = true
	stop := h.endWatch()
	open := slices.Collect(maps.Keys(h.streams))
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
	return open
}

// keepAlive is how often a comment is sent on an idle notification stream, so that
// proxies keep it open and disconnects are noticed.
const keepAlive = 25 * time.Second

// hold starts serving a notification stream. It returns false if the hub is closed, or the stream,
// which another stream of its session may have replaced already.
func (h *hub) hold(s *notificationStream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || s.isClosed() {
		return false
	}
	h.streams[s] = struct{}{}
	if !h.writing {
		h.writing = true
		h.idle = time.NewTicker(keepAlive)
		go h.write()
	}
	return true
}

// release stops serving s. The writer ends after the last connection.
func (h *hub) release(s *notificationStream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	h.signal()
}

// markDirty schedules s for the writer, if it is still open.
func (h *hub) markDirty(s *notificationStream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.streams[s]; ok {
		h.queue(s)
	}
}

// queue schedules s for the writer. The caller holds the lock.
func (h *hub) queue(s *notificationStream) {
	if !s.queued {
		s.queued = true
		h.dirty = append(h.dirty, s)
		h.signal()
	}
}

// signal wakes the writer, without waiting.
func (h *hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// writeTurn is how long the writer waits for a connection that does not accept data. Then
// another goroutine becomes the writer for all other connections, and this one continues
// with its connection only, for as long as that takes.
const writeTurn = time.Millisecond

// write writes to notification streams while there are any. There is one writer at a
// time.
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

// next waits for a connection that is due and not being written to. It returns nil when
// there are no connections left.
func (h *hub) next() (s *notificationStream, idle bool) {
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

// due returns the first connection that is due, or the channel to wait for; the channel
// is nil when there are no connections left.
func (h *hub) due() (s *notificationStream, idle bool, tick <-chan time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) == 0 {
		h.idle.Stop()
		h.writing = false
		h.dirty = nil
		return nil, false, nil
	}
	for i, s := range h.dirty {
		s.queued = false
		if s.writing {
			s.again = true
			continue
		}
		h.dirty = h.dirty[i+1:]
		idle = s.idle
		s.idle = false
		s.writing = true
		return s, idle, nil
	}
	h.dirty = nil
	return nil, false, h.idle.C
}

// written records that writing to s has ended.
func (h *hub) written(s *notificationStream) {
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
	for s := range h.streams {
		s.idle = true
		h.queue(s)
	}
}

// pending contains changes that a listener has not been notified of. Changes are merged,
// so it stays small even if the client is slow.
type pending struct {
	mu sync.Mutex
	// lists and uris are the changes since the last notification; several changes of the
	// same become one message.
	lists listChanges
	uris  map[string]struct{}
	// ids are those of tasks or, for a session, of elicitations.
	ids map[string]struct{}
}

// listChanges states which lists have changed. It is small because every session has one.
type listChanges struct{ Tools, Resources, Prompts bool }

// merge adds the parts of a change that wants accepts, and reports whether any were
// added.
func (p *pending) merge(c change, wants func(uri string) bool) bool {
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

// mergeAll adds resources, and reports whether there are any.
func (p *pending) mergeAll(uris iter.Seq[string]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := false
	for uri := range uris {
		if p.uris == nil {
			p.uris = make(map[string]struct{})
		}
		p.uris[uri] = struct{}{}
		news = true
	}
	return news
}

// take returns the pending changes, and removes them.
func (p *pending) take() (lists listChanges, uris, ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lists = p.lists
	uris = slices.Collect(maps.Keys(p.uris))
	ids = slices.Collect(maps.Keys(p.ids))
	p.lists = listChanges{}
	p.uris = nil
	p.ids = nil
	return lists, uris, ids
}
