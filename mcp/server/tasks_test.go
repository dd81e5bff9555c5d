package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// worker is a Source whose tool becomes a task if the client supports tasks.
type worker struct {
	mcp.Unimplemented
	opts *mcp.TaskOptions
	work func(ctx context.Context) (*mcp.CallToolResult, error)
}

func (w *worker) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "worker", Version: "1"},
		Tools:  []mcp.Tool{{Name: "work"}}, Resources: []mcp.Resource{{Name: "r", URI: "r://r"}}, Tasks: true,
	}, nil
}

func (w *worker) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return mcp.RequestFrom(ctx).Task(ctx, w.opts, w.work)
}

const (
	taskCaps = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{},"roots":{}}`
	workCall = `{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"work"}}`
)

// taskState is a task in the form of the extension.
type taskState struct {
	Type     string `json:"resultType"`
	ID       string `json:"taskId"`
	Status   string `json:"status"`
	Message  string `json:"statusMessage"`
	Created  string `json:"createdAt"`
	Updated  string `json:"lastUpdatedAt"`
	TTL      *int64 `json:"ttlMs"`
	Poll     *int64 `json:"pollIntervalMs"`
	Result   json.RawMessage
	Error    *wireError
	Requests map[string]struct {
		Method string
		Params json.RawMessage
	} `json:"inputRequests"`
}

type wireError struct {
	Code    mcp.Code
	Message string
}

// taskOf decodes a task and verifies the members that every task must have or must not
// have.
func taskOf(t *testing.T, object json.RawMessage) *taskState {
	t.Helper()
	var members map[string]json.RawMessage
	state := new(taskState)
	if err := errors.Join(json.Unmarshal(object, &members), json.Unmarshal(object, state)); err != nil {
		t.Fatalf("%v in %s", err, object)
	}
	for _, name := range []string{"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"} {
		if members[name] == nil {
			t.Errorf("%s is missing in %s", name, object)
		}
	}
	for _, name := range []string{"task", "ttl", "pollInterval", "requestState", "cacheScope"} {
		if members[name] != nil {
			t.Errorf("%s in %s", name, object)
		}
	}
	for _, when := range []string{state.Created, state.Updated} {
		if _, err := time.Parse(time.RFC3339, when); err != nil {
			t.Error(err)
		}
	}
	details := map[string]string{
		mcpserver.TaskCompleted:     "result",
		mcpserver.TaskFailed:        "error",
		mcpserver.TaskInputRequired: "inputRequests",
	}
	for status, name := range details {
		if has := members[name] != nil; has != (status == state.Status) && state.Type != "task" {
			t.Errorf("a task that is %s: has %s: %v", state.Status, name, has)
		}
	}
	if strings.Contains(string(object), "related-task") {
		t.Errorf("a reference to itself in %s", object)
	}
	return state
}

// begin calls the tool and returns the resulting task.
func (p *peer) begin() *taskState {
	p.t.Helper()
	got := messages(p.t, p.call(workCall), 1)[0]
	if got.Error != nil {
		p.t.Fatalf("tools/call: %d %s", got.Error.Code, got.Error.Message)
	}
	return taskOf(p.t, got.Result)
}

// task calls one of the methods for tasks.
func (p *peer) task(method, id, members string) wireMessage {
	p.t.Helper()
	if members != "" {
		members = "," + members
	}
	return messages(p.t,
		p.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"taskId":%q%s}}`,
			len(p.said), method, id, members)),
		1)[0]
}

func (p *peer) get(id string) *taskState {
	p.t.Helper()
	got := p.task("tasks/get", id, "")
	if got.Error != nil {
		p.t.Fatalf("tasks/get: %d %s", got.Error.Code, got.Error.Message)
	}
	return taskOf(p.t, got.Result)
}

func (p *peer) wantAck(method, id, members string) {
	p.t.Helper()
	const ack = `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"worker",` +
		`"version":"1"}}}`
	if got := p.task(method, id, members); string(got.Result) != ack {
		p.t.Errorf("%s: %s %v, want an empty acknowledgment", method, got.Result, got.Error)
	}
}

