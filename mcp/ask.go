package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Question is a question that a Source asks the client while serving a tool call, a
// prompt or a resource: [*ElicitParams], [*CreateMessageParams] or [*ListRootsParams].
type Question interface {
	// key identifies the question within its request.
	key() string
	method() string
	// missing returns the capability that the client would have to declare, as a JSON
	// object. It returns nil if caps include the capability and version v supports it.
	missing(v Version, caps clientCapabilities) json.RawMessage
	// wire returns the params in the form of version v.
	wire(v Version) any
	// check validates an answer. The error is errMalformed if the answer does not have the
	// required structure.
	check(raw json.RawMessage) error
	// noted returns the question for another attempt after a wrong answer.
	noted(why error) Question
}

// ErrInputRequired is returned by the methods that ask the client, on 2026-07-28, if the
// client has not answered yet. Return it from the Source method, wrapped or not: the
// server sends the questions, the client repeats the request with its answers, and the
// Source method runs again from the start. Everything it does before asking is repeated,
// so ask first and act later.
var ErrInputRequired = errors.New("input required")

// ElicitParams ask the user for data (elicitation/create, from 2025-06-18).
type ElicitParams struct {
	// Key identifies the question. It must be the same when the Source method runs again.
	// Empty means the number of the question in the request.
	Key string `json:"-"`
	// Mode is "form", the default, or "url" (from 2025-11-25).
	Mode    string `json:"mode,omitempty"`
	Message string `json:"message"`
	// RequestedSchema describes the form: a flat object schema. Answers are validated
	// against it, including formats; see [Request.Elicit].
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	// URL is the page that the user visits in mode "url".
	URL string `json:"url,omitempty"`
	// ElicitationID is used by mode "url" in 2025-11-25, see [Session.ElicitationComplete].
	// Empty means a random one. It is not sent in other versions.
	ElicitationID string `json:"elicitationId,omitempty"`
}

// ElicitResult is the reaction of the user. If Action is "accept", Content is the
// filled-in form, which matches the RequestedSchema.
type ElicitResult struct {
	Action  string          `json:"action"` // "accept", "decline" or "cancel"
	Content json.RawMessage `json:"content,omitempty"`
}

// CreateMessageParams ask the client's model (sampling/createMessage).
type CreateMessageParams struct {
	// Key is as in [ElicitParams].
	Key              string            `json:"-"`
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences json.RawMessage   `json:"modelPreferences,omitempty"`
	SystemPrompt     string            `json:"systemPrompt,omitempty"`
	IncludeContext   string            `json:"includeContext,omitempty"`
	Temperature      *float64          `json:"temperature,omitempty"`
	MaxTokens        int               `json:"maxTokens"`
	StopSequences    []string          `json:"stopSequences,omitempty"`
	Metadata         json.RawMessage   `json:"metadata,omitempty"`
	// Tools and ToolChoice require a client that declares sampling.tools (from 2025-11-25).
	Tools      []Tool          `json:"tools,omitempty"`
	ToolChoice json.RawMessage `json:"toolChoice,omitempty"`
}

// SamplingMessage is one message of a conversation with the client's model. Content is
// one block or an array of blocks, both of which the specification allows.
type SamplingMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// SamplingText returns a message with one text block.
func SamplingText(role, text string) SamplingMessage {
	content, _ := Marshal(Text(text))
	return SamplingMessage{Role: role, Content: content}
}

// CreateMessageResult is the answer of the client's model.
type CreateMessageResult struct {
	SamplingMessage
	Model      string `json:"model"`
	StopReason string `json:"stopReason,omitempty"`
}

// Text returns the concatenated text blocks of the message.
func (r *CreateMessageResult) Text() string {
	var one Content
	if json.Unmarshal(r.Content, &one) == nil {
		return one.Text
	}
	var all []Content
	_ = json.Unmarshal(r.Content, &all)
	text := ""
	for _, c := range all {
		text += c.Text
	}
	return text
}

// ListRootsParams ask for the folders the client works in (roots/list).
type ListRootsParams struct {
	// Key is as in [ElicitParams].
	Key string `json:"-"`
}

// ListRootsResult lists the client's folders.
type ListRootsResult struct {
	Roots []Root `json:"roots"`
}

