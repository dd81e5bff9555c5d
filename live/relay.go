package live

import (
	"context"
	"encoding/json"

	"github.com/slipway-mcp/slipway/mcp"
)

// relayed are the capabilities of a client that can be passed on.
const relayed = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":false}}`

const unsetLevel = mcp.LogLevel(255)

// capabilitiesOf returns what a 2026-07-28 server is told of the client.
func (s *Source) capabilitiesOf(req *mcp.Request) json.RawMessage {
	switch caps := req.ClientCapabilities(); {
	case caps != nil:
		return caps
	case req == nil && s.opts.Answer != nil:
		return s.opts.Capabilities
	}
	return json.RawMessage(`{}`)
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

// notified takes a notification of the server.
func (ses *session) notified(m *message, origin *call) {
	switch string(m.method) {
	case "notifications/progress":
		ses.progressed(m.params)
	case "notifications/message":
		ses.logged(m.params, origin)
	case "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed":
		ses.refresh()
	case "notifications/resources/updated":
		if uri := memberString(m.params, "uri"); uri != "" {
			ses.src.changed(mcp.Change{URI: uri})
		}
	}
}

// progressed passes on how far a request is.
func (ses *session) progressed(params []byte) {
	c := ses.get(number(member(params, "progressToken")))
	if c == nil || c.request == nil {
		return
	}
	var p struct {
		Progress, Total float64
		Message         string
	}
	if json.Unmarshal(params, &p) == nil {
		c.request.Progress(p.Progress, p.Total, p.Message)
	}
}

// logged passes on a log line to the client that it belongs to.
func (ses *session) logged(params []byte, origin *call) {
	c := ses.belongs(origin)
	if c == nil || c.request == nil {
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
	c.request.Log(level, memberString(params, "logger"), data)
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
		if c.request == nil && c.method != "tools/call" {
			continue // ours: a list, a ping
		}
		if latest != nil && !sameClient(latest, c) {
			return nil
		}
		if latest == nil || c.id > latest.id {
			latest = c
		}
	}
	return latest
}

func sameClient(a, b *call) bool {
	if a.request == nil || b.request == nil {
		return a.request == b.request
	}
	s := a.request.Session()
	return s != nil && s == b.request.Session()
}

// asked answers a request of the server.
func (ses *session) asked(m *message, origin *call) {
	if string(m.method) == "ping" {
		id := m.id
		ses.goWork(func(ctx context.Context) {
			_ = ses.link.tell(ctx, response(id, []byte(`{}`), nil)) // a lost connection ends by other ways
		})
		return
	}
	id, method, params := m.id, string(m.method), json.RawMessage(m.params)
	c := ses.belongs(origin)
	ses.goWork(func(ctx context.Context) {
		result, err := ses.src.ask(ctx, c, method, params)
		_ = ses.link.tell(ctx, response(id, result, err))
	})
}

// ask has whoever made the call answer what the server wants to know.
func (s *Source) ask(ctx context.Context, c *call, method string, params json.RawMessage) (json.RawMessage, error) {
	if s.opts.Answer != nil {
		return s.opts.Answer(ctx, method, params)
	}
	return nil, mcp.MethodNotFound(method)
}
