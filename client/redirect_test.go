package client

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// TestProtocolHeaders verifies that what another host may see has no header of a connection, and nothing that
// describes the sender.
func TestProtocolHeaders(t *testing.T) {
	for _, name := range append(hophttp.NotForwarded(), "Authorization", "Cookie", "Dpop", headerSession) {
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
