package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// yard is a Source whose tools build and look run as tasks until finish is closed.
// build is renamed when renamed is set, as by a name collision.
type yard struct {
	mcp.Unimplemented
	mcp.Watchers
	renamed atomic.Bool
	finish  chan struct{}
}

func (y *yard) Catalog(context.Context) (*mcp.Catalog, error) {
	name := "build"
	if y.renamed.Load() {
		name = "yard_build"
	}
	origins := []mcp.Origin{{Source: "yard", Name: "build", Prefixed: "yard_build"}}
	return &mcp.Catalog{Tasks: true, Tools: []mcp.Tool{{Name: name, Origins: origins}, {Name: "look"}}}, nil
}

func (y *yard) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return mcp.RequestFrom(ctx).Task(ctx, nil, func(ctx context.Context) (*mcp.CallToolResult, error) {
		select {
		case <-y.finish:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("the plans of " + p.Name)}}, nil
	})
}

var taskID = regexp.MustCompile(`"taskId":"([^"]+)"`)

// A task needs the scopes of the tool that created it, whichever token of its principal
// is used, and whatever the tool is called by then.
func TestTasksNeedTheScopesOfTheirTool(t *testing.T) {
	tokens, err := serve.NewTokens(
		serve.Token{Name: "ann", Token: "strong-0123456789abcdef", Scopes: []string{"read", "build"}},
		serve.Token{Name: "ann", Token: "weak-0123456789abcdef", Scopes: []string{"read"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{finish: make(chan struct{})}
	handler := serve.NewHandler(y, &serve.Options{Auth: &serve.Auth{
		Verifiers: []serve.Verifier{tokens}, Scopes: []string{"read"}, ToolScopes: map[string][]string{"build": {"build"}},
	}})
	site := httptest.NewServer(handler)
	t.Cleanup(site.Close)
	strong := &tenant{url: site.URL, token: "strong-0123456789abcdef", http: site.Client()}
	weak := &tenant{url: site.URL, token: "weak-0123456789abcdef", http: site.Client()}
	start := func(c *tenant, tool string) string {
		got := c.do(t, c.modern("tools/call", tool, `"name":"`+tool+`"`))
		m := taskID.FindStringSubmatch(got.body)
		if m == nil {
			t.Fatalf("%s: %d %s", tool, got.status, got.body)
		}
		return m[1]
	}
	build, look := start(strong, "build"), start(strong, "look")
	weakNews, strongNews := weak.listenTasks(t, build, look), strong.listenTasks(t, build, look)
	if got := <-weakNews; strings.Contains(got, build) || !strings.Contains(got, look) {
		t.Errorf("the weaker token subscribed to %s, want %s alone", got, look)
	}
	if got := <-strongNews; !strings.Contains(got, build) || !strings.Contains(got, look) {
		t.Errorf("the stronger token subscribed to %s, want both", got)
	}
	for _, renamed := range []bool{false, true} {
		y.renamed.Store(renamed)
		for _, c := range []struct {
			method, members string
		}{
			{"tasks/get", ""}, {"tasks/update", `,"inputResponses":{}`}, {"tasks/cancel", ""},
		} {
			got := weak.do(t, weak.modern(c.method, build, `"taskId":"`+build+`"`+c.members))
			if got.status != http.StatusForbidden || got.code() != int(mcp.CodeToolDenied) ||
				!strings.Contains(got.header.Get("WWW-Authenticate"), `scope="read build"`) {
				t.Errorf("renamed %v: %s: %d %v %s", renamed, c.method, got.status, got.header, got.body)
			}
		}
	}
	if got := weak.do(t, weak.modern("tasks/get", look, `"taskId":"`+look+`"`)); got.status != http.StatusOK {
		t.Errorf("a tool without a rule: %d %s", got.status, got.body)
	}
	close(y.finish)
	if got := strong.state(t, build, server.TaskWorking); got != server.TaskCompleted {
		t.Errorf("the task is %s: it was cancelled with the weaker token", got)
	}
	if t.Failed() {
		return // otherwise the loops below would wait for a cancelled task
	}
	seen := ""
	for !strings.Contains(seen, "the plans of look") {
		seen += <-weakNews
	}
	for all := ""; !strings.Contains(all, "the plans of build"); {
		all += <-strongNews
	}
	if got := weak.do(t, weak.modern("tasks/get", build, `"taskId":"`+build+`"`)); got.status != http.StatusForbidden {
		t.Errorf("the result: %d %s", got.status, got.body)
	}
	if strings.Contains(seen, "the plans of build") {
		t.Errorf("the weaker token is sent %s", seen)
	}
}

// listenTasks subscribes to tasks and returns what arrives, line by line.
func (c *tenant) listenTasks(t *testing.T, ids ...string) <-chan string {
	t.Helper()
	r := c.modern("subscriptions/listen", "", fmt.Sprintf(`"notifications":{"taskIds":["%s"]}`, strings.Join(ids, `","`)))
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("subscriptions/listen: %d %s", resp.StatusCode, text)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(resp.Body)
		for in.Scan() {
			if strings.HasPrefix(in.Text(), "data: ") {
				lines <- in.Text()
			}
		}
	}()
	return lines
}
