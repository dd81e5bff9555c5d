package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// from posts body as a client at that address.
func from(h http.Handler, remote, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.RemoteAddr = remote
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve.NewHandler(tools{}, &serve.Options{Limits: serve.Limits{Rate: 2, Burst: 3}})
		spend := func(remote string, want ...int) {
			t.Helper()
			for i, status := range want {
				w := from(h, remote, list)
				if w.Code != status {
					t.Errorf("request %d of %s = %d %s, want %d", i+1, remote, w.Code, w.Body, status)
				}
				if status == 429 && (w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(),
					`"code":-31003`)) {
					t.Errorf("429 with %v %s, want Retry-After 1 and -31003", w.Header(), w.Body)
				}
				limit, rule := "", ""
				if status == 429 {
					limit, rule = `"rate";r=0;t=1`, `"rate";q=3;w=2`
				}
				if w.Header().Get("RateLimit") != limit || w.Header().Get("RateLimit-Policy") != rule {
					t.Errorf("request %d of %s has %v, want %s and %s", i+1, remote, w.Header(), limit, rule)
				}
			}
		}
		spend("192.0.2.1:1000", 200, 200, 200, 429, 429)
		spend("192.0.2.1:2000", 429)
		spend("192.0.2.2:1000", 200)
		spend("[::ffff:192.0.2.1]:1000", 429)
		spend("[2001:db8::1]:1000", 200, 200, 200, 429)
		spend("[2001:db8::ffff]:1000", 429)
		spend("[2001:db8:0:1::1]:1000", 200)
		time.Sleep(time.Second)
		spend("192.0.2.1:1000", 200, 200, 429)
		time.Sleep(time.Hour)
		spend("192.0.2.1:1000", 200, 200, 200, 429)
	})
}

func TestRateLimitCountsEachRequestOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve.NewHandler(tools{}, &serve.Options{Limits: serve.Limits{Rate: 1, Burst: 4}})
		w := from(h, "192.0.2.1:1", "["+strings.Repeat(list+",", 5)+list+"]", "MCP-Protocol-Version", "2025-03-26")
		if got := w.Body.String(); w.Code != 200 || strings.Count(got, `"tools"`) != 3 || strings.Count(got,
			"-31003") != 3 {
			t.Errorf("answer = %d %s, want three results and three errors", w.Code, got)
		}
	})
}

func TestRateLimitIsThePrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve.NewHandler(tools{}, &serve.Options{Auth: testAuth(t), Limits: serve.Limits{Rate: 1, Burst: 2}})
		spend := func(remote, token string, want ...int) {
			t.Helper()
			for i, status := range want {
				if w := from(h, remote, list, "Authorization", "Bearer "+token); w.Code != status {
					t.Errorf("request %d with %s from %s = %d, want %d", i+1, token, remote, w.Code, status)
				}
			}
		}
		spend("192.0.2.1:1", readerToken, 200)
		spend("192.0.2.2:1", readerToken, 200, 429)
		// Clients that guess tokens are slowed down, but no others at that address.
		spend("192.0.2.3:1", unknownToken, 401, 401, 429)
		spend("192.0.2.3:1", adminToken, 200, 200, 429)
	})
}

