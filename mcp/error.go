package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Code is the integer that classifies an [Error] on the wire.
type Code int

// Codes of JSON-RPC 2.0 and the Model Context Protocol.
const (
	CodeParseError     Code = -32700 // the text is not JSON
	CodeInvalidRequest Code = -32600 // JSON, but not a request
	CodeMethodNotFound Code = -32601 // no such method, or its capability is absent
	CodeInvalidParams  Code = -32602 // unknown tool or prompt, bad cursor, missing argument
	CodeInternalError  Code = -32603 // a failure of the server

	// CodeResourceNotFound is sent to clients up to 2025-11-25; later ones get
	// CodeInvalidParams instead. See [ResourceNotFound].
	CodeResourceNotFound Code = -32002
	// CodeURLElicitationRequired exists in 2025-11-25 only.
	CodeURLElicitationRequired Code = -32042

	CodeHeaderMismatch             Code = -32020 // a header and the body disagree (2026-07-28)
	CodeMissingClientCapability    Code = -32021 // a required client capability was not declared (2026-07-28)
	CodeUnsupportedProtocolVersion Code = -32022 // the version of the request is not supported (2026-07-28)
)

// Codes for tool execution (-31xxx) and resource access (-30xxx), used where the
// specification leaves the code open. They are outside the range that JSON-RPC reserves.
// On the wire, data.kind names the code for clients that do not know the number.
const (
	CodeToolTimeout     Code = -31001 // the request timed out while the tool ran
	CodeToolCrashed     Code = -31002 // the tool panicked
	CodeToolBusy        Code = -31003 // a concurrency or rate limit, of any method
	CodeToolUnavailable Code = -31004 // a dependency of the tool cannot be reached
	CodeToolBadOutput   Code = -31005 // the answer violates the tool's outputSchema
	CodeToolDenied      Code = -31006 // the caller may not call it

	CodeResourceDenied      Code = -30001 // the caller may not read it
	CodeResourceUnavailable Code = -30002 // the storage of the resource cannot be reached
	CodeResourceTooLarge    Code = -30003 // over the limit
	CodeResourceTimeout     Code = -30004 // the request timed out while the resource was read
)

// Error is a JSON-RPC error, which a client receives instead of a result. A Source
// returns one, wrapped or not, to choose the code. Any other error of a Source becomes
// [CodeInternalError], or for a tool call a result with isError. Message and Data reach
// the client; Cause never does.
type Error struct {
	// Code is the JSON-RPC code. Its value on the wire depends on the client's version,
	// see [Code].
	Code Code
	// Message is for the client: one line without a final full stop, and without secrets
	// or paths of the server.
	Message string
	// Data is sent as the data member. It is a JSON value, or nil for none.
	Data json.RawMessage
	// Cause is for the log and errors.Is.
	Cause error

	// ToModel marks an error about the arguments of a tool, which from 2025-11-25 on is a
	// result that the model can read, see [InvalidArguments].
	ToModel bool
	// Status and Header are used if the answer has its own HTTP response, rather than one
	// in a batch or on a connection. 0 and nil mean the defaults.
	Status int
	Header http.Header
}

// Errorf returns an [*Error] with a formatted message. A %w verb sets Cause and, as in
// fmt.Errorf, includes the cause's text in the message: use it only for a cause that the
// client may read.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{
		Code:    code,
		Message: wrapped.Error(),
		Cause:   errors.Unwrap(wrapped),
	}
}

// InvalidArguments returns the error for arguments that a tool cannot accept. Clients up
// to 2025-06-18 receive it as [CodeInvalidParams]; from 2025-11-25 on it is a tool result
// with isError, so that the model can correct itself (SEP-1303). Write message for a
// model.
func InvalidArguments(message string) *Error {
	return &Error{
		Code:    CodeInvalidParams,
		Message: message,
		ToModel: true,
	}
}

// UnknownTool returns the error for a tool that is not in the catalog.
func UnknownTool(name string) *Error {
	return Errorf(CodeInvalidParams, "unknown tool %q", name)
}

// MethodNotFound returns the error for an unknown method.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "method %q not found", method)
}

// UnknownPrompt returns the error for a prompt that is not in the catalog.
func UnknownPrompt(name string) *Error {
	return Errorf(CodeInvalidParams, "unknown prompt %q", name)
}

// ResourceNotFound returns the error for a resource that does not exist:
// [CodeResourceNotFound] up to 2025-11-25, [CodeInvalidParams] later, with the URI in
// data. An empty message means "resource not found".
func ResourceNotFound(uri, message string) *Error {
	if message == "" {
		message = "resource not found"
	}
	return &Error{
		Code:    CodeResourceNotFound,
		Message: message,
		Data:    uriData(uri),
	}
}

// URLElicitationRequired returns the error for a call that cannot continue until the user
// has visited a URL (2025-11-25). Each elicitation has Mode "url" and an ElicitationID.
// The error does not exist in other versions, whose clients get [CodeInternalError] with
// the message; use [Request.Elicit] to support all versions.
func URLElicitationRequired(message string, elicitations ...ElicitParams) *Error {
	data, err := Marshal(map[string]any{"elicitations": elicitations})
	if err != nil {
		return &Error{
			Code:    CodeInternalError,
			Message: message,
			Cause:   err,
		}
	}
	return &Error{
		Code:    CodeURLElicitationRequired,
		Message: message,
		Data:    data,
	}
}

// uriData returns the data of an error about a resource: the specification's {"uri": ...}.
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

// errorKinds maps the codes defined by Slipway to their data.kind.
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

// MarshalJSON implements json.Marshaler. It returns the JSON-RPC error object as it is
// sent, with data.kind for the codes of this package. It omits Data that is not valid
// JSON, and never includes Cause.
func (e Error) MarshalJSON() ([]byte, error) {
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
	return append(dst, '}'), nil
}

// withKind adds kind to data, unless data already has one or is not an object.
func withKind(data json.RawMessage, kind string) json.RawMessage {
	added := append(jsonscan.AppendQuote([]byte(`{"kind":`), kind), '}')
	switch {
	case data == nil:
		return added
	case !jsonscan.IsObject(data) || jsonscan.Member(data, "kind") != nil:
		return data
	}
	rest := data[jsonscan.Space(data, 0)+1:]
	if rest[jsonscan.Space(rest, 0)] == '}' {
		return added
	}
	added[len(added)-1] = ','
	return append(added, rest...)
}
