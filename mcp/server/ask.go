package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Ask implements [mcp.Request.Ask].
func (rc *request) Ask(ctx context.Context, asked ...mcp.Question) ([]json.RawMessage, error) {
	caps := rc.clientCapabilities()
	questions := make([]*question, len(asked))
	for i := range asked {
		q, err := questionOf(asked[i])
		if err != nil {
			return nil, err
		}
		if missing := q.missing(rc.version, caps); missing != "" {
			return nil, rc.missingCapability(capabilityObject(missing))
		}
		p, ok := q.Question.(*mcp.ElicitParams)
		if ok && q.forwarded == nil {
			if _, err := compileForm(p); err != nil {
				return nil, fmt.Errorf("elicitation/create: requestedSchema: %w", err)
			}
		}
		questions[i] = q
	}
	switch {
	case rc.task != nil:
		return rc.task.ask(ctx, questions)
	case rc.version.Modern():
		return rc.askModern(questions)
	}
	answers := make([]json.RawMessage, len(questions))
	for i, q := range questions {
		answer, err := askUntilValid(q, func(q *question) (json.RawMessage, error) {
			return rc.askOnce(ctx, q)
		})
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

// RequireCapability implements [mcp.Request.RequireCapability].
func (rc *request) RequireCapability(name string) error {
	if rc.clientCapabilities().has(name) {
		return nil
	}
	return rc.missingCapability(capabilityObject(name))
}

// missingCapability returns the error for a client that cannot be asked. Only 2026-07-28
// has a code for it; other versions get a message.
func (rc *request) missingCapability(required json.RawMessage) error {
	switch {
	case !rc.version.Modern() && rc.session == nil:
		return fmt.Errorf("the client cannot be asked: "+
			"its request names no session, in which it would have declared %s",
			required)
	case !rc.version.Modern():
		return fmt.Errorf("the client does not support this: it would have to declare %s", required)
	}
	return &mcp.Error{
		Code:    mcp.CodeMissingClientCapability,
		Message: "the client does not declare a capability that this request needs",
		Data:    json.RawMessage(`{"requiredCapabilities":` + string(required) + `}`),
	}
}

// askUntilValid asks until the answer is valid, at most maxAttempts times. It does not
// retry after a malformed answer, because the client would only repeat it.
func askUntilValid(q *question, once func(*question) (json.RawMessage, error)) (json.RawMessage, error) {
	asked := q
	for attempt := 1; ; attempt++ {
		answer, err := once(asked)
		if err != nil {
			return nil, err
		}
		why := q.check(answer)
		switch {
		case why == nil:
			return answer, nil
		case errors.Is(why, errMalformed):
			return nil, refusedAnswer(q, why)
		case attempt == maxAttempts:
			return nil, refusedAnswer(q, why)
		}
		asked = q.withNote(why)
	}
}

// askOnce sends a question on the stream of the client's request, and waits for the
// response.
func (rc *request) askOnce(ctx context.Context, q *question) (json.RawMessage, error) {
	if rc.session == nil || rc.stream == nil {
		return nil, errors.New("the client cannot be asked: that needs a session and an event stream")
	}
	if rc.session.guest {
		return nil, errGuest
	}
	params, err := q.params(rc.version)
	if err != nil {
		return nil, err
	}
	// The request occupies its body and a goroutine, although the client may have
	// disconnected.
	pending := &parkedCall{end: func() { rc.cancelBecause(errBudget) }}
	ledger := rc.server.ledger
	if !ledger.book(&pending.kept, rc.Client(), keptQuestion, 1,
		int64(costQuestion+int(rc.msg.size)+len(params)), pending) {
		return nil, errBudget
	}
	defer ledger.release(&pending.kept)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(rc, func() { cancel(rc.Err()) })()
	u := &mcp.Upstream{
		Method:    q.Method(),
		Transport: rc.transport,
		Version:   rc.version,
	}
	ctx = rc.StartUpstream(ctx, u)
	answer, err := rc.session.askOnce(ctx, q, params, func(msg []byte) error {
		// This sends nothing if the request itself has ended.
		return rc.notify(func(dst []byte) ([]byte, bool) {
			return append(dst, msg...), true
		})
	})
	rc.EndUpstream(ctx, u, err, false)
	return answer, err
}

// Keep implements [mcp.Request.Keep].
func (rc *request) Keep(size int, giveUp func()) (release func(), err error) {
	p := &parkedCall{end: giveUp}
	l := rc.server.ledger
	client := rc.Client()
	bytes := int64(costQuestion + size + int(rc.msg.size))
	gone, ok := l.enter(&p.kept, client, keptParked, 1, bytes, p)
	gone.giveUp()
	if !ok && len(gone) > 0 { // the victims make room once they have been given up
		ok = l.book(&p.kept, client, keptParked, 1, bytes, p)
	}
	if !ok {
		return nil, errBudget
	}
	return func() { l.release(&p.kept) }, nil
}

// parkedCall is the ledger entry of a call that waits: for an answer from its client, or
// until its Source continues.
type parkedCall struct {
	// end ends the call when it is given up to make room.
	end  func()
	kept kept
}

// giveUp implements keeper.
func (p *parkedCall) giveUp() { p.end() }

// Ask implements [mcp.Session.Ask].
func (s *session) Ask(ctx context.Context, asked mcp.Question) (json.RawMessage, error) {
	q, err := questionOf(asked)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	out := s.ensureOutgoing().direct
	initialized := s.initialized
	s.mu.Unlock()
	v := s.Version()
	if out == nil || v == 0 || !initialized {
		return nil, mcp.ErrNoConnection
	}
	if missing := q.missing(v, clientCapabilities(s.ClientCapabilities())); missing != "" {
		return nil, (&request{received: received{
			version: v,
			session: s,
		}}).missingCapability(capabilityObject(missing))
	}
	return askUntilValid(q, func(q *question) (json.RawMessage, error) {
		params, err := q.params(v)
		if err != nil {
			return nil, err
		}
		return s.askOnce(ctx, q, params, out.send)
	})
}

// askOnce sends a question to the client and waits for the response until ctx ends. The
// error is then the cause of the end.
func (s *session) askOnce(
	ctx context.Context, q *question, params json.RawMessage, send func(msg []byte) error,
) (json.RawMessage, error) {
	id, answer := s.expect()
	defer s.forget(id)
	err := send(fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, q.Method(), params))
	if err != nil {
		return nil, err
	}
	select {
	case got := <-answer:
		if got.err != nil {
			return nil, fmt.Errorf("the client answered %s with an error: %s",
				q.Method(), got.err)
		}
		return got.result, nil
	case <-ctx.Done():
		// The connection may have ended.
		_ = send(fmt.Appendf(nil,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		return nil, context.Cause(ctx)
	}
}

// reply is a client's response to a question.
type reply struct{ result, err json.RawMessage }

// expect returns the id for a question and the channel that receives its response.
func (s *session) expect() (id uint64, answer <-chan reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.ensureOutgoing()
	o.lastAsked++
	if o.asked == nil {
		o.asked = make(map[uint64]chan reply)
	}
	c := make(chan reply, 1)
	o.asked[o.lastAsked] = c
	return o.lastAsked, c
}

// forget drops a question whose response is no longer awaited.
func (s *session) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ensureOutgoing().asked, id)
}

// answered delivers a client's response. Unexpected responses are dropped.
func (s *session) answered(m *message) {
	id, err := strconv.ParseUint(string(m.id), 10, 64)
	if err != nil {
		return
	}
	s.mu.Lock()
	var c chan reply
	if o := s.outgoing; o != nil {
		c = o.asked[id]
		delete(o.asked, id)
	}
	s.mu.Unlock()
	if c != nil {
		r := reply{result: m.result}
		if m.failed {
			r = reply{err: m.result}
		}
		c <- r
	}
}

// clientCapabilities are the client's declared capabilities, read without decoding all of
// them.
type clientCapabilities json.RawMessage

// clientCapabilities returns what the client has declared: in the request, or in its
// session.
func (rc *request) clientCapabilities() clientCapabilities {
	return clientCapabilities(rc.public.ClientCapabilities())
}

// has reports whether the member at a path such as "elicitation/url" is an object.
func (c clientCapabilities) has(path string) bool {
	value := []byte(c)
	for name := range strings.SplitSeq(path, "/") {
		if !jsonscan.IsObject(value) {
			return false
		}
		value = jsonscan.Member(value, name)
	}
	return jsonscan.IsObject(value)
}

// capabilityObject returns nested objects for the members of a path.
func capabilityObject(path string) json.RawMessage {
	open := `{"` + strings.ReplaceAll(path, "/", `":{"`) + `":{}`
	return json.RawMessage(open + strings.Repeat("}", strings.Count(path, "/")+1))
}
