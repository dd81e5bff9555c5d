package mcp

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// CallToolResult is the result of a tool call. It is read-only once returned to the
// server; a Source may return the same value many times.
type CallToolResult struct {
	// Content is for the model; it is encoded as [] if empty.
	Content []Content `json:"content"`
	// StructuredContent is a JSON value for programs, or nil. It is sent from 2025-06-18 on;
	// before 2026-07-28 only if it is an object.
	StructuredContent json.RawMessage `json:"structuredContent"`
	// IsError marks a failure that the model should see. It is always encoded.
	IsError bool            `json:"isError"`
	Meta    json.RawMessage `json:"_meta"`

	// Raw, if not nil, is the whole result; the fields above are then unused.
	Raw *Raw `json:"-"`
}

// ReadResourceResult is the result of reading a resource. It is read-only once returned
// to the server.
type ReadResourceResult struct {
	// Contents are the contents of the resource: one, or several for a folder.
	Contents []ResourceContents `json:"contents"`
	// Meta is the _meta object, or nil.
	Meta json.RawMessage `json:"_meta"`
	// Cache specifies how long 2026-07-28 clients may cache the result.
	Cache CacheHint `json:"-"`

	// Raw, if not nil, is the whole result; Contents and Meta are then unused.
	Raw *Raw `json:"-"`
}

// CacheHint specifies for how long, and for whom, a client may cache a result (ttlMs and
// cacheScope in 2026-07-28). The zero value allows neither reuse nor sharing between
// users.
type CacheHint struct {
	TTL time.Duration // rounded down to milliseconds
	// Public means that the result is the same for every caller. Authenticated clients
	// always receive it as private, because a shared cache must not serve it to users
	// without access.
	Public bool
}

// GetPromptResult is a filled-in prompt. It is read-only once returned to the server.
type GetPromptResult struct {
	// Description explains the prompt; it is omitted if empty.
	Description string `json:"description"`
	// Messages are the conversation that the prompt begins, oldest first.
	Messages []PromptMessage `json:"messages"`
	// Meta is the _meta object, or nil.
	Meta json.RawMessage `json:"_meta"`

	// Raw, if not nil, is the whole result; the fields above are then unused.
	Raw *Raw `json:"-"`
}

// The roles of a [PromptMessage].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	// RoleSystem is not defined by the specification: clients receive it as RoleUser unless
	// the server keeps it.
	RoleSystem = "system"
)

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	// Role is [RoleUser], [RoleAssistant] or [RoleSystem], which clients receive as
	// [RoleUser] unless the server keeps it.
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Completion contains suggestions for the value of an argument. At most 100 values are
// sent; if there are more, HasMore is sent as true, and Total defaults to their number.
type Completion struct {
	// Values are the suggestions, most relevant first. Clients receive at most 100.
	Values []string `json:"values"`
	// Total is the number of all suggestions if it is known, otherwise nil.
	Total *int `json:"total,omitempty"`
	// HasMore reports whether more suggestions exist than Values has; nil means unknown.
	HasMore *bool `json:"hasMore,omitempty"`
}

// CompleteResult is the result of completion/complete.
type CompleteResult struct {
	Completion Completion `json:"completion"`

	// Raw, if not nil, is the whole result.
	Raw *Raw `json:"-"`
}

const maxCompletionValues = 100

// MarshalJSON implements json.Marshaler; values is [] if there are none.
func (c Completion) MarshalJSON() ([]byte, error) {
	type plain Completion
	if c.Values == nil {
		c.Values = []string{}
	}
	return Marshal(plain(c))
}

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (r CallToolResult) MarshalJSON() ([]byte, error) {
	return marshalResult(&r)
}

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (r ReadResourceResult) MarshalJSON() ([]byte, error) {
	return marshalResult(&r)
}

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (r GetPromptResult) MarshalJSON() ([]byte, error) {
	return marshalResult(&r)
}

// MarshalJSON implements json.Marshaler.
func (r CompleteResult) MarshalJSON() ([]byte, error) {
	return marshalResult(&r)
}

// Result is a result of a [Source]: a [*CallToolResult], [*ReadResourceResult],
// [*GetPromptResult], [*CompleteResult] or [*MethodResult].
type Result interface {
	// members appends the members, without braces and without a comma after the last one.
	members(dst []byte, f Form) ([]byte, error)
	parts() resultParts
}

// resultParts are the parts that every result may have.
type resultParts struct {
	raw   *Raw            // the whole result, or nil
	meta  json.RawMessage // or nil
	cache *CacheHint      // nil for a result that has none
}

// marshalResult encodes a result as its author wrote it, with all members.
func marshalResult(r Result) ([]byte, error) {
	parts := r.parts()
	if parts.raw != nil {
		return parts.raw.Bytes(), nil
	}
	dst, err := r.members([]byte{'{'}, authored)
	if err != nil {
		return nil, err
	}
	if parts.meta != nil {
		dst = append(append(dst, `,"_meta":`...), parts.meta...)
	}
	return append(dst, '}'), nil
}

