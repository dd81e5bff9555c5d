package client_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// TestEmptyMessages guards that a server cannot end this program with a message without text, such as an empty frame
// of a WebSocket.
func TestEmptyMessages(t *testing.T) {
	transport, _ := strange(t, mcp.Version20250618, func(u *upstreamText, m heardMessage) {
		for _, text := range []string{"", "\n", " \r\n"} {
			_ = u.conn.WriteMessage([]byte(text))
		}
		_ = u.conn.WriteMessage([]byte(" [" + `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]}}` + "]\n"))
	})
	src := open(t, transport, nil)
	if _, err := call(t, src, "t", ""); err != nil {
		t.Errorf("the call after empty messages ends with %v", err)
	}
}
