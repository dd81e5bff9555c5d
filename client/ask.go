package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Servers up to 2025-11-25 ask with requests of their own, which need not name the call
// they belong to. This file determines whom to ask; turns.go keeps that unambiguous.

// belongs returns the call that a message on the shared stream belongs to: the only one,
// or the latest if all are from one client. It returns nil if they are from several
// clients, so that none sees messages for another.
func (ses *session) belongs(origin *call) *call {
	if origin != nil {
		return origin
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	latest, several := ses.latestLocked(func(*call) bool { return true })
	if several {
		return nil
	}
	return latest
}

// latestLocked returns the latest call in flight that is made for a client and that ok
// accepts, and reports whether such calls belong to several clients.
func (ses *session) latestLocked(ok func(*call) bool) (latest *call, several bool) {
	for c := range ses.calls.All() {
		switch {
		case !c.foreign || !ok(c):
			continue // our own call, such as a list or a ping
		case latest == nil:
			latest = c
			continue
		case !ses.src.sameClient(latest, c):
			several = true
		}
		if c.id > latest.id {
			latest = c
		}
	}
	return latest, several
}

// sameClient reports whether two calls are made for the same client.
func (s *Source) sameClient(a, b *call) bool {
	if s.owner != nil || s.opts.Clients != nil && s.opts.Clients.Single {
		return true
	}
	one := a.request.Load()
	other := b.request.Load()
	if one == nil || other == nil {
		return one == other
	}
	client := one.Session()
	return client != nil && client == other.Session()
}

// asked handles a request of the server.
func (ses *session) asked(m *peer.Message, origin *call) {
	ctx, cancel := context.WithCancel(context.Background())
	if !ses.noteAsked(m, cancel) {
		cancel()
		ses.src.junk.Add(1)
		return
	}
	// Copies, as slices would keep the whole message, or batch, in memory.
	id := bytes.Clone(m.ID)
	q := &serverQuestion{
		method: string(m.Method),
		params: bytes.Clone(m.Params),
	}
	if q.method != "ping" {
		ses.attribute(q, origin)
	}
	if !ses.goWork(func(quit context.Context) {
		defer context.AfterFunc(quit, cancel)()
		result, err := ses.answerTo(ctx, q)
		ses.awaitTurn(ctx, q)
		ses.release(q)
		if ses.answering(id) {
			// A lost connection is detected elsewhere.
			_ = ses.link.tell(ctx, response(id, result, err))
		}
		cancel()
	}) {
		ses.release(q)
		cancel()
	}
}

// serverQuestion is a request of the server.
type serverQuestion struct {
	// method and params are as the server sent them.
	method string
	params json.RawMessage
	call   *call // the call that it belongs to, or nil

	// Guarded by session.mu.
	known   bool // whether call is certain
	held    bool // waits until it is
	counted bool // in call.open
}

// attribute determines the call that a question belongs to, or none if none is in flight.
// It stays unknown if calls of several clients are in flight.
func (ses *session) attribute(q *serverQuestion, origin *call) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if origin == nil {
		origin = ses.calls.Get(relatedCall(q.params))
	}
	if origin != nil {
		q.call = origin
		q.known = true
		return
	}
	c, known := ses.ownerLocked()
	if q.known = known; known && c != nil {
		ses.assignLocked(q, c)
	}
}

// tokenPrefix distinguishes our progress tokens from those that a server invents for its
// own requests, which are also small numbers.
const tokenPrefix = "call-"

// relatedCall returns the id of the call that a question names in its _meta, by progress
// token or request id, or 0.
func relatedCall(params []byte) uint64 {
	meta := jsonscan.Member(params, "_meta")
	if meta == nil {
		return 0
	}
	if id := tokenCall(jsonscan.Member(meta, "progressToken")); id != 0 {
		return id
	}
	return peer.Number(jsonscan.Member(meta, "relatedRequestId"))
}

