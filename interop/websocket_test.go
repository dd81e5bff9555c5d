package interop_test

import (
	"strings"
	"testing"
)

// sockets returns the WebSocket URLs of a target.
func (s target) sockets() map[string]string {
	url := "ws" + strings.TrimPrefix(s.endpoint, "http")
	return map[string]string{"ws": strings.TrimSuffix(url, "/mcp") + "/ws", "endpoint": url}
}

// TestTypeScriptWebSocket reads the whole example site over the WebSocket transport of
// the TypeScript SDK, which version 2 of the SDK no longer has.
func TestTypeScriptWebSocket(t *testing.T) {
	tools := nodeTools(t)
	s, wrong := referenceSite(t)
	for name, url := range serve(t, s.dir).sockets() {
		t.Run(name, func(t *testing.T) {
			tools.carryOut(t, plan{Client: "sdk-v1", Version: v1125, Endpoint: url, Site: s.plan(), Wrong: wrong.plan()})
		})
	}
}

// TestTypeScriptWebSocketCancel is TestCancel over a WebSocket.
func TestTypeScriptWebSocketCancel(t *testing.T) {
	tools := nodeTools(t)
	host := startStuckHost(t)
	to := serve(t, host.URL+"/")
	tools.carryOut(t, plan{Client: "sdk-v1", Version: v1125, Endpoint: to.sockets()["ws"]})
	await(t, host.dropped, "the host was not notified of the cancellation")
}

// TestPlainWebSocket uses WebSocket programs without MCP support.
func TestPlainWebSocket(t *testing.T) {
	tools := nodeTools(t)
	s, _ := referenceSite(t)
	for name, url := range serve(t, s.dir).sockets() {
		t.Run(name, func(t *testing.T) {
			tools.run(t, "websocket.mjs", plan{Version: v1125, Endpoint: url, Site: s.plan()})
		})
	}
}
