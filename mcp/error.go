package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Code is the integer that classifies an [Error] on the wire.
type Code int

// Codes of JSON-RPC 2.0 and of the Model Context Protocol.
const (
	CodeParseError     Code = -32700 // the text is not JSON
	CodeInvalidRequest Code = -32600 // JSON, but not a request
	CodeMethodNotFound Code = -32601 // no such method, or its capability is absent
	CodeInvalidParams  Code = -32602 // unknown tool or prompt, bad cursor, missing argument
	CodeInternalError  Code = -32603 // the server's own fault

	// CodeResourceNotFound is sent up to 2025-11-25; a later client gets
	// CodeInvalidParams instead. See [ResourceNotFound].
	CodeResourceNotFound Code = -32002
	// CodeURLElicitationRequired exists in 2025-11-25 only.
	CodeURLElicitationRequired Code = -32042

	CodeHeaderMismatch             Code = -32020 // a header and the body disagree (2026-07-28)
	CodeMissingClientCapability    Code = -32021 // the request needs a capability it did not declare (2026-07-28)
	CodeUnsupportedProtocolVersion Code = -32022 // the request names a version not spoken here (2026-07-28)
)

// Codes for tool execution (-31xxx) and resource access (-30xxx), used where
// the specification leaves the code open. They lie outside the block that
// JSON-RPC reserves. On the wire data.kind names each, for those who do not know
// the numbers.
const (
	CodeToolTimeout     Code = -31001 // the request ran out of time while the tool ran
	CodeToolCrashed     Code = -31002 // the tool panicked
	CodeToolBusy        Code = -31003 // a concurrency or rate limit, of any method
	CodeToolUnavailable Code = -31004 // what the tool stands on cannot be reached
	CodeToolBadOutput   Code = -31005 // the answer violates the tool's outputSchema
	CodeToolDenied      Code = -31006 // the caller may not call it

	CodeResourceDenied      Code = -30001 // the caller may not read it
	CodeResourceUnavailable Code = -30002 // what holds the resource cannot be reached
	CodeResourceTooLarge    Code = -30003 // over the limit
	CodeResourceTimeout     Code = -30004 // the request ran out of time while it was read
)

// Error is a JSON-RPC error: what a client receives instead of a result. A
// Source returns one (wrapped or not) to choose the code; any other error of a
// Source becomes [CodeInternalError], or for a tool call a result whose isError
// is true. Message and Data reach the client; Cause never does.
type Error struct {
	Code    Code
	Message string
	// Data is sent as the data member. It is a JSON value, or nil for none.
	Data json.RawMessage
	// Cause is kept for the log and for errors.Is.
	Cause error

	// arguments marks an error about the arguments of a tool, which 2025-11-25
	// and later want as a result that the model can read.
	arguments bool
	// status and header are those of the HTTP response that the specification
	// demands, or whoever refused the request; 0 and nil stand for the usual.
	status int
	header http.Header
}

// Errorf returns an [*Error] with a formatted message. A %w verb sets Cause, and
// as in fmt.Errorf puts the cause's text into the message: use it only for a
// cause that the client may read.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: wrapped.Error(), Cause: errors.Unwrap(wrapped)}
}

// InvalidArguments returns the error for arguments that a tool cannot accept.
// Up to 2025-06-18 it reaches the client as [CodeInvalidParams], from
// 2025-11-25 on as a tool result with isError, so that the model can correct
// itself (SEP-1303). Word message for a model.
func InvalidArguments(message string) *Error {
	return &Error{Code: CodeInvalidParams, Message: message, arguments: true}
}

// ResourceNotFound returns the error for a URI behind which there is nothing:
// [CodeResourceNotFound] up to 2025-11-25, [CodeInvalidParams] later, with the
// URI in data. An empty message means "resource not found".
func ResourceNotFound(uri, message string) *Error {
	if message == "" {
		message = "resource not found"
	}
	return &Error{Code: CodeResourceNotFound, Message: message, Data: uriData(uri)}
}

// URLElicitationRequired returns the error of 2025-11-25 for a call that cannot
// go on until the user has visited a URL. Each elicitation has Mode "url" and an
// ElicitationID. Other versions do not have the error: their clients get
// [CodeInternalError] with the message; use [Request.Elicit] to serve them all.
func URLElicitationRequired(message string, elicitations ...ElicitParams) *Error {
	data, err := Marshal(map[string]any{"elicitations": elicitations})
	if err != nil {
		return &Error{Code: CodeInternalError, Message: message, Cause: err}
	}
	return &Error{Code: CodeURLElicitationRequired, Message: message, Data: data}
}

func uriData(uri string) json.RawMessage {
	data, err := Marshal(map[string]string{"uri": uri})
	if err != nil {
		return nil
	}
	return data
}

// Error implements the error interface.
func (e *Error) Error() string { return e.Message }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// asError returns err as the *Error that reaches a client of version v. ended is
// why the request's context has ended, or nil.
func asError(err error, v Version, ended error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.DeadlineExceeded) && errors.Is(ended, context.DeadlineExceeded) {
			return &Error{Code: CodeInternalError, Message: "the request ran out of time", Cause: err}
		}
		return &Error{Code: CodeInternalError, Message: "internal error", Cause: err}
	}
	copied := *e
	switch {
	case e.Code == CodeResourceNotFound && v.Modern():
		copied.Code = CodeInvalidParams
	case e.Code == CodeURLElicitationRequired && v != Version20251125:
		copied.Code, copied.Data = CodeInternalError, nil
	default:
		return e
	}
	return &copied
}

// errorKinds are the data.kind of the codes that are ours.
var errorKinds = map[Code]string{
	CodeToolTimeout:         "timeout",
	CodeToolCrashed:         "crashed",
	CodeToolBusy:            "busy",
	CodeToolUnavailable:     "unavailable",
	CodeToolBadOutput:       "bad-output",
	CodeToolDenied:          "denied",
	CodeResourceDenied:      "denied",
	CodeResourceUnavailable: "unavailable",
	CodeResourceTooLarge:    "too-large",
	CodeResourceTimeout:     "timeout",
}

// object returns the JSON-RPC error object. Data that is not JSON is left out.
func (e *Error) object() []byte {
	dst := strconv.AppendInt([]byte(`{"code":`), int64(e.Code), 10)
	dst = jsonscan.AppendQuote(append(dst, `,"message":`...), e.Message)
	data := e.Data
	if data != nil && jsonscan.Valid(data) != nil {
		data = nil
	}
	if kind, ok := errorKinds[e.Code]; ok {
		data = withKind(data, kind)
	}
	if data != nil {
		dst = append(append(dst, `,"data":`...), data...)
	}
	return append(dst, '}')
}

// withKind adds kind to data, unless data has one or is no object.
func withKind(data json.RawMessage, kind string) json.RawMessage {
	added := append(jsonscan.AppendQuote([]byte(`{"kind":`), kind), '}')
	switch {
	case data == nil:
		return added
	case !isObject(data) || jsonscan.Member(data, "kind") != nil:
		return data
	}
	rest := data[jsonscan.Space(data, 0)+1:]
	if rest[jsonscan.Space(rest, 0)] == '}' {
		return added
	}
	added[len(added)-1] = ','
	return append(added, rest...)
}
