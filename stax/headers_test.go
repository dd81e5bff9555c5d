package stax

import "testing"

// TestReservedHeaders verifies that a definition cannot set a header that ends at the next hop, or that each hop
// writes: a server would trust it although any sender may have written it.
func TestReservedHeaders(t *testing.T) {
	for _, tt := range []struct {
		name             string
		reserved, frames bool // refused in callerHeaders, and in auth of the kind header
	}{
		{"connection", true, true},
		{"Transfer-Encoding", true, true},
		{"Host", true, true},
		{"Content-Length", true, true},
		{"Mcp-Session-Id", true, true},
		{"Proxy-Authorization", true, false},
		{"forwarded", true, false},
		{"X-Forwarded-For", true, false},
		{"X-Forwarded-Proto", true, false},
		{"X-Real-Ip", true, false},
		{"X-Api-Key", false, false},
	} {
		if got := reservedHeader(tt.name); got != tt.reserved {
			t.Errorf("callerHeaders refuses %s: %v, want %v", tt.name, got, tt.reserved)
		}
		if got := framesMessages(tt.name); got != tt.frames {
			t.Errorf("auth of the kind header refuses %s: %v, want %v", tt.name, got, tt.frames)
		}
	}
}