// AppendResult appends r as the client of f receives it, including the members that every
// result of its version must have.
func (c *Catalog) AppendResult(dst []byte, r Result, f Form) ([]byte, error) {
	parts := r.parts()
	hint := parts.cache
	raw := parts.raw
	meta := parts.meta
	if hint != nil && f.Private {
		hint = &CacheHint{TTL: hint.TTL}
	}
	if raw != nil {
		switch {
		case f.Version.Modern():
			return raw.appendModern(dst, c.ServerInfo(f.Version), hint), nil
		case f.Version < Version20250618:
			return append(dst, raw.downgraded(f.Version)...), nil
		}
		return append(dst, raw.doc...), nil
	}
	dst, err := r.members(append(dst, '{'), f)
	if err != nil {
		return dst, err
	}
	var facts metaFacts
	if meta != nil {
		if facts, err = checkMeta(meta); err != nil {
			return dst, err
		}
	}
	switch {
	case !f.Version.Modern() && meta != nil:
		dst = append(append(dst, `,"_meta":`...), meta...)
	case f.Version.Modern():
		dst = append(dst, `,"resultType":"complete"`...)
		if hint != nil {
			dst = appendCacheHint(append(dst, ','), *hint)
		}
		dst = append(dst, `,"_meta":`...)
		if meta == nil {
			meta = emptyObject
			facts.empty = true
		}
		dst = facts.append(dst, meta, c.ServerInfo(f.Version))
	}
	return append(dst, '}'), nil
}

var emptyObject = json.RawMessage(`{}`)

func (r *CallToolResult) parts() resultParts {
	return resultParts{
		raw:  r.Raw,
		meta: r.Meta,
	}
}
func (r *ReadResourceResult) parts() resultParts {
	return resultParts{r.Raw, r.Meta, &r.Cache}
}
func (r *GetPromptResult) parts() resultParts {
	return resultParts{
		raw:  r.Raw,
		meta: r.Meta,
	}
}
func (r *CompleteResult) parts() resultParts {
	return resultParts{raw: r.Raw}
}
func (r *MethodResult) parts() resultParts {
	return resultParts{
		raw:   r.Result,
		cache: r.Cache,
	}
}

func (r *MethodResult) members(dst []byte, _ Form) ([]byte, error) {
	return dst, nil
}

// Failed reports whether r has isError, in its fields or in Raw.
func (r *CallToolResult) Failed() bool {
	return r.IsError || r.Raw != nil && r.Raw.isError
}

// appendArray appends items, each encoded by one, and closes the array.
func appendArray[T any](
	dst []byte, items []T, f Form, one func(*T, []byte, Form) ([]byte, error),
) (_ []byte, err error) {
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = one(&items[i], dst, f); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// members appends the result as f.Version knows it. Before 2026-07-28, structured content
// must be an object, so other values are omitted.
func (r *CallToolResult) members(dst []byte, f Form) ([]byte, error) {
	dst, err := appendArray(append(dst, `"content":[`...), r.Content, f,
		(*Content).appendJSON)
	if err != nil {
		return dst, err
	}
	known := f.Version.Modern() ||
		f.Version >= Version20250618 && jsonscan.IsObject(r.StructuredContent)
	if s := r.StructuredContent; s != nil && known {
		if dst, err = appendValid(append(dst, `,"structuredContent":`...), s, "structuredContent"); err != nil {
			return dst, err
		}
	}
	dst = append(dst, `,"isError":`...)
	return strconv.AppendBool(dst, r.IsError), nil
}

func (r *ReadResourceResult) members(dst []byte, f Form) ([]byte, error) {
	return appendArray(append(dst, `"contents":[`...), r.Contents, f,
		(*ResourceContents).appendJSON)
}

func (r *GetPromptResult) members(dst []byte, f Form) ([]byte, error) {
	if r.Description != "" {
		dst = append(dst, `"description":`...)
		dst = append(jsonscan.AppendQuote(dst, r.Description), ',')
	}
	return appendArray(append(dst, `"messages":[`...), r.Messages, f,
		(*PromptMessage).appendJSON)
}

// appendJSON appends the message. No version of the protocol has the role system.
func (m *PromptMessage) appendJSON(dst []byte, f Form) ([]byte, error) {
	role := m.Role
	if role == RoleSystem && !f.KeepSystemRole {
		role = RoleUser
	}
	dst = append(dst, `{"role":`...)
	dst = jsonscan.AppendQuote(dst, role)
	dst = append(dst, `,"content":`...)
	dst, err := m.Content.appendJSON(dst, f)
	return append(dst, '}'), err
}

// members appends the completion, cut to the specification's limit of values.
func (r *CompleteResult) members(dst []byte, f Form) ([]byte, error) {
	c := r.Completion
	if n := len(c.Values); n > maxCompletionValues {
		c.Values = c.Values[:maxCompletionValues]
		more := true
		c.HasMore = &more
		if c.Total == nil {
			c.Total = &n
		}
	}
	encoded, err := Marshal(c)
	if err != nil {
		return dst, err
	}
	return append(append(dst, `"completion":`...), encoded...), nil
}
