package client

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// message is one JSON-RPC message of a server, as slices of its text.
type message struct {
	id      []byte // as written, or nil
	method  []byte // decoded; nil for a response
	params  []byte
	result  []byte
	failure []byte // the error object
}

var errNoMessage = errors.New("not a JSON-RPC message")

// scan fills m from a JSON text, all of which it validates.
func (m *message) scan(text []byte) error {
	*m = message{}
	i := jsonscan.Space(text, 0)
	if i == len(text) || text[i] != '{' {
		return errNoMessage
	}
	end, err := jsonscan.Object(text, i, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.ValueAt(text, i, 1)
		if err == nil {
			m.keep(key, text[i:end])
		}
		return end, err
	})
	if err == nil {
		err = jsonscan.End(text, end)
	}
	if err == nil && m.id == nil && m.method == nil && m.result == nil && m.failure == nil {
		err = errNoMessage
	}
	return err
}

func (m *message) keep(key, raw []byte) {
	switch string(key) {
	case "id":
		if string(raw) != "null" {
			m.id = raw
		}
	case "method":
		m.method, _ = jsonscan.UnquoteBytes(raw)
	case "params":
		m.params = raw
	case "result":
		m.result = raw
	case "error":
		if string(raw) != "null" {
			m.failure = raw
		}
	}
}

// isBoth reports whether m is both a request and a response, and so invalid.
func (m *message) isBoth() bool { return m.method != nil && (m.result != nil || m.failure != nil) }

// number returns the id if it is one of ours, and 0 otherwise.
func (m *message) number() uint64 { return number(m.id) }

// number parses one of our ids, which some servers return as a string.
func number(raw []byte) uint64 {
	if len(raw) > 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	if len(raw) == 0 || len(raw) > 19 {
		return 0
	}
	var n uint64
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// answer returns the result or error of a response.
func (m *message) answer() (result []byte, err error) {
	if m.failure != nil {
		return nil, wireError(m.failure)
	}
	if m.result == nil || m.result[0] != '{' {
		return nil, errors.New("the server's answer holds neither a result object nor an error")
	}
	return m.result, nil
}

// wireError converts a JSON-RPC error object to an [*mcp.Error].
func wireError(raw []byte) error {
	var e struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return errors.New("the server answered with an error that cannot be read")
	}
	code, err := strconv.Atoi(string(e.Code))
	if err != nil {
		code = int(mcp.CodeInternalError)
	}
	if e.Message == "" {
		e.Message = "the server gave no reason"
	}
	return &mcp.Error{Code: mcp.Code(code), Message: e.Message, Data: e.Data}
}

// memberString returns the string member with that name, or "".
func memberString(raw []byte, name string) string {
	s, _ := jsonscan.Unquote(jsonscan.Member(raw, name))
	return s
}

// isObject reports whether raw is a JSON object.
func isObject(raw []byte) bool {
	i := jsonscan.Space(raw, 0)
	return i < len(raw) && raw[i] == '{'
}

// appendRequest appends the request c as one line without a newline.
func appendRequest(dst []byte, c *call) []byte {
	dst = strconv.AppendUint(append(dst, `{"jsonrpc":"2.0","id":`...), c.id, 10)
	dst = append(append(append(dst, `,"method":"`...), c.method...), '"')
	if c.params != nil {
		dst = append(append(dst, `,"params":`...), c.params...)
	}
	return append(dst, '}')
}

// notification returns a notification. params may be nil.
func notification(method string, params []byte) []byte {
	dst := append([]byte(`{"jsonrpc":"2.0","method":"`), method...)
	dst = append(dst, '"')
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// response returns the response to a request of the server.
func response(id, result []byte, err error) []byte {
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if err == nil {
		return append(append(append(dst, `,"result":`...), result...), '}')
	}
	var e *mcp.Error
	code, text := mcp.CodeInternalError, err.Error()
	if errors.As(err, &e) {
		code = e.Code
	}
	dst = strconv.AppendInt(append(dst, `,"error":{"code":`...), int64(code), 10)
	dst = jsonscan.AppendQuote(append(dst, `,"message":`...), text)
	return append(dst, '}', '}')
}
