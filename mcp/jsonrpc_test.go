package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// Errors, requests and responses are encoded as JSON-RPC 2.0, without nil members, and
// can be decoded again without changes.
func TestJSONRPCForms(t *testing.T) {
	secret := &mcp.Error{Code: mcp.CodeParseError, Message: "not <JSON>", Cause: errors.New("secret")}
	for _, c := range []struct {
		value any
		want  string
	}{
		{secret, `{"code":-32700,"message":"not <JSON>"}`},
		{*secret, `{"code":-32700,"message":"not <JSON>"}`},
		{[]mcp.Error{*secret}, `[{"code":-32700,"message":"not <JSON>"}]`},
		{fmt.Errorf("%w", secret).(interface{ Unwrap() error }).Unwrap(), `{"code":-32700,"message":"not <JSON>"}`},
		{mcp.ResourceNotFound("x://y", ""), `{"code":-32002,"message":"resource not found","data":{"uri":"x://y"}}`},
		{&mcp.Error{Code: mcp.CodeToolBusy, Message: "later", Data: json.RawMessage(`{"limit":2}`)},
			`{"code":-31003,"message":"later","data":{"kind":"busy","limit":2}}`},
		{&mcp.Error{}, `{"code":0,"message":""}`},
		{mcp.RPCRequest{ID: json.RawMessage(`7`), Method: "ping"}, `{"jsonrpc":"2.0","id":7,"method":"ping"}`},
		{&mcp.RPCRequest{Method: "notifications/x", Params: json.RawMessage(`{"a":1.0}`)},
			`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1.0}}`},
		{mcp.RPCRequest{ID: json.RawMessage(`"a"`), Method: "m", Params: json.RawMessage(`[1]`)},
			`{"jsonrpc":"2.0","id":"a","method":"m","params":[1]}`},
		{mcp.RPCResponse{ID: json.RawMessage(`"a"`), Result: json.RawMessage(`{}`)},
			`{"jsonrpc":"2.0","id":"a","result":{}}`},
		{&mcp.RPCResponse{ID: json.RawMessage(`-1`), Error: secret},
			`{"jsonrpc":"2.0","id":-1,"error":{"code":-32700,"message":"not <JSON>"}}`},
		{mcp.RPCResponse{Error: secret}, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"not <JSON>"}}`},
	} {
		// encoding/json applies HTML escapes to the output of every type; Marshal does not.
		got, err := mcp.Marshal(c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%#v\n got %s %v\nwant %s", c.value, got, err, c.want)
		}
		if plain, err := json.Marshal(c.value); err != nil || !sameJSON(plain, []byte(c.want)) {
			t.Errorf("json.Marshal(%#v) = %s, %v", c.value, plain, err)
		}
	}
}

func TestJSONRPCReads(t *testing.T) {
	var e mcp.Error
	if err := json.Unmarshal([]byte(`{"code":-32602,"message":"m","data":{"x":12345678901234567890},"more":1}`),
		&e); err != nil ||
		e.Code != -32602 || e.Message != "m" || string(e.Data) != `{"x":12345678901234567890}` || e.Cause != nil {
		t.Errorf("read %+v, %v", e, err)
	}
	for _, c := range []struct {
		into  json.Unmarshaler
		text  string
		again string // "" for an error
	}{
		{new(mcp.Error), `{"code":-1,"message":"m","data":null}`, `{"code":-1,"message":"m"}`},
		{new(mcp.Error), `{"code":"-1","message":"m"}`, ""},
		{new(mcp.Error), `{"code":1.5,"message":"m"}`, ""},
		{new(mcp.Error), `{"code":-1}`, ""},
		{new(mcp.Error), `{"Code":-1,"Message":"m"}`, ""},
		{new(mcp.Error), `[]`, ""},
		{new(mcp.Error), `{"code":-1,"message":"m"`, ""},
		{new(mcp.RPCRequest), `{"jsonrpc":"2.0","id":"x","method":"m","params":null}`,
			`{"jsonrpc":"2.0","id":"x","method":"m"}`},
		{new(mcp.RPCRequest), `{"jsonrpc":"2.0","method":"m","params":{"a":[1]}}`,
			`{"jsonrpc":"2.0","method":"m","params":{"a":[1]}}`},
		{new(mcp.RPCRequest), `{"jsonrpc":"1.0","id":1,"method":"m"}`, ""},
		{new(mcp.RPCRequest), `{"id":1,"method":"m"}`, ""},
		{new(mcp.RPCRequest), `{"jsonrpc":"2.0","id":null,"method":"m"}`, ""},
		{new(mcp.RPCRequest), `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, ""},
		{new(mcp.RPCRequest), `{"jsonrpc":"2.0","id":1}`, ""},
		{new(mcp.RPCRequest), `{"jsonrpc":"2.0","id":1,"method":7}`, ""},
		{new(mcp.RPCRequest), `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, ""},
		{new(mcp.RPCResponse), `{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}`},
		{new(mcp.RPCResponse), `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`,
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`},
		{new(mcp.RPCResponse), `{"jsonrpc":"2.0","id":1}`, ""},
		{new(mcp.RPCResponse), `{"jsonrpc":"2.0","result":{}}`, ""},
		{new(mcp.RPCResponse), `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, ""},
		{new(mcp.RPCResponse), `{"jsonrpc":"2.0","id":1,"error":"m"}`, ""},
		{new(mcp.RPCResponse), `{"jsonrpc":"2.0","id":{},"result":{}}`, ""},
	} {
		err := json.Unmarshal([]byte(c.text), c.into)
		if c.again == "" {
			if err == nil || strings.Contains(err.Error(), "Go ") {
				t.Errorf("%T of %s: %v, want an error without Go's words", c.into, c.text, err)
			}
			continue
		}
		if again, encodeErr := mcp.Marshal(c.into); err != nil || encodeErr != nil || string(again) != c.again {
			t.Errorf("%T of %s: %s, %v, %v, want %s", c.into, c.text, again, err, encodeErr, c.again)
		}
	}
	for _, invalid := range []any{
		mcp.RPCRequest{}, mcp.RPCRequest{Method: "m", ID: json.RawMessage(`-`)},
		mcp.RPCRequest{Method: "m", Params: json.RawMessage(`7`)},
		mcp.RPCRequest{Method: "m", ID: json.RawMessage(`"`)}, mcp.RPCResponse{},
		mcp.RPCResponse{Result: json.RawMessage(`{}`)},
	} {
		if got, err := json.Marshal(invalid); err == nil {
			t.Errorf("%#v became %s", invalid, got)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
