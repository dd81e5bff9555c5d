package mcp

import (
	"bytes"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// message is one JSON-RPC message, scanned once: slices of the text it came in.
type message struct {
	id     []byte // as it was written, or nil
	method []byte // decoded
	params []byte // the whole object, or nil
	// response says that the message answers a request of ours, with the one or
	// the other of these, as written.
	response        bool
	result, failure []byte

	// Members of params that the hot methods need, as they were written.
	name, uri, arguments, meta, cursor []byte
}

// isRequest reports whether an answer is due.
func (m *message) isRequest() bool { return m.id != nil && !m.response }

// is reports whether the method is name.
func (m *message) is(name string) bool { return string(m.method) == name }

type envelopeKey uint8

const (
	keyJSONRPC envelopeKey = 1 << iota
	keyID
	keyMethod
	keyParams
	keyResult
	keyError
)

// scan fills m from one JSON text and proves the whole text valid. On failure m
// holds the id, if it was seen.
func (m *message) scan(text []byte) *Error {
	*m = message{}
	i := jsonscan.Space(text, 0)
	if i == len(text) {
		return &Error{Code: CodeParseError, Message: "parse error: empty message"}
	}
	if text[i] != '{' {
		if err := jsonscan.Valid(text); err != nil {
			return parseError(err)
		}
		return &Error{Code: CodeInvalidRequest, Message: "invalid request: want a JSON object"}
	}
	var seen envelopeKey
	end, err := jsonscan.Object(text, i, 0, func(key []byte, i int) (int, error) {
		return m.member(text, key, i, &seen)
	})
	if err == nil {
		err = jsonscan.End(text, end)
	}
	if err != nil {
		if e, ok := err.(*Error); ok {
			return e
		}
		return parseError(err)
	}
	return m.checkShape(seen)
}

func parseError(err error) *Error {
	return &Error{Code: CodeParseError, Message: "parse error: " + err.Error()}
}

func invalidRequest(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "invalid request: " + fmt.Sprintf(format, args...)}
}

func (m *message) member(text, key []byte, i int, seen *envelopeKey) (int, error) {
	var bit envelopeKey
	switch string(key) {
	case "jsonrpc":
		bit = keyJSONRPC
	case "id":
		bit = keyID
	case "method":
		bit = keyMethod
	case "params":
		bit = keyParams
	case "result":
		bit = keyResult
	case "error":
		bit = keyError
	default:
		if meant := foldsTo(key, "jsonrpc", "id", "method", "params", "result", "error"); meant != "" {
			return i, invalidRequest("unknown member %q, did you mean %q?", key, meant)
		}
		return jsonscan.ValueAt(text, i, 1)
	}
	if *seen&bit != 0 {
		return i, invalidRequest("member %q is given twice", key)
	}
	*seen |= bit
	if bit == keyParams && i < len(text) && text[i] == '{' {
		return m.scanParams(text, i)
	}
	end, err := jsonscan.ValueAt(text, i, 1)
	if err != nil {
		return end, err
	}
	return end, m.keep(bit, text[i:end])
}

// keep stores the value of an envelope member after checking its type.
func (m *message) keep(bit envelopeKey, raw []byte) error {
	switch bit {
	case keyJSONRPC:
		if string(raw) != `"2.0"` {
			return invalidRequest(`"jsonrpc" must be "2.0"`)
		}
	case keyID:
		if !validID(raw) {
			return invalidRequest(`"id" must be a string or an integer`)
		}
		m.id = raw
	case keyMethod:
		method, ok := jsonscan.UnquoteBytes(raw)
		if !ok {
			return invalidRequest(`"method" must be a string`)
		}
		m.method = method
	case keyParams:
		if string(raw) != "null" {
			return invalidRequest(`"params" must be an object`)
		}
	case keyResult:
		m.result = raw
	case keyError:
		m.failure = raw
	}
	return nil
}

