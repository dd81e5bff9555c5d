package inspect

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// exchangeTap feeds events of HTTP exchanges to an Inspector.
type exchangeTap struct {
	in  *Inspector
	tap tap.Func
}

func newExchangeTap(t *testing.T) *exchangeTap {
	in := Handler(nil, nil)
	t.Cleanup(func() { _ = in.Close() })
	return &exchangeTap{in, in.feed.tap(1)}
}

func (x *exchangeTap) pass(stream uint64, channel tap.Channel, e tap.Event) {
	e.Stream = stream
	e.Channel = channel
	e.Time = time.Now()
	x.tap(&e)
}

// request sends a request with an id.
func (x *exchangeTap) request(stream uint64, id int) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
	x.pass(stream, tap.Post, tap.Event{Kind: tap.Message, Sent: true, Body: body})
}

// response receives a response to the request with an id.
func (x *exchangeTap) response(stream uint64, channel tap.Channel, id string) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	x.pass(stream, channel, tap.Event{Kind: tap.Message, Body: body})
}

func (x *exchangeTap) head(stream uint64, status int) {
	x.pass(stream, tap.Post, tap.Event{Kind: tap.Head, HTTP: &tap.HTTP{Status: status, Header: http.Header{}}})
}

func (x *exchangeTap) body(stream uint64, text string) {
	x.pass(stream, tap.Post, tap.Event{Kind: tap.Body, Body: []byte(text)})
}

func (x *exchangeTap) step(stream uint64, name string) {
	x.pass(stream, "", tap.Event{Kind: tap.Step, Name: name, Err: errors.New(name + " failed")})
}

// answer waits for all events, and returns the answer to the first request.
func (x *exchangeTap) answer(t *testing.T) *Frame {
	t.Helper()
	done := make(chan *Frame)
	x.in.feed.after(func() {
		list := x.in.store.slice(1, 100)
		for i := range list {
			if list[i].Kind == "request" {
				done <- x.in.store.get(list[i].Pair)
				return
			}
		}
		done <- nil
	})
	select {
	case f := <-done:
		return f
	case <-time.After(time.Minute):
		t.Fatal("the feed has stopped")
		return nil
	}
}

// An answer on another stream stays the answer, whatever the HTTP exchange of the request ends with.
func TestAnswerOnAnotherStream(t *testing.T) {
	for name, end := range map[string]func(*exchangeTap){
		"empty body": func(x *exchangeTap) { x.head(1, 200); x.body(1, "") },
		"page":       func(x *exchangeTap) { x.head(1, 502); x.body(1, "<h1>Bad Gateway</h1>") },
		"lost":       func(x *exchangeTap) { x.step(1, "request") },
	} {
		t.Run(name, func(t *testing.T) {
			x := newExchangeTap(t)
			x.request(1, 7)
			x.response(2, tap.SSE, "7")
			end(x)
			if f := x.answer(t); f == nil || f.Kind != "response" || f.Failure != nil {
				t.Errorf("the answer is %+v, want the response", f)
			}
		})
	}
}

// A response on the stream of another request does not end that exchange.
func TestAnswerBesideAnother(t *testing.T) {
	x := newExchangeTap(t)
	x.request(1, 7)
	x.request(2, 8)
	x.response(1, tap.SSE, "8")
	x.step(1, "request")
	if f := x.answer(t); f == nil || f.Kind != "step" {
		t.Errorf("the answer is %+v, want the lost connection", f)
	}
}

// A response to another request is not the answer to the request of its exchange.
func TestAnswerWithAnotherID(t *testing.T) {
	for id, answers := range map[string]bool{"null": true, "7": true, "8": false, `"7"`: false} {
		x := newExchangeTap(t)
		x.request(1, 7)
		x.response(1, tap.Post, id)
		if f := x.answer(t); (f != nil) != answers {
			t.Errorf("id %s: the answer is %+v", id, f)
		}
	}
	x := newExchangeTap(t)
	x.request(1, 7)
	x.head(1, 400)
	x.response(1, tap.Post, `"server-error"`)
	if f := x.answer(t); f == nil || f.Kind != "response" {
		t.Errorf("an HTTP error: the answer is %+v, want the response", f)
	}
}

