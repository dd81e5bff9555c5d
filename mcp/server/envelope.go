package server

import (
	"bytes"
	"fmt"
	"math"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// message is one JSON-RPC message, scanned once. Its fields are slices of the text.
type message struct {
	id     []byte // as written, or nil
	method []byte // decoded
	params []byte // the whole object, or nil
	// response means that the message answers one of our own requests, with result, as written, which
	// is an error if failed.
	response, failed bool
	size             uint32 // of the text, at most math.MaxUint32
	result           []byte

	// Members of params that the hot methods need, as written.
	name, uri, arguments, meta, cursor []byte
	index                              jsonscan.Index // of arguments
}

// isRequest reports whether an answer is due.
func (m *message) isRequest() bool {
	return m.id != nil && !m.response
}

// is reports whether the method is name.
func (m *message) is(name string) bool {
	return string(m.method) == name
}

// shape is the state of the scan of an envelope.
type shape struct {
	// seen are the members found so far, to detect duplicates.
	seen   envelopeKey
	nullID bool
	// wrong is the first violation of the message format. The scan continues after it,
	// because the text may turn out not to be JSON, and the id, which the client needs to
	// identify its request, may come last.
	wrong *mcp.Error
}

// fail records a violation, unless one was recorded before.
func (s *shape) fail(e *mcp.Error) {
	if s.wrong == nil {
		s.wrong = e
	}
}

// envelopeKey is a set of members of the envelope.
type envelopeKey uint8

const (
	keyJSONRPC envelopeKey = 1 << iota
	keyID
	keyMethod
	keyParams
	keyResult
	keyError
)

// scan fills m from one JSON text and validates the whole text. If the text is JSON but
// not a valid message, m still contains the id, if it has one.
func (m *message) scan(text []byte) *mcp.Error {
	*m = message{size: uint32(min(uint64(len(text)), math.MaxUint32))}
	i := jsonscan.Space(text, 0)
	if i == len(text) {
		return &mcp.Error{
			Code:    mcp.CodeParseError,
			Message: "parse error: empty message",
		}
	}
	if text[i] != '{' {
		if err := jsonscan.Valid(text); err != nil {
			return parseError(err)
		}
		return notAnObject()
	}
	var s shape
	end, err := jsonscan.Object(text, i, 0, func(key []byte, i int) (int, error) {
		return m.member(text, key, i, &s)
	})
	if err == nil {
		err = jsonscan.End(text, end)
	}
	switch {
	case err != nil:
		m.id = nil // the apparent id may be truncated
		return parseError(err)
	case s.wrong != nil:
		return s.wrong
	}
	return m.checkShape(&s)
}

func parseError(err error) *mcp.Error {
	return &mcp.Error{
		Code:    mcp.CodeParseError,
		Message: "parse error: " + err.Error(),
	}
}

func invalidRequest(format string, args ...any) *mcp.Error {
	return &mcp.Error{
		Code:    mcp.CodeInvalidRequest,
		Message: "invalid request: " + fmt.Sprintf(format, args...),
	}
}

// member scans one member of the envelope, whose value starts at i, and returns its end.
func (m *message) member(text, key []byte, i int, s *shape) (int, error) {
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
			s.fail(invalidRequest("unknown member %q, did you mean %q?", key, meant))
		}
		return jsonscan.ValueAt(text, i, 1)
	}
	if s.seen&bit != 0 {
		s.fail(invalidRequest("duplicate member %q", key))
		if bit == keyID {
			m.id = nil // ambiguous, so the answer contains neither
		}
		return jsonscan.ValueAt(text, i, 1)
	}
	s.seen |= bit
	if bit == keyParams && i < len(text) && text[i] == '{' {
		return m.scanParams(text, i, s)
	}
	end, err := jsonscan.ValueAt(text, i, 1)
	if err == nil {
		m.keep(bit, text[i:end], s)
	}
	return end, err
}