func TestConcurrencyLimits(t *testing.T) {
	tests := []struct {
		name   string
		limits serve.Limits
		remote string // of the first request over the limit
		status int
	}{
		{"of one client", serve.Limits{ClientInFlight: 2}, "192.0.2.1:9", 429},
		{"of one client, another", serve.Limits{ClientInFlight: 2}, "192.0.2.9:9", 200},
		{"of all", serve.Limits{InFlight: 2}, "192.0.2.9:9", 503},
		{"of all, with room", serve.Limits{InFlight: 3}, "192.0.2.9:9", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newSource()
				h := serve.NewHandler(src, &serve.Options{Limits: tt.limits})
				done := make(chan int, 2)
				for range 2 {
					go func() { done <- from(h, "192.0.2.1:1", call).Code }()
					<-src.entered
				}
				w := from(h, tt.remote, list)
				if w.Code != tt.status {
					t.Errorf("one more = %d %s, want %d", w.Code, w.Body, tt.status)
				}
				if tt.status != 200 &&
					(w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(),
						`"id":1,"error":{"code":-31003`)) {
					t.Errorf("refused with %v %s", w.Header(), w.Body)
				}
				for range 2 {
					src.release <- struct{}{}
					if code := <-done; code != 200 {
						t.Errorf("one within the limit = %d", code)
					}
				}
				if w := from(h, "192.0.2.1:1", list); w.Code != 200 {
					t.Errorf("afterwards = %d %s, want 200", w.Code, w.Body)
				}
			})
		})
	}
}

// A request that one limit refuses must not stay counted for another.
func TestWhatIsRefusedIsNotInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		h := serve.NewHandler(src, &serve.Options{Limits: serve.Limits{ClientInFlight: 2, InFlight: 1}})
		done := make(chan int, 1)
		go func() { done <- from(h, "192.0.2.1:1", call).Code }()
		<-src.entered
		for range 5 {
			if w := from(h, "192.0.2.2:1", list); w.Code != 503 {
				t.Errorf("one more than all = %d, want 503", w.Code)
			}
		}
		src.release <- struct{}{}
		<-done
		if w := from(h, "192.0.2.2:1", list); w.Code != 200 {
			t.Errorf("afterwards = %d %s, want 200", w.Code, w.Body)
		}
	})
}

func TestClientsAreForgotten(t *testing.T) {
	h := serve.NewHandler(tools{}, &serve.Options{Features: serve.Features{NoMetrics: true},
		Limits: serve.Limits{Rate: 1, Burst: 2, Clients: 160}})
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	for i := range 20_000 {
		if w := from(h, fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), list); w.Code != 200 {
			t.Fatalf("a new client = %d", w.Code)
		}
	}
	// If all were remembered, they would take more than 2 MB.
	if after := memory(); after > before+1<<20 {
		t.Errorf("20,000 clients hold %d bytes, want that most are forgotten", after-before)
	}
	runtime.KeepAlive(h)
}

// ask is a gate that refuses one tool.
type ask struct{ entered, left int }

func (a *ask) Enter(_ context.Context, op server.Operation) error {
	if op.Name == "sink" {
		return &mcp.Error{Code: mcp.CodeToolDenied, Message: "not today", Status: 403}
	}
	a.entered++
	return nil
}
func (a *ask) Leave(context.Context, server.Operation) { a.left++ }

func TestGateOfTheProgramComesLast(t *testing.T) {
	a := &ask{}
	h := serve.NewHandler(tools{}, &serve.Options{
		Auth:   testAuth(t),
		Limits: serve.Limits{ClientInFlight: 1},
		Server: server.Options{Gate: a},
	})
	for range 3 { // a request that the gate refuses must not stay in flight
		if w := from(h, "192.0.2.1:1", toolCall("sink"), "Authorization",
			"Bearer "+adminToken); w.Code != 403 || !strings.Contains(w.Body.String(), "not today") {
			t.Errorf("answer = %d %s", w.Code, w.Body)
		}
	}
	if w := from(h, "192.0.2.1:1", toolCall("look"), "Authorization", "Bearer "+adminToken); w.Code != 200 {
		t.Errorf("answer = %d %s", w.Code, w.Body)
	}
	if w := from(h, "192.0.2.1:1", toolCall("look"), "Authorization", "Bearer "+powerlessToken); w.Code != 403 {
		t.Errorf("answer = %d %s", w.Code, w.Body)
	}
	if a.entered != 1 || a.left != 1 {
		t.Errorf("%d entered and %d left, want 1 and 1", a.entered, a.left)
	}
}
