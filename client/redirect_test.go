package client

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// TestProtocolHeaders verifies that what another host may see has no header of a connection, and nothing that
// describes the sender.
func TestProtocolHeaders(t *testing.T) {
	for _, name := range keptHeaders {
		if hophttp.OfHop(name) {
			t.Errorf("%s is of one hop", name)
		}
	}
	for _, name := range []string{"Authorization", "Connection", "Cookie", "Dpop", "X-Forwarded-For", headerSession} {
		if isProtocolHeader(name) {
			t.Errorf("%s follows redirects to other hosts", name)
		}
	}
	for _, name := range []string{"accept", "Content-Type", "Mcp-Protocol-Version"} {
		if !isProtocolHeader(name) {
			t.Errorf("%s does not follow redirects", name)
		}
	}
}
