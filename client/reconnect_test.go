package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// One Source changes version, era and capabilities, over HTTP and with a process, and keeps
// its watchers.
func TestReconnect(t *testing.T) {
	web := httptest.NewServer(mcpserver.New(&world{}, nil).HTTPHandler(nil))
	t.Cleanup(web.Close)
	for name, transport := range map[string]client.Transport{
		"http":  &client.Endpoint{URL: web.URL},
		"stdio": command(t, "server"),
	} {
		t.Run(name, func(t *testing.T) {
			var log tapped
			src := open(t, transport, &client.Options{Tap: log.tap})
			for _, terms := range []client.Terms{
				{Version: mcp.Version20250618, Capabilities: json.RawMessage(`{"roots":{}}`)},
				{Version: mcp.Version20260728, Capabilities: json.RawMessage(`{"sampling":{"context":{}}}`)},
				{Version: mcp.Version20251125},
			} {
				log.mu.Lock()
				log.events = nil
				log.mu.Unlock()
				if err := src.Reconnect(t.Context(), &terms); err != nil {
					t.Fatalf("%v: %v", terms.Version, err)
				}
				if got := src.Handshake().Version; got != terms.Version {
					t.Errorf("version = %v, want %v", got, terms.Version)
				}
				if terms.Version == mcp.Version20250618 && !strings.Contains(strings.Join(log.bodies(true), "\n"),
					`"capabilities":{"roots":{}}`) {
					t.Errorf("the capabilities were not sent: %q", log.bodies(true))
				}
				if got := src.Terms(); terms.Capabilities != nil && string(got.Capabilities) != string(terms.Capabilities) {
					t.Errorf("terms = %s", got.Capabilities)
				}
				if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
					t.Errorf("echo = %q", got)
				}
				if got := src.State(); got.Failures != 0 || got.Error != "" {
					t.Errorf("a reconnect counts as a failure: %+v", got)
				}
			}
		})
	}
}

// An attempt that hangs is replaced, and reports that it was; an attempt that fails reports
// its own error, and a later one succeeds.
func TestReconnectReplacesAttempt(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	var hang atomic.Bool
	handler := mcpserver.New(&world{}, nil).HTTPHandler(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case hang.Load():
			peekBody(r) // otherwise the server does not notice that the client is gone
			<-r.Context().Done()
		case r.Header.Get("Mcp-Method") == "server/discover":
			http.Error(w, "closed on Mondays", http.StatusServiceUnavailable)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	src := open(t, &client.Endpoint{URL: web.URL}, &client.Options{Version: mcp.Version20251125})

	hang.Store(true)
	first := make(chan error, 1)
	go func() { first <- src.Reconnect(t.Context(), &client.Terms{Version: mcp.Version20250618}) }()
	for src.State().Phase != client.Starting {
		time.Sleep(time.Millisecond)
	}
	hang.Store(false)
	began := time.Now()
	err := src.Reconnect(t.Context(), &client.Terms{Version: mcp.Version20260728})
	var status *client.StatusError
	if !errors.As(err, &status) || status.Body != "closed on Mondays" {
		t.Errorf("error = %v", err)
	}
	if err := <-first; err == nil || !strings.Contains(err.Error(), "a later Reconnect") {
		t.Errorf("the first one: %v", err)
	}
	if err := src.Reconnect(t.Context(), &client.Terms{Version: mcp.Version20251125}); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it has waited for an attempt that hangs: %v", took)
	}
	mustCall(t, src, "echo", `{"text":"hi"}`)

	if err := src.Reconnect(t.Context(), &client.Terms{Capabilities: json.RawMessage(`[]`)}); err == nil {
		t.Error("capabilities that are no object were accepted")
	}
	hang.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := src.Reconnect(ctx, &client.Terms{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
}

// What a server says with a status that is no success reaches the caller, whichever request
// got it: status, challenge and the beginning of the body.
func TestStatusErrorEverywhere(t *testing.T) {
	const challenge = `Bearer realm="demo"`
	const page = "<html><title>Teapot</title>"
	refuse := func(w http.ResponseWriter) {
		w.Header().Set("WWW-Authenticate", challenge)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(page))
	}
	verify := func(t *testing.T, err error) {
		t.Helper()
		var status *client.StatusError
		if !errors.As(err, &status) {
			t.Fatalf("error = %v", err)
		}
		if status.Status != http.StatusTeapot || status.Challenge != challenge || status.Start != page ||
			status.ContentType != "text/html" {
			t.Errorf("error = %+v", status)
		}
	}
	// serve refuses the messages that contain a text, and GET if that is empty.
	serve := func(t *testing.T, text string) string {
		handler := mcpserver.New(&changing{cat: catalogOf("echo")}, nil).HTTPHandler(nil) // it has a standing stream
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := peekBody(r)
			if text != "" && strings.Contains(body, text) || text == "" && r.Method == http.MethodGet {
				refuse(w)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(web.Close)
		return web.URL
	}
	old := &client.Options{Version: mcp.Version20251125}
	for name, text := range map[string]string{
		"request":      `"initialize"`,
		"notification": `notifications/initialized`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Open(t.Context(), &client.Endpoint{URL: serve(t, text)}, old)
			verify(t, err)
		})
	}
	t.Run("call", func(t *testing.T) {
		src := open(t, &client.Endpoint{URL: serve(t, `"tools/call"`)}, old)
		_, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: object(`{"text":"hi"}`)})
		verify(t, err)
	})
	t.Run("standing stream", func(t *testing.T) {
		events := make(chan client.Event, 100)
		var log tapped
		open(t, &client.Endpoint{URL: serve(t, "")}, &client.Options{
			Version: mcp.Version20251125,
			Observe: func(e client.Event) { events <- e },
			Tap:     log.tap,
		})
		for {
			select {
			case e := <-events:
				if e.What != client.EventLog {
					continue
				}
				verify(t, e.Err)
				if bodies := log.all(tap.Body); len(bodies) == 0 || string(bodies[0].Body) != page {
					t.Errorf("tapped bodies = %+v", bodies)
				}
				return
			case <-time.After(patience):
				t.Fatal("the refused stream was not reported")
			}
		}
	})
	t.Run("2024-11-05", func(t *testing.T) {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/post":
				refuse(w)
			case r.Method == http.MethodPost:
				w.WriteHeader(http.StatusMethodNotAllowed)
			default:
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte("event: endpoint\ndata: /post\n\n"))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
		}))
		t.Cleanup(web.Close)
		_, err := client.Open(t.Context(), &client.Endpoint{URL: web.URL}, nil)
		verify(t, err)
	})
}

