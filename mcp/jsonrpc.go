package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// RPCRequest is a JSON-RPC 2.0 request, or a notification if it has no ID. It is for
// programs that read or write messages themselves; a [Source] does not need it.
type RPCRequest struct {
	// ID is a JSON string or integer, or nil for a notification.
	ID     json.RawMessage
	Method string
	// Params is a JSON object or array, or nil.
	Params json.RawMessage
}

// RPCResponse is a JSON-RPC 2.0 response: exactly one of Result and Error is set.
type RPCResponse struct {
	// ID is the ID of the request, a JSON string or integer. It is nil in an error for a
	// request whose ID could not be read.
	ID json.RawMessage
	// Result is the result as a JSON value, and Error the error. Exactly one of them is
	// set.
	Result json.RawMessage
	Error  *Error
}

const rpcVersion = "2.0"

// MarshalJSON implements json.Marshaler. It omits nil members, and fails if a member does
// not have the documented type.
func (r RPCRequest) MarshalJSON() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{rpcVersion, r.ID, r.Method, r.Params})
}

// UnmarshalJSON implements json.Unmarshaler. The error explains why text is not a
// request. Params of null become nil.
func (r *RPCRequest) UnmarshalJSON(text []byte) error {
	members, err := rpcMembers("request", text)
	if err != nil {
		return err
	}
	read := RPCRequest{
		ID:     members["id"],
		Params: orNil(members["params"]),
	}
	var ok bool
	if read.Method, ok = jsonscan.Unquote(members["method"]); !ok {
		return errors.New("request: method is missing or not a string")
	}
	if err := read.check(); err != nil {
		return err
	}
	*r = read
	return nil
}

// check returns an error for a message that JSON-RPC 2.0 (section 4) does not permit.
func (r *RPCRequest) check() error {
	switch {
	case r.Method == "":
		return errors.New("request: method is empty")
	case len(r.ID) > 0 && !jsonscan.IsID(r.ID):
		return errors.New("request: id is neither a string nor an integer")
	case len(r.Params) > 0 && !jsonscan.IsObject(r.Params) &&
		r.Params[jsonscan.Space(r.Params, 0):][0] != '[':
		return errors.New("request: params is neither an object nor an array")
	}
	return nil
}

// MarshalJSON implements json.Marshaler. It omits nil members, and fails unless exactly
// one of Result and Error is set.
func (r RPCResponse) MarshalJSON() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *Error          `json:"error,omitempty"`
	}{rpcVersion, r.ID, r.Result, r.Error})
}

// UnmarshalJSON implements json.Unmarshaler. The error explains why text is not a
// response. An id of null becomes nil.
func (r *RPCResponse) UnmarshalJSON(text []byte) error {
	members, err := rpcMembers("response", text)
	if err != nil {
		return err
	}
	read := RPCResponse{
		ID:     orNil(members["id"]),
		Result: members["result"],
	}
	if raw := orNil(members["error"]); raw != nil {
		read.Error = new(Error)
		if err := read.Error.UnmarshalJSON(raw); err != nil {
			return fmt.Errorf("response: %w", err)
		}
	}
	if err := read.check(); err != nil {
		return err
	}
	*r = read
	return nil
}

// check returns an error for a message that JSON-RPC 2.0 (section 5) does not permit.
func (r *RPCResponse) check() error {
	switch {
	case (len(r.Result) == 0) == (r.Error == nil):
		return errors.New("response: want either a result or an error")
	case len(r.ID) > 0 && !jsonscan.IsID(r.ID):
		return errors.New("response: id is neither a string nor an integer")
	case len(r.ID) == 0 && r.Error == nil:
		return errors.New("response: id is missing")
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. It requires an integer code and a message;
// absent or null data becomes nil.
func (e *Error) UnmarshalJSON(text []byte) error {
	members, err := objectMembers("error", text)
	if err != nil {
		return err
	}
	code, err := strconv.ParseInt(string(members["code"]), 10, 0)
	if err != nil {
		return errors.New("error: code is missing or not an integer")
	}
	message, ok := jsonscan.Unquote(members["message"])
	if !ok {
		return errors.New("error: message is missing or not a string")
	}
	*e = Error{
		Code:    Code(code),
		Message: message,
		Data:    orNil(members["data"]),
	}
	return nil
}

func rpcMembers(what string, text []byte) (map[string]json.RawMessage, error) {
	members, err := objectMembers(what, text)
	if err != nil {
		return nil, err
	}
	if version, _ := jsonscan.Unquote(members["jsonrpc"]); version != rpcVersion {
		return nil, fmt.Errorf("%s: jsonrpc is not %q", what, rpcVersion)
	}
	return members, nil
}

// objectMembers decodes an object. Unlike decoding into a struct, it is case-sensitive.
func objectMembers(what string, text []byte) (members map[string]json.RawMessage, err error) {
	if err := jsonscan.Valid(text); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if !jsonscan.IsObject(text) {
		return nil, fmt.Errorf("%s: want an object", what)
	}
	return members, json.Unmarshal(text, &members)
}

func orNil(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
