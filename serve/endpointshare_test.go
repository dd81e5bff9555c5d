package serve_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/serve"
)

// named are options with the endpoints /mcp/aa and /mcp/bb for the source of the tests.
func named() serve.Options {
	var o serve.Options
	o.SourceNames = []string{"all"}
	o.Endpoints = []serve.Endpoint{
		{Name: "aa", Items: []string{"all"}},
		{Name: "bb", Items: []string{"all"}},
	}
	return o
}

// TestDrainOfEndpoints holds a call at one endpoint: draining closes the notification streams of all others at
// once.
func TestDrainOfEndpoints(t *testing.T) {
	for _, path := range []string{"/mcp", "/mcp/aa", "/mcp/bb"} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, named())
			closed := make(chan string, 3)
			for _, other := range []string{"/mcp", "/mcp/aa", "/mcp/bb"} {
				url := "http://localhost" + other
				got, err := r.client.Post(url, "application/json", strings.NewReader(initialize))
				if err != nil {
					t.Fatal(err)
				}
				got.Body.Close()
				request, err := http.NewRequest(http.MethodGet, url, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Accept", "text/event-stream")
				request.Header.Set("Mcp-Session-Id", got.Header.Get("Mcp-Session-Id"))
				stream, err := r.client.Do(request)
				if err != nil || stream.StatusCode != http.StatusOK {
					t.Fatalf("GET %s = %+v, %v", other, stream, err)
				}
				go func() {
					_, _ = io.Copy(io.Discard, stream.Body)
					closed <- other
				}()
			}
			answer := make(chan struct{})
			go func() {
				defer close(answer)
				got, err := r.client.Post("http://localhost"+path, "application/json", strings.NewReader(call))
				if err != nil {
					t.Error(err)
					return
				}
				got.Body.Close()
			}()
			<-r.src.entered
			r.cancel()
			time.Sleep(time.Second) // of fake time; the call lasts longer
			synctest.Wait()
			if len(closed) != 3 {
				t.Errorf("%d of 3 streams were closed while a call at %s was in flight", len(closed), path)
			}
			r.src.release <- struct{}{}
			<-answer
			if err := <-r.done; err != nil {
				t.Errorf("Serve = %v, want nil", err)
			}
		})
	}
}

// TestFiguresOfEndpoints ensures that metrics and slipway ps count the sessions of named endpoints.
func TestFiguresOfEndpoints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	opts := named()
	opts.Addr = "127.0.0.1:0"
	opts.Announce = &serve.Announcement{Dir: dir, Command: "serve"}
	started := make(chan string, 1)
	opts.Observer.Started = func(info *serve.Info) { started <- info.URL }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve.Run(ctx, newSource(), &opts) }()
	url := <-started
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for _, path := range []string{"/mcp", "/mcp/aa", "/mcp/aa", "/mcp/bb"} {
		got, err := http.Post(url+path, "application/json", strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
	}
	got, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text := body(t, got)
	for _, want := range []string{"\nmcp_server_sessions 4\n", "\nmcp_server_kept{kind=\"session\"} 4\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
	if p := processes(t, dir, 1)[0]; p.Sessions.Count != 4 || p.Sessions.Oldest.IsZero() {
		t.Errorf("slipway ps shows %+v, want 4 sessions", p.Sessions)
	}
}

// TestBudgetOfEndpoints ensures that the limits of sessions and memory count for all endpoints together, in
// total and for each client.
func TestBudgetOfEndpoints(t *testing.T) {
	opts := named()
	opts.Server.MaxSessions = 200 // a client's share is at least 100
	h := serve.NewHandler(newSource(), &opts)
	for range 60 {
		for _, path := range []string{"/mcp", "/mcp/aa", "/mcp/bb"} {
			if got := exchange(h, http.MethodPost, path, initialize); got.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, got.Code, got.Body)
			}
		}
	}
	text := exchange(h, http.MethodGet, "/metrics", "").Body.String()
	for _, want := range []string{
		"\nmcp_server_sessions 100\n",
		"\nmcp_server_kept{kind=\"session\"} 100\n",
		"\nmcp_server_shed_total{kind=\"session\"} 80\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("180 sessions of a client whose share is 100: the metrics lack %q", want)
		}
	}
}
