// Package peer is the wire layer of programs that talk to an MCP server: [Message] and
// the functions that encode messages, the [Table] of requests that wait for an answer,
// and the readers of the two framings, [LineReader] for stdio and [EventReader] for event
// streams. A WebSocket frames its messages itself, so their text goes to [Message.Scan]
// directly.
//
// The package has no policy: it reports what is on the wire, and its users decide what is
// an error. See https://www.jsonrpc.org/specification and the section "Transports" of
// https://modelcontextprotocol.io/specification.
package peer

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Message is one JSON-RPC message, as slices of its text. An absent member is nil, and so
// are an id and an error of null.
type Message struct {
	ID      []byte // as written
	Method  []byte // decoded; nil for a response
	Params  []byte
	Result  []byte
	Failure []byte // the error object
}

// ErrNoMessage is the error of [Message.Scan] for valid JSON that is not a message.
var ErrNoMessage = errors.New("not a JSON-RPC message")

// Scan fills m from a JSON text, all of which it validates. m refers to the text.
func (m *Message) Scan(text []byte) error {
	*m = Message{}
	i := jsonscan.Space(text, 0)
	if i == len(text) || text[i] != '{' {
		return ErrNoMessage
	}
	end, err := jsonscan.Object(text, i, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.ValueAt(text, i, 1)
		if err == nil {
			m.set(key, text[i:end])
		}
		return end, err
	})
	if err == nil {
		err = jsonscan.End(text, end)
	}
	if err == nil && m.ID == nil && m.Method == nil && m.Result == nil && m.Failure == nil {
		err = ErrNoMessage
	}
	return err
}

func (m *Message) set(key, raw []byte) {
	switch string(key) {
	case "id":
		if string(raw) != "null" {
			m.ID = raw
		}
	case "method":
		m.Method, _ = jsonscan.UnquoteBytes(raw)
	case "params":
		m.Params = raw
	case "result":
		m.Result = raw
	case "error":
		if string(raw) != "null" {
			m.Failure = raw
		}
	}
}

// IsRequestAndResponse reports whether m is both, and so invalid.
func (m *Message) IsRequestAndResponse() bool {
	return m.Method != nil && (m.Result != nil || m.Failure != nil)
}

// Number parses an id of a [Table]. Some servers return it as a string. It returns 0 for
// all other ids.
func Number(id []byte) uint64 {
	if len(id) > 2 && id[0] == '"' {
		id = id[1 : len(id)-1]
	}
	if len(id) == 0 || len(id) > 19 {
		return 0
	}
	var n uint64
	for _, c := range id {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// Error is a JSON-RPC error object.
type Error struct {
	Code    json.Number     `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// AppendRequest appends a request without a newline, or a notification if id is 0. params
// may be nil.
func AppendRequest(dst []byte, id uint64, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != 0 {
		dst = append(dst, `"id":`...)
		dst = strconv.AppendUint(dst, id, 10)
		dst = append(dst, ',')
	}
	dst = append(dst, `"method":`...)
	dst = jsonscan.AppendQuote(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// Notification returns a notification. params may be nil.
func Notification(method string, params []byte) []byte {
	return AppendRequest(nil, 0, method, params)
}

// Result returns the successful response to the request with that id.
func Result(id, result []byte) []byte {
	dst := appendResponse(id, "result")
	dst = append(dst, result...)
	return append(dst, '}')
}

// Failure returns the error response to the request with that id.
func Failure(id []byte, code int, text string) []byte {
	dst := appendResponse(id, "error")
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = jsonscan.AppendQuote(dst, text)
	return append(dst, '}', '}')
}

func appendResponse(id []byte, member string) []byte {
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	dst = append(dst, `,"`...)
	dst = append(dst, member...)
	return append(dst, '"', ':')
}
