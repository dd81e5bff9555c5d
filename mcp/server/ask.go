package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// question is a [mcp.Question] as the server uses it.
type question interface {
	mcp.Question
	// key identifies the question within its request.
	key() string
	// missing returns the capability that the client would have to declare, as a JSON
	// object. It returns nil if caps include the capability and version v supports it.
	missing(v mcp.Version, caps clientCapabilities) json.RawMessage
	// wire returns the params in the form of version v.
	wire(v mcp.Version) any
	// check validates an answer. The error is errMalformed if the answer does not have the
	// required structure.
	check(raw json.RawMessage) error
	// noted returns the question for another attempt after a wrong answer.
	noted(why error) question
}

// The kinds of questions.
type (
	elicitation   mcp.ElicitParams
	sampling      mcp.CreateMessageParams
	rootsQuestion mcp.ListRootsParams
)

// questionOf returns q as the server uses it.
func questionOf(q mcp.Question) (question, error) {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		return (*elicitation)(q), nil
	case *mcp.CreateMessageParams:
		return (*sampling)(q), nil
	case *mcp.ListRootsParams:
		return (*rootsQuestion)(q), nil
	case question:
		return q, nil
	}
	return nil, fmt.Errorf("unknown type of question: %T", q)
}

// Ask implements [mcp.Request.Ask].
func (rc *request) Ask(ctx context.Context, asked ...mcp.Question) ([]json.RawMessage, error) {
	caps := rc.clientCapabilities()
	questions := make([]question, len(asked))
	for i := range asked {
		q, err := questionOf(asked[i])
		if err != nil {
			return nil, err
		}
		if missing := q.missing(rc.version, caps); missing != nil {
			return nil, rc.missingCapability(missing)
		}
		if p, ok := q.(*elicitation); ok {
			if _, err := p.compileForm(); err != nil {
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
		answer, err := askUntilValid(q, func(q question) (json.RawMessage, error) { return rc.askOnce(ctx, q) })
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
		return fmt.Errorf("the client cannot be asked: its request names no session, in which it would have declared %s",
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
func askUntilValid(q question, once func(question) (json.RawMessage, error)) (json.RawMessage, error) {
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
			return nil, fmt.Errorf("the client's answer to %s is malformed", q.Method())
		case attempt == maxAttempts:
			return nil, refusedAnswer(q, why)
		}
		asked = q.noted(why)
	}
}

// askOnce sends a question on the stream of the client's request, and waits for the
// response.
func (rc *request) askOnce(ctx context.Context, q question) (json.RawMessage, error) {
	if rc.session == nil || rc.stream == nil {
		return nil, errors.New("the client cannot be asked: that needs a session and an event stream")
	}
	params, err := mcp.Marshal(q.wire(rc.version))
	if err != nil {
		return nil, err
	}
	pending := &pendingQuestion{rc: rc}
	ledger := rc.server.ledger
	if !ledger.book(&pending.kept, rc.Client(), keptQuestion, 1, int64(costQuestion+rc.msg.size+len(params)), pending) {
		return nil, errBudget
	}
	defer ledger.release(&pending.kept)
	id, answer := rc.session.expect()
	defer rc.session.forget(id)
	rc.notify(func(dst []byte) ([]byte, bool) { return appendQuestion(dst, id, q, params), true })
	select {
	case got := <-answer:
		return got.outcome(q)
	case <-ctx.Done():
		// This sends nothing if the request itself has ended.
		rc.notify(func(dst []byte) ([]byte, bool) { return appendWithdrawal(dst, id), true })
		return nil, ctx.Err()
	case <-rc.Done():
		return nil, rc.Err()
	}
}

// pendingQuestion is the ledger entry of a request that waits for an answer from its
// client. It occupies its body and a goroutine, although the client may have
// disconnected.
type pendingQuestion struct {
	rc   *request
	kept kept
}

// giveUp implements keeper.
func (p *pendingQuestion) giveUp() { p.rc.cancelBecause(errBudget) }

// Keep implements [mcp.Request.Keep].
func (rc *request) Keep(size int, giveUp func()) (release func(), err error) {
	p := &parkedCall{end: giveUp}
	l, client, bytes := rc.server.ledger, rc.Client(), int64(costQuestion+size+rc.msg.size)
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

// parkedCall is the ledger entry of memory kept by a Source.
type parkedCall struct {
	end  func()
	kept kept
}

// giveUp implements keeper.
func (p *parkedCall) giveUp() { p.end() }

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
		c <- reply{m.result, m.failure}
	}
}

// clientCapabilities are the client's declared capabilities, read without decoding all of
// them.
type clientCapabilities json.RawMessage

func (rc *request) clientCapabilities() clientCapabilities {
	return clientCapabilities(rc.public.ClientCapabilities())
}

// has reports whether the member at a path such as "elicitation/url" is an object.
func (c clientCapabilities) has(path string) bool {
	value := []byte(c)
	for len(path) > 0 {
		var name string
		name, path, _ = cutPath(path)
		if !jsonscan.IsObject(value) {
			return false
		}
		value = jsonscan.Member(value, name)
	}
	return jsonscan.IsObject(value)
}

func cutPath(path string) (name, rest string, found bool) {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

// capabilityObject returns nested objects for the members of a path.
func capabilityObject(path string) json.RawMessage {
	name, rest, more := cutPath(path)
	inner := json.RawMessage(`{}`)
	if more {
		inner = capabilityObject(rest)
	}
	object := jsonscan.AppendQuote([]byte{'{'}, name)
	return append(append(append(object, ':'), inner...), '}')
}
