package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

// hoard is a Source whose clients can make the server retain every kind of state.
type hoard struct{ mcp.Unimplemented }

func (hoard) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "hoard", Version: "1"},
		Tools:     []mcp.Tool{{Name: "make"}, {Name: "wait"}, {Name: "ask"}, {Name: "stream"}},
		Resources: []mcp.Resource{{URI: "x://1", Name: "one"}},
		Subscribe: true,
		Tasks:     true,
	}, nil
}

func (hoard) Watch(func(mcp.Change)) (stop func()) { return func() {} }

func (hoard) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var arguments struct{ Size int }
	_ = json.Unmarshal(p.Arguments, &arguments)
	r := mcp.RequestFrom(ctx)
	switch p.Name {
	case "ask":
		_, err := r.Roots(ctx)
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("asked")}}, err
	case "stream":
		r.Progress(1, 2, strings.Repeat("p", arguments.Size))
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("streamed")}}, nil
	}
	return r.Task(ctx, nil, func(ctx context.Context) (*mcp.CallToolResult, error) {
		if p.Name == "wait" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(strings.Repeat("r", arguments.Size))}}, nil
	})
}

// estate is a served hoard with clients of several names.
type estate struct {
	url     string
	handler *serve.Handler
	clients []*tenant
}

// tenant is a client: the holder of a token, or an address.
type tenant struct {
	url, token string
	dialer     net.Dialer
	http       *http.Client
}

// newEstate serves three clients on a real listener, distinguished by tokens or by the
// addresses that they connect from.
func newEstate(t *testing.T, byAddress bool, opts server.Options) *estate {
	t.Helper()
	o := &serve.Options{Server: opts}
	tokens := []string{strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)}
	if !byAddress {
		list, err := serve.NewTokens(
			serve.Token{Name: "alice", Token: tokens[0]},
			serve.Token{Name: "bob", Token: tokens[1]},
			serve.Token{Name: "carol", Token: tokens[2]},
		)
		if err != nil {
			t.Fatal(err)
		}
		o.Auth = &serve.Auth{Verifiers: []serve.Verifier{list}}
	}
	e := &estate{handler: serve.NewHandler(hoard{}, o)}
	site := httptest.NewServer(e.handler)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.handler.Shutdown(ctx)
		site.CloseClientConnections()
		site.Close()
	})
	e.url = site.URL
	for i := range 3 {
		c := &tenant{url: site.URL, token: tokens[i]}
		if byAddress {
			c.token = ""
			c.dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(i+1))}
			conn, err := c.dialer.Dial("tcp", strings.TrimPrefix(site.URL, "http://"))
			if err != nil {
				t.Skipf("this system has one loopback address: %v", err)
			}
			_ = conn.Close()
		}
		transport := &http.Transport{DialContext: c.dialer.DialContext}
		t.Cleanup(transport.CloseIdleConnections)
		c.http = &http.Client{Transport: transport}
		e.clients = append(e.clients, c)
	}
	return e
}

func onEstates(t *testing.T, opts server.Options, f func(t *testing.T, e *estate)) {
	for _, byAddress := range []bool{false, true} {
		t.Run(map[bool]string{false: "tokens", true: "addresses"}[byAddress], func(t *testing.T) {
			f(t, newEstate(t, byAddress, opts))
		})
	}
}

// reply is an HTTP response, read.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r *reply) code() int {
	var m struct{ Error struct{ Code int } }
	_ = json.Unmarshal([]byte(r.body), &m)
	return m.Error.Code
}