// A connection to one of several addresses may fail.
func TestFailedAddress(t *testing.T) {
	x := newExchangeTap(t)
	x.request(1, 7)
	x.step(1, "connect")
	if f := x.answer(t); f != nil {
		t.Errorf("the answer is %+v, want none yet", f)
	}
	x.head(1, 404)
	x.body(1, "404 page not found")
	if f := x.answer(t); f == nil || f.Status != 404 || f.Failure.Text != "HTTP status 404, not a message" {
		t.Errorf("the answer is %+v, want the status 404", f)
	}
}

// A cancelled request is not open, and a response that comes all the same is its answer.
func TestCancelledRequest(t *testing.T) {
	x := newExchangeTap(t)
	x.request(1, 7)
	cancel := func(sent bool, id string) {
		body := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
		x.pass(2, tap.Stdio, tap.Event{Kind: tap.Message, Sent: sent, Body: body})
	}
	cancel(true, "8")
	cancel(true, `"7"`)
	cancel(false, "7")
	if f := x.answer(t); f != nil {
		t.Errorf("the answer is %+v, want none yet", f)
	}
	cancel(true, "7")
	if f := x.answer(t); f == nil || f.Failure == nil || f.Failure.Text != "cancelled" || f.Pair != 1 {
		t.Errorf("the answer is %+v, want that it was cancelled", f)
	}
	x.response(1, tap.Stdio, "7")
	if f := x.answer(t); f == nil || f.Kind != "response" {
		t.Errorf("the answer is %+v, want the response", f)
	}
	cancel(true, "7")
	if f := x.answer(t); f == nil || f.Kind != "response" {
		t.Errorf("the answer is %+v, want the response", f)
	}
}

// The feed keeps nothing of exchanges that have ended.
func TestEndedExchangesAreForgotten(t *testing.T) {
	x := newExchangeTap(t)
	for stream := range uint64(10) {
		x.in.feed.after(func() { x.in.feed.streams[streamKey{1, stream}] = 1 })
		x.request(stream, int(stream))
		switch stream % 3 {
		case 0:
			x.body(stream, "")
		case 1:
			x.step(stream, "request")
		default:
			x.response(stream, tap.Post, fmt.Sprint(stream))
		}
	}
	x.answer(t)
	if n, m := len(x.in.feed.posts), len(x.in.feed.streams); n+m != 0 {
		t.Errorf("%d posts and %d streams are kept, want none", n, m)
	}
}

// TestFloodOfShortMessages guards that the queue limits the memory of messages rather than only
// their bodies, which are the smallest part of short ones.
func TestFloodOfShortMessages(t *testing.T) {
	x := newExchangeTap(t)
	f := x.in.feed
	release := make(chan struct{})
	started := make(chan struct{})
	f.after(func() {
		close(started)
		<-release
	})
	<-started // nothing that follows is processed
	const most = maxQueued/jobMemory + 1
	defer close(release)
	body := []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	for range 2 * most {
		f.mu.Lock()
		queued, full := len(f.queue), f.bytes > maxQueued
		f.mu.Unlock()
		if full {
			return // the next message would wait
		}
		if queued > most {
			t.Fatalf("%d short messages are queued, want at most %d", queued, most)
		}
		x.pass(0, tap.Stdio, tap.Event{Kind: tap.Message, Body: body})
	}
	t.Error("the queue has no limit")
}

