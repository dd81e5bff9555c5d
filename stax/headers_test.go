package stax

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// TestReservedHeaders verifies that a definition cannot set a header that ends at the next hop, or that each hop
// writes: a server would trust it although any sender may have written it.
func TestReservedHeaders(t *testing.T) {
	for _, name := range hophttp.NotForwarded() {
		if !reservedHeader(name) {
			t.Errorf("callerHeaders may have %s", name)
		}
		of := hophttp.OfConnection(name) && name != "Proxy-Authorization"
		if of && !framesMessages(name) {
			t.Errorf("auth of the kind header may have %s", name)
		}
	}
	if framesMessages("proxy-authorization") || framesMessages("x-api-key") {
		t.Error("auth of the kind header refuses a header with a credential")
	}
}