func (c *tenant) request(method, body, session string) *http.Request {
	r, _ := http.NewRequest(method, c.url+"/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return r
}

func (c *tenant) do(t *testing.T, r *http.Request) *reply {
	t.Helper()
	got, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &reply{got.StatusCode, got.Header, string(text)}
}

func (c *tenant) post(t *testing.T, body, session string) *reply {
	t.Helper()
	return c.do(t, c.request(http.MethodPost, body, session))
}

// initialize starts a session and returns its id.
func (c *tenant) initialize(t *testing.T, clientInfo string) string {
	t.Helper()
	got := c.post(t,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
			`"capabilities":{"roots":{}},"clientInfo":`+
			clientInfo+
			`}}`,
		"")
	id := got.header.Get("Mcp-Session-Id")
	if got.status != 200 || id == "" {
		t.Fatalf("initialize: status %d\n%.300s", got.status, got.body)
	}
	return id
}

const plainInfo = `{"name":"tester","version":"1"}`

func (c *tenant) alive(t *testing.T, session string) bool {
	t.Helper()
	return c.post(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, session).status == 200
}

// modern returns a request of 2026-07-28 by a client that supports tasks.
func (c *tenant) modern(method, name, members string) *http.Request {
	r := c.request(http.MethodPost, `{"jsonrpc":"2.0","id":3,"method":"`+method+`","params":{`+members+
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, "")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	return r
}

// start starts a task and returns its id, or "" if it is refused as busy.
func (c *tenant) start(t *testing.T, tool string, size int) string {
	t.Helper()
	got := c.do(t, c.modern("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{"size":%d}`, tool, size)))
	var m struct{ Result struct{ TaskID string } }
	_ = json.Unmarshal([]byte(got.body), &m)
	if m.Result.TaskID == "" && got.code() != int(mcp.CodeToolBusy) {
		t.Fatalf("start a task: %d %.300s", got.status, got.body)
	}
	return m.Result.TaskID
}

// state returns the status of a task once it is no longer passing, or "gone".
func (c *tenant) state(t *testing.T, id, passing string) string {
	t.Helper()
	for {
		got := c.do(t, c.modern("tasks/get", id, `"taskId":"`+id+`"`))
		var m struct{ Result struct{ Status string } }
		_ = json.Unmarshal([]byte(got.body), &m)
		switch m.Result.Status {
		case "":
			return "gone"
		case passing:
			runtime.Gosched()
		default:
			return m.Result.Status
		}
	}
}

// stream opens an event stream and returns a channel that is closed with it.
func (c *tenant) stream(t *testing.T, r *http.Request) <-chan struct{} {
	t.Helper()
	got, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = got.Body.Close() })
	if got.StatusCode != 200 {
		text, _ := io.ReadAll(got.Body)
		t.Fatalf("stream: status %d\n%s", got.StatusCode, text)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, got.Body)
		close(ended)
	}()
	return ended
}

// raw opens an event stream and keeps only its connection, unlike [http.Client], which
// keeps the request.
func (c *tenant) raw(t *testing.T, r *http.Request) {
	t.Helper()
	conn, err := c.dialer.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1000)
	n, _ := conn.Read(answer)
	if !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 ")) {
		t.Fatalf("stream: %s", answer[:n])
	}
}

func isOpen(stream <-chan struct{}) bool {
	select {
	case <-stream:
		return false
	default:
		return true
	}
}

// metric returns the value of a sample of /metrics.
func (c *tenant) metric(t *testing.T, sample string) float64 {
	t.Helper()
	r := c.request(http.MethodGet, "", "")
	r.URL.Path = "/metrics"
	for line := range strings.Lines(c.do(t, r).body) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), sample+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /metrics", sample)
	return 0
}

// retained returns by how many bytes the heap has grown after f. A connection of f that is closed keeps its last
// request until its goroutines have ended, which takes a moment: the heap is read again for some seconds while it is
// above limit.
func retained(limit int64, f func()) int64 {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := heap()
	f()
	for late := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if got := heap() - before; got <= limit || time.Now().After(late) {
			return got
		}
	}
}