// Root is a folder the client works in. URI starts with file://.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// Elicit asks the user. It works in every version that has elicitation: up to 2025-11-25
// it waits for the answer, for 2026-07-28 see [ErrInputRequired]. It fails if the client
// has not declared the capability.
//
// Answers that do not match RequestedSchema are not returned: the user is asked again,
// with the reason. After three such answers the error contains the names of the fields,
// but not their values.
func (r *Request) Elicit(ctx context.Context, p *ElicitParams) (*ElicitResult, error) {
	return ask[ElicitResult](ctx, r, p)
}

// Sample asks the client's model. See [Request.Elicit] for the behavior.
func (r *Request) Sample(ctx context.Context, p *CreateMessageParams) (*CreateMessageResult, error) {
	return ask[CreateMessageResult](ctx, r, p)
}

// Roots asks for the client's folders. See [Request.Elicit] for the behavior.
func (r *Request) Roots(ctx context.Context) (*ListRootsResult, error) {
	return ask[ListRootsResult](ctx, r, &ListRootsParams{})
}

func ask[T any](ctx context.Context, r *Request, q Question) (*T, error) {
	answers, err := r.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	result := new(T)
	if err := json.Unmarshal(answers[0], result); err != nil {
		return nil, fmt.Errorf("the client's answer to %s: %w", q.method(), err)
	}
	return result, nil
}

// Ask asks several questions and returns the answers in the same order, each as the
// result object of its method. On 2026-07-28, all open questions are sent in one round.
// Otherwise it behaves like [Request.Elicit].
func (r *Request) Ask(ctx context.Context, questions ...Question) ([]json.RawMessage, error) {
	if r == nil {
		return nil, errors.New("nobody to ask: the source was called directly")
	}
	rc := r.rc
	caps := rc.clientCapabilities()
	for _, q := range questions {
		if missing := q.missing(rc.version, caps); missing != nil {
			return nil, rc.missingCapability(missing)
		}
		if p, ok := q.(*ElicitParams); ok {
			if _, err := p.compileForm(); err != nil {
				return nil, fmt.Errorf("elicitation/create: requestedSchema: %w", err)
			}
		}
	}
	switch {
	case rc.task != nil:
		return rc.task.ask(ctx, questions)
	case rc.version.Modern():
		return rc.askModern(questions)
	}
	answers := make([]json.RawMessage, len(questions))
	for i, q := range questions {
		answer, err := rc.askLegacy(ctx, q)
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

// RequireCapability returns nil if the client declared the capability, given as the path
// of a member of ClientCapabilities such as "sampling" or "sampling/tools". Otherwise it
// returns the error to return from the Source method.
func (r *Request) RequireCapability(name string) error {
	if r == nil {
		return nil
	}
	if r.rc.clientCapabilities().has(name) {
		return nil
	}
	return r.rc.missingCapability(capabilityObject(name))
}

// missingCapability returns the error for a client that cannot be asked. Only 2026-07-28
// has a code for it; other versions get a message.
func (rc *requestContext) missingCapability(required json.RawMessage) error {
	switch {
	case !rc.version.Modern() && rc.session == nil:
		return fmt.Errorf("the client cannot be asked: its request names no session, in which it would have declared %s",
			required)
	case !rc.version.Modern():
		return fmt.Errorf("the client does not support this: it would have to declare %s", required)
	}
	return &Error{
		Code:    CodeMissingClientCapability,
		Message: "the client does not declare a capability that this request needs",
		Data:    json.RawMessage(`{"requiredCapabilities":` + string(required) + `}`),
	}
}

// askLegacy asks until the answer is valid, at most maxAttempts times. It does not retry
// after a malformed answer, because the client would only repeat it.
func (rc *requestContext) askLegacy(ctx context.Context, q Question) (json.RawMessage, error) {
	return askUntilValid(q, func(q Question) (json.RawMessage, error) { return rc.askOnce(ctx, q) })
}

func askUntilValid(q Question, once func(Question) (json.RawMessage, error)) (json.RawMessage, error) {
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
			return nil, fmt.Errorf("the client's answer to %s is malformed", q.method())
		case attempt == maxAttempts:
			return nil, refusedAnswer(q, why)
		}
		asked = q.noted(why)
	}
}

