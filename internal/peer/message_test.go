package peer_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestMessageScan(t *testing.T) {
	tests := map[string]struct {
		text string
		want peer.Message
		both bool
	}{
		"a response": {
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
			peer.Message{ID: []byte("1"), Result: []byte("{}")},
			false,
		},
		"an error": {
			` {"id":"7","error":{"code":1}}`,
			peer.Message{ID: []byte(`"7"`), Failure: []byte(`{"code":1}`)},
			false,
		},
		"a request": {
			`{"id":1,"method":"\u0061","params":{}}`,
			peer.Message{ID: []byte("1"), Method: []byte("a"), Params: []byte("{}")},
			false,
		},
		"null means none": {`{"id":null,"error":null,"method":"a"}`, peer.Message{Method: []byte("a")}, false},
		"two in one": {
			`{"id":1,"method":"a","result":1}`,
			peer.Message{ID: []byte("1"), Method: []byte("a"), Result: []byte("1")},
			true,
		},
		"a failed request": {`{"method":"a","error":{}}`, peer.Message{Method: []byte("a"), Failure: []byte("{}")}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var m peer.Message
			err := m.Scan([]byte(tt.text))
			if diff := cmp.Diff(m, tt.want); err != nil || diff != "" || m.IsRequestAndResponse() != tt.both {
				t.Errorf("%v, both %t (-got +want):\n%s", err, m.IsRequestAndResponse(), diff)
			}
		})
	}
	for text, want := range map[string]error{
		"": peer.ErrNoMessage, "[1]": peer.ErrNoMessage, `{"jsonrpc":"2.0"}`: peer.ErrNoMessage,
		`{"id":1}x`: nil, `{"id":01}`: nil, `{"result":{"a":}}`: nil,
	} {
		var m peer.Message
		if err := m.Scan([]byte(text)); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("Scan(%q) = %v, want the error %v", text, err, want)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`{"id":"7","error":{"code":1,"message":""},"method":"\u0061"}`))
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		var m peer.Message
		if m.Scan(text) == nil {
			_ = peer.Number(m.ID)
		}
	})
}

func TestNumber(t *testing.T) {
	for id, want := range map[string]uint64{
		"1": 1, `"12"`: 12, "": 0, `""`: 0, `"a"`: 0, "-1": 0, "1.0": 0, "99999999999999999999": 0,
	} {
		if got := peer.Number([]byte(id)); got != want {
			t.Errorf("Number(%s) = %d, want %d", id, got, want)
		}
	}
}

func TestEncode(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{
			string(peer.AppendRequest([]byte("> "), 7, "a\"b", []byte("{}"))),
			`> {"jsonrpc":"2.0","id":7,"method":"a\"b","params":{}}`,
		},
		{string(peer.Notification("a", nil)), `{"jsonrpc":"2.0","method":"a"}`},
		{string(peer.Result([]byte(`"x"`), []byte("{}"))), `{"jsonrpc":"2.0","id":"x","result":{}}`},
		{
			string(peer.Failure([]byte("1"), -32600, "no\n")),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no\n"}}`,
		},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}