// A client cannot make the server retain its requests.
func TestRetainedBytes(t *testing.T) {
	race.SkipLong(t)
	const n, large = 30, 4_000_000
	info := `{"name":"` + strings.Repeat("n", large/2) + `","x":{"y":"` + strings.Repeat("z", large/2-100) +
		`"},"version":"1"}`
	uri := strings.Repeat("u", large)
	budget := server.Budget{Bytes: 32 << 20}
	for _, c := range []struct {
		name  string
		limit int64
		once  func(t *testing.T, c *tenant, session string, i int)
	}{
		{"initialize", 2 << 20, func(t *testing.T, c *tenant, _ string, _ int) { c.initialize(t, info) }},
		{"capabilities", 2 << 20, func(t *testing.T, c *tenant, _ string, _ int) {
			half := `{"name":"` + strings.Repeat("n", large/2-1000) + `","version":"1"}`
			got := c.post(t,
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":`+half+
					`,"clientInfo":`+half+`}}`,
				"")
			if got.status != 200 {
				t.Errorf("status %d", got.status)
			}
		}},
		{"subscribe", 1 << 20, func(t *testing.T, c *tenant, session string, i int) {
			got := c.post(t,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://%d/%s"}}`, i,
					uri),
				session)
			if got.code() != int(mcp.CodeInvalidParams) {
				t.Errorf("URI of 4 MB: %.200s", got.body)
			}
		}},
		{"subscribe beside a large member", 1 << 20, func(t *testing.T, c *tenant, session string, i int) {
			got := c.post(t,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://%d","x":"%s"}}`,
					i, uri[:large-1000]),
				session)
			if got.code() != 0 {
				t.Errorf("subscribe: %.200s", got.body)
			}
		}},
		{"listen", 4 << 20, func(t *testing.T, c *tenant, _ string, i int) {
			c.raw(t,
				c.modern("subscriptions/listen", "",
					fmt.Sprintf(`"notifications":{"resourceSubscriptions":["x://%d"]},"x":"%s"`, i, uri[:large-1000])))
		}},
		{"finished tasks", 12 << 20, func(t *testing.T, c *tenant, _ string, _ int) {
			if id := c.start(t, "make", large); id != "" {
				c.state(t, id, "working")
			}
		}},
		{"running tasks", 12 << 20, func(t *testing.T, c *tenant, _ string, _ int) {
			c.do(t, c.modern("tools/call", "wait", `"name":"wait","arguments":{"x":"`+uri[:large-1000]+`"}`))
		}},
		{"replay", 12 << 20, func(t *testing.T, c *tenant, _ string, _ int) {
			session := c.initialize(t, plainInfo)
			for range 8 {
				c.post(t,
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stream",`+
						`"arguments":{"size":900000},"_meta":{"progressToken":1}}}`,
					session)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEstate(t, false, server.Options{Budget: budget})
			alice := e.clients[0]
			session := alice.initialize(t, plainInfo)
			got := retained(c.limit, func() {
				for i := range n {
					c.once(t, alice, session, i)
				}
				alice.alive(t, session) // otherwise its connection still refers to the last request
				alice.http.CloseIdleConnections()
			})
			if got > c.limit {
				t.Errorf("%d times retain %d KiB, want at most %d", n, got>>10, c.limit>>10)
			}
			if kept := alice.metric(t, "mcp_server_kept_limit_bytes"); kept != 32<<20 {
				t.Errorf("limit %v", kept)
			}
		})
	}
}

// A call whose client disconnected while it was asked a question counts, too.
func TestRetainedQuestions(t *testing.T) {
	race.SkipLong(t)
	e := newEstate(t, false, server.Options{Budget: server.Budget{Bytes: 32 << 20}})
	alice := e.clients[0]
	session := alice.initialize(t, plainInfo)
	padding := strings.Repeat("q", 3_900_000)
	const limit = 16 << 20
	got := retained(limit, func() {
		for i := range 40 {
			r := alice.request(http.MethodPost,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask",`+
					`"arguments":{"x":%q}}}`,
					i+10, padding),
				session)
			answer, err := alice.http.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = bufio.NewReader(answer.Body).ReadString('\n') // the question, or the error that there is no room
			_ = answer.Body.Close()
		}
		alice.http.CloseIdleConnections()
	})
	if got > limit {
		t.Errorf("40 questions retain %d KiB", got>>10)
	}
	if shed := alice.metric(t, `mcp_server_shed_total{kind="question"}`); shed == 0 {
		t.Error("none was given up")
	}
}

