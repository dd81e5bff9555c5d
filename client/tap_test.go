package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
	"github.com/slipway-mcp/slipway/ws"
)

// tapped records events.
type tapped struct {
	mu     sync.Mutex
	events []tap.Event
}

func (l *tapped) tap(e *tap.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := *e
	kept.Body = bytes.Clone(e.Body)
	l.events = append(l.events, kept)
}

// all returns the events of a kind. sent selects those of one direction.
func (l *tapped) all(kind tap.Kind) []tap.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.events), func(e tap.Event) bool { return e.Kind != kind })
}

// bodies returns the messages that were sent or received, sorted.
func (l *tapped) bodies(sent bool) []string {
	var all []string
	for _, e := range l.all(tap.Message) {
		if e.Sent == sent {
			all = append(all, string(e.Body))
		}
	}
	slices.Sort(all)
	return slices.Compact(all) // a server of 2024-11-05 refuses the first initialize unread
}

// What one side sends, the other receives, byte for byte, whatever carries it.
func TestTapBothSides(t *testing.T) {
	var near, far tapped
	newServer := func() *mcpserver.Server { return mcpserver.New(&world{}, &mcpserver.Options{Tap: far.tap}) }
	web := func(t *testing.T, h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
		return server.URL
	}
	tests := map[string]struct {
		open     func(t *testing.T) client.Transport
		versions []mcp.Version
		channels []tap.Channel
	}{
		"http": {
			func(t *testing.T) client.Transport {
				return &client.Endpoint{URL: web(t, newServer().HTTPHandler(nil)), NoListen: true}
			},
			[]mcp.Version{mcp.Version20250326, mcp.Version20251125, mcp.Version20260728},
			[]tap.Channel{tap.Post, tap.SSE},
		},
		"old sse": {
			func(t *testing.T) client.Transport {
				sse := newServer().SSEHandler("/message", nil)
				return &client.Endpoint{URL: web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost && r.URL.Path != "/message" {
						w.WriteHeader(http.StatusMethodNotAllowed)
						return
					}
					sse.ServeHTTP(w, r)
				}))}
			},
			[]mcp.Version{mcp.Version20241105},
			[]tap.Channel{tap.SSE},
		},
		"websocket": {
			func(t *testing.T) client.Transport {
				url := "ws" + strings.TrimPrefix(web(t, ws.NewHandler(newServer(), nil)), "http")
				return &client.Dialer{Name: "socket", Dial: func(ctx context.Context) (mcpserver.Conn, error) {
					return ws.Dial(ctx, url, nil)
				}}
			},
			[]mcp.Version{mcp.Version20251125, mcp.Version20260728},
			[]tap.Channel{tap.Socket},
		},
	}
	for name, test := range tests {
		channels := make(map[tap.Channel]bool)
		for _, version := range test.versions {
			t.Run(fmt.Sprintf("%s %v", name, version), func(t *testing.T) {
				near = tapped{}
				far = tapped{}
				src := open(t, test.open(t), &client.Options{Version: version, Tap: near.tap})
				for _, tool := range []string{"echo", "progress", "big"} {
					mustCall(t, src, tool, `{"text":"20000"}`)
				}
				if _, err := call(t, src, "fails", `{}`); err == nil {
					t.Error("no error")
				}
				if diff := cmp.Diff(near.bodies(true), far.bodies(false)); diff != "" {
					t.Errorf("from the client (-sent +received)\n%s", diff)
				}
				if diff := cmp.Diff(far.bodies(true), near.bodies(false)); diff != "" {
					t.Errorf("from the server (-sent +received)\n%s", diff)
				}
				for _, e := range near.all(tap.Message) {
					channels[e.Channel] = true
				}
				checkOrder(t, near.events)
				checkOrder(t, far.events)
			})
		}
		for _, want := range test.channels {
			if !channels[want] {
				t.Errorf("%s: no message by %s in %v", name, want, channels)
			}
		}
	}
}

