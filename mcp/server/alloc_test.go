package server_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/slipway-mcp/slipway/mcp/server"
)

// sink is a ResponseWriter that counts bytes and discards them.
type sink struct {
	header http.Header
	status int
	n      int
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(code int) {
	s.status = code
}
func (s *sink) Write(b []byte) (int, error) {
	s.n += len(b)
	return len(b), nil
}

// rerun is a request that can be served repeatedly without allocating.
type rerun struct {
	handler http.Handler
	req     *http.Request
	body    *bytes.Reader
	w       sink
}

func newRerun(h http.Handler, body string, header http.Header) *rerun {
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
	if err != nil {
		panic(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.ContentLength = int64(len(body))
	reader := bytes.NewReader([]byte(body))
	r.Body = io.NopCloser(reader)
	return &rerun{handler: h, req: r, body: reader, w: sink{header: make(http.Header)}}
}

func (r *rerun) serve() int {
	_, _ = r.body.Seek(0, io.SeekStart)
	r.w.n, r.w.status = 0, 0
	r.handler.ServeHTTP(&r.w, r.req)
	return r.w.n
}

const (
	legacyEcho = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` +
		`"arguments":{"message":"hello"}}}`
	envelope = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}`
	modernEcho = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` +
		`"arguments":{"message":"hello"},` +
		envelope + `}}`
)

func modernHeader(method, name string) http.Header {
	h := http.Header{}
	h.Set("MCP-Protocol-Version", "2026-07-28")
	h.Set("Mcp-Method", method)
	if name != "" {
		h.Set("Mcp-Name", name)
	}
	return h
}

func legacyHeader() http.Header {
	h := http.Header{}
	h.Set("MCP-Protocol-Version", "2025-06-18")
	return h
}

type workload struct {
	name   string
	body   string
	header http.Header
	allocs float64 // at most
}

func workloads() []workload {
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	return []workload{
		{"echo-2025",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stored","arguments":{"message":"hello"}}}`,
			legacyHeader(), 5},
		{
			"echo-2026",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stored","arguments":{"message":"hello"},` +
				envelope + `}}`,
			modernHeader("tools/call", "stored"),
			6,
		},
		{"list-2025", list, legacyHeader(), 4},
		{"list-2026", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + envelope + `}}`,
			modernHeader("tools/list", ""), 4},
		{"read-2025", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://text"}}`,
			legacyHeader(), 6},
	}
}

func TestAllocations(t *testing.T) {
	h := server.New(newDemo(), nil).HTTPHandler(nil)
	for _, w := range workloads() {
		t.Run(w.name, func(t *testing.T) {
			r := newRerun(h, w.body, w.header)
			if r.serve() == 0 || r.w.status != 0 {
				t.Fatalf("status %d", r.w.status)
			}
			if n := testing.AllocsPerRun(200, func() { r.serve() }); n > w.allocs {
				t.Errorf("%v allocations, want at most %v", n, w.allocs)
			}
		})
	}
}

func BenchmarkHTTPHandler(b *testing.B) {
	h := server.New(newDemo(), nil).HTTPHandler(nil)
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			r := newRerun(h, w.body, w.header)
			b.ReportAllocs()
			for b.Loop() {
				r.serve()
			}
		})
	}
}
