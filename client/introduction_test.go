package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// introducing returns a server that answers its handshake with the members.
func introducing(t *testing.T, version mcp.Version, members string) client.Transport {
	t.Helper()
	return &client.Dialer{Name: "introducing", Dial: func(context.Context) (mcpserver.Conn, error) {
		ours, theirs := pipe()
		go func() {
			for {
				text, err := theirs.ReadMessage(context.Background())
				if err != nil {
					return
				}
				var m heardMessage
				if json.Unmarshal(text, &m) != nil || m.ID == nil {
					continue
				}
				_ = theirs.WriteMessage(fmt.Appendf(nil,
					`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","protocolVersion":%q,`+
						`"supportedVersions":[%[2]q],"tools":[],%s}}`, m.ID, version, members))
			}
		}()
		return ours, nil
	}}
}

// What a server says of itself is sent to every client, so its size is limited.
func TestIntroductionIsLimited(t *testing.T) {
	const limit = 64 << 10
	fits := strings.Repeat("x", limit-20)
	info := func(title string) string { // where each version has it
		member := `{"name":"s","version":"1","title":"` + title + `"}`
		return `"serverInfo":` + member + `,"_meta":{"io.modelcontextprotocol/serverInfo":` + member + `}`
	}
	tests := []struct{ name, members, refused string }{
		{"instructions", `"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},` +
			`"instructions":"1` + strings.Repeat("é", limit) + `"`, ""},
		{"large capabilities", `"capabilities":{"tools":{"x":"` + fits + `"}}`, ""},
		{"capabilities", `"capabilities":{"tools":{},"extensions":{"x/y":"` + fits + `"}}`,
			"bytes of capabilities and"},
		{"large serverInfo", `"capabilities":{"tools":{}},` + info(strings.Repeat(fits, 7)), ""},
		{"serverInfo", `"capabilities":{"tools":{}},` + info(strings.Repeat(fits, 9)),
			"of serverInfo: the limits are 64 and 512 KiB"},
	}
	for _, version := range []mcp.Version{mcp.LatestLegacyVersion, mcp.LatestVersion} {
		for _, tt := range tests {
			t.Run(version.String()+"/"+tt.name, func(t *testing.T) {
				var warned []string
				src, err := client.Open(t.Context(), introducing(t, version, tt.members), &client.Options{
					Version: version,
					Observe: func(e client.Event) {
						if e.What == client.EventWarning {
							warned = append(warned, e.Err.Error())
						}
					},
				})
				if err != nil {
					if tt.refused == "" || !strings.Contains(err.Error(), tt.refused) {
						t.Errorf("Open: %.200v, want %q", err, tt.refused)
					}
					return
				}
				defer src.Close()
				got := src.Handshake().Instructions
				if tt.refused != "" {
					t.Errorf("the server is served, want %q", tt.refused)
				}
				if tt.name != "instructions" {
					return
				}
				if len(got) < limit-1 || len(got) > limit+len("…") || !utf8.ValidString(got) {
					t.Errorf("%d bytes of instructions are kept", len(got))
				}
				if len(warned) != 1 || !strings.Contains(warned[0], "instructions of the server have 131073 bytes") {
					t.Errorf("warned of %q", warned)
				}
			})
		}
	}
}