// validID accepts strings and integers. A fraction or an exponent would leave
// open whether 1 and 1.0 are one id.
func validID(raw []byte) bool {
	if raw[0] == '"' {
		return true
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	for _, c := range digits {
		if c < '0' || '9' < c {
			return false
		}
	}
	return true
}

func (m *message) checkShape(seen envelopeKey) *Error {
	if seen&keyJSONRPC == 0 {
		return invalidRequest(`"jsonrpc" is missing`)
	}
	if seen&keyMethod != 0 {
		if seen&(keyResult|keyError) != 0 {
			return invalidRequest("both a method and a result")
		}
		return nil
	}
	switch seen & (keyResult | keyError) {
	case 0:
		return invalidRequest(`"method" is missing`)
	case keyResult | keyError:
		return invalidRequest("both a result and an error")
	}
	if m.id == nil {
		return invalidRequest(`"id" is missing`)
	}
	m.response = true
	return nil
}

func (m *message) scanParams(text []byte, start int) (int, error) {
	end, err := jsonscan.Object(text, start, 1, func(key []byte, i int) (int, error) {
		slot := m.slot(key)
		if slot == nil {
			if meant := foldsTo(key, "name", "uri", "arguments", "_meta", "cursor"); meant != "" {
				return i, invalidRequest("params: unknown member %q, did you mean %q?", key, meant)
			}
			return jsonscan.ValueAt(text, i, 2)
		}
		if *slot != nil {
			return i, invalidRequest("params: member %q is given twice", key)
		}
		end, err := jsonscan.ValueAt(text, i, 2)
		if err == nil {
			*slot = text[i:end]
		}
		return end, err
	})
	if err == nil {
		m.params = text[start:end]
	}
	return end, err
}

func (m *message) slot(key []byte) *[]byte {
	switch string(key) {
	case "name":
		return &m.name
	case "uri":
		return &m.uri
	case "arguments":
		return &m.arguments
	case "_meta":
		return &m.meta
	case "cursor":
		return &m.cursor
	}
	return nil
}

// foldsTo returns the name that key equals but for case, or "".
func foldsTo(key []byte, names ...string) string {
	for _, name := range names {
		if len(name) == len(key) && bytes.EqualFold(key, []byte(name)) {
			return name
		}
	}
	return ""
}

// The members of _meta that the specification gives a meaning.
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
)

// requestMeta is a request's _meta, looked through once.
type requestMeta struct {
	raw                                                        []byte
	version, capabilities, clientInfo, logLevel, progressToken []byte // as written
}

func (r *requestMeta) scan(raw []byte) *Error {
	*r = requestMeta{raw: raw}
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		return Errorf(CodeInvalidParams, "params._meta must be an object")
	}
	var seen keySet
	_, err := jsonscan.Object(raw, 0, 2, func(key []byte, i int) (int, error) {
		if !seen.add(key) {
			return i, Errorf(CodeInvalidParams, "params._meta: member %q is given twice", key)
		}
		end, err := jsonscan.ValueAt(raw, i, 3)
		if err != nil {
			return end, err
		}
		switch value := raw[i:end]; string(key) {
		case metaProtocolVersion:
			r.version = value
		case metaClientCapabilities:
			r.capabilities = value
		case metaClientInfo:
			r.clientInfo = value
		case metaLogLevel:
			r.logLevel = value
		case "progressToken":
			r.progressToken = value
		}
		return end, nil
	})
	if e, ok := err.(*Error); ok {
		return e
	}
	return nil
}

// eachMessage calls each for every element of a batch.
func eachMessage(text []byte, each func(element []byte)) *Error {
	if err := jsonscan.Valid(text); err != nil {
		return parseError(err)
	}
	n := 0
	_, err := jsonscan.Array(text, 0, 0, func(i int) (int, error) {
		end, err := jsonscan.ValueAt(text, i, 1)
		if err == nil {
			n++
			each(text[i:end])
		}
		return end, err
	})
	if err != nil {
		return parseError(err)
	}
	if n == 0 {
		return invalidRequest("empty batch")
	}
	return nil
}
