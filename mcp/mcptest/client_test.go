package mcptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// desk is a Source that uses every feature a client must support.
type desk struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

func newDesk() *desk {
	object := json.RawMessage(`{"type":"object"}`)
	d := &desk{catalog: &mcp.Catalog{
		Server: mcp.Implementation{Name: "desk", Version: "1"},
		Tools: []mcp.Tool{
			{Name: "echo", Description: "echoes", InputSchema: object},
			{Name: "count", Description: "counts", InputSchema: object},
			{Name: "ask", Description: "asks the user", InputSchema: object},
			{Name: "region", Description: "has a header", InputSchema: json.RawMessage(
				`{"type":"object","properties":{"where":{"type":"object","properties":{"name":{"type":"string",` +
					`"x-mcp-header":"Region"}}},"n":{"type":"integer","x-mcp-header":"N"}}}`)},
		},
		Templates: []mcp.ResourceTemplate{{Name: "any", URITemplate: "desk://{+path}"}},
		Prompts: []mcp.Prompt{{
			Name:        "größe",
			Description: "has a name that no header can hold",
			Arguments:   []mcp.PromptArgument{{Name: "a"}},
		}},
		Completions: true,
		PageSize:    2,
	}}
	for i := range 5 {
		d.catalog.Resources = append(d.catalog.Resources, mcp.Resource{Name: "r", URI: fmt.Sprintf("desk://%d", i)})
	}
	return d
}

func (d *desk) Catalog(context.Context) (*mcp.Catalog, error) { return d.catalog, nil }

func (d *desk) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	r := mcp.RequestFrom(ctx)
	switch p.Name {
	case "count":
		for i := range 3 {
			r.Progress(float64(i+1), 3, "")
		}
	case "ask":
		answer, err := r.Elicit(ctx, &mcp.ElicitParams{
			Message:         "name?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(answer.Action + string(answer.Content))}}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(p.Arguments))}}, nil
}

func (d *desk) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI == "desk://none" {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "é\n"}}}, nil
}

func (d *desk) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{
		Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text(p.Arguments["a"])}},
	}, nil
}

func (d *desk) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{p.Prompt + p.URITemplate + p.Value}}}, nil
}

// everywhere runs a test with a client of each version, over HTTP and stdio.
func everywhere(t *testing.T, opts *mcptest.ConnectOptions, test func(t *testing.T, c *mcptest.Client)) {
	t.Helper()
	for _, version := range mcp.Versions() {
		t.Run("http "+version.String(), func(t *testing.T) { test(t, mcptest.Connect(t, newDesk(), version, opts)) })
		t.Run("stdio "+version.String(), func(t *testing.T) { test(t, mcptest.ConnectStdio(t, newDesk(), version, opts)) })
	}
}

func TestClientMethods(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, c *mcptest.Client) {
		if !strings.Contains(string(c.Begun()), `"tools":`) {
			t.Errorf("Begun = %s, want the capabilities in it", c.Begun())
		}
		if got := c.CallTool("echo",
			json.RawMessage(`{"n":9007199254740993}`)).Content[0].Text; got != `{"n":9007199254740993}` {
			t.Errorf("CallTool answers %s", got)
		}
		if got := c.CallTool("region", map[string]any{"where": map[string]string{"name": "Zürich "}, "n": 7}); got.IsError {
			t.Errorf("CallTool = %+v", got)
		}
		if got := c.CallTool("region", nil); got.IsError {
			t.Errorf("CallTool = %+v", got)
		}
		want := []mcp.ResourceContents{{URI: "desk://3/ü", Text: "é\n"}}
		if diff := cmp.Diff(want, c.ReadResource("desk://3/ü").Contents); diff != "" {
			t.Errorf("ReadResource (-want +got):\n%s", diff)
		}
		if got := c.GetPrompt("größe", map[string]string{"a": "x"}).Messages[0].Content.Text; got != "x" {
			t.Errorf("GetPrompt answers %q", got)
		}
		if c.Version() >= mcp.Version20250326 {
			got := c.Complete(mcp.CompleteParams{Prompt: "größe", Argument: "a", Value: "v"}).Values
			got = append(got, c.Complete(mcp.CompleteParams{URITemplate: "desk://{+path}", Argument: "path"}).Values...)
			if diff := cmp.Diff([]string{"größev", "desk://{+path}"}, got); diff != "" {
				t.Errorf("Complete (-want +got):\n%s", diff)
			}
		}
		lengths := []int{len(c.Tools()), len(c.Resources()), len(c.Templates()), len(c.Prompts())}
		if diff := cmp.Diff([]int{4, 5, 1, 1}, lengths); diff != "" {
			t.Errorf("lengths of the lists (-want +got):\n%s", diff)
		}
	})
}