// One client cannot make the server drop the sessions of another.
func TestSessionsOfOthersStay(t *testing.T) {
	onEstates(t, server.Options{MaxSessions: 400}, func(t *testing.T, e *estate) {
		alice, bob := e.clients[0], e.clients[1]
		theirs := bob.initialize(t, plainInfo)
		var own []string
		for range 1000 {
			own = append(own, alice.initialize(t, plainInfo))
		}
		if !bob.alive(t, theirs) {
			t.Error("bob has lost his session")
		}
		for i, id := range own {
			if got, want := alice.alive(t, id), i >= len(own)-100; got != want {
				t.Fatalf("session %d of alice is kept: %v, want %v", i, got, want)
			}
		}
		if got := bob.metric(t, `mcp_server_kept{kind="session"}`); got != 101 {
			t.Errorf("%v sessions, want 101", got)
		}
		if got := bob.metric(t, `mcp_server_shed_total{kind="session"}`); got != 900 {
			t.Errorf("%v were given up, want 900", got)
		}
	})
}

// Finished tasks of one client leave room for those of another.
func TestTasksOfOthersStay(t *testing.T) {
	opts := server.Options{Tasks: server.TaskOptions{Max: 400}, Budget: server.Budget{FinishedTasks: 400}}
	onEstates(t, opts, func(t *testing.T, e *estate) {
		alice, bob := e.clients[0], e.clients[1]
		theirs := bob.start(t, "make", 1)
		bob.state(t, theirs, "working")
		for range 1000 {
			if alice.start(t, "make", 1) == "" {
				t.Fatal("alice is refused, instead of losing her oldest")
			}
		}
		if got := bob.state(t, theirs, "working"); got != "completed" {
			t.Errorf("bob's task is %s", got)
		}
		if id := bob.start(t, "make", 1); id == "" || bob.state(t, id, "working") != "completed" {
			t.Error("bob cannot run a task")
		}
		first := bob.start(t, "wait", 0)
		var running []string
		for range 150 {
			running = append(running, alice.start(t, "wait", 0))
		}
		if got := bob.state(t, first, ""); got != "working" {
			t.Errorf("bob's running task is %s", got)
		}
		if got := alice.state(t, running[149], ""); got != "working" {
			t.Errorf("alice's last task is %s", got)
		}
		if got := alice.state(t, running[0], "working"); got != "failed" {
			t.Errorf("alice's first task is %s, want failed", got)
		}
	})
}

// Streams of one client leave room for those of another, for each kind of stream.
func TestStreamsOfOthersStay(t *testing.T) {
	opts := server.Options{Budget: server.Budget{Streams: 400, Connections: 400, Subscriptions: 400}}
	onEstates(t, opts, func(t *testing.T, e *estate) {
		alice, bob := e.clients[0], e.clients[1]
		listen := func(c *tenant) <-chan struct{} {
			return c.stream(t, c.modern("subscriptions/listen", "",
				`"notifications":{"resourceSubscriptions":["x://1"]}`))
		}
		get := func(c *tenant) <-chan struct{} {
			return c.stream(t, c.request(http.MethodGet, "", c.initialize(t, plainInfo)))
		}
		theirs := []<-chan struct{}{listen(bob), get(bob)}
		var own []<-chan struct{}
		for range 60 {
			own = append(own, listen(alice), get(alice))
		}
		<-own[0] // 120 are 20 too many
		<-own[19]
		for i, s := range theirs {
			if !isOpen(s) {
				t.Errorf("stream %d of bob has ended", i)
			}
		}
		if !isOpen(own[20]) || !isOpen(own[119]) {
			t.Error("alice has lost a stream within her share")
		}
	})
}

