package client_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestNotify tests that a program receives the progress and the log lines of its call
// from every version, over all transports, and only then.
func TestNotify(t *testing.T) {
	for _, version := range mcp.Versions() {
		u := newUpstream(t, &world{})
		for transport, src := range map[string]*client.Source{
			"stdio": open(t, command(t, "server"), &client.Options{Version: version}),
			"http":  open(t, &client.Endpoint{URL: u.URL + "/mcp"}, &client.Options{Version: version}),
		} {
			t.Run(fmt.Sprintf("%v/%s", version, transport), func(t *testing.T) {
				if err := src.SetLogLevel(t.Context(), mcp.LogInfo); err != nil {
					t.Fatal(err)
				}
				var progress, logs []string
				var ids []uint64
				level := mcp.LogInfo
				ctx := client.WithNotify(t.Context(), &client.Notify{
					Progress: func(p json.RawMessage) { progress = append(progress, string(p)) },
					Log:      func(p json.RawMessage) { logs = append(logs, string(p)) },
					Level:    &level,
					Sent:     func(id uint64) { ids = append(ids, id) },
				})
				if _, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "progress"}); err != nil {
					t.Fatal(err)
				}
				if len(progress) != 3 || !strings.Contains(progress[2], `"progress":3`) {
					t.Errorf("progress: %q", progress)
				}
				if len(logs) != 1 || !strings.Contains(logs[0], "careful") {
					t.Errorf("logs: %q", logs)
				}
				if len(ids) != 1 {
					t.Errorf("sent as %v", ids)
				}
				result, err := src.Do(t.Context(), "tools/call",
					json.RawMessage(`{"name":"echo","arguments":{"text":"hé"},"_meta":{"x":1}}`))
				if err != nil || !strings.Contains(string(result), "hé") {
					t.Errorf("Do = %s, %v", result, err)
				}
				if h := src.Handshake(); h == nil || h.Version != version || h.Capabilities == nil {
					t.Errorf("handshake: %+v", h)
				}
			})
		}
	}
}