func TestClientErrors(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, c *mcptest.Client) {
		_, e := c.Try("tools/call", map[string]any{"name": "none"})
		if e == nil || e.Code != mcp.CodeInvalidParams {
			t.Errorf("tools/call = %v, want code %d", e, mcp.CodeInvalidParams)
		}
		_, e = c.Try("resources/read", map[string]any{"uri": "desk://none"})
		if e == nil || string(e.Data) != `{"uri":"desk://none"}` {
			t.Errorf("resources/read = %v, want the uri in data", e)
		}
		_, e = c.Try("no/such", nil)
		if e == nil || e.Code != mcp.CodeMethodNotFound {
			t.Errorf("no/such = %v, want code %d", e, mcp.CodeMethodNotFound)
		}
	})
}

func TestClientRaw(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, c *mcptest.Client) {
		meta := ""
		if c.Version().Modern() {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/` +
				`clientCapabilities":{}}`
		}
		got := string(c.Raw([]byte(
			`{"jsonrpc":"2.0","id":"ü-9007199254740993","method":"tools/call","params":{"name":"echo","arguments":{"a":1.50}` +
				meta + `}}`)))
		if !strings.Contains(got, `"id":"ü-9007199254740993"`) || !strings.Contains(got, `{\"a\":1.50}`) {
			t.Errorf("Raw = %s, want the same id and arguments", got)
		}
		if got := string(c.Raw([]byte(`{"jsonrpc"`))); !strings.Contains(got, "-32700") {
			t.Errorf("Raw = %s, want code -32700", got)
		}
		if got := c.Raw([]byte(`{"jsonrpc":"2.0","method":"notifications/unknown","params":{` +
			strings.TrimPrefix(meta, ",") + `}}`)); got != nil {
			t.Errorf("Raw of a notification = %s, want nothing", got)
		}
		if got := c.CallTool("echo", nil); got.IsError {
			t.Errorf("afterwards CallTool = %+v", got)
		}
	})
}

func TestClientBatch(t *testing.T) {
	c := mcptest.Connect(t, newDesk(), mcp.Version20250326, nil)
	got := string(c.Raw([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)))
	if want := `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`; got != want {
		t.Errorf("Raw = %s, want %s", got, want)
	}
}

func TestClientNotifications(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, c *mcptest.Client) {
		c.Call("tools/call", map[string]any{"name": "count", "_meta": map[string]any{"progressToken": "p"}})
		var got []string
		for _, n := range c.Notifications() {
			got = append(got, n.Method+" "+string(n.Params))
		}
		want := []string{
			`notifications/progress {"progressToken":"p","progress":1,"total":3}`,
			`notifications/progress {"progressToken":"p","progress":2,"total":3}`,
			`notifications/progress {"progressToken":"p","progress":3,"total":3}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Notifications (-want +got):\n%s", diff)
		}
	})
}

func TestClientAnswers(t *testing.T) {
	opts := &mcptest.ConnectOptions{Answer: func(method string, params json.RawMessage) (any, error) {
		if method != "elicitation/create" || !strings.Contains(string(params), "name?") {
			return nil, fmt.Errorf("unexpected question %s %s", method, params)
		}
		return map[string]any{"action": "accept", "content": map[string]string{"name": "Ada"}}, nil
	}}
	everywhere(t, opts, func(t *testing.T, c *mcptest.Client) {
		want := `accept{"name":"Ada"}`
		if c.Version() < mcp.Version20250618 {
			want = "does not support this" // elicitation is newer
		}
		if got := c.CallTool("ask", nil).Content[0].Text; !strings.Contains(got, want) {
			t.Errorf("CallTool answers %s, want %s", got, want)
		}
	})
}

func TestClientDeclines(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, c *mcptest.Client) {
		result, e := c.Try("tools/call", map[string]any{"name": "ask"})
		if e == nil && !strings.Contains(string(result), `"isError":true`) {
			t.Errorf("tools/call = %s, want a failure: no client can be asked", result)
		}
	})
}

func TestClientConcurrency(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, c *mcptest.Client) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				want := fmt.Sprintf(`{"i":%d}`, i)
				if got := c.CallTool("echo", map[string]int{"i": i}).Content[0].Text; got != want {
					t.Errorf("CallTool answers %s, want %s", got, want)
				}
			})
		}
		wg.Wait()
	})
}

func TestConnectHTTP(t *testing.T) {
	handler := server.New(newDesk(), nil).HTTPHandler(nil)
	var header []string
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = append(header, r.Method+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Mcp-Method"))
		handler.ServeHTTP(w, r)
	})
	c := mcptest.ConnectHTTP(t, seen, mcp.LatestVersion,
		&mcptest.ConnectOptions{Header: http.Header{"Authorization": {"Bearer x"}}})
	c.CallTool("echo", nil)
	want := []string{"POST Bearer x server/discover", "POST Bearer x tools/list", "POST Bearer x tools/list",
		"POST Bearer x tools/call"}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
