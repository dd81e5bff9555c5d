package client

import (
	"container/list"
	"maps"
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
)

// checkShare returns an error if the client of c has reached its limit of calls in
// flight. Names are compared only if there are more calls than the share of a single
// client.
func (ses *session) checkShare(c *call) error {
	if c.method == "ping" || c.method == "server/discover" {
		return nil // from the watchdog
	}
	limit := ses.src.opts.Limits.InFlight
	if ses.calls.Len() >= limit {
		return mcp.Errorf(mcp.CodeToolBusy, "%d requests to the server are already in flight", limit)
	}
	share := c.request.Load().Share(limit)
	if ses.calls.Len() < share || share == limit {
		return nil
	}
	own := 0
	client := c.clientName()
	for other := range ses.calls.All() {
		if other.clientName() == client {
			own++
		}
	}
	if own >= share {
		return mcp.Errorf(mcp.CodeToolBusy, "%d requests of this client to the server are already in flight", share)
	}
	return nil
}

// clientName returns [mcp.Request.Client]. It is guarded by session.mu.
func (c *call) clientName() string {
	if !c.named {
		c.named, c.client = true, c.request.Load().Client()
	}
	return c.client
}

// queue counts requests that wait for a server, by client. It is guarded by the lock of its owner.
type queue struct {
	// n is the number of requests that wait, and clients by client: one client cannot fill
	// the queue alone.
	n       int
	clients map[string]int
}

// enter counts a request, unless limit or the share of its client is exhausted.
func (q *queue) enter(req *mcp.Request, limit int) (client string, err error) {
	client = req.Client()
	switch share := req.Share(limit); {
	case q.n >= limit:
		return "", mcp.Errorf(mcp.CodeToolBusy,
			"%d requests are already waiting for the server", limit)
	case q.clients[client] >= share:
		return "", mcp.Errorf(mcp.CodeToolBusy,
			"%d requests of this client are already waiting for the server", share)
	}
	if q.clients == nil {
		q.clients = make(map[string]int)
	}
	q.n++
	q.clients[client]++
	return client, nil
}

// leave undoes enter.
func (q *queue) leave(client string) {
	q.n--
	if q.clients[client]--; q.clients[client] == 0 {
		delete(q.clients, client)
	}
}

// watchList holds the URIs that clients watch. A client beyond its share loses the URI
// whose subscription is oldest; beyond maxWatched, the client that watches the most does.
// It is guarded by Source.mu.
type watchList struct {
	// weight is the size of all subscriptions, see weightOf.
	weight  int
	watched map[string]int // URI: number of its watchers
	// clients has the subscriptions of each client, for its share.
	clients map[string]*watcher
}

// watcher is the set of URIs that one client watches.
type watcher struct {
	weight int
	order  list.List // URIs, the most recent subscription last
	at     map[string]*list.Element
}

// maxWatched limits the resources that a server is asked to watch, in entries of up to 1
// KiB. Clients do not report when they no longer need the oldest.
const maxWatched = 10_000

func weightOf(uri string) int { return 1 + len(uri)/1024 }

// has reports whether a client watches uri.
func (w *watchList) has(uri string) bool { return w.watched[uri] > 0 }

// add records that a client watches uri, and returns URIs that are no longer watched.
func (w *watchList) add(uri, client string, share int) (gone []string) {
	if w.watched == nil {
		w.watched = make(map[string]int)
		w.clients = make(map[string]*watcher)
	}
	c := w.clients[client]
	if c == nil {
		c = &watcher{at: make(map[string]*list.Element)}
		w.clients[client] = c
	}
	if e := c.at[uri]; e != nil {
		c.order.MoveToBack(e)
		return nil
	}
	c.at[uri] = c.order.PushBack(uri)
	c.weight += weightOf(uri)
	w.weight += weightOf(uri)
	w.watched[uri]++
	for c.weight > share && len(c.at) > 1 {
		gone = w.dropOldest(client, gone)
	}
	for w.weight > maxWatched {
		from := w.heaviest(client)
		if from == client && len(c.at) == 1 {
			break // its only one
		}
		gone = w.dropOldest(from, gone)
	}
	return gone
}

// heaviest returns the client that watches the most: client itself, if it is among
// several.
func (w *watchList) heaviest(client string) string {
	for name, c := range w.clients {
		if c.weight > w.clients[client].weight {
			client = name
		}
	}
	return client
}

// dropOldest removes the oldest URI of a client, and appends it to gone if it has no
// other watcher.
func (w *watchList) dropOldest(client string, gone []string) []string {
	c := w.clients[client]
	uri := c.order.Remove(c.order.Front()).(string)
	delete(c.at, uri)
	c.weight -= weightOf(uri)
	w.weight -= weightOf(uri)
	if len(c.at) == 0 {
		delete(w.clients, client)
	}
	if w.watched[uri]--; w.watched[uri] > 0 {
		return gone
	}
	delete(w.watched, uri)
	return append(gone, uri)
}

// remove ends the watch of uri by every client.
func (w *watchList) remove(uri string) {
	for name, c := range w.clients {
		e := c.at[uri]
		if e == nil {
			continue
		}
		c.order.Remove(e)
		delete(c.at, uri)
		c.weight -= weightOf(uri)
		w.weight -= weightOf(uri)
		if len(c.at) == 0 {
			delete(w.clients, name)
		}
	}
	delete(w.watched, uri)
}

// uris returns the watched URIs, sorted.
func (w *watchList) uris() []string {
	return slices.Sorted(maps.Keys(w.watched))
}