// askOnce sends a question on the stream of the client's request, and waits for the
// response.
func (rc *requestContext) askOnce(ctx context.Context, q Question) (json.RawMessage, error) {
	if rc.session == nil || rc.stream == nil {
		return nil, errors.New("the client cannot be asked: that needs a session and an event stream")
	}
	params, err := Marshal(q.wire(rc.version))
	if err != nil {
		return nil, err
	}
	pending := &pendingQuestion{rc: rc}
	ledger := rc.server.ledger
	if !ledger.book(&pending.kept, rc.client(), keptQuestion, 1, int64(costQuestion+rc.msg.size+len(params)), pending) {
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
	rc   *requestContext
	kept kept
}

// giveUp implements keeper.
func (p *pendingQuestion) giveUp() { p.rc.cancelBecause(errBudget) }

// Keep books memory that a Source keeps for the client beyond the end of the method, such
// as a call that waits until the client reconnects: size bytes, and the request itself.
// If the client exceeds its share or the [Budget] is exhausted, the server calls giveUp
// to request its release, at most once, on any goroutine; giveUp must not wait. The
// Source calls release when the memory has been freed, also after giveUp. The error is
// for the client. Keep does nothing on a nil Request.
func (r *Request) Keep(size int, giveUp func()) (release func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	p := &parkedCall{end: giveUp}
	l, client, bytes := r.rc.server.ledger, r.rc.client(), int64(costQuestion+size+r.rc.msg.size)
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
func (s *Session) expect() (id uint64, answer <-chan reply) {
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

func (s *Session) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ensureOutgoing().asked, id)
}

// answered delivers a client's response. Unexpected responses are dropped.
func (s *Session) answered(m *message) {
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

func (rc *requestContext) clientCapabilities() clientCapabilities {
	return clientCapabilities(rc.public.ClientCapabilities())
}

// has reports whether the member at a path such as "elicitation/url" is an object.
func (c clientCapabilities) has(path string) bool {
	value := []byte(c)
	for len(path) > 0 {
		var name string
		name, path, _ = cutPath(path)
		if !isObject(value) {
			return false
		}
		value = jsonscan.Member(value, name)
	}
	return isObject(value)
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

func (p *ElicitParams) key() string        { return p.Key }
func (p *CreateMessageParams) key() string { return p.Key }
func (p *ListRootsParams) key() string     { return p.Key }

func (p *ElicitParams) method() string        { return "elicitation/create" }
func (p *CreateMessageParams) method() string { return "sampling/createMessage" }
func (p *ListRootsParams) method() string     { return "roots/list" }

// wire sets the id of the elicitation where it is required, and removes it elsewhere.
func (p *ElicitParams) wire(v Version) any {
	copied := *p
	switch {
	case v != Version20251125 || p.Mode != "url":
		copied.ElicitationID = ""
	case p.ElicitationID == "":
		copied.ElicitationID = rand.Text()
	}
	return &copied
}

func (p *CreateMessageParams) wire(Version) any { return p }
func (p *ListRootsParams) wire(Version) any     { return p }

// missing treats an empty elicitation object as declaring forms only.
func (p *ElicitParams) missing(v Version, caps clientCapabilities) json.RawMessage {
	switch {
	case p.Mode == "url":
		if v < Version20251125 || !caps.has("elicitation/url") {
			return capabilityObject("elicitation/url")
		}
	case v < Version20250618, !caps.has("elicitation"):
		return capabilityObject("elicitation")
	case caps.has("elicitation/url") && !caps.has("elicitation/form"):
		return capabilityObject("elicitation/form")
	}
	return nil
}

func (p *CreateMessageParams) missing(v Version, caps clientCapabilities) json.RawMessage {
	switch {
	case len(p.Tools) > 0:
		if v < Version20251125 || !caps.has("sampling/tools") {
			return capabilityObject("sampling/tools")
		}
	case !caps.has("sampling"):
		return capabilityObject("sampling")
	}
	return nil
}

func (p *ListRootsParams) missing(_ Version, caps clientCapabilities) json.RawMessage {
	if !caps.has("roots") {
		return capabilityObject("roots")
	}
	return nil
}
