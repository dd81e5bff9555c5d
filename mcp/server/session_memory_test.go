package server_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"an-ordinary-client",` +
	`"version":"1.2.3"}}}`

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// An idle session must cost almost nothing, because some clients never end theirs.
func TestIdleSessionMemory(t *testing.T) {
	const n = 20_000
	server := mcpserver.New(newDemo(), nil)
	h := server.HTTPHandler(nil)
	before, goroutines := heap(), runtime.NumGoroutine()
	for range n {
		w := &sink{header: make(http.Header)}
		r, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(initialize))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
		if w.header.Get("Mcp-Session-Id") == "" {
			t.Fatal("no session")
		}
	}
	each := (heap() - before) / n
	if each > 600 {
		t.Errorf("an idle session holds %d bytes, want at most 600", each)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, want %d", now, goroutines)
	}
	t.Logf("%d bytes each", each)
	runtime.KeepAlive(server)
}
