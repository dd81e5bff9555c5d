package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// A subscription receives changes of the tasks it names, if they belong to the client.
func TestTaskNotifications(t *testing.T) {
	onTransports(t, func(t *testing.T, transport string) {
		release := make(chan struct{})
		w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
			<-release
			if _, err := askName(ctx, mcp.RequestFrom(ctx)); err != nil {
				return nil, err
			}
			return text("done"), nil
		}}
		p := connectWorker(t, transport, w, nil)
		mine, other := p.begin().ID, p.begin().ID
		if got, want := p.call(listenLine(`"s"`, `{"taskIds":["`+mine+`","unknown"]}`)), acknowledged(`"s"`,
			`{"taskIds":["`+mine+`"]}`); got != want {
			t.Fatalf("acknowledged %s, want %s", got, want)
		}
		close(release)
		p.wantTold(mine, mcpserver.TaskInputRequired)
		p.wantToldOfEnd(mine, other)
	})
}

// TestTaskNotificationsOverHTTP guards the context in which a gate decides about the tasks of a subscription: over
// HTTP/1.1 the handler returns while the stream is open, which ends the context of its request.
func TestTaskNotificationsOverHTTP(t *testing.T) {
	release := make(chan struct{})
	w := &worker{work: func(context.Context) (*mcp.CallToolResult, error) {
		<-release
		return text("done"), nil
	}}
	follows := make(chan context.Context, 10)
	gate := gateFunc(func(ctx context.Context, op mcpserver.Operation) error {
		if op.Follows {
			follows <- ctx
			return ctx.Err()
		}
		return nil
	})
	front := httptest.NewServer(mcpserver.New(w, &mcpserver.Options{Gate: gate}).HTTPHandler(nil))
	defer front.Close()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":` + taskCaps + `}`
	post := func(method, members string) *bufio.Scanner {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, members, meta)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = clientHeader(body)
		res, err := front.Client().Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", method, res, err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return bufio.NewScanner(res.Body)
	}
	started := post("tools/call", `"name":"work"`)
	started.Scan()
	id := taskOf(t, messages(t, started.Text(), 1)[0].Result).ID
	events := post("subscriptions/listen", `"notifications":{"taskIds":["`+id+`"]}`)
	if ctx := <-follows; ctx.Done() != nil {
		<-ctx.Done() // the handler has returned
	}
	close(release)
	if ctx := <-follows; ctx.Err() != nil {
		t.Fatal("the gate decides in a context that has ended")
	}
	for events.Scan() {
		if strings.Contains(events.Text(), `"status":"completed"`) {
			return
		}
	}
	t.Errorf("the stream ends without the task: %v", events.Err())
}

// wantTold expects one notification that a task is in a state.
func (p *peer) wantTold(id, status string) {
	p.t.Helper()
	got := messages(p.t, p.received(), 1)[0]
	var tag struct {
		Meta map[string]string `json:"_meta"`
	}
	if err := json.Unmarshal(got.Params, &tag); err != nil ||
		got.Method != "notifications/tasks" ||
		tag.Meta["io.modelcontextprotocol/subscriptionId"] != "s" {
		p.t.Errorf("told %s %s (%v)", got.Method, got.Params, err)
	}
	if task := taskOf(p.t, got.Params); task.ID != id || task.Status != status {
		p.t.Errorf("told that %s is %s, want %s %s", task.ID, task.Status, id, status)
	}
}

// wantToldOfEnd answers the question of a task without a subscription, which causes no
// notification, and then that of the subscribed one.
func (p *peer) wantToldOfEnd(mine, other string) {
	p.t.Helper()
	for _, id := range []string{other, mine} {
		answers := `"inputResponses":{"input-1":` + accept + `}`
		got := p.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tasks/update","params":{"taskId":%q,%s}}`,
			len(p.said), id, answers))
		told := strings.Count(got, "notifications/tasks")
		switch {
		case id == other && told != 0:
			p.t.Errorf("told of another task: %s", got)
		case id == mine && (told == 0 || !strings.Contains(got, `"status":"completed"`)):
			p.t.Errorf("not told of the end: %s", got)
		}
	}
}

// Shutdown cancels the server's tasks and waits for them.
func TestTaskShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Time
		w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = time.Now()
			return nil, ctx.Err()
		}}
		p := connectWorker(t, httpTransport, w, nil)
		id := p.begin().ID
		if err := p.server.Shutdown(t.Context()); err != nil || ended.IsZero() {
			t.Errorf("Shutdown = %v, work over: %v", err, !ended.IsZero())
		}
		if got := p.get(id); got.Status != mcpserver.TaskCancelled {
			t.Errorf("it is %s", got.Status)
		}
		if got := messages(t, p.call(workCall), 1)[0]; got.Error == nil || got.Error.Code != mcp.CodeToolBusy {
			t.Errorf("after the end: %s %v", got.Result, got.Error)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &worker{work: func(context.Context) (*mcp.CallToolResult, error) { <-release; return nil, nil }}
		p := connectWorker(t, httpTransport, w, nil)
		p.begin()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		if _ = p.server.Shutdown(ctx); time.Since(began) != time.Second {
			t.Errorf("Shutdown waited %v for a task that does not end", time.Since(began))
		}
		close(release)
	})
}

// Only a task's own principal is notified.
func TestTaskIsToldToItsPrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcpserver.New(
			&worker{work: func(context.Context) (*mcp.CallToolResult, error) { return text("done"), nil }}, nil)
		as := func(name string) *peer {
			p := connect(t, httpTransport, mcp.Version20260728, server, taskCaps)
			p.web.context = mcp.WithPrincipal(p.web.context, &mcp.Principal{Name: name})
			return p
		}
		ann, bob := as("ann"), as("bob")
		id := ann.begin().ID
		filter := `{"taskIds":["` + id + `"]}`
		if got := bob.call(listenLine(`"s"`, filter)); got != acknowledged(`"s"`, `{}`) {
			t.Errorf("bob is acknowledged %s", got)
		}
		if got := ann.call(listenLine(`"s"`, filter)); got != acknowledged(`"s"`, filter) {
			t.Errorf("ann is acknowledged %s", got)
		}
	})
}
