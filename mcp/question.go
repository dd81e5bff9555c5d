package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Question is a question that a Source asks the client while serving a tool call, a
// prompt or a resource: [*ElicitParams], [*CreateMessageParams], [*ListRootsParams], or a
// question forwarded from another server.
type Question interface {
	// Method returns the method of the request to the client.
	Method() string
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
	Key string `json:"-"`
	// Messages are the conversation so far, oldest first.
	Messages []SamplingMessage `json:"messages"`
	// ModelPreferences is the object of the specification, with hints and priorities; nil
	// leaves the choice of a model to the client.
	ModelPreferences json.RawMessage `json:"modelPreferences,omitempty"`
	// SystemPrompt and IncludeContext ("none", "thisServer" or "allServers") are requests
	// that the client may change or ignore.
	SystemPrompt   string `json:"systemPrompt,omitempty"`
	IncludeContext string `json:"includeContext,omitempty"`
	// Temperature is the temperature of the model; nil means its default.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens is the most tokens to generate. Required.
	MaxTokens int `json:"maxTokens"`
	// StopSequences are texts that end the answer.
	StopSequences []string `json:"stopSequences,omitempty"`
	// Metadata is an object for the provider of the model, or nil.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Tools and ToolChoice require a client that declares sampling.tools (from 2025-11-25).
	Tools      []Tool          `json:"tools,omitempty"`
	ToolChoice json.RawMessage `json:"toolChoice,omitempty"`
}

// SamplingMessage is one message of a conversation with the client's model. Content is
// one block or an array of blocks, both of which the specification allows.
type SamplingMessage struct {
	// Role is [RoleUser] or [RoleAssistant].
	Role string `json:"role"`
	// Content is one content block, or from 2025-11-25 on an array of them.
	Content json.RawMessage `json:"content"`
}

// SamplingText returns a message with one text block.
func SamplingText(role, text string) SamplingMessage {
	content, _ := Marshal(Text(text))
	return SamplingMessage{
		Role:    role,
		Content: content,
	}
}

// CreateMessageResult is the answer of the client's model.
type CreateMessageResult struct {
	SamplingMessage
	// Model is the name of the model that answered.
	Model string `json:"model"`
	// StopReason is "endTurn", "stopSequence", "maxTokens", "toolUse" or a reason of the
	// provider, if the client reports one.
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
	// URI is a file: URI of a folder or file that the server may work with.
	URI string `json:"uri"`
	// Name is for display, or empty.
	Name string `json:"name,omitempty"`
}

// Method returns "elicitation/create".
func (*ElicitParams) Method() string { return "elicitation/create" }

// Method returns "sampling/createMessage".
func (*CreateMessageParams) Method() string {
	return "sampling/createMessage"
}

// Method returns "roots/list".
func (*ListRootsParams) Method() string { return "roots/list" }

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

// Sample asks the client's model (sampling/createMessage). It waits, retries and fails as
// [Request.Elicit] does, and requires the client capability sampling.
func (r *Request) Sample(ctx context.Context, p *CreateMessageParams) (*CreateMessageResult, error) {
	return ask[CreateMessageResult](ctx, r, p)
}

// Roots asks for the client's folders (roots/list). It waits and fails as
// [Request.Elicit] does, and requires the client capability roots. The list may be empty.
func (r *Request) Roots(ctx context.Context) (*ListRootsResult, error) {
	return ask[ListRootsResult](ctx, r, &ListRootsParams{})
}

// ask asks one question, and decodes its answer.
func ask[T any](ctx context.Context, r *Request, q Question) (*T, error) {
	answers, err := r.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	result := new(T)
	if err := json.Unmarshal(answers[0], result); err != nil {
		return nil, fmt.Errorf("the client's answer to %s: %w", q.Method(), err)
	}
	return result, nil
}

// Ask asks several questions and returns the answers in the same order, each as the
// result object of its method. On 2026-07-28, all open questions are sent in one round.
// Otherwise it behaves like [Request.Elicit].
func (r *Request) Ask(ctx context.Context, questions ...Question) ([]json.RawMessage, error) {
	if r == nil {
		return nil, errors.New("the client cannot be asked: the source was called directly")
	}
	return r.served.Ask(ctx, questions...)
}
