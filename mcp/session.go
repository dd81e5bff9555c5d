package mcp

import (
	"context"
	"encoding/json"
	"errors"
)

// Session is what a server knows of a client that sent initialize. Over HTTP it exists as
// long as the client uses its session id, over stdio as long as the stream is open. It is
// safe for concurrent use, and a Source may keep it beyond a request.
type Session interface {
	// ID returns the session id of an HTTP session, or "" for a stream.
	ID() string
	// Version returns the negotiated version, or 0 before initialize.
	Version() Version
	// LogLevel returns the least severe level that the client wants to receive. The default
	// is [LogInfo].
	LogLevel() LogLevel
	// ClientInfo returns the client's clientInfo object, or nil. At most 16 KiB are kept,
	// including the capabilities; members that do not fit are missing.
	ClientInfo() json.RawMessage
	// ClientCapabilities returns the client's capabilities object, or nil. Members beyond 16
	// KiB are missing.
	ClientCapabilities() json.RawMessage
	// Ask asks the client outside of a request, and waits for the answer. This is possible on
	// a connection, such as stdio, up to 2025-11-25, once the client is initialized;
	// otherwise the error is [ErrNoConnection]. Like [Request.Elicit], it fails if the client
	// has not declared the capability.
	Ask(ctx context.Context, q Question) (json.RawMessage, error)
	// ElicitationComplete notifies the client that the user has completed the elicitation of
	// mode "url" with that id, so that the client can continue. Over HTTP this requires a GET
	// stream. The notification only exists in 2025-11-25; nothing is sent to clients of other
	// versions, nor for an id over 1 KiB.
	ElicitationComplete(id string)
}

// ErrNoConnection is the error of [Session.Ask] for a client that can only be asked
// during a request.
var ErrNoConnection = errors.New("the client can be asked only while it makes a request")