// WebSockets of one client leave room for those of another.
func TestConnectionsOfOthersStay(t *testing.T) {
	onEstates(t, server.Options{Budget: server.Budget{Connections: 400}}, func(t *testing.T, e *estate) {
		dial := func(c *tenant) *ws.Conn {
			t.Helper()
			header := http.Header{}
			if c.token != "" {
				header.Set("Authorization", "Bearer "+c.token)
			}
			transport := &http.Transport{DialContext: c.dialer.DialContext}
			conn, err := ws.Dial(t.Context(), strings.Replace(e.url, "http", "ws", 1)+"/ws", &ws.DialOptions{
				Header: header,
				Client: &http.Client{Transport: transport},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		serves := func(conn *ws.Conn) bool {
			if conn.WriteMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)) != nil {
				return false
			}
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			_, err := conn.ReadMessage(ctx)
			return err == nil
		}
		theirs := dial(e.clients[1])
		var own []*ws.Conn
		for range 110 {
			conn := dial(e.clients[0])
			if !serves(conn) { // an answer shows that the server has counted it
				t.Fatal("a new connection is not served")
			}
			own = append(own, conn)
		}
		if !serves(own[109]) || !serves(own[10]) || !serves(theirs) {
			t.Error("a connection within its share has ended")
		}
		for _, conn := range own[:10] {
			for late := time.Now().Add(30 * time.Second); serves(conn); { // until it is closed
				if time.Now().After(late) {
					t.Fatal("the oldest connections are still served")
				}
				runtime.Gosched()
			}
		}
	})
}

// When the total is exhausted, the client that uses the most makes room.
func TestHeaviestMakesRoom(t *testing.T) {
	opts := server.Options{Budget: server.Budget{Bytes: 10 << 20, ClientBytes: 8 << 20}}
	onEstates(t, opts, func(t *testing.T, e *estate) {
		alice, bob, carol := e.clients[0], e.clients[1], e.clients[2]
		task := func(c *tenant, size int) string {
			id := c.start(t, "make", size)
			c.state(t, id, "working")
			return id
		}
		small := task(bob, 1_000_000)
		var own []string
		for range 7 {
			own = append(own, task(alice, 1_000_000))
		}
		late := []string{task(carol, 1_000_000), task(carol, 1_000_000), task(carol, 1_000_000)}
		for _, c := range []struct {
			client *tenant
			id     string
			want   string
		}{
			{bob, small, "completed"}, {carol, late[0], "completed"}, {carol, late[2], "completed"},
			{alice, own[0], "gone"}, {alice, own[6], "completed"},
		} {
			if got := c.client.state(t, c.id, "working"); got != c.want {
				t.Errorf("task of %s: %s, want %s", c.client.token, got, c.want)
			}
		}
		huge := bob.start(t, "make", 9<<20) // more than the share of a client
		if got := bob.state(t, huge, "working"); got != "failed" {
			t.Errorf("a result that does not fit: %s", got)
		}
		if got := bob.state(t, small, "working"); got != "completed" {
			t.Errorf("for it bob has lost the other one: %s", got)
		}
	})
}

// What does not fit is refused in a way that makes the client retry.
func TestNoRoomAtAll(t *testing.T) {
	e := newEstate(t, false, server.Options{Budget: server.Budget{Bytes: 100, ClientBytes: 100}})
	for _, c := range e.clients {
		got := c.post(t,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
				`"capabilities":{},"clientInfo":`+
				plainInfo+
				`}}`,
			"")
		if got.status != 503 ||
			got.header.Get("Retry-After") != "1" ||
			got.code() != int(mcp.CodeToolBusy) ||
			got.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("initialize: %d %v %s", got.status, got.header, got.body)
		}
		if got := c.do(t,
			c.modern("subscriptions/listen", "", `"notifications":{}`)); got.status != 503 ||
			got.code() != int(mcp.CodeToolBusy) {
			t.Errorf("subscriptions/listen: %d %s", got.status, got.body)
		}
		if got := c.start(t, "make", 1); got != "" {
			t.Error("a task runs")
		}
		if got := c.post(t, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, ""); got.status != 200 {
			t.Errorf("a request that keeps nothing: %d", got.status)
		}
	}
	if got := e.clients[0].metric(t, `mcp_server_kept_refused_total{kind="session"}`); got != 3 {
		t.Errorf("%v refusals", got)
	}
}