// checkOrder verifies that numbers are given, and that the time does not go backwards
// within a stream and direction.
func checkOrder(t *testing.T, events []tap.Event) {
	t.Helper()
	type line struct {
		stream uint64
		sent   bool
	}
	last := make(map[line]time.Time)
	for _, e := range events {
		if e.Kind != tap.Step && e.Stream == 0 {
			t.Errorf("%s without a stream", e.Kind)
		}
		if e.Kind == tap.Step {
			continue
		}
		at := line{e.Stream, e.Sent}
		if e.Time.Before(last[at]) {
			t.Errorf("stream %d goes back in time", e.Stream)
		}
		last[at] = e.Time
	}
}

// A child's stdout, junk and stderr are tapped, its secrets on stderr are not.
func TestTapCommand(t *testing.T) {
	var log tapped
	cmd := command(t, "server")
	cmd.Redact = []string{"the server"}
	src := open(t, cmd, &client.Options{Tap: log.tap})
	mustCall(t, src, "junk", `{}`)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	var junk, lines []string
	for _, e := range log.all(tap.Junk) {
		junk = append(junk, string(e.Body))
	}
	if want := []string{"listening on port 3000", `{"jsonrpc":`, "null"}; !cmp.Equal(junk, want) {
		t.Errorf("junk = %q, want %q", junk, want)
	}
	for _, e := range log.all(tap.Stderr) {
		lines = append(lines, string(e.Body))
	}
	if want := []string{"[redacted] is up"}; !cmp.Equal(lines, want) {
		t.Errorf("stderr = %q, want %q", lines, want)
	}
	var steps []string
	for _, e := range log.all(tap.Step) {
		steps = append(steps, e.Name+" "+e.Detail)
		if e.Took <= 0 || e.Err != nil {
			t.Errorf("step %s took %v: %v", e.Name, e.Took, e.Err)
		}
	}
	if want := []string{"start " + cmd.String(), "initialize 2025-11-25", "lists "}; !cmp.Equal(steps, want) {
		t.Errorf("steps = %q, want %q", steps, want)
	}
}

// The steps of a connection by TLS, and heads without credentials.
func TestTapHTTP(t *testing.T) {
	var log, served tapped
	handler := mcpserver.New(&world{}, &mcpserver.Options{Tap: served.tap}).HTTPHandler(nil)
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Key-Of-Caller", "hidden")
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	endpoint := &client.Endpoint{
		URL:       web.URL + "/mcp?key=hidden",
		Header:    http.Header{"authorization": {"Bearer hidden"}, "x-team": {"hidden"}},
		Transport: web.Client().Transport,
	}
	src := open(t, endpoint, &client.Options{Tap: log.tap})
	mustCall(t, src, "echo", `{"text":"hi"}`)
	var steps []string
	for _, e := range log.all(tap.Step) {
		steps = append(steps, e.Name)
	}
	for _, want := range []string{"connect", "tls", "discover", "lists"} {
		if !slices.Contains(steps, want) {
			t.Errorf("no step %s in %q", want, steps)
		}
	}
	heads := log.all(tap.Head)
	if len(heads) < 4 {
		t.Fatalf("%d heads", len(heads))
	}
	for _, e := range heads {
		if strings.Contains(fmt.Sprint(e.HTTP), "hidden") {
			t.Errorf("a secret in %+v", e.HTTP)
		}
		if !e.Sent && (e.HTTP.Status != http.StatusOK || e.HTTP.Wait <= 0 || e.HTTP.Remote == "") {
			t.Errorf("response %+v", e.HTTP)
		}
	}
	for _, e := range served.all(tap.Head) {
		if strings.Contains(fmt.Sprint(e.HTTP), "hidden") {
			t.Errorf("at the server, a secret in %+v", e.HTTP)
		}
	}
	last := heads[len(heads)-1].HTTP
	if last.Header.Get("Content-Type") != "application/json" {
		t.Errorf("header %v", last.Header)
	}
	if !last.Reused {
		t.Error("the connection was not reused")
	}
}

