package server

import (
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// changeWindow is how long changes of several servers are merged. Servers of one upstream are
// notified of a change within a few milliseconds of each other.
const changeWindow = 100 * time.Millisecond

// sharing merges changes of the source with those of other servers that have the same
// sources. Clients are notified at the end of the window, so a client that reads what changed
// sees all that the notification stands for.
type sharing struct {
	hub     *hub
	publish func(mcp.Change) // nil if another server publishes the changes of the source

	mu         sync.Mutex
	news       pending
	everything bool
	waiting    bool // for the end of the window
}

// deliver implements listener: it keeps the hub watching the source, for other servers.
func (s *sharing) deliver(change) {}

// ShareChanges makes the server one of several with the same sources, whose clients are
// notified of the changes of all of them. Changes within 100 milliseconds are merged, so
// that clients receive one notification of a change that several servers report.
//
// publish is called with each change of this server's source, and must not wait; nil means
// that they are not published. Pass changes of other servers to receive; missed means
// that some may have been lost, so clients are notified of every list and resource.
//
// Call ShareChanges before serving. Shutdown ends it.
func (s *Server) ShareChanges(publish func(mcp.Change)) (receive func(c mcp.Change), missed func()) {
	share := &sharing{
		hub:     s.hub,
		publish: publish,
	}
	s.hub.mu.Lock()
	s.hub.share = share
	s.hub.mu.Unlock()
	if publish != nil {
		s.hub.add(share)
	}
	receive = func(c mcp.Change) { share.collect(change{Change: c}) }
	missed = func() {
		share.collect(change{
			Change:     mcp.Change{Tools: true, Resources: true, Prompts: true},
			everything: true,
		})
	}
	return receive, missed
}

// collect adds a change to those of the window.
func (s *sharing) collect(c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := len(s.news.uris) >= maxSubscribedURIs
	s.everything = s.everything || c.everything || full && c.URI != ""
	s.news.merge(c, func(string) bool { return !full })
	if !s.waiting {
		s.waiting = true
		time.AfterFunc(changeWindow, s.flush)
	}
}

// flush notifies the clients at the end of a window.
func (s *sharing) flush() {
	s.mu.Lock()
	lists, uris, _ := s.news.take()
	everything := s.everything
	s.everything = false
	s.waiting = false
	s.mu.Unlock()
	if lists != (listChanges{}) || everything {
		s.hub.changed(change{
			Change: mcp.Change{
				Tools:     lists.Tools,
				Resources: lists.Resources,
				Prompts:   lists.Prompts,
			},
			everything: everything,
		})
	}
	for _, uri := range uris {
		s.hub.changed(change{Change: mcp.Change{URI: uri}})
	}
}
