package peer_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/peer"
)

func TestHeaderValue(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain text": "plain text", " x": "=?base64?IHg=?=", "ü": "=?base64?w7w=?=", "a\n": "=?base64?YQo=?=",
		"=?base64?eA==?=": "=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
	} {
		if got := peer.HeaderValue(in); got != want {
			t.Errorf("HeaderValue(%q) = %q, want %q", in, got, want)
		}
	}
}