// keep checks the type of an envelope member and stores its value.
func (m *message) keep(bit envelopeKey, raw []byte, s *shape) {
	switch bit {
	case keyJSONRPC:
		if string(raw) != `"2.0"` {
			s.fail(invalidRequest(`"jsonrpc" must be "2.0"`))
		}
	case keyID:
		switch {
		case string(raw) == "null":
			s.nullID = true
		case !jsonscan.IsID(raw):
			s.fail(badID())
		default:
			m.id = raw
		}
	case keyMethod:
		method, ok := jsonscan.UnquoteBytes(raw)
		if !ok {
			s.fail(invalidRequest(`"method" must be a string`))
		}
		m.method = method
	case keyParams:
		if string(raw) != "null" {
			s.fail(invalidRequest(`"params" must be an object`))
		}
	case keyResult:
		m.result = raw
	case keyError:
		m.result, m.failed = raw, true
	}
}

func notAnObject() *mcp.Error {
	return invalidRequest("want a JSON object; arrays of them exist in protocol version %s only", mcp.Version20250326)
}

func badID() *mcp.Error {
	return invalidRequest(`"id" must be a string or an integer`)
}

// checkShape decides from the members whether the message is a request, a notification
// or a response (JSON-RPC 2.0, sections 4 and 5).
func (m *message) checkShape(s *shape) *mcp.Error {
	if s.seen&keyJSONRPC == 0 {
		return invalidRequest(`"jsonrpc" is missing`)
	}
	if s.seen&keyMethod != 0 {
		switch {
		case s.seen&(keyResult|keyError) != 0:
			return invalidRequest("both a method and a result")
		case s.nullID:
			return badID()
		}
		return nil
	}
	switch s.seen & (keyResult | keyError) {
	case 0:
		return invalidRequest(`"method" is missing`)
	case keyResult | keyError:
		return invalidRequest("both a result and an error")
	case keyResult:
		if m.id == nil {
			return invalidRequest("a result without an id")
		}
	}
	// An error may lack the id, if its sender could not read the request.
	m.response = true
	return nil
}

// scanParams scans the params object and stores the members that the hot methods need.
func (m *message) scanParams(text []byte, start int, s *shape) (int, error) {
	end, err := jsonscan.Object(text, start, 1, func(key []byte, i int) (int, error) {
		slot := m.slot(key)
		if slot == nil {
			if meant := foldsTo(key, "name", "uri", "arguments", "_meta", "cursor"); meant != "" {
				s.fail(invalidRequest("params: unknown member %q, did you mean %q?", key, meant))
			}
			return jsonscan.ValueAt(text, i, 2)
		}
		if *slot != nil {
			s.fail(invalidRequest("params: duplicate member %q", key))
		}
		var end int
		var err error
		if slot == &m.arguments {
			end, err = m.index.ValueAt(text, i, 2)
		} else {
			end, err = jsonscan.ValueAt(text, i, 2)
		}
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

// slot returns where a member of params is stored, or nil for all others.
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

// foldsTo returns the name that equals key except for case, or "".
func foldsTo(key []byte, names ...string) string {
	for _, name := range names {
		if len(name) == len(key) && bytes.EqualFold(key, []byte(name)) {
			return name
		}
	}
	return ""
}

// The members of _meta that the specification defines.
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
)

// requestMeta has the members of a request's _meta that the server needs, as written.
type requestMeta struct {
	version, capabilities, logLevel, progressToken []byte
}

// readMeta scans the _meta of the message.
func (rc *request) readMeta() *mcp.Error {
	rc.metaRead = true
	return rc.meta.scan(rc.msg.meta)
}

// scan validates a _meta object and stores the members that the server needs. raw is
// valid JSON, or nil.
func (r *requestMeta) scan(raw []byte) *mcp.Error {
	if string(raw) == "null" {
		raw = nil
	}
	*r = requestMeta{}
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		return invalidParams("params._meta must be an object")
	}
	var seen jsonscan.KeySet
	_, err := jsonscan.Object(raw, 0, 2, func(key []byte, i int) (int, error) {
		if !seen.Add(key) {
			return i, invalidParams("params._meta: duplicate member %q", key)
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
		case metaLogLevel:
			r.logLevel = value
		case "progressToken":
			r.progressToken = value
		}
		return end, nil
	})
	if e, ok := err.(*mcp.Error); ok {
		return e
	}
	return nil
}
