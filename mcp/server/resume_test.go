package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// steps is a Source whose tool runs functions of the test.
type steps struct {
	mcp.Unimplemented
	step chan func(*mcp.Request) // closed: the tool returns
}

func newSteps() *steps { return &steps{step: make(chan func(*mcp.Request))} }

func (s *steps) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:  mcp.Implementation{Name: "steps", Version: "1"},
		Tools:   []mcp.Tool{{Name: "walk"}},
		Logging: true,
	}, nil
}

func (s *steps) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	for f := range s.step {
		f(mcp.RequestFrom(ctx))
	}
	return text("arrived"), nil
}

func say(what string) func(*mcp.Request) {
	return func(r *mcp.Request) { r.Log(mcp.LogError, "", what) }
}

// eventStream is one response, while it arrives.
type eventStream struct {
	body   lockedBuffer
	header http.Header
	status int
	done   chan struct{}
	leave  context.CancelFunc
}

func (s *eventStream) Header() http.Header         { return s.header }
func (s *eventStream) WriteHeader(status int)      { s.status = status }
func (s *eventStream) Write(b []byte) (int, error) { return s.body.Write(b) }
func (s *eventStream) Flush()                      {}

// came returns everything that has arrived since the last call, after waiting until the
// server is idle.
func (s *eventStream) came() string {
	time.Sleep(time.Millisecond) // until a slow request no longer blocks others
	synctest.Wait()
	return s.body.take()
}

// end disconnects, and waits until the server has noticed.
func (s *eventStream) end() {
	s.leave()
	<-s.done
}

func (s *eventStream) over() bool {
	synctest.Wait()
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// openStream sends a request of a session, with additional header fields, and returns its
// response while it arrives.
func (b *browser) openStream(t *testing.T, method, body string, fields ...string) *eventStream {
	t.Helper()
	s := &eventStream{header: make(http.Header), status: 200, done: make(chan struct{})}
	var ctx context.Context
	ctx, s.leave = context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	r.Header = clientHeader(body)
	r.Header.Set("Mcp-Session-Id", b.session)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Set(name, value)
	}
	go func() {
		b.handler.ServeHTTP(s, r)
		close(s.done)
	}()
	synctest.Wait()
	return s
}

func (b *browser) openVersion(t *testing.T, v mcp.Version) *browser {
	t.Helper()
	opened := &browser{handler: b.handler}
	opened.session = opened.post(t, strings.Replace(initRequest, "2025-06-18", v.String(), 1)).header.Get("Mcp-Session-Id")
	opened.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return opened
}

const walk = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"walk"}}`

func logEvent(id, what string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return id + `event: message` + "\n" +
		`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"` + what + `"}}` + "\n\n"
}

func arrival(id string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return id + `event: message` + "\n" +
		`data: {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"arrived"}],"isError":false}}` + "\n\n"
}

// Which versions have events with ids, and which versions start streams with one.
func TestEventIDs(t *testing.T) {
	for _, c := range []struct {
		version mcp.Version
		want    string
	}{
		{mcp.Version20241105, logEvent("", "a") + arrival("")},
		{mcp.Version20250326, logEvent("1-1", "a") + arrival("1-2")},
		{mcp.Version20250618, logEvent("1-1", "a") + arrival("1-2")},
		{mcp.Version20251125, "id: 1-1\ndata: \n\n" + logEvent("1-2", "a") + arrival("1-3")},
	} {
		t.Run(c.version.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newSteps()
				stream := newBrowser(source, nil).openVersion(t, c.version).openStream(t, "POST", walk)
				source.step <- say("a")
				close(source.step)
				if got := stream.came(); got != c.want || !stream.over() {
					t.Errorf("came %s, want %s", got, c.want)
				}
			})
		})
	}
	t.Run("2026-07-28", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source := newSteps()
			body := strings.Replace(modern("tools/call", `"name":"walk"`), `"_meta":{`,
				`"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1)
			stream := newBrowser(source, nil).openStream(t, "POST", body, "Last-Event-ID: 1-1")
			source.step <- say("a")
			close(source.step)
			if got := stream.came(); !strings.HasPrefix(got, "event: message\ndata: ") || strings.Contains(got, "id: ") {
				t.Errorf("came %s", got)
			}
		})
	})
}