func connectWorker(t *testing.T, transport string, w *worker, opts *mcpserver.Options) *peer {
	t.Helper()
	return connect(t, transport, mcp.Version20260728, mcpserver.New(w, opts), taskCaps)
}

// The possible outcomes of the work, and what the client receives.
func TestTaskOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		work   func(context.Context) (*mcp.CallToolResult, error)
		status string
		found  string // in the result, or in the error
		code   mcp.Code
	}{
		{"done", func(context.Context) (*mcp.CallToolResult, error) { return text("done"), nil },
			mcpserver.TaskCompleted,
			`"text":"done"`, 0},
		{"stored", func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Raw: parsed(`{"content":[],"n":1.50}`)}, nil
		}, mcpserver.TaskCompleted, `{"content":[],"n":1.50}`, 0},
		{"isError", func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("no")}, IsError: true}, nil
		}, mcpserver.TaskCompleted, `"isError":true`, 0},
		{"error of the tool",
			func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("the disk is full") },
			mcpserver.TaskCompleted, `"isError":true`, 0},
		{"bad arguments", func(context.Context) (*mcp.CallToolResult, error) {
			return nil,
				mcp.InvalidArguments("size")
		},
			mcpserver.TaskCompleted, `"isError":true`, 0},
		{"error of the protocol", func(context.Context) (*mcp.CallToolResult, error) {
			return nil, &mcp.Error{Code: mcp.CodeToolUnavailable, Message: "gone", Cause: errors.New("secret")}
		}, mcpserver.TaskFailed, "gone", mcp.CodeToolUnavailable},
		{"a part of it out of time",
			func(context.Context) (*mcp.CallToolResult, error) {
				return nil,
					context.DeadlineExceeded
			}, mcpserver.TaskCompleted,
			"context deadline exceeded", 0},
		{"panic", func(context.Context) (*mcp.CallToolResult, error) { panic("boom") }, mcpserver.TaskFailed,
			"the tool crashed", mcp.CodeToolCrashed},
		{"nothing", func(context.Context) (*mcp.CallToolResult, error) { return nil, nil }, mcpserver.TaskFailed,
			"no result",
			mcp.CodeToolBadOutput},
		{"no JSON", func(context.Context) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{`)}, nil
		}, mcpserver.TaskFailed, "internal error", mcp.CodeInternalError},
	} {
		t.Run(c.name, func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				release := make(chan struct{})
				w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
					<-release
					return c.work(ctx)
				}}
				p := connectWorker(t, transport, w, nil)
				begun := p.begin()
				if begun.Type != "task" || begun.Status != mcpserver.TaskWorking || *begun.TTL != 3_600_000 ||
					*begun.Poll != 1000 {
					t.Errorf("begun as %+v", begun)
				}
				if got := p.get(begun.ID); got.Type != "complete" || got.Status != mcpserver.TaskWorking ||
					got.Created != begun.Created {
					t.Errorf("at work it is %+v", got)
				}
				time.Sleep(time.Second)
				close(release)
				synctest.Wait()
				got := p.get(begun.ID)
				if got.Status != c.status || got.Updated == begun.Updated {
					t.Errorf("ended as %+v, want %s", got, c.status)
				}
				if !strings.Contains(string(got.Result), c.found) && c.code == 0 {
					t.Errorf("result %s, want %s in it", got.Result, c.found)
				}
				if c.code != 0 && (got.Error.Code != c.code || !strings.Contains(got.Error.Message, c.found)) {
					t.Errorf("error %+v, want %d with %s", got.Error, c.code, c.found)
				}
			})
		})
	}
}

// Clients without support for tasks wait, or are rejected, depending on the tool. Direct
// callers wait.
func TestTaskWithoutTheExtension(t *testing.T) {
	for _, c := range []struct {
		version mcp.Version
		caps    string
	}{
		{mcp.Version20251125, taskCaps}, {mcp.Version20241105, "{}"},
		{mcp.Version20260728, "{}"}, {mcp.Version20260728, `{"extensions":{}}`},
		{mcp.Version20260728, `{"extensions":{"io.modelcontextprotocol/tasks":null}}`}, {mcp.Version20260728,
			`{"tasks":{}}`},
	} {
		onTransports(t, func(t *testing.T, transport string) {
			w := &worker{work: func(context.Context) (*mcp.CallToolResult, error) { return text("waited"), nil }}
			p := connect(t, transport, c.version, mcpserver.New(w, nil), c.caps)
			withTask := strings.Replace(workCall, `"name"`, `"task":{"ttl":5},"name"`, 1) // of 2025-11-25: ignored here
			if got := textOf(t, messages(t, p.call(withTask), 1)[0]); got != "waited" {
				t.Errorf("%v with %s: %q", c.version, c.caps, got)
			}
			w.opts = &mcp.TaskOptions{Required: true}
			got := messages(t, p.call(workCall), 1)[0]
			const required = `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
			switch {
			case !c.version.Modern():
				if got := textOf(t, got); !strings.HasPrefix(got, "error: the client does not support this") {
					t.Errorf("%v: %q", c.version, got)
				}
			case got.Error == nil || got.Error.Code != noCapability || string(got.Error.Data) != required:
				t.Errorf("%v with %s: %s %v", c.version, c.caps, got.Result, got.Error)
			}
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				want := noCapability
				if !c.version.Modern() {
					want = noMethod
				}
				if got := p.task(method, "x", `"inputResponses":{}`); got.Error == nil || got.Error.Code != want {
					t.Errorf("%v %s: %s %v", c.version, method, got.Result, got.Error)
				}
			}
		})
	}
	w := &worker{
		opts: &mcp.TaskOptions{Required: true},
		work: func(context.Context) (*mcp.CallToolResult, error) { return text("direct"), nil },
	}
	if got, err := w.CallTool(t.Context(), nil); err != nil || got.Content[0].Text != "direct" {
		t.Errorf("called directly: %v, %v", got, err)
	}
	if err := (*mcp.Request)(nil).RequireTasks(); err != nil {
		t.Errorf("RequireTasks without a request: %v", err)
	}
}

func TestTaskMethodsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{work: func(context.Context) (*mcp.CallToolResult, error) { return text("done"), nil }}
		p := connectWorker(t, stdioTransport, w, nil)
		id := p.begin().ID
		for _, c := range []struct {
			method, params string
			code           mcp.Code
		}{
			{"tasks/get", `"taskId":"unknown"`, badParams},
			{"tasks/update", `"taskId":"unknown","inputResponses":{}`, badParams},
			{"tasks/cancel", `"taskId":"unknown"`, badParams},
			{"tasks/get", ``, badParams},
			{"tasks/get", `"taskId":7`, badParams},
			{"tasks/cancel", `"taskId":null`, badParams},
			{"tasks/update", `"taskId":"` + id + `"`, badParams},
			{"tasks/update", `"taskId":"` + id + `","inputResponses":null`, badParams},
			{"tasks/update", `"taskId":"` + id + `","inputResponses":[]`, badParams},
			{"tasks/result", `"taskId":"` + id + `"`, noMethod},
			{"tasks/list", ``, noMethod},
		} {
			got := messages(t, p.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":%q,"params":{%s}}`, c.method,
				c.params)),
				1)[0]
			if got.Error == nil || got.Error.Code != c.code {
				t.Errorf("%s {%s}: %s %v, want %d", c.method, c.params, got.Result, got.Error, c.code)
			}
		}
	})
	if got := newBrowser(newDemo(), nil).post(t, modern("tasks/get", `"taskId":"x"`)); got.code != noMethod {
		t.Errorf("a source without tasks: %s", got.body)
	}
}

