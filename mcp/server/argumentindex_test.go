package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// indexed is a Source whose tool answers with an argument that a scan of the arguments does not find.
type indexed struct{ watched }

func (indexed) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	p.Arguments[0] = '-'
	city, ok := p.StringArgument("city")
	p.Arguments[0] = '{'
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(fmt.Sprint(city, " ", ok))}}, nil
}

// TestArgumentIndex: the gate and the Source get the index of the arguments of their request.
func TestArgumentIndex(t *testing.T) {
	call := func(id int, city string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"arguments":`+
			`{"n":{"city":"none"}, "city" : %q},"name":"fine"}}`, id, city)
	}
	const init = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	var atGate []string
	g := gateFunc(func(_ context.Context, op mcpserver.Operation) error {
		if op.Arguments == nil {
			return nil
		}
		op.Arguments[0] = '-'
		atGate = append(atGate, string(op.Index.Member(op.Arguments, "city")))
		op.Arguments[0] = '{'
		return nil
	})
	s := mcpserver.New(indexed{}, &mcpserver.Options{Gate: g})
	batch := "[" + call(2, "Rome") + ",\n " + call(3, "Oslo") + "]"
	for name, tt := range map[string]struct {
		serve func() string
		want  []string
	}{
		"single": {func() string { return postTo(s.HTTPHandler(nil), call(2, "Rome")).Body.String() }, []string{"Rome"}},
		"batch": {func() string {
			return postTo(s.HTTPHandler(nil), batch, "MCP-Protocol-Version", "2025-03-26").Body.String()
		}, []string{"Rome", "Oslo"}},
		"stdio": {func() string {
			var out strings.Builder
			err := s.ServeStdio(t.Context(), strings.NewReader(init+"\n"+call(2, "Rome")+"\n"), &out, nil)
			return fmt.Sprint(out.String(), err)
		}, []string{"Rome"}},
		"prompt": {func() string {
			return postTo(s.HTTPHandler(nil), `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet",`+
				`"arguments":{"city":"Rome"}}}`).Body.String()
		}, []string{"Rome"}},
	} {
		atGate = nil
		got := tt.serve()
		if want := `["\"` + strings.Join(tt.want, `\"" "\"`) + `\""]`; fmt.Sprintf("%q", atGate) != want {
			t.Errorf("%s: the gate has found %q, want %s", name, atGate, want)
		}
		for _, city := range tt.want {
			if name != "prompt" && !strings.Contains(got, city+" true") {
				t.Errorf("%s: the tool has not found %s by the index: %s", name, city, got)
			}
		}
	}
}