// What the page lists of a message is short, and counts as memory like its body.
func TestLongNamesAndHeaders(t *testing.T) {
	x := newExchangeTap(t)
	long := strings.Repeat("x", 100<<10)
	x.pass(1, tap.Post, tap.Event{
		Kind: tap.Message,
		Sent: true,
		Body: []byte(`{"jsonrpc":"2.0","id":"` + long + `","method":"` + long + `","params":{"name":"` + long + `"}}`),
	})
	x.pass(1, tap.Post, tap.Event{
		Kind: tap.Head,
		HTTP: &tap.HTTP{Status: 200, Header: http.Header{"Server": {long, "short"}}},
	})
	x.response(1, tap.Post, `"`+long+`"`)
	answer := x.answer(t)
	if answer == nil {
		t.Fatal("the response is not paired")
	}
	for _, f := range x.in.store.slice(1, 10) {
		for _, text := range append([]string{f.Name, f.Method}, f.Header["Server"]...) {
			if len(text) > maxShown+len("…") {
				t.Errorf("frame %d lists a text of %d bytes", f.Seq, len(text))
			}
		}
	}
	if f := x.in.store.get(2); f.Header["Server"][1] != "short" {
		t.Errorf("header %v", f.Header)
	}
	s := newStore(0, 1<<20)
	for range 100 {
		s.add(&Frame{Event: mcplog.Event{Header: http.Header{"Server": {long}}}})
	}
	if first, last := s.bounds(); last-first > 10 {
		t.Errorf("%d headers of 100 KiB are in 1 MiB", last-first+1)
	}
	j := job{event: &tap.Event{HTTP: &tap.HTTP{Header: http.Header{"Server": {long}}}}}
	if j.cost() < len(long) {
		t.Errorf("a queued header of %d bytes counts %d", len(long), j.cost())
	}
}

// Steps and the exchanges of calls do not accumulate.
func TestForgetsStepsAndStreams(t *testing.T) {
	x := newExchangeTap(t)
	target := newTarget(x.in, 1, &Source{})
	x.in.targets = append(x.in.targets, target)
	running := &call{State: stateRunning}
	x.in.calls.add(running)
	done := make(chan struct{})
	x.in.feed.after(func() {
		defer close(done)
		for i := range uint64(2 * maxSteps) {
			x.in.step(&Frame{Event: mcplog.Event{Source: 1, Seq: i + 1}})
		}
		f := x.in.feed
		f.streams[streamKey{1, 1}] = running.ID
		for i := range uint64(3 * minStreams) {
			f.streams[streamKey{1, i + 2}] = running.ID + 1 // no such call
			f.forget()
		}
		if len(f.streams) > minStreams+1 || f.streams[streamKey{1, 1}] != running.ID {
			t.Errorf("%d exchanges are kept, that of a running call: %d", len(f.streams), f.streams[streamKey{1, 1}])
		}
	})
	<-done
	steps := target.state().Steps
	if len(steps) != maxSteps || steps[maxSteps-1].Seq != 2*maxSteps {
		t.Errorf("%d steps, the last is %+v", len(steps), steps[len(steps)-1])
	}
}

// An upload that stalls ends, and others then open their recordings.
func TestStalledUpload(t *testing.T) {
	in := newExchangeTap(t).in
	in.uploadPatience = time.Second
	server := httptest.NewServer(in)
	defer server.Close()
	const log = `{"mcplog":1}` + "\n{}\n"
	body, stalled := io.Pipe()
	defer stalled.Close()
	first := make(chan int)
	upload := func(body io.Reader) int {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/api/open", body)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0 // the connection is closed
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	go func() { first <- upload(body) }()
	_, _ = io.WriteString(stalled, log) // so it has begun
	if got := upload(strings.NewReader(log)); got != http.StatusOK {
		t.Errorf("an upload beside one that stalls: %d", got)
	}
	if got := <-first; got == http.StatusOK {
		t.Error("an upload that stalls is accepted")
	}
}

// The recordings that the page opens share a limit of memory, which short lines reach long before that of an upload.
func TestOpenedMemory(t *testing.T) {
	in := newExchangeTap(t).in
	in.maxOpened = 1 << 20
	log := `{"mcplog":1}` + "\n" + strings.Repeat("{}\n", 1200)
	open := func() error {
		return in.serveOpen(httptest.NewRecorder(), httptest.NewRequest("POST", "/api/open", strings.NewReader(log)))
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	var failed *Failure
	if err := open(); !errors.As(err, &failed) || failed.http != http.StatusRequestEntityTooLarge {
		t.Errorf("a second recording: %v", err)
	}
}