// The Mcp-Name header of the three methods is compared with the task's id.
func TestTaskHeaders(t *testing.T) {
	addr := serveHTTP(t, &worker{}, nil)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		body := strings.Replace(modern(method, `"taskId":"a","inputResponses":{}`), `clientCapabilities":{}`,
			`clientCapabilities":`+taskCaps, 1)
		for _, c := range []struct {
			field string
			code  mcp.Code
		}{{"Mcp-Name: b", mismatch}, {"Mcp-Name", mismatch}, {"Mcp-Name: a", badParams}} {
			if got := post(body, c.field).do(t, addr); got.code != c.code {
				t.Errorf("%s with %s: code %d, want %d", method, c.field, got.code, c.code)
			}
		}
	}
}

// A task asks by changing to input_required. Answers may be sent in any number of
// updates; invalid ones are ignored.
func TestTaskAsks(t *testing.T) {
	onTransports(t, func(t *testing.T, transport string) {
		w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
			r := mcp.RequestFrom(ctx)
			r.Progress(1, 1, "unheard")
			r.Log(mcp.LogEmergency, "", "unheard")
			if r.RequireTasks() == nil {
				return nil, errors.New("a task within a task")
			}
			answers, err := r.Ask(ctx, form("who"), form("whom"))
			if err != nil {
				return nil, err
			}
			again, err := r.Ask(ctx, form("who"), &mcp.ListRootsParams{})
			if err != nil {
				return nil, err
			}
			return text(string(answers[0]) + string(answers[1]) + string(again[0]) + string(again[1])), nil
		}}
		p := connectWorker(t, transport, w, nil)
		id := p.begin().ID
		synctest.Wait()
		asked := p.get(id)
		if keys := slices.Sorted(maps.Keys(asked.Requests)); !slices.Equal(keys, []string{"who", "whom"}) ||
			asked.Status != mcpserver.TaskInputRequired {
			t.Fatalf("%s, asks %v", asked.Status, keys)
		}
		if q := asked.Requests["who"]; q.Method != "elicitation/create" ||
			canonicalJSON(t, string(q.Params)) != canonicalJSON(t,
				`{"message":"name?","requestedSchema":`+nameForm+`}`) {
			t.Errorf("asks %s %s", q.Method, q.Params)
		}
		p.wantAck("tasks/update", id, `"inputResponses":{"whom":{"action":"decline"},"unknown":7}`)
		if got := p.get(id); len(got.Requests) != 1 || got.Status != mcpserver.TaskInputRequired {
			t.Errorf("after one answer it asks %v", got.Requests)
		}
		p.wantAck("tasks/update", id, `"inputResponses":{}`)
		p.wantAck("tasks/update", id, `"inputResponses":{"who":{"action":"perhaps"},"whom":{"action":"cancel"}}`)
		if got := p.get(id); len(got.Requests) != 1 {
			t.Errorf("after no answer it asks %v", got.Requests)
		}
		p.wantAck("tasks/update", id, `"inputResponses":{"who":`+accept+`}`)
		again := p.get(id)
		keys := slices.Sorted(maps.Keys(again.Requests))
		if len(keys) != 2 || slices.Contains(keys, "who") || slices.Contains(keys, "whom") {
			t.Fatalf("asks again under %q: a key is for one question of a task's life", keys)
		}
		for key, q := range again.Requests {
			answer := `{"roots":[]}`
			if q.Method != "roots/list" {
				answer = `{"action":"cancel"}`
			}
			p.wantAck("tasks/update", id, fmt.Sprintf(`"inputResponses":{%q:%s}`, key, answer))
		}
		got := p.get(id)
		if want := `"text":"` + strings.ReplaceAll(
			accept+`{"action":"decline"}{"action":"cancel"}{"roots":[]}`, `"`, `\"`,
		); !strings.Contains(string(got.Result), want) {
			t.Errorf("ended as %s: %s", got.Status, got.Result)
		}
		p.wantAck("tasks/update", id, `"inputResponses":{"who":`+accept+`}`)
	})
}

