package mcp

import (
	"encoding/json"
)

// Forward returns the question of another server as one that can be asked here:
// for a Source that stands between the two. params is an object, and reaches the
// client as it is, members unknown here included; only the id of an elicitation is
// added or left out where versions differ. key is as in [ElicitParams]. method is
// elicitation/create, sampling/createMessage or roots/list; for another one, or for
// params that are not those of the method, it returns an [*Error].
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

// forwarded is a question in the bytes of another server.
type forwarded struct {
	name   string
	params json.RawMessage
	typed  Question
}

func (f *forwarded) key() string                    { return f.name }
func (f *forwarded) method() string                 { return f.typed.method() }
func (f *forwarded) valid(raw json.RawMessage) bool { return f.typed.valid(raw) }

func (f *forwarded) missing(v Version, caps clientCapabilities) json.RawMessage {
	return f.typed.missing(v, caps)
}

// wire keeps to the bytes, unless the version wants an elicitationId, or wants none.
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

// withoutMeta leaves out what the other server said to us alone, such as whom to
// tell of progress.
func withoutMeta(params json.RawMessage) any {
	if member(params, "_meta") == nil {
		return params
	}
	members := make(map[string]json.RawMessage)
	if json.Unmarshal(params, &members) != nil {
		return params
	}
	delete(members, "_meta")
	return members
}