// tokenCall returns the id of the call with that progress token, or 0.
func tokenCall(token []byte) uint64 {
	text, ok := jsonscan.Unquote(token)
	if !ok || !strings.HasPrefix(text, tokenPrefix) {
		return 0
	}
	id, err := strconv.ParseUint(text[len(tokenPrefix):], 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// The open questions of a server are limited, in number and in bytes of their id, method and params, which are what
// stays in memory. A question beyond the limits is answered with an error. A larger one, of a server with a larger
// MaxMessage, is passed on if no other is open.
const (
	maxAsking      = 1000
	maxAskingBytes = 64 << 20
)

// maxRefusedID is the maximum length of the id of a question beyond the limits that is answered.
const maxRefusedID = 1 << 10

var errTooManyQuestions = &mcp.Error{
	Code:    mcp.CodeToolBusy,
	Message: fmt.Sprintf("too many open questions: the limits are %d, and %d MiB together", maxAsking, maxAskingBytes>>20),
}

// openQuestion is a question of a server that is still to be answered.
type openQuestion struct {
	cancel context.CancelFunc
	size   int // in bytes
}

// noteAsked records a question, and reports whether it is to be answered: its id is new, and the limits are not
// exceeded. If they are, noteAsked has it answered with an error.
func (ses *session) noteAsked(m *peer.Message, cancel context.CancelFunc) bool {
	size := len(m.ID) + len(m.Method) + len(m.Params)
	ses.mu.Lock()
	if ses.asking == nil {
		ses.asking = make(map[string]openQuestion)
	}
	_, twice := ses.asking[string(m.ID)]
	full := len(ses.asking) >= maxAsking || len(ses.asking) > 0 && ses.askingBytes+size > maxAskingBytes
	if !twice && !full {
		ses.asking[string(m.ID)] = openQuestion{cancel, size}
		ses.askingBytes += size
	}
	ses.mu.Unlock()
	if !twice && full {
		ses.refuseQuestion(m.ID)
	}
	return !twice && !full
}

// refuseQuestion answers a question beyond the limits, without waiting: the reader of messages must not wait for a
// server that reads nothing while it asks. For such a server, at most maxAsking refusals wait.
func (ses *session) refuseQuestion(id []byte) {
	ses.mu.Lock()
	if len(id) > maxRefusedID || len(ses.refused) >= maxAsking {
		ses.mu.Unlock()
		return
	}
	ses.refused = append(ses.refused, string(id))
	start := !ses.refusing
	ses.refusing = true
	ses.mu.Unlock()
	if start {
		ses.goWork(ses.sendRefusals)
	}
}

// sendRefusals sends the refusals that wait.
func (ses *session) sendRefusals(ctx context.Context) {
	for ctx.Err() == nil {
		ses.mu.Lock()
		refused := ses.refused
		ses.refused = nil
		ses.refusing = len(refused) > 0
		ses.mu.Unlock()
		if len(refused) == 0 {
			return
		}
		for _, id := range refused {
			// A lost connection is detected elsewhere.
			_ = ses.link.tell(ctx, response([]byte(id), nil, errTooManyQuestions))
		}
	}
}

// answering reports whether a question of the server is still to be answered, and removes
// it.
func (ses *session) answering(id []byte) bool {
	_, open := ses.takeQuestion(id)
	return open
}

// withdrawn cancels a question that the server no longer wants answered.
func (ses *session) withdrawn(id []byte) {
	if cancel, open := ses.takeQuestion(id); open {
		cancel()
	}
}

// takeQuestion removes an open question, and returns the function that cancels it.
func (ses *session) takeQuestion(id []byte) (cancel context.CancelFunc, open bool) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	q, open := ses.asking[string(id)]
	delete(ses.asking, string(id))
	ses.askingBytes -= q.size
	return q.cancel, open
}

var (
	errNobody = &mcp.Error{
		Code:    mcp.CodeInvalidRequest,
		Message: "no client to ask: the question belongs to no request in flight",
	}
	errSeveral = &mcp.Error{
		Code:    mcp.CodeInvalidRequest,
		Message: "no client to ask: requests of several clients are in flight, and the question could belong to any of them",
	}
)

// answerTo obtains the answer to a server's question.
func (ses *session) answerTo(ctx context.Context, q *serverQuestion) (json.RawMessage, error) {
	if q.method == "ping" {
		return json.RawMessage(`{}`), nil
	}
	if !q.known {
		if err := ses.hold(ctx, q); err != nil {
			return nil, err
		}
	}
	if q.call == nil {
		return ses.answerOutside(ctx, q.method, q.params)
	}
	if q.method == "roots/list" {
		return ses.answerRoots(ctx, q)
	}
	return ses.answerDuring(ctx, q)
}

// answerRoots requests the folders of a client with a call in flight. The question is
// usually not about that call, and outlives it.
func (ses *session) answerRoots(ctx context.Context, q *serverQuestion) (json.RawMessage, error) {
	client, err := ses.home(ctx)
	if client == nil || err != nil || ses.src.opts.Questions.Answer != nil {
		return ses.answerDuring(ctx, q)
	}
	answer, err := askDirectly(ctx, client, q.method, q.params)
	if !errors.Is(err, mcp.ErrNoConnection) {
		return answer, err
	}
	answer, err = ses.answerDuring(ctx, q)
	if err != nil && ctx.Err() == nil && ses.get(q.call.id) != q.call {
		return ses.roots.wait(ctx)
	}
	return answer, err
}

// answerDuring asks the client as part of the call that a question belongs to.
func (ses *session) answerDuring(ctx context.Context, q *serverQuestion) (json.RawMessage, error) {
	req := q.call.request.Load()
	switch {
	case req == nil && ses.src.opts.Questions.Answer != nil:
		return ses.src.answerByProgram(WithNotify(ctx, q.call.notify), q.method, q.params)
	case req == nil:
		return nil, errNobody
	case !req.Version().Modern():
		forwarded, err := server.Forward("", q.method, q.params)
		if err != nil {
			return nil, err
		}
		ses.visits(memberString(q.params, "elicitationId"), req.Session())
		answers, err := req.Ask(ctx, forwarded)
		if err != nil {
			return nil, &mcp.Error{
				Code:    mcp.CodeInvalidRequest,
				Message: err.Error(),
			}
		}
		return answers[0], nil
	case q.call.parking == nil:
		return nil, &mcp.Error{
			Code:    mcp.CodeInvalidRequest,
			Message: "the client cannot be asked: it declares no capability for it",
		}
	}
	return q.call.parking.pose(ctx, q.method, q.params)
}

// answerByProgram passes a question to the program. Its answer may have line breaks, which
// a message on stdio must not have.
func (s *Source) answerByProgram(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answer, err := s.opts.Questions.Answer(ctx, method, params)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(answer, '\n') >= 0 || bytes.IndexByte(answer, '\r') >= 0 {
		answer = compact(answer)
	}
	return answer, nil
}

// answerOutside answers a question that belongs to no call. It goes to the server's only
// client, if there is only one: on stdio, or with a process per session.
func (ses *session) answerOutside(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if ses.src.opts.Questions.Answer != nil {
		return ses.src.answerByProgram(ctx, method, params)
	}
	client, err := ses.home(ctx)
	switch {
	case err != nil:
		return nil, err
	case client == nil:
		return nil, errNobody
	}
	ses.visits(memberString(params, "elicitationId"), client)
	answer, err := askDirectly(ctx, client, method, params)
	switch {
	case !errors.Is(err, mcp.ErrNoConnection):
		return answer, err
	case method != "roots/list":
		return nil, errNobody
	}
	return ses.roots.wait(ctx)
}

// home returns the server's only client, or nil if it has several. It waits until that
// client has connected.
func (ses *session) home(ctx context.Context) (mcp.Session, error) {
	if owner := ses.src.owner; owner != nil {
		return owner, nil
	}
	return ses.src.opts.Clients.Only(ctx)
}

// askDirectly asks a client outside of its requests, or fails with [mcp.ErrNoConnection].
func askDirectly(
	ctx context.Context, client mcp.Session, method string, params json.RawMessage,
) (json.RawMessage, error) {
	q, err := server.Forward("", method, params)
	if err != nil {
		return nil, err
	}
	answer, err := client.Ask(ctx, q)
	if err != nil && !errors.Is(err, mcp.ErrNoConnection) {
		return nil, &mcp.Error{
			Code:    mcp.CodeInvalidRequest,
			Message: err.Error(),
		}
	}
	return answer, err
}

// isHome reports whether client is the server's only client.
func (s *Source) isHome(client mcp.Session) bool {
	return s.owner == client && client != nil ||
		s.owner == nil && s.opts.Clients != nil && s.opts.Clients.Single
}

// rootsChanged notifies the server that the folders of its only client have changed.
func (s *Source) rootsChanged(e server.ClientEvent) {
	ses := s.current.Load()
	if !e.RootsChanged || ses == nil || !s.isHome(e.Session) {
		return
	}
	ses.roots.forget()
	if ses.version.Modern() {
		return // it receives them with each request
	}
	ses.goWork(func(ctx context.Context) {
		_ = ses.link.tell(ctx,
			rootsListChanged())
	}) // a lost connection is detected elsewhere
}

func rootsListChanged() []byte {
	return peer.Notification("notifications/roots/list_changed", nil)
}

// settleRoots asks the client for its folders if the server requested them before the
// client could be asked: a client that cannot be asked outside of its requests is asked
// with its next one, before the server receives that.
func (ses *session) settleRoots(ctx context.Context, e *errand, req *mcp.Request) error {
	if !ses.roots.wanted.Load() || req == nil || e.key == "" {
		return nil
	}
	forwarded, err := server.Forward("roots of the server", "roots/list", nil)
	if err != nil {
		return err
	}
	answers, err := req.Ask(ctx, forwarded)
	switch {
	case errors.Is(err, mcp.ErrInputRequired) || ctx.Err() != nil:
		return err
	case err != nil:
		ses.roots.settle(reply{err: &mcp.Error{
			Code:    mcp.CodeInvalidRequest,
			Message: err.Error(),
		}})
		return nil
	}
	if missed := ses.roots.settle(reply{result: answers[0]}); missed {
		// Makes it ask again, which is answered immediately.
		_ = ses.link.tell(ctx, rootsListChanged())
	}
	// The answer precedes the ping, so by its reply the server has processed it.
	limited, cancel := context.WithTimeout(ctx, settleRootsTime)
	defer cancel()
	_, _ = ses.request(limited, "ping", nil)
	return nil
}

// settleRootsTime is how long a server may take to process the folders of its client
// before it receives the request anyway.
const settleRootsTime = time.Second
