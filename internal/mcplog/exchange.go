package mcplog

import (
	"encoding/json"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
)

// Exchange is a request of a client with the response to it.
type Exchange struct {
	Request *Event
	// Response is nil if none was recorded.
	Response *Event
	// Method and Params are those of the request.
	Method string
	Params json.RawMessage
	// Result or Failure is what the response holds: a result, or an error object.
	Result  json.RawMessage
	Failure json.RawMessage
	// Took is the time between the two events.
	Took time.Duration
}

// Exchanges returns the requests of clients with their responses, in the order of the
// requests. It ignores batches, and questions of servers.
//
// A recording of a server that serves others has the same conversation twice: with its
// clients, which is source 0, and with its servers. Only that of its clients counts, if
// there is one.
func (rec *Recording) Exchanges() []*Exchange { return rec.pairs(false) }

// Questions returns the requests of servers with the responses of clients, like
// [Recording.Exchanges].
func (rec *Recording) Questions() []*Exchange { return rec.pairs(true) }

// pairs returns the requests of clients, or those of servers. If the recording program had
// clients of its own, only their side is returned, because the other repeats it.
func (rec *Recording) pairs(byServer bool) []*Exchange {
	return rec.side(rec.served(), byServer)
}

// served reports whether the recording program had clients of its own.
func (rec *Recording) served() bool {
	for i := range rec.Events {
		if rec.Events[i].Source == 0 && rec.Events[i].Kind == Request {
			return true
		}
	}
	return false
}

// side returns the requests between the recording program and its clients (served), or
// between it and its servers.
func (rec *Recording) side(served, byServer bool) []*Exchange {
	p := pairing{
		byServer: byServer,
		exact:    make(map[requestKey]*Exchange),
		loose:    make(map[requestKey]*Exchange),
	}
	for i := range rec.Events {
		if e := &rec.Events[i]; served == (e.Source == 0) {
			p.add(e)
		}
	}
	return p.list
}

// requestKey identifies a request that waits for its response.
type requestKey struct {
	source int
	// stream is 0 where the response may be on another stream.
	stream uint64
	id     string
}

// pairing pairs requests with responses.
type pairing struct {
	byServer bool // requests of servers
	list     []*Exchange
	// exact has the requests by source, stream and id, loose by source and id: a response
	// may arrive on another stream, as with HTTP+SSE.
	exact, loose map[requestKey]*Exchange
}

// add adds a request, or completes the exchange of a response. The stream decides first,
// since clients may reuse ids on several.
func (p *pairing) add(e *Event) {
	var m peer.Message
	if e.Kind != Request && e.Kind != Response || m.Scan(e.Text()) != nil {
		return
	}
	key := requestKey{e.Source, e.Stream, string(m.ID)}
	wide := requestKey{source: e.Source, id: string(m.ID)}
	fromClient := (e.Source == 0) == (e.Direction == In)
	asks := fromClient != p.byServer
	switch {
	case e.Kind == Request && asks:
		x := &Exchange{
			Request: e,
			Method:  string(m.Method),
			Params:  m.Params,
		}
		p.list = append(p.list, x)
		p.exact[key] = x
		p.loose[wide] = x
	case e.Kind == Response && !asks:
		x := p.exact[key]
		if x == nil {
			x = p.loose[wide]
		}
		if x == nil || x.Response != nil {
			return
		}
		x.Response = e
		x.Result = m.Result
		x.Failure = m.Failure
		x.Took = time.Duration(e.Nanoseconds - x.Request.Nanoseconds)
	}
}

// Name returns the tool, prompt or URI of the request, or "".
func (x *Exchange) Name() string { return RequestName(x.Params) }
