package mcp

import (
	"encoding/json"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Forward returns a question of another server as a question to the client. It is for a
// Source that forwards requests to that server. params is an object, which is sent to the
// client unchanged, including unknown members; only the id of an elicitation is added or
// removed if the versions differ. key is as in [ElicitParams]. method is
// elicitation/create, sampling/createMessage or roots/list. For other methods, and for
// params that do not fit the method, the error is an [*Error].
func Forward(key, method string, params json.RawMessage) (Question, error) {
	f := &forwarded{name: key, params: params}
	switch method {
	case "elicitation/create":
		f.typed = &ElicitParams{}
	case "sampling/createMessage":
		f.typed = &CreateMessageParams{}
	case "roots/list":
		f.typed = &ListRootsParams{}
	default:
		return nil, MethodNotFound(method)
	}
	if params == nil {
		f.params = json.RawMessage(`{}`)
	}
	if err := json.Unmarshal(f.params, f.typed); err != nil || !isObject(f.params) {
		return nil, Errorf(CodeInvalidParams, "the params of %s make no sense", method)
	}
	return f, nil
}

// forwarded is a question in the encoding of another server.
type forwarded struct {
	name   string
	params json.RawMessage
	typed  Question
}

func (f *forwarded) key() string                     { return f.name }
func (f *forwarded) method() string                  { return f.typed.method() }
func (f *forwarded) check(raw json.RawMessage) error { return f.typed.check(raw) }

// noted only changes the message.
func (f *forwarded) noted(why error) Question {
	p, ok := f.typed.(*ElicitParams)
	members := make(map[string]json.RawMessage)
	if !ok || json.Unmarshal(f.params, &members) != nil {
		return f
	}
	members["message"], _ = Marshal(withNote(p.Message, why)) // a string always encodes
	params, err := Marshal(members)
	if err != nil {
		return f
	}
	return &forwarded{name: f.name, params: params, typed: p.noted(why)}
}

func (f *forwarded) missing(v Version, caps clientCapabilities) json.RawMessage {
	return f.typed.missing(v, caps)
}

// wire returns the params unchanged, unless an elicitationId must be added or removed for
// the version.
func (f *forwarded) wire(v Version) any {
	p, ok := f.typed.(*ElicitParams)
	if !ok || p.Mode != "url" || (v == Version20251125) == (p.ElicitationID != "") {
		return withoutMeta(f.params)
	}
	members := make(map[string]json.RawMessage)
	if json.Unmarshal(f.params, &members) != nil {
		return f.params
	}
	delete(members, "_meta")
	delete(members, "elicitationId")
	if id := p.wire(v).(*ElicitParams).ElicitationID; id != "" {
		members["elicitationId"], _ = Marshal(id) // a string always encodes
	}
	return members
}

// withoutMeta removes _meta, which the other server sent to us only, such as its progress
// token.
func withoutMeta(params json.RawMessage) any {
	if jsonscan.Member(params, "_meta") == nil {
		return params
	}
	members := make(map[string]json.RawMessage)
	if json.Unmarshal(params, &members) != nil {
		return params
	}
	delete(members, "_meta")
	return members
}

// ForwardProgress is [Request.Progress] for a progress notification from another server.
// params are those of its notifications/progress, a valid object. They are sent to the
// client unchanged, including unknown members, except that the token is replaced with the
// client's, and message is omitted in versions without it.
func (r *Request) ForwardProgress(params json.RawMessage) {
	progress, err := strconv.ParseFloat(string(jsonscan.Member(params, "progress")), 64)
	if r == nil || err != nil || r.rc.meta.progressToken == nil || !validID(r.rc.meta.progressToken) {
		return
	}
	r.rc.notify(func(dst []byte) ([]byte, bool) {
		if r.rc.progressed && progress <= r.rc.progress {
			return dst, false
		}
		r.rc.progressed, r.rc.progress = true, progress
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
		dst = append(dst, r.rc.meta.progressToken...)
		dst, ok := appendOthers(dst, params, func(key []byte) bool {
			return string(key) != "progressToken" && (string(key) != "message" || r.rc.version >= Version20250326)
		})
		return append(dst, '}', '}'), ok
	})
}

// appendOthers appends the members of a valid object that keep accepts, each preceded by
// a comma and without whitespace between tokens.
func appendOthers(dst []byte, object json.RawMessage, keep func(key []byte) bool) ([]byte, bool) {
	_, err := jsonscan.Object(object, jsonscan.Space(object, 0), 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(object, i)
		if err == nil && keep(key) {
			dst = append(jsonscan.AppendQuote(append(dst, ','), key), ':')
			dst = jsonscan.AppendCompact(dst, object[i:end])
		}
		return end, err
	})
	return dst, err == nil
}

// ForwardLog is [Request.Log] for a log line of another server. params are those of its
// notifications/message, a valid object, and are sent to the client unchanged.
func (r *Request) ForwardLog(params json.RawMessage) {
	name, _ := jsonscan.Unquote(jsonscan.Member(params, "level"))
	level, known := ParseLogLevel(name)
	data := jsonscan.Member(params, "data")
	if !known || data == nil {
		if data == nil {
			data = json.RawMessage("null")
		}
		if !known {
			level = LogInfo
		}
		logger, _ := jsonscan.Unquote(jsonscan.Member(params, "logger"))
		r.Log(level, logger, json.RawMessage(data))
		return
	}
	if r == nil || !r.rc.wantsLog(level) {
		return
	}
	r.rc.notify(func(dst []byte) ([]byte, bool) {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/message","params":`...)
		return append(jsonscan.AppendCompact(dst, params), '}'), true
	})
}