// A client that has lost the response to a request can resume after the last event it has
// received, any number of times.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newSteps()
		b := newBrowser(source, nil).openVersion(t, mcp.Version20251125)
		first := b.openStream(t, "POST", walk)
		source.step <- say("a")
		if got := first.came(); got != "id: 1-1\ndata: \n\n"+logEvent("1-2", "a") {
			t.Fatalf("first came %s", got)
		}
		first.leave()
		source.step <- say("b")
		synctest.Wait()

		second := b.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 1-1")
		if got := second.came(); got != logEvent("1-2", "a")+logEvent("1-3", "b") {
			t.Errorf("behind 1-1 came %s", got)
		}
		source.step <- say("c")
		if got := second.came(); got != logEvent("1-4", "c") {
			t.Errorf("then came %s", got)
		}
		third := b.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 1-4")
		if !second.over() {
			t.Error("two responses carry one stream")
		}
		close(source.step)
		if got := third.came(); got != arrival("1-5") || !third.over() {
			t.Errorf("at the end came %s; over: %v", got, third.over())
		}
		again := b.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 1-3")
		if got := again.came(); got != logEvent("1-4", "c")+arrival("1-5") || !again.over() {
			t.Errorf("after the end came %s", got)
		}
		if !first.over() {
			t.Error("the first response does not end")
		}
	})
}

// Only the lost events of the named stream in the named session are sent again.
func TestResumeKeepsStreamsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newSteps()
		b := newBrowser(source, nil)
		mine, other := b.openVersion(t, mcp.Version20250618), b.openVersion(t, mcp.Version20250618)
		streams := []*eventStream{
			mine.openStream(t, "POST", walk),
			mine.openStream(t, "POST", strings.Replace(walk, `"id":3`, `"id":4`, 1)),
			other.openStream(t, "POST", walk),
		}
		logged := make(chan bool)
		for range 3 { // in any order
			source.step <- func(r *mcp.Request) {
				r.Log(mcp.LogError, "", string(r.Params()))
				logged <- true
			}
			<-logged
			synctest.Wait() // here, because it must not be called concurrently
		}
		close(source.step)
		for i, s := range streams {
			if !s.over() {
				t.Errorf("stream %d goes on", i)
			}
		}
		for _, id := range []string{"9-1", "1-99", "1--1", "-1-1", "x", "1", "", "1-1-1", "0-99"} {
			got := mine.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: "+id)
			if !got.over() || got.status != 400 {
				t.Errorf("Last-Event-ID %q: status %d, want 400", id, got.status)
			}
		}
		if got := other.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 2-0"); !got.over() ||
			got.status != 400 {
			t.Errorf("a stream of another session: status %d", got.status)
		}
	})
}

// The events kept for clients that may reconnect are limited.
func TestResumeIsBounded(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source := newSteps()
			b := newBrowser(source, nil).openVersion(t, mcp.Version20250618)
			stream := b.openStream(t, "POST", walk)
			stream.leave()
			for range 5 {
				source.step <- say(strings.Repeat("x", 300<<10))
			}
			close(source.step)
			synctest.Wait()
			for after, status := range map[int]int{0: 400, 1: 400, 2: 200, 5: 200} {
				got := b.openStream(t, "GET", "", "Accept: text/event-stream", fmt.Sprint("Last-Event-ID: 1-", after))
				if body := got.came(); got.status != status || status == 200 && strings.Count(body, "event: message") != 6-after {
					t.Errorf("behind event %d of 6: status %d with %d events, want %d",
						after, got.status, strings.Count(body, "event: message"), status)
				}
			}
		})
	})
	t.Run("streams", func(t *testing.T) {
		b := newBrowser(newDemo(), nil).openVersion(t, mcp.Version20250618)
		for range 20 {
			b.post(t, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"progress"}}`)
		}
		for stream, status := range map[int]int{1: 400, 4: 400, 5: 200, 20: 200} {
			if got := b.getAfter(t, fmt.Sprint(stream, "-1")); got.status != status {
				t.Errorf("stream %d of 20: status %d, want %d", stream, got.status, status)
			}
		}
	})
}

// chapters is a Source whose resources send a message before they are read.
type chapters struct{ *steps }

func (chapters) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Server: mcp.Implementation{Name: "chapters", Version: "1"}, Logging: true,
		Templates: []mcp.ResourceTemplate{{Name: "chapter", URITemplate: "book://{+chapter}"}}}, nil
}

func (chapters) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	mcp.RequestFrom(ctx).Log(mcp.LogError, "", "once upon a time")
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "book://x", Text: "the end"}}}, nil
}

// The names of the requests that a stream belongs to are kept with its events, so they count as well. If they do not
// fit, the stream works but cannot be resumed: nothing says who may.
func TestResumeCountsNames(t *testing.T) {
	read := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"book://%s%d"}}`,
			strings.Repeat("x", 8000), n)
	}
	const replay = 6
	for _, c := range []struct {
		name        string
		budget      mcpserver.Budget
		least, most int64 // bytes kept for 8 streams
		status      int
	}{
		{"within the budget", mcpserver.Budget{}, 8 * 8000, 8 * 9000, 200},
		{"beyond the budget", mcpserver.Budget{ClientBytes: 6000}, 0, 0, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := mcpserver.New(chapters{}, &mcpserver.Options{
				Budget: c.budget,
				Gate:   gateFunc(func(context.Context, mcpserver.Operation) error { return nil }),
			})
			b := (&browser{handler: server.HTTPHandler(nil)}).openVersion(t, mcp.Version20250618)
			for n := range 8 {
				got := b.post(t, read(n))
				if body := got.body; !strings.Contains(body, "once upon a time") || !strings.Contains(body, `"result"`) {
					t.Fatalf("stream %d: %s", n+1, body)
				}
			}
			kept := server.Stats().Kept[replay]
			if kept.Kind != "replay" || kept.Bytes < c.least || kept.Bytes > c.most {
				t.Errorf("%d bytes of %s are kept, want %d to %d of replay", kept.Bytes, kept.Kind, c.least, c.most)
			}
			if got := b.getAfter(t, "1-1"); got.status != c.status {
				t.Errorf("resuming the first stream: status %d, want %d: %s", got.status, c.status, got.body)
			}
			b.do(t, "DELETE", "")
			if kept := server.Stats().Kept[replay]; kept.Bytes != 0 {
				t.Errorf("%d bytes are kept after the session", kept.Bytes)
			}
		})
	}
}

