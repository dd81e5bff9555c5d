package server

import (
	"encoding/json"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Forward returns a question of another server as a question to the client. It is for a
// Source that forwards requests to that server. params is an object, which is sent to the
// client unchanged, including unknown members; only the id of an elicitation is added or
// removed if the versions differ. key is as in [mcp.ElicitParams]. method is
// elicitation/create, sampling/createMessage or roots/list. For other methods, and for
// params that do not fit the method, the error is an [*mcp.Error].
func Forward(key, method string, params json.RawMessage) (mcp.Question, error) {
	f := &forwarded{name: key, params: params}
	var target any
	switch method {
	case "elicitation/create":
		p := new(elicitation)
		f.question, target = p, p
	case "sampling/createMessage":
		p := new(sampling)
		f.question, target = p, p
	case "roots/list":
		p := new(rootsQuestion)
		f.question, target = p, p
	default:
		return nil, mcp.MethodNotFound(method)
	}
	if params == nil {
		f.params = json.RawMessage(`{}`)
	}
	if err := json.Unmarshal(f.params, target); err != nil || !jsonscan.IsObject(f.params) {
		return nil, invalidParams("the params of %s make no sense", method)
	}
	return f, nil
}

// forwarded is a question in the encoding of another server.
type forwarded struct {
	question // decoded
	name     string
	params   json.RawMessage
}

func (f *forwarded) key() string { return f.name }

// noted only changes the message.
func (f *forwarded) noted(why error) question {
	p, ok := f.question.(*elicitation)
	members := make(map[string]json.RawMessage)
	if !ok || json.Unmarshal(f.params, &members) != nil {
		return f
	}
	members["message"], _ = mcp.Marshal(withNote(p.Message, why)) // a string always encodes
	params, err := mcp.Marshal(members)
	if err != nil {
		return f
	}
	return &forwarded{question: p.noted(why), name: f.name, params: params}
}

// wire returns the params unchanged, unless an elicitationId must be added or removed for
// the version.
func (f *forwarded) wire(v mcp.Version) any {
	p, ok := f.question.(*elicitation)
	if !ok || p.Mode != "url" || (v == mcp.Version20251125) == (p.ElicitationID != "") {
		return withoutMeta(f.params)
	}
	members := make(map[string]json.RawMessage)
	if json.Unmarshal(f.params, &members) != nil {
		return f.params
	}
	delete(members, "_meta")
	delete(members, "elicitationId")
	if id := p.wire(v).(*elicitation).ElicitationID; id != "" {
		members["elicitationId"], _ = mcp.Marshal(id) // a string always encodes
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

// ForwardProgress is [mcp.Request.Progress] for a progress notification from another server.
// params are those of its notifications/progress, a valid object. They are sent to the
// client unchanged, including unknown members, except that the token is replaced with the
// client's, and message is omitted in versions without it.
func (rc *request) ForwardProgress(params json.RawMessage) {
	progress, err := strconv.ParseFloat(string(jsonscan.Member(params, "progress")), 64)
	if err != nil {
		return
	}
	rc.notifyProgress(progress, func(dst []byte) ([]byte, bool) {
		return appendOthers(dst, params, func(key []byte) bool {
			return string(key) != "progressToken" && (string(key) != "message" || rc.version >= mcp.Version20250326)
		})
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

// ForwardLog is [mcp.Request.Log] for a log line of another server. params are those of its
// notifications/message, a valid object, and are sent to the client unchanged.
func (rc *request) ForwardLog(params json.RawMessage) {
	name, _ := jsonscan.Unquote(jsonscan.Member(params, "level"))
	level, known := mcp.ParseLogLevel(name)
	data := jsonscan.Member(params, "data")
	if !known || data == nil {
		if data == nil {
			data = json.RawMessage("null")
		}
		if !known {
			level = mcp.LogInfo
		}
		logger, _ := jsonscan.Unquote(jsonscan.Member(params, "logger"))
		rc.Log(level, logger, json.RawMessage(data))
		return
	}
	if !rc.wantsLog(level) {
		return
	}
	rc.notify(func(dst []byte) ([]byte, bool) {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/message","params":`...)
		return append(jsonscan.AppendCompact(dst, params), '}'), true
	})
}
