package live

import (
	"context"
	"encoding/json"

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
	case member(caps, "tasks") == nil && member(member(caps, "extensions"), tasksExtension) == nil:
		return caps
	}
	all := make(map[string]json.RawMessage)
	if json.Unmarshal(caps, &all) != nil {
		return json.RawMessage(`{}`)
	}
	delete(all, "tasks")
	delete(all, "extensions")
	if x := extensions(member(caps, "extensions")); x != nil {
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
		ses.progressed(m.params)
	case "notifications/message":
		ses.logged(m.params, origin)
	case "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed":
		ses.refresh()
	case "notifications/elicitation/complete":
		ses.completed(memberString(m.params, "elicitationId"))
	case "notifications/resources/updated":
		if uri := memberString(m.params, "uri"); uri != "" {
			ses.src.changed(mcp.Change{URI: uri})
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
func (ses *session) progressed(params []byte) {
	c := ses.get(number(member(params, "progressToken")))
	if c == nil {
		return
	}
	var p struct {
		Progress, Total float64
		Message         string
	}
	if json.Unmarshal(params, &p) == nil {
		c.request.Load().Progress(p.Progress, p.Total, p.Message)
	}
}

// logged passes on a log line to the client that it belongs to.
func (ses *session) logged(params []byte, origin *call) {
	c := ses.belongs(origin)
	if c == nil {
		return
	}
	level, ok := mcp.ParseLogLevel(memberString(params, "level"))
	if !ok {
		level = mcp.LogInfo
	}
	data := json.RawMessage(member(params, "data"))
	if data == nil {
		data = json.RawMessage("null")
	}
	c.request.Load().Log(level, memberString(params, "logger"), data)
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
	ses.goWork(func(ctx context.Context) {
		result, err := ses.answerTo(ctx, c, method, params)
		_ = ses.link.tell(ctx, response(id, result, err)) // a lost connection ends by other ways
	})
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