func (b *browser) getAfter(t *testing.T, id string) *response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/mcp", nil)
	r.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {b.session}, "Last-Event-Id": {id}}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	return takeApart(t, w.Code, w.Header(), w.Body.Bytes())
}

// The stream for changes has ids, too. A session has only one: opening another closes it.
func TestNotificationStreamContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newNews()
		b := newBrowser(source, nil).openVersion(t, mcp.Version20251125)
		event := func(id, list string) string {
			return "id: " + id + "\nevent: message\n" + `data: {"jsonrpc":"2.0","method":"notifications/` + list +
				`/list_changed"}` + "\n\n"
		}
		first := b.openStream(t, "GET", "", "Accept: text/event-stream")
		source.tell(mcp.Change{Tools: true})
		if got := first.came(); got != "id: 0-1\ndata: \n\n"+event("0-2", "tools") {
			t.Errorf("first came %s", got)
		}
		if got := first.header; got.Get("Content-Type") != "text/event-stream" || got.Get("X-Accel-Buffering") != "no" {
			t.Errorf("header %v", got)
		}
		second := b.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 0-1")
		if got := second.came(); got != event("0-2", "tools") || !first.over() {
			t.Errorf("behind 0-1 came %s; the first is over: %v", got, first.over())
		}
		second.leave()
		synctest.Wait()
		source.tell(mcp.Change{Prompts: true})
		third := b.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 0-2")
		if got := third.came(); got != event("0-3", "prompts") {
			t.Errorf("on coming back came %s", got)
		}
		b.do(t, "DELETE", "")
		if !third.over() {
			t.Error("the stream outlives its session")
		}
	})
}

// Of several changes at once, none is lost if the connection turns out to be broken with the first. Before the first
// event, clients of versions that do not start a stream with one have no id to resume after.
func TestNotificationStreamBreaks(t *testing.T) {
	for version, id := range map[mcp.Version]string{mcp.Version20251125: "0-1", mcp.Version20250618: ""} {
		synctest.Test(t, func(t *testing.T) {
			source := newNews()
			b := newBrowser(source, nil).openVersion(t, version)
			r := httptest.NewRequest(http.MethodGet, "http://localhost/mcp", nil)
			r.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {b.session}}
			here, there := net.Pipe()
			go b.handler.ServeHTTP(&takenWriter{httptest.NewRecorder(), there}, r)
			in := bufio.NewReader(here)
			fields := []string{"Accept: text/event-stream"}
			last := "\r\n"
			if id != "" {
				fields = append(fields, "Last-Event-ID: "+id)
				last = "id: " + id + "\n"
			}
			for line := ""; line != last; {
				var err error
				if line, err = in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			_ = here.Close()
			source.tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
			synctest.Wait()
			next := b.openStream(t, "GET", "", fields...)
			got := next.came()
			for _, list := range []string{"tools", "resources", "prompts"} {
				if strings.Count(got, list+"/list_changed") != 1 {
					t.Errorf("%v: the change of the %s is lost; received %s", version, list, got)
				}
			}
			another := b.openStream(t, "GET", "", "Accept: text/event-stream")
			if got := another.came(); strings.Contains(got, "list_changed") {
				t.Errorf("%v: received again: %s", version, got)
			}
			another.end()
		})
	}
}

