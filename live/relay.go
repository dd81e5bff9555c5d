package live

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// relayed are the capabilities of a client that can be passed on.
const relayed = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":false}}`

// unsetLevel is the log level of a server that was told of none yet.
const unsetLevel = mcp.LogLevel(255)

// capabilitiesOf returns what a 2026-07-28 server is told of the client: what
// the client declares, but for what cannot be passed on.
func (s *Source) capabilitiesOf(req *mcp.Request) json.RawMessage {
	caps := req.ClientCapabilities()
	switch {
	case caps == nil && req == nil && s.opts.Answer != nil:
		return s.opts.Capabilities
	case !isObject(caps):
		return json.RawMessage(`{}`)
	case jsonscan.Member(caps, "tasks") == nil && jsonscan.Member(jsonscan.Member(caps, "extensions"), tasksExtension) == nil:
		return caps
	}
	all := make(map[string]json.RawMessage)
	if json.Unmarshal(caps, &all) != nil {
		return json.RawMessage(`{}`)
	}
	delete(all, "tasks")
	delete(all, "extensions")
	if x := extensions(jsonscan.Member(caps, "extensions")); x != nil {
		all["extensions"] = x
	}
	encoded, err := mcp.Marshal(all)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return encoded
}

// wantedLevel returns the least severe log line that the client wants.
func wantedLevel(req *mcp.Request) (mcp.LogLevel, bool) {
	if req == nil {
		return 0, false
	}
	if ses := req.Session(); ses != nil {
		return ses.LogLevel(), true
	}
	return mcp.ParseLogLevel(memberString(req.Meta(), metaPrefix+"logLevel"))
}

// lowerLevel makes sure that a server up to 2025-11-25, which sends log lines of
// one level to all its clients, sends those that this client wants.
func (ses *session) lowerLevel(ctx context.Context, req *mcp.Request) {
	level, ok := wantedLevel(req)
	if !ok || ses.version.Modern() || !ses.logs {
		return
	}
	ses.mu.Lock()
	lower := level < ses.level
	if lower {
		ses.level = level
	}
	ses.mu.Unlock()
	if lower {
		_, _ = ses.request(ctx, "logging/setLevel", []byte(`{"level":"`+level.String()+`"}`)) // without it there are fewer lines
	}
}

// notified takes a notification of the server.
func (ses *session) notified(m *message, origin *call) {
	switch string(m.method) {
	case "notifications/progress":
		ses.progressed(m.params, origin)
	case "notifications/message":
		ses.logged(m.params, origin)
	case "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed":
		ses.refresh()
	case "notifications/subscriptions/acknowledged":
		if origin == nil {
			origin = ses.get(number(jsonscan.Member(jsonscan.Member(m.params, "_meta"), metaPrefix+"subscriptionId")))
		}
		if origin != nil && origin.stands != nil {
			origin.stands.once.Do(func() { close(origin.stands.open) })
		}
	case "notifications/cancelled":
		ses.withdrawn(jsonscan.Member(m.params, "requestId"))
	case "notifications/elicitation/complete":
		ses.completed(memberString(m.params, "elicitationId"))
	case "notifications/resources/updated":
		if uri := memberString(m.params, "uri"); uri != "" {
			ses.src.watchers.Tell(mcp.Change{URI: uri})
		}
	}
}

// maxVisits bounds how many users may be on their way to a URL.
const maxVisits = 1000