// If a task asks two questions at once, each receives its answer when it arrives.
func TestTaskAsksTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan string, 1)
		w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
			r := mcp.RequestFrom(ctx)
			go func() {
				answers, err := r.Ask(ctx, form("one"))
				first <- fmt.Sprint(string(answers[0]), err)
			}()
			_, err := r.Ask(ctx, form("two"))
			return text("both"), err
		}}
		p := connectWorker(t, httpTransport, w, nil)
		id := p.begin().ID
		synctest.Wait()
		p.wantAck("tasks/update", id, `"inputResponses":{"one":{"action":"cancel"}}`)
		synctest.Wait()
		if len(first) == 0 {
			t.Fatal("an answer waits for that to another question")
		}
		if got := p.get(id); got.Status != mcpserver.TaskInputRequired || len(got.Requests) != 1 {
			t.Errorf("%s, asks %v", got.Status, got.Requests)
		}
		p.wantAck("tasks/update", id, `"inputResponses":{"two":{"action":"cancel"}}`)
		if got := p.get(id); got.Status != mcpserver.TaskCompleted {
			t.Errorf("ended as %s", got.Status)
		}
	})
}

// A question in a task requires its capability, too.
func TestTaskAsksUndeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
			_, err := askModel(ctx, mcp.RequestFrom(ctx))
			return nil, err
		}}
		p := connectWorker(t, httpTransport, w, nil)
		id := p.begin().ID
		if got := p.get(id); got.Status != mcpserver.TaskFailed || got.Error.Code != noCapability {
			t.Errorf("ended as %s with %+v", got.Status, got.Error)
		}
	})
}

// Rounds of the call precede the task.
func TestTaskAfterRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &asksFirst{worker{work: func(context.Context) (*mcp.CallToolResult, error) {
			return text("done"),
				nil
		}}}
		p := connect(t, httpTransport, mcp.Version20260728, mcpserver.New(source, nil), taskCaps)
		first := p.round("tools/call", `"name":"work"`, "", "")
		if got := first.keys(); got != "asks input-1" {
			t.Fatal(got)
		}
		second := p.round("tools/call", `"name":"work"`, `{"input-1":`+accept+`}`, first.State)
		if got := taskOf(t, json.RawMessage(second.raw)); got.Type != "task" {
			t.Errorf("answered %s", second.raw)
		}
	})
}

type asksFirst struct{ worker }

func (a *asksFirst) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if err := mcp.RequestFrom(ctx).RequireTasks(); err != nil {
		return nil, err
	}
	if _, err := askName(ctx, mcp.RequestFrom(ctx)); err != nil {
		return nil, err
	}
	return a.worker.CallTool(ctx, p)
}

// A cancelled task has the final state immediately, even if its work continues;
// afterwards it cannot change or ask.
func TestTaskCancel(t *testing.T) {
	onTransports(t, func(t *testing.T, transport string) {
		release, finish := make(chan struct{}), make(chan struct{})
		ended := make(chan error, 2)
		w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			<-release
			_, err := askName(ctx, mcp.RequestFrom(ctx))
			ended <- err
			<-finish
			return text("too late"), nil
		}}
		p := connectWorker(t, transport, w, nil)
		id := p.begin().ID
		p.wantAck("tasks/cancel", id, "")
		if got := p.get(id); got.Status != mcpserver.TaskCancelled {
			t.Errorf("cancelled, it is %s", got.Status)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("its context ended with %v", err)
		}
		close(release)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("its question ended with %v", err)
		}
		for _, when := range []string{"while it goes on", "in the end"} {
			p.wantAck("tasks/cancel", id, "")
			p.wantAck("tasks/update", id, `"inputResponses":{}`)
			if got := p.get(id); got.Status != mcpserver.TaskCancelled {
				t.Errorf("%s it is %s", when, got.Status)
			}
			if when == "while it goes on" {
				close(finish)
				synctest.Wait()
			}
		}
	})
	t.Run("while it asks", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
				_, err := askName(ctx, mcp.RequestFrom(ctx))
				ended <- err
				return nil, err
			}}
			p := connectWorker(t, httpTransport, w, nil)
			id := p.begin().ID
			p.wantAck("tasks/cancel", id, "")
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("its question ended with %v", err)
			}
			if got := p.get(id); got.Status != mcpserver.TaskCancelled {
				t.Errorf("it is %s", got.Status)
			}
		})
	})
}

