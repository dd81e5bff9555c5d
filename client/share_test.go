package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// crowded is a server whose tool "wait" returns when it is released.
type crowded struct {
	mcp.Unimplemented
	waiting  atomic.Int64
	released chan struct{}
}

func (*crowded) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "crowded", Version: "1"},
		Tools:     []mcp.Tool{{Name: "wait"}, {Name: "echo"}},
		Templates: []mcp.ResourceTemplate{{URITemplate: "x://{n}", Name: "x"}},
		Subscribe: true,
	}, nil
}

func (c *crowded) Watch(func(mcp.Change)) (stop func()) { return func() {} }

func (c *crowded) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name == "wait" {
		c.waiting.Add(1)
		defer c.waiting.Add(-1)
		select {
		case <-c.released:
		case <-ctx.Done():
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
}

// relayed serves a crowded server through a live Source to clients that identify
// themselves, over HTTP on both sides.
func relayed(t *testing.T, limit int) (front string, behind *crowded, src *client.Source) {
	t.Helper()
	behind = &crowded{released: make(chan struct{})}
	upstream := httptest.NewServer(server.New(behind, nil).HTTPHandler(nil))
	t.Cleanup(upstream.Close)
	src = open(t, &client.Endpoint{URL: upstream.URL}, &client.Options{Limits: client.Limits{InFlight: limit}})
	site := httptest.NewServer(server.New(src, nil).HTTPHandler(&server.HTTPOptions{
		Authenticate: func(_ http.ResponseWriter, r *http.Request) context.Context {
			return mcp.WithPrincipal(r.Context(), &mcp.Principal{Name: r.Header.Get("User")})
		},
	}))
	t.Cleanup(site.Close)
	t.Cleanup(site.CloseClientConnections)
	t.Cleanup(upstream.CloseClientConnections)
	return site.URL, behind, src
}

// postAs sends a request of 2026-07-28 on behalf of a user.
func postAs(t *testing.T, url, user, method, name, members string) *http.Response {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + members +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"User": user, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		if value != "" {
			r.Header.Set(key, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// TestCallsOfOthersPass ensures that one client cannot use all calls that may be in
// flight to a server.
func TestCallsOfOthersPass(t *testing.T) {
	url, behind, _ := relayed(t, 200)
	callAs := func(user, tool string) string {
		text, _ := io.ReadAll(postAs(t, url, user, "tools/call", tool, `"name":"`+tool+`","arguments":{}`).Body)
		return string(text)
	}
	const n = 200
	var refused atomic.Int64
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if strings.Contains(callAs("alice", "wait"), "requests of this client to the server are already in flight") {
				refused.Add(1)
			}
		})
	}
	for behind.waiting.Load()+refused.Load() < n {
		runtime.Gosched()
	}
	if got := refused.Load(); got != 100 {
		t.Errorf("%d calls of alice were refused, want 100", got)
	}
	if got := callAs("bob", "echo"); !strings.Contains(got, `"done"`) {
		t.Errorf("bob: %s", got)
	}
	close(behind.released)
	calls.Wait()
	if got := callAs("alice", "echo"); !strings.Contains(got, `"done"`) {
		t.Errorf("alice, afterwards: %s", got)
	}
}

// TestWatchedByOthersStay ensures that one client cannot displace the resources that
// another one watches.
func TestWatchedByOthersStay(t *testing.T) {
	url, _, src := relayed(t, 0)
	listen := func(user string, from, to int) {
		t.Helper()
		uris := make([]string, 0, to-from)
		for i := from; i < to; i++ {
			uris = append(uris, fmt.Sprintf(`"x://%s%d"`, user, i))
		}
		answer := postAs(t, url, user, "subscriptions/listen", "",
			`"notifications":{"resourceSubscriptions":[`+strings.Join(append(uris, `"x://shared"`), ",")+`]}`)
		if answer.StatusCode != 200 {
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("listen: %d %.300s", answer.StatusCode, text)
		}
	}
	listen("bob", 0, 2)
	for i := range 5 {
		listen("alice", i*2100, (i+1)*2100)
	}
	got := src.Subscribed()
	for _, uri := range []string{"x://bob0", "x://bob1", "x://shared", "x://alice10499"} {
		if !slices.Contains(got, uri) {
			t.Errorf("%s is not watched any more", uri)
		}
	}
	if slices.Contains(got, "x://alice0") || len(got) > 2510 {
		t.Errorf("%d are watched, the first of alice: %v", len(got), slices.Contains(got, "x://alice0"))
	}
}
