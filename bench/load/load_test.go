package load_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
)

func find(t *testing.T, name string) fix.Workload {
	t.Helper()
	w, err := fix.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func short() load.Plan {
	none := func() error { return nil }
	return load.Plan{Warmup: time.Millisecond, Measure: 10 * time.Millisecond, Begin: none, End: none}
}

// newHTTP returns a load on a server that answers with write.
func newHTTP(t *testing.T, w fix.Workload, write http.HandlerFunc) *load.Generator {
	t.Helper()
	server := httptest.NewServer(write)
	t.Cleanup(server.Close)
	return &load.Generator{Addr: strings.TrimPrefix(server.URL, "http://"), Workload: w, Connections: 3}
}

func TestHTTPFramings(t *testing.T) {
	for _, name := range []string{"http-echo-2025", "http-echo-2026", "http-text-10k", "http-list-1000"} {
		w := find(t, name)
		answer := w.Answer()
		framings := map[string]http.HandlerFunc{
			"length": func(rw http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				rw.Header().Set("Content-Type", "application/json")
				rw.Write(answer)
			},
			"chunks of an event stream": func(rw http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, "event: message\ndata: ")
				rw.(http.Flusher).Flush()
				rw.Write(answer)
				io.WriteString(rw, "\n\n")
			},
		}
		for framing, write := range framings {
			t.Run(name+" by "+framing, func(t *testing.T) {
				h := newHTTP(t, w, write)
				if err := h.Check(); err != nil {
					t.Fatal(err)
				}
				result, err := h.Run(short())
				if err != nil {
					t.Fatal(err)
				}
				if result.Requests == 0 || result.Latency.Quantile(0.5) == 0 {
					t.Errorf("Run = %d requests with p50 %v, want some", result.Requests, result.Latency.Quantile(0.5))
				}
			})
		}
	}
}

// TestQueries checks that all connections send the query that is taken.
func TestQueries(t *testing.T) {
	w := find(t, "http-echo-2025")
	answer := w.Answer()
	var seen [2]atomic.Int64
	h := newHTTP(t, w, func(rw http.ResponseWriter, r *http.Request) {
		seen[r.URL.RawQuery[0]-'a'].Add(1)
		rw.Write(answer)
	})
	h.Queries = []string{"a", "b"}
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	if a, b := seen[0].Load(), seen[1].Load(); a != 1 || b != 1 {
		t.Errorf("the check has sent %d and %d requests, want one of each", a, b)
	}
	running, err := h.Start()
	if err != nil {
		t.Fatal(err)
	}
	for query := range h.Queries {
		before := seen[1-query].Load()
		result, err := running.Take(query, short())
		if err != nil || result.Requests == 0 {
			t.Fatalf("Take(%d) = %+v, %v", query, result, err)
		}
		// Those on their way when it began, one on each connection.
		if late := seen[1-query].Load() - before; query > 0 && late > int64(h.Connections) {
			t.Errorf("%d requests with the query before", late)
		}
	}
	if err := running.Stop(); err != nil {
		t.Fatal(err)
	}
	if seen[1].Load() < 10 {
		t.Errorf("%d requests with the second query", seen[1].Load())
	}
}

func TestHTTPSession(t *testing.T) {
	w := find(t, "http-echo-session")
	seen := make(chan string, 1)
	h := newHTTP(t, w, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), `"initialize"`):
			rw.Header().Set("mcp-session-id", "abc")
			rw.Write(fix.InitAnswer())
		case r.Header.Get("Mcp-Session-Id") != "abc":
			rw.WriteHeader(http.StatusBadRequest)
		case strings.Contains(string(body), "notifications/initialized"):
			rw.WriteHeader(http.StatusAccepted)
		default:
			select {
			case seen <- string(body):
			default:
			}
			rw.Write(w.Answer())
		}
	})
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	if got, want := <-seen, string(w.Body(fix.FirstID)); got != want {
		t.Errorf("request = %s, want %s", got, want)
	}
	if _, err := h.Run(short()); err != nil {
		t.Error(err)
	}
}

// A peer that starts to fail after the check must not be measured.
func TestHTTPRunRefuses(t *testing.T) {
	w := find(t, "http-echo-2025")
	tests := []struct {
		name   string
		status int
		answer string
		want   string
	}{
		{"status", 500, string(w.Answer()), "status 500"},
		{"length", 200, `{"jsonrpc":"2.0"}`, "17 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var checked atomic.Bool
			h := newHTTP(t, w, func(rw http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if !checked.Load() {
					rw.Write(w.Answer())
					return
				}
				rw.WriteHeader(tt.status)
				io.WriteString(rw, tt.answer)
			})
			if err := h.Check(); err != nil {
				t.Fatal(err)
			}
			checked.Store(true)
			if _, err := h.Run(short()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run: %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// stdioPeer answers each line with answer, after the handshake.
func stdioPeer(t *testing.T, w fix.Workload, answer string) *load.Generator {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer outW.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := inR.Read(buf)
			if err != nil {
				return
			}
			for line := range strings.Lines(string(buf[:n])) {
				switch {
				case strings.Contains(line, `"initialize"`):
					outW.Write(append(fix.InitAnswer(), '\n'))
				case strings.Contains(line, "notifications/initialized"):
				default:
					io.WriteString(outW, answer+"\n")
				}
			}
		}
	}()
	t.Cleanup(func() {
		outR.Close()
		inW.Close()
		<-done
		inR.Close()
	})
	return &load.Generator{In: inW, Out: outR, Workload: w}
}

func TestStdio(t *testing.T) {
	for _, name := range []string{"stdio-echo-1", "stdio-echo-64"} {
		t.Run(name, func(t *testing.T) {
			w := find(t, name)
			s := stdioPeer(t, w, string(w.Answer()))
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			result, err := s.Run(short())
			if err != nil {
				t.Fatal(err)
			}
			if result.Requests == 0 {
				t.Error("no requests were answered")
			}
			if timed := result.Latency.Quantile(0.5) > 0; timed != (w.Window == 1) {
				t.Errorf("latency measured: %v, want %v", timed, w.Window == 1)
			}
		})
	}
}

func TestStdioCheckRefuses(t *testing.T) {
	w := find(t, "stdio-echo-1")
	s := stdioPeer(t, w, strings.Replace(string(w.Answer()), "hello", "jello", 1))
	if err := s.Initialize(); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err == nil {
		t.Error("a wrong answer passes")
	}
}

func TestHistogram(t *testing.T) {
	var a, b load.Histogram
	if got := a.Quantile(0.5); got != 0 {
		t.Errorf("empty: Quantile = %v, want 0", got)
	}
	for i := range 100_000 {
		h := &a
		if i%2 == 0 {
			h = &b
		}
		h.Add(time.Duration(i) * 10 * time.Microsecond)
	}
	a.Merge(&b)
	for _, q := range []float64{0.01, 0.5, 0.99} {
		got, want := a.Quantile(q).Seconds(), q
		if got < want*0.97 || got > want*1.03 {
			t.Errorf("Quantile(%v) = %.4f s, want about %.4f", q, got, want)
		}
	}
	var one load.Histogram
	one.Add(3 * time.Second)
	if got := one.Quantile(0.99); got < 2900*time.Millisecond || got > 3*time.Second {
		t.Errorf("Quantile of one = %v, want 3s", got)
	}
}