// A cancelled call gets a response that clients accept: the TypeScript SDK reports every
// response other than 202, an event stream or JSON as an error.
func TestCancelledCall(t *testing.T) {
	for _, c := range []struct{ accept, contentType, body string }{
		{"application/json, text/event-stream", "text/event-stream", ``},
		{"application/json", "application/json", `"error":`},
	} {
		t.Run(c.accept, func(t *testing.T) {
			src := newSource()
			site := httptest.NewServer(serve.NewHandler(src, nil))
			defer site.Close()
			client := &tenant{url: site.URL, http: site.Client()}
			session := client.initialize(t, plainInfo)
			answer := make(chan *reply, 1)
			go func() {
				r := client.request(http.MethodPost,
					`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`, session)
				r.Header.Set("Accept", c.accept)
				answer <- client.do(t, r)
			}()
			<-src.entered
			client.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, session)
			got := <-answer
			if got.status != 200 ||
				got.header.Get("Content-Type") != c.contentType ||
				!strings.Contains(got.body, c.body) ||
				c.body == "" && got.body != "" {
				t.Errorf("status %d, %s, %q", got.status, got.header.Get("Content-Type"), got.body)
			}
		})
	}
}

// When a session ends during a call, the call is still answered.
func TestSessionEndsUnderCall(t *testing.T) {
	src := newSource()
	site := httptest.NewServer(serve.NewHandler(src, nil))
	defer site.Close()
	client := &tenant{url: site.URL, http: site.Client()}
	session := client.initialize(t, plainInfo)
	answer := make(chan *reply, 1)
	go func() {
		answer <- client.post(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}`, session)
	}()
	<-src.entered
	client.do(t, client.request(http.MethodDelete, "", session))
	if got := <-answer; got.status != 404 || !strings.Contains(got.body, "the session has ended") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

// Unreadable bodies are refused with the status for the reason.
func TestUnreadableBodies(t *testing.T) {
	site := httptest.NewUnstartedServer(serve.NewHandler(newSource(), nil))
	site.Config.ReadTimeout = 50 * time.Millisecond
	site.Start()
	defer site.Close()
	client := &tenant{url: site.URL, http: site.Client()}
	r := client.request(http.MethodPost, "\x1f\x8b", "")
	r.Header.Set("Content-Encoding", "gzip")
	if got := client.do(t, r); got.status != 415 || got.header.Get("Accept-Encoding") != "identity" {
		t.Errorf("gzip: status %d, Accept-Encoding %q", got.status, got.header.Get("Accept-Encoding"))
	}
	for _, length := range []int{90, 900_000} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(site.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn,
			"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", length)
		text, _ := io.ReadAll(conn)
		_ = conn.Close()
		if !bytes.HasPrefix(text, []byte("HTTP/1.1 408 ")) || !bytes.Contains(text, []byte("Connection: close")) {
			t.Errorf("a body of %d bytes that stops: %.100s", length, text)
		}
	}
	for version, want := range map[string]string{"2026-07-28": "POST, OPTIONS", "": "POST, DELETE, OPTIONS"} {
		r := client.request(http.MethodGet, "", "")
		r.Header.Set("MCP-Protocol-Version", version)
		if got := client.do(t, r); got.status != 405 || got.header.Get("Allow") != want {
			t.Errorf("GET in %q: status %d, Allow %q, want %q", version, got.status, got.header.Get("Allow"), want)
		}
	}
}

// A batch answered as an event stream delivers each answer when it is ready.
func TestBatchStreams(t *testing.T) {
	src := newSource()
	site := httptest.NewServer(serve.NewHandler(src, nil))
	defer site.Close()
	client := &tenant{url: site.URL, http: site.Client()}
	r := client.request(http.MethodPost,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call",`+
			`"params":{"name":"slow"}}]`,
		"")
	r.Header.Set("Accept", "text/event-stream, application/json")
	r.Header.Set("MCP-Protocol-Version", "2025-03-26")
	got, err := client.http.Do(r) // returns once the header has arrived, with the first answer
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if !regexp.MustCompile(`"id":1\b`).MatchString(lines.Text()) {
		t.Errorf("first: %q", lines.Text())
	}
	<-src.entered
	src.release <- struct{}{}
	rest, _ := io.ReadAll(got.Body)
	_ = rest
	for lines.Scan() {
		rest = append(rest, lines.Bytes()...)
	}
	if !bytes.Contains(rest, []byte("done")) {
		t.Errorf("then: %s", rest)
	}
}