// The request that started a task ends with its answer: neither a disconnect nor a
// cancellation of the request affects the task.
func TestTaskOutlivesItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := &worker{work: func(ctx context.Context) (*mcp.CallToolResult, error) {
			<-release
			return text("done"), ctx.Err()
		}}
		server := mcpserver.New(w, nil)
		p := connect(t, stdioTransport, mcp.Version20260728, server, taskCaps)
		id := p.begin().ID
		p.call(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
		p.close()
		close(release)
		synctest.Wait()
		if got := connect(t, httpTransport, mcp.Version20260728, server, taskCaps).get(id); got.Status !=
			mcpserver.TaskCompleted {
			t.Errorf("it is %s", got.Status)
		}
	})
}

// After its TTL a task is cancelled and deleted.
func TestTaskExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Duration, 1)
		w := &worker{
			opts: &mcp.TaskOptions{TTL: time.Minute, PollInterval: 5 * time.Second},
			work: func(ctx context.Context) (*mcp.CallToolResult, error) {
				began := time.Now()
				<-ctx.Done()
				ended <- time.Since(began)
				return nil, ctx.Err()
			},
		}
		p := connectWorker(t, httpTransport, w, nil)
		begun := p.begin()
		if *begun.TTL != 60_000 || *begun.Poll != 5000 {
			t.Errorf("ttl %d, poll %d", *begun.TTL, *begun.Poll)
		}
		time.Sleep(59 * time.Second)
		if got := p.get(begun.ID); got.Status != mcpserver.TaskWorking {
			t.Errorf("before its time it is %s", got.Status)
		}
		time.Sleep(2 * time.Second)
		if got := <-ended; got != time.Minute {
			t.Errorf("its context ended after %v", got)
		}
		if got := p.task("tasks/get", begun.ID, ""); got.Error == nil || got.Error.Code != badParams {
			t.Errorf("after its time: %s", got.Result)
		}
	})
}

// A client that starts more tasks than allowed loses its oldest one. Work that does not
// end when it is cancelled still counts.
func TestRunningTasksAreLimited(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf=%v", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testRunningTasksAreLimited(t, deaf) })
		})
	}
}

