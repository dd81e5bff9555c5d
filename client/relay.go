package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// relayed are the client capabilities that can be relayed. MCP Apps are always declared:
// a server may hide the tools of its pages from clients that do not declare them, and the
// decision which client sees them is made downstream.
const relayed = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},` +
	`"extensions":{` + appsDeclared + `}}`

// The extension for MCP Apps, and its declaration by a client (package apps is for
// servers).
const (
	appsExtension = "io.modelcontextprotocol/ui"
	appsDeclared  = `"` + appsExtension + `":{"mimeTypes":["text/html;profile=mcp-app"]}`
)

// ElicitationOnly is the [Questions.Capabilities] of a program that answers elicitations in
// both modes, but neither sampling nor roots.
const ElicitationOnly = `{"elicitation":{"form":{},"url":{}},"extensions":{` + appsDeclared + `}}`

// unsetLevel is the log level of a server that has not received one yet.
const unsetLevel = mcp.LogLevel(255)

// appendCapabilities appends the capabilities that a 2026-07-28 server receives: those of
// the client, without those that cannot be relayed, and with MCP Apps.
func (ses *session) appendCapabilities(dst []byte, req *mcp.Request) []byte {
	const appsAlone = `{"extensions":{` + appsDeclared + `}}`
	caps := req.ClientCapabilities()
	if caps == nil && req == nil && ses.src.opts.Questions.Answer != nil {
		return append(dst, ses.terms.Capabilities...)
	}
	if !jsonscan.IsObject(caps) || len(bytes.TrimSpace(members(caps))) == 0 {
		return append(dst, appsAlone...)
	}
	declared := jsonscan.Member(caps, "extensions")
	tasks := jsonscan.Member(caps, "tasks") != nil ||
		jsonscan.Member(declared, tasksExtension) != nil
	switch {
	case !tasks && jsonscan.Member(declared, appsExtension) != nil:
		return append(dst, caps...)
	case !tasks && declared == nil:
		dst = append(append(dst, appsAlone[:len(appsAlone)-1]...), ',')
		return append(append(dst, members(caps)...), '}')
	}
	all := make(map[string]json.RawMessage)
	if json.Unmarshal(caps, &all) != nil {
		return append(dst, appsAlone...)
	}
	delete(all, "tasks")
	passed := make(map[string]json.RawMessage)
	_ = json.Unmarshal(declared, &passed) // a value that is not an object declares nothing
	delete(passed, tasksExtension)
	if passed[appsExtension] == nil {
		passed[appsExtension] = jsonscan.Member([]byte("{"+appsDeclared+"}"), appsExtension)
	}
	all["extensions"], _ = mcp.Marshal(passed) // valid JSON can always be encoded
	encoded, _ := mcp.Marshal(all)
	return append(dst, encoded...)
}

// wantedLevel returns the lowest log level that the client wants.
func wantedLevel(req *mcp.Request) (mcp.LogLevel, bool) {
	if req == nil {
		return 0, false
	}
	if ses := req.Session(); ses != nil {
		return ses.LogLevel(), true
	}
	return mcp.ParseLogLevel(memberString(req.Meta(), metaPrefix+"logLevel"))
}

// lowerLevel ensures that a server up to 2025-11-25, which sends log lines of one level
// to all its clients, sends those that this client wants.
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
		// On error there are fewer log lines.
		_, _ = ses.request(ctx, "logging/setLevel",
			[]byte(`{"level":"`+level.String()+`"}`))
	}
}

// notified handles a notification of the server.
func (ses *session) notified(m *peer.Message, origin *call) {
	switch string(m.Method) {
	case "notifications/progress":
		ses.progressed(m.Params, origin)
	case "notifications/message":
		ses.logged(m.Params, origin)
	case "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed":
		ses.refresh()
	case "notifications/subscriptions/acknowledged":
		if origin == nil {
			origin = ses.get(peer.Number(jsonscan.Member(jsonscan.Member(m.Params, "_meta"), metaPrefix+"subscriptionId")))
		}
		if origin != nil && origin.stands != nil {
			origin.stands.once.Do(func() { close(origin.stands.open) })
		}
	case "notifications/cancelled":
		ses.withdrawn(jsonscan.Member(m.Params, "requestId"))
	case "notifications/elicitation/complete":
		ses.completed(memberString(m.Params, "elicitationId"))
	case "notifications/resources/updated":
		if uri := memberString(m.Params, "uri"); uri != "" {
			ses.src.watchers.Tell(mcp.Change{URI: uri})
		}
	}
}

// maxVisits limits the number of pending URL visits.
const maxVisits = 1000

// visits records who was asked to visit a URL, to notify them on completion. There is no
// notification for an id over [server.MaxElicitationID].
func (ses *session) visits(id string, client mcp.Session) {
	if id == "" || len(id) > server.MaxElicitationID || client == nil {
		return
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.visitors == nil || len(ses.visitors) >= maxVisits {
		ses.visitors = make(map[string]mcp.Session)
	}
	ses.visitors[id] = client
}

// noteVisits records the client for the URLs in an error that requires visits
// (2025-11-25).
func (ses *session) noteVisits(c *call, err error) {
	if client := c.request.Load().Session(); client != nil {
		_ = eachURL(err, func(params []byte) {
			ses.visits(memberString(params, "elicitationId"), client)
		})
	}
}

// eachURL calls do for each URL that must be visited before a request can be served. It
// reports whether err is such an error.
func eachURL(err error, do func(params []byte)) bool {
	var e *mcp.Error
	return errors.As(err, &e) &&
		e.Code == mcp.CodeURLElicitationRequired &&
		eachOf(jsonscan.Member(e.Data, "elicitations"), do) == nil
}

// urlsFirst forwards such an error. A client of 2026-07-28 does not know the error, and
// is asked instead: it retries when its user has agreed. If there are answers already,
// this is the retry.
func (ses *session) urlsFirst(ctx context.Context, e *errand, err error) error {
	req := mcp.RequestFrom(ctx)
	if req == nil || !req.Version().Modern() || e.key == "" {
		return err
	}
	var questions []mcp.Question
	var wrong error
	ok := eachURL(err, func(params []byte) {
		q, err := server.Forward("visit "+memberString(params, "elicitationId"),
			"elicitation/create", params)
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

// completed notifies the client that a URL visit is complete.
func (ses *session) completed(id string) {
	ses.mu.Lock()
	client := ses.visitors[id]
	delete(ses.visitors, id)
	ses.mu.Unlock()
	if client != nil {
		client.ElicitationComplete(id)
	}
}

// progressed forwards the progress of a request.
func (ses *session) progressed(params []byte, origin *call) {
	c := ses.get(tokenCall(jsonscan.Member(params, "progressToken")))
	if c == nil {
		return
	}
	ses.passOn(c, letter{params: params}, origin)
}

// passOn forwards a notification about a call. If it came on the call's own stream, the
// caller's goroutine has read it, and no mailbox is needed.
func (ses *session) passOn(c *call, l letter, origin *call) {
	if origin == nil && ses.waitsFor() {
		c.say(l)
		return
	}
	c.tell(l)
}

// waitsFor reports whether another goroutine reads the answers for the callers.
func (ses *session) waitsFor() bool {
	return ses.http == nil || ses.http.older() != nil
}

// logged forwards a log line to the client that it belongs to.
func (ses *session) logged(params []byte, origin *call) {
	c := ses.belongs(origin)
	if c == nil {
		return
	}
	ses.passOn(c, letter{
		params: params,
		log:    true,
	}, origin)
}