// visits remembers who was asked to visit a URL, to be told when that is done.
func (ses *session) visits(id string, client *mcp.Session) {
	if id == "" || client == nil {
		return
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.visitors == nil || len(ses.visitors) >= maxVisits {
		ses.visitors = make(map[string]*mcp.Session)
	}
	ses.visitors[id] = client
}

// noteVisits remembers whom a server sends to URLs by the error that 2025-11-25 has
// for that.
func (ses *session) noteVisits(c *call, err error) {
	if client := c.request.Load().Session(); client != nil {
		_ = eachURL(err, func(params []byte) { ses.visits(memberString(params, "elicitationId"), client) })
	}
}

// eachURL calls do with each URL that a server wants to be visited before a request
// can be served. It reports whether err says so.
func eachURL(err error, do func(params []byte)) bool {
	var e *mcp.Error
	return errors.As(err, &e) && e.Code == mcp.CodeURLElicitationRequired && eachOf(jsonscan.Member(e.Data, "elicitations"), do) == nil
}

// urlsFirst passes on such an error. A client of 2026-07-28 does not know it, and
// is asked instead: it comes again when its user has agreed. This is the second
// time if there are answers already.
func (ses *session) urlsFirst(ctx context.Context, e *errand, err error) error {
	req := mcp.RequestFrom(ctx)
	if req == nil || !req.Version().Modern() || e.key == "" {
		return err
	}
	var questions []mcp.Question
	var wrong error
	ok := eachURL(err, func(params []byte) {
		q, err := mcp.Forward("visit "+memberString(params, "elicitationId"), "elicitation/create", params)
		if questions = append(questions, q); err != nil {
			wrong = err
		}
	})
	if !ok || wrong != nil || len(questions) == 0 {
		return err
	}
	if _, asked := req.Ask(ctx, questions...); asked != nil {
		return asked
	}
	return err
}

// completed passes on that a user has done at a URL what was asked for.
func (ses *session) completed(id string) {
	ses.mu.Lock()
	client := ses.visitors[id]
	delete(ses.visitors, id)
	ses.mu.Unlock()
	if client != nil {
		client.ElicitationComplete(id)
	}
}

// progressed passes on how far a request is.
func (ses *session) progressed(params []byte, origin *call) {
	c := ses.get(number(jsonscan.Member(params, "progressToken")))
	if c == nil {
		return
	}
	ses.passOn(c, letter{params: params}, origin)
}

// passOn passes on what the server says of a call. What came on a stream of the
// call's own was read by whoever waits for it.
func (ses *session) passOn(c *call, l letter, origin *call) {
	if origin == nil && ses.waitsFor() {
		c.say(l)
		return
	}
	c.tell(l)
}

// waitsFor reports whether those who make calls wait for others to read the answers.
func (ses *session) waitsFor() bool {
	l, http := ses.link.(*httpLink)
	return !http || l.older() != nil
}

// logged passes on a log line to the client that it belongs to.
func (ses *session) logged(params []byte, origin *call) {
	c := ses.belongs(origin)
	if c == nil {
		return
	}
	ses.passOn(c, letter{params: params, log: true}, origin)
}

// belongs returns the call that a message without a place of its own belongs to:
// the only one, or the latest if all are of one client. It is nil if they are of
// several: nobody is to see what is meant for others.
func (ses *session) belongs(origin *call) *call {
	if origin != nil {
		return origin
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	var latest *call
	for _, c := range ses.calls {
		switch {
		case !c.foreign:
			continue // ours: a list, a ping
		case latest == nil:
			latest = c
		case !sameClient(latest, c):
			return nil
		case c.id > latest.id:
			latest = c
		}
	}
	return latest
}

func sameClient(a, b *call) bool {
	one, other := a.request.Load(), b.request.Load()
	if one == nil || other == nil {
		return one == other
	}
	s := one.Session()
	return s != nil && s == other.Session()
}

// asked answers a request of the server.
func (ses *session) asked(m *message, origin *call) {
	id, method, params := m.id, string(m.method), json.RawMessage(m.params)
	var c *call
	if method != "ping" {
		c = ses.belongs(origin)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if !ses.noteAsked(id, cancel) {
		cancel()
		ses.src.junk.Add(1)
		return
	}
	if !ses.goWork(func(quit context.Context) {
		defer context.AfterFunc(quit, cancel)()
		result, err := ses.answerTo(ctx, c, method, params)
		if ses.answering(id) {
			_ = ses.link.tell(ctx, response(id, result, err)) // a lost connection ends by other ways
		}
		cancel()
	}) {
		cancel()
	}
}

// maxAsking bounds the questions of a server's that are open. What it asks beyond that
// is not answered: no server needs to know so much at a time.
const maxAsking = 1000

// noteAsked remembers a question, and reports whether there are not too many.
func (ses *session) noteAsked(id []byte, cancel context.CancelFunc) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.asking == nil {
		ses.asking = make(map[string]context.CancelFunc)
	}
	if _, twice := ses.asking[string(id)]; twice || len(ses.asking) >= maxAsking {
		return false
	}
	ses.asking[string(id)] = cancel
	return true
}

// answering reports whether a question of the server's is to be answered still,
// and forgets it.
func (ses *session) answering(id []byte) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	_, open := ses.asking[string(id)]
	delete(ses.asking, string(id))
	return open
}

// withdrawn takes back a question that the server does not want answered any more.
func (ses *session) withdrawn(id []byte) {
	ses.mu.Lock()
	cancel := ses.asking[string(id)]
	delete(ses.asking, string(id))
	ses.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

var errNobody = &mcp.Error{Code: mcp.CodeInvalidRequest, Message: "there is nobody to ask: the question belongs to no request, or to one of several clients"}

// answerTo finds out what the server wants to know during the call c.
func (ses *session) answerTo(ctx context.Context, c *call, method string, params json.RawMessage) (json.RawMessage, error) {
	if method == "ping" {
		return json.RawMessage(`{}`), nil
	}
	var req *mcp.Request
	if c != nil {
		req = c.request.Load()
	}
	switch {
	case req == nil && ses.src.opts.Answer != nil:
		return ses.src.opts.Answer(ctx, method, params)
	case req == nil && method == "roots/list":
		return json.RawMessage(`{"roots":[]}`), nil // servers ask as soon as they run
	case req == nil:
		return nil, errNobody
	case !req.Version().Modern():
		q, err := mcp.Forward("", method, params)
		if err != nil {
			return nil, err
		}
		ses.visits(memberString(params, "elicitationId"), req.Session())
		answers, err := req.Ask(ctx, q)
		if err != nil {
			return nil, &mcp.Error{Code: mcp.CodeInvalidRequest, Message: err.Error()}
		}
		return answers[0], nil
	case c.parking == nil:
		return nil, &mcp.Error{Code: mcp.CodeInvalidRequest, Message: "the client cannot be asked: it declares no capability for it"}
	}
	return c.parking.pose(ctx, method, params)
}