func testRunningTasksAreLimited(t *testing.T, deaf bool) {
	release := make(chan struct{})
	w := &worker{opts: &mcp.TaskOptions{TTL: time.Minute}, work: func(ctx context.Context) (*mcp.CallToolResult,
		error) {
		if deaf {
			<-release
			return text("done"), nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	server := mcpserver.New(w, &mcpserver.Options{Tasks: mcpserver.TaskOptions{Max: 2}})
	b := &browser{handler: server.HTTPHandler(nil)}
	start := func() *response { return b.post(t, withTasks(modern("tools/call", `"name":"work"`))) }
	oldest := taskOf(t, json.RawMessage(start().result))
	second := taskOf(t, json.RawMessage(start().result))
	third := start()
	if refused := third.code == mcp.CodeToolBusy; refused != deaf {
		t.Errorf("a third task: %s", third.body)
	}
	synctest.Wait()
	state := func(id string) string {
		return taskOf(t, json.RawMessage(b.post(t, withTasks(modern("tasks/get", `"taskId":"`+id+`"`))).result)).Status
	}
	if got := state(oldest.ID); got != mcpserver.TaskFailed {
		t.Errorf("the oldest is %s, want failed", got)
	}
	if got := state(second.ID); got != mcpserver.TaskWorking {
		t.Errorf("the second is %s, want working", got)
	}
	close(release)
	synctest.Wait()
	if again := start(); again.code != 0 {
		t.Errorf("later: %s", again.body)
	}
	_ = server.Shutdown(t.Context())
}

func withTasks(request string) string {
	return strings.Replace(request, `clientCapabilities":{}`, `clientCapabilities":`+taskCaps, 1)
}

// Ids cannot be guessed, and are useless to others.
func TestTaskBelongsToItsPrincipal(t *testing.T) {
	b := newBrowser(&worker{work: func(context.Context) (*mcp.CallToolResult, error) { return text("done"), nil }}, nil)
	as := func(principal, method, members string) *response {
		b.principal = principal
		return b.post(t,
			strings.Replace(modern(method, members), `clientCapabilities":{}`, `clientCapabilities":`+taskCaps, 1))
	}
	seen := make(map[string]bool)
	for range 100 {
		id := taskOf(t, json.RawMessage(as("ann", "tools/call", `"name":"work"`).result)).ID
		if seen[id] || len(id) < 22 {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			for _, thief := range []string{"bob", ""} {
				if got := as(thief, method, `"taskId":"`+id+`"`); got.code != badParams {
					t.Fatalf("%s as %q: %s", method, thief, got.body)
				}
			}
		}
		if got := as("ann", "tasks/get", `"taskId":"`+id+`"`); got.code != 0 {
			t.Fatalf("as its owner: %s", got.body)
		}
	}
}

// shaky is a store that fails on demand.
type shaky struct {
	mu       sync.Mutex
	records  map[string]mcpserver.TaskRecord
	put, get error
}

func (s *shaky) PutTask(_ context.Context, r mcpserver.TaskRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.put == nil {
		s.records[r.ID] = r
	}
	return s.put
}

func (s *shaky) GetTask(_ context.Context, id string) (mcpserver.TaskRecord, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	return r, ok, s.get
}

func (s *shaky) fail(put, get error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put, s.get = put, get
}

// A task only exists once it is stored. Errors of the store are not shown to clients.
func TestTaskStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret := errors.New("dial 10.0.0.9: refused")
		store := &shaky{records: make(map[string]mcpserver.TaskRecord)}
		ran := 0
		release := make(chan struct{})
		w := &worker{opts: &mcp.TaskOptions{TTL: time.Hour}, work: func(context.Context) (*mcp.CallToolResult, error) {
			ran++
			<-release
			return text("done"), nil
		}}
		p := connectWorker(t, httpTransport, w, &mcpserver.Options{Tasks: mcpserver.TaskOptions{Store: store}})
		store.fail(secret, nil)
		got := messages(t, p.call(workCall), 1)[0]
		if ran != 0 ||
			got.Error == nil ||
			got.Error.Code != mcp.CodeInternalError ||
			strings.Contains(got.Error.Message, "10.0.0.9") {
			t.Errorf("not stored: ran %d times, answered %s %v", ran, got.Result, got.Error)
		}
		store.fail(nil, nil)
		id := p.begin().ID
		if record := store.records[id]; record.Status != mcpserver.TaskWorking || record.TTL != time.Hour {
			t.Errorf("stored as %+v", record)
		}
		store.fail(nil, secret)
		if got := p.task("tasks/get", id, ""); got.Error == nil ||
			got.Error.Code != mcp.CodeInternalError ||
			strings.Contains(got.Error.Message, "10.0.0.9") {
			t.Errorf("not readable: %s %v", got.Result, got.Error)
		}
		store.fail(secret, nil) // the end cannot be stored: nothing else fails
		close(release)
		synctest.Wait()
		store.fail(nil, nil)
		if got := p.get(id); got.Status != mcpserver.TaskWorking {
			t.Errorf("it is %s, though that could not be stored", got.Status)
		}
		p.begin()
	})
}