// A body that never ends does not delay the error of its status.
func TestStatusErrorEndlessBody(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	handler := mcpserver.New(&world{}, nil).HTTPHandler(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(peekBody(r), "notifications/initialized") {
			handler.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and stout"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(web.Close)
	began := time.Now()
	_, err := client.Open(t.Context(), &client.Endpoint{URL: web.URL}, &client.Options{Version: mcp.Version20251125})
	var status *client.StatusError
	if !errors.As(err, &status) || status.Start != "short and stout" {
		t.Errorf("error = %v", err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
}

// A coded error with 403 keeps the challenge, which names the missing scope.
func TestStatusErrorInCodedError(t *testing.T) {
	handler := mcpserver.New(&world{}, nil).HTTPHandler(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(peekBody(r), `"tools/call"`) {
			handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32003,"message":"scope missing"}}`))
	}))
	t.Cleanup(web.Close)
	src := open(t, &client.Endpoint{URL: web.URL}, nil)
	_, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: object(`{"text":"hi"}`)})
	var coded *mcp.Error
	var status *client.StatusError
	if !errors.As(err, &coded) || coded.Message != "scope missing" || !errors.As(err, &status) ||
		!strings.Contains(status.Challenge, `scope="write"`) {
		t.Errorf("error = %#v", err)
	}
}

// peekBody reads the body of a request, and leaves it to the next reader.
func peekBody(r *http.Request) string {
	text, _ := io.ReadAll(r.Body) // the next reader fails as well
	r.Body = io.NopCloser(bytes.NewReader(text))
	return string(text)
}

// A server that refuses the version although it lists it among those it supports is asked again,
// once; one that lists other versions is initialized.
func TestVersionRefused(t *testing.T) {
	for _, tt := range []struct {
		supported string
		times     int64 // it refuses
		asked     int64 // with server/discover
		want      mcp.Version
	}{
		{`["2026-07-28"]`, 1, 2, mcp.Version20260728},
		{`["2026-07-28"]`, 100, 2, mcp.Version20251125},
		{`["2025-11-25"]`, 1, 1, mcp.Version20251125},
		{`"2026-07-28"`, 1, 1, mcp.Version20251125},
	} {
		var asked atomic.Int64
		handler := mcpserver.New(&world{}, nil).HTTPHandler(nil)
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "server/discover" && asked.Add(1) <= tt.times {
				var m struct{ ID json.RawMessage }
				_ = json.NewDecoder(r.Body).Decode(&m)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":%s}}}`,
					m.ID, tt.supported)
				return
			}
			handler.ServeHTTP(w, r)
		}))
		src := open(t, &client.Endpoint{URL: web.URL, NoListen: true}, nil)
		if got := src.State().Version; got != tt.want || asked.Load() != tt.asked {
			t.Errorf("%s, %d times: version %v after %d questions, want %v after %d",
				tt.supported, tt.times, got, asked.Load(), tt.want, tt.asked)
		}
		src.Close()
		web.Close()
	}
}