// DELETE closes the streams of a session, and releases the kept events.
func TestResumeAfterDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newSteps()
		b := newBrowser(source, nil).openVersion(t, mcp.Version20251125)
		lost := b.openStream(t, "POST", walk)
		source.step <- say("a")
		lost.leave()
		resumed := b.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 1-1")
		b.do(t, "DELETE", "")
		if !resumed.over() {
			t.Error("the stream outlives its session")
		}
		if got := b.openStream(t, "GET", "", "Accept: text/event-stream", "Last-Event-ID: 1-1"); got.came() == "" ||
			got.status != 404 {
			t.Errorf("resumed after DELETE: status %d", got.status)
		}
		close(source.step)
	})
}

// Over a real network: a source closes the connection on which its client waits, and the
// client reconnects for the rest. In HTTP/2 that is not possible, which Disconnect
// reports.
func TestRequestDisconnect(t *testing.T) {
	for _, c := range []struct {
		name    string
		http2   bool
		version mcp.Version
		want    bool
	}{
		{"HTTP/1.1", false, mcp.Version20251125, true},
		{"HTTP/1.1", false, mcp.Version20250618, false},
		{"HTTP/2", true, mcp.Version20251125, false},
	} {
		t.Run(c.name+" "+c.version.String(), func(t *testing.T) {
			source := newSteps()
			server := httptest.NewUnstartedServer(mcpserver.New(source, nil).HTTPHandler(nil))
			server.EnableHTTP2 = c.http2
			server.StartTLS()
			defer server.Close()
			session := roundTrip(t, server, "POST",
				strings.Replace(initRequest, "2025-06-18", c.version.String(), 1),
			).Header.Get("Mcp-Session-Id")
			dropped := make(chan bool, 1)
			go func() {
				source.step <- func(r *mcp.Request) { dropped <- r.Disconnect(1500 * time.Millisecond) }
				if !c.want {
					close(source.step)
				}
			}()
			first := roundTrip(t, server, "POST", walk, "Mcp-Session-Id: "+session)
			got := <-dropped
			if got != c.want || first.ProtoMajor == 2 != c.http2 {
				t.Errorf("over %s Disconnect = %v, want %v", first.Proto, got, c.want)
			}
			if !c.want {
				if body := bodyOf(t, first); !strings.Contains(body, "arrived") {
					t.Errorf("the response holds %q", body)
				}
				return
			}
			if body := bodyOf(t, first); body != "id: 1-1\ndata: \n\nretry: 1500\n\n" {
				t.Errorf("the connection ended with %q", body)
			}
			second := roundTrip(t, server, "GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: 1-1")
			close(source.step)
			if body := bodyOf(t, second); body != arrival("1-2") {
				t.Errorf("on coming back came %q", body)
			}
		})
	}
	if (*mcp.Request)(nil).Disconnect(0) {
		t.Error("no client was disconnected")
	}
}

// TestDisconnectLate guards the connection of a request whose method has returned: it may carry the next response
// to the client, which would get the deadline of the event stream.
func TestDisconnectLate(t *testing.T) {
	source := newSteps()
	b := newBrowser(source, nil).openVersion(t, mcp.Version20251125)
	kept := make(chan *mcp.Request, 1)
	go func() {
		source.step <- func(r *mcp.Request) { kept <- r }
		close(source.step)
	}()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(walk))
	r.Header = clientHeader(walk)
	r.Header.Set("Mcp-Session-Id", b.session)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	before := w.Body.String()
	if (<-kept).Disconnect(0) || !strings.Contains(before, "arrived") || w.Body.String() != before {
		t.Errorf("after the answer, Disconnect changes the response from\n%s to\n%s", before, w.Body)
	}
}

// TestDisconnectWhileSending guards the contract of mcp.Request: other goroutines of the method may send messages
// while one disconnects.
func TestDisconnectWhileSending(t *testing.T) {
	source := newSteps()
	b := newBrowser(source, nil).openVersion(t, mcp.Version20251125)
	go func() {
		source.step <- func(r *mcp.Request) {
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() { r.Log(mcp.LogError, "", "hello") })
				group.Go(func() { r.Disconnect(0) }) // a recorder cannot disconnect
			}
			group.Wait()
		}
		close(source.step)
	}()
	got := b.post(t, walk)
	if heads := strings.Count(got.body, "data: \n"); heads != 1 || strings.Count(got.body, "hello") != 4 {
		t.Errorf("the response begins %d times:\n%s", heads, got.body)
	}
}

func roundTrip(t *testing.T, server *httptest.Server, method, body string, fields ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = clientHeader(body)
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Set(name, value)
	}
	w, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Body.Close() })
	return w
}

func bodyOf(t *testing.T, w *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(bufio.NewReader(w.Body))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