// The error of a proxy's page has its type and its start, without the token that it repeats.
func TestStatusErrorStart(t *testing.T) {
	const token = "a-very-secret-token-0123456789"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprintf(w, "<html><title>No upstream</title>%s%s", r.Header.Get("Authorization"), strings.Repeat("x", 2000))
	}))
	defer web.Close()
	endpoint := &client.Endpoint{URL: web.URL, Header: http.Header{"Authorization": {"Bearer " + token}}}
	_, err := client.Open(t.Context(), endpoint, nil)
	var status *client.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("error = %v", err)
	}
	if status.Status != http.StatusBadGateway || status.ContentType != "text/html; charset=utf-8" ||
		len(status.Start) != 500 || !strings.HasPrefix(status.Start, "<html><title>No upstream") {
		t.Errorf("error = %+v", status)
	}
	if status.Body != "" || strings.Contains(status.Start, token) {
		t.Errorf("error = %+v, with HTML or a secret", status)
	}
}

// A response with more than 64 KiB of headers is refused before it is kept.
func TestLongResponseHeader(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 100<<10))
		http.Error(w, "no", http.StatusTeapot)
	}))
	t.Cleanup(web.Close)
	var log tapped
	_, err := client.Open(t.Context(), &client.Endpoint{URL: web.URL}, &client.Options{Tap: log.tap})
	var status *client.StatusError
	if err == nil || errors.As(err, &status) {
		t.Errorf("error = %v", err)
	}
	for _, e := range log.all(tap.Head) {
		if !e.Sent {
			t.Errorf("response %d", e.HTTP.Status)
		}
	}
}

// An endpoint that is none: the status and the body are tapped, and so are the failed
// steps.
func TestTapFailures(t *testing.T) {
	var log tapped
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="demo"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	_, err := client.Open(t.Context(), &client.Endpoint{URL: web.URL}, &client.Options{Tap: log.tap})
	var status *client.StatusError
	if !errors.As(err, &status) || status.Challenge == "" {
		t.Errorf("error = %v", err)
	}
	bodies := log.all(tap.Body)
	if len(bodies) == 0 || string(bodies[0].Body) != "who are you?\n" {
		t.Errorf("bodies = %+v", bodies)
	}
	failed := func() (names []string) {
		for _, e := range log.all(tap.Step) {
			if e.Err != nil {
				names = append(names, e.Name)
			}
		}
		return names
	}
	if got := failed(); !slices.Contains(got, "discover") {
		t.Errorf("failed steps = %q", got)
	}
	web.Close()
	log = tapped{}
	if _, err = client.Open(t.Context(), &client.Endpoint{URL: web.URL}, &client.Options{Tap: log.tap}); err == nil {
		t.Error("no error from a closed port")
	}
	if got := failed(); !slices.Contains(got, "connect") || !slices.Contains(got, "request") {
		t.Errorf("failed steps = %q", got)
	}
	var refused *net.OpError
	for _, e := range log.all(tap.Step) {
		if e.Name == "connect" && !errors.As(e.Err, &refused) {
			t.Errorf("connect: %v", e.Err)
		}
	}
}

// A response that ends without an answer ends its exchange: the request is tapped as failed.
func TestTapResponsesWithoutAnswer(t *testing.T) {
	for name, respond := range map[string]func(w http.ResponseWriter){
		"event stream that ends": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(": nothing\n\n"))
		},
		"event stream that is too long": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: %s\n\n", strings.Repeat("x", 2000))
		},
		"body that is cut off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0",`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { respond(w) }))
			t.Cleanup(web.Close)
			var log tapped
			e := &client.Endpoint{URL: web.URL, MaxMessage: 1000}
			if _, err := client.Open(t.Context(), e, &client.Options{Tap: log.tap}); err == nil {
				t.Error("no error")
			}
			sent := make(map[uint64]bool)
			for _, e := range log.all(tap.Message) {
				sent[e.Stream] = e.Sent
			}
			for _, e := range log.all(tap.Step) {
				if e.Name == "request" && e.Err != nil {
					delete(sent, e.Stream)
				}
			}
			if len(log.all(tap.Message)) == 0 || len(sent) > 0 {
				t.Errorf("the requests of exchanges %v did not end", sent)
			}
		})
	}
}
