// Package inproc measures a peer's HTTP handler without a network: the handler is called
// directly with a reused request and a counting writer. Each Go peer has a test file that
// calls [Check] and [Benchmark].
package inproc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/system"
)

// Serve creates the handler of a peer.
type Serve func(contract.Config) (http.Handler, error)

// Check fails t if the answer to any HTTP workload is wrong. versions are those that the
// peer supports.
func Check(t *testing.T, serve Serve, versions ...string) {
	check(t, serve, workloads(versions))
}

// CheckSingle is [Check] without the workloads that answer with several events, for a
// peer that occasionally loses some of them.
func CheckSingle(t *testing.T, serve Serve, versions ...string) {
	check(t, serve, slices.DeleteFunc(workloads(versions), func(w fix.Workload) bool {
		return w.Events > 0
	}))
}

// check runs each workload once and verifies its answer, before any is measured.
func check(t *testing.T, serve Serve, all []fix.Workload) {
	for _, w := range all {
		t.Run(w.Name, func(t *testing.T) {
			if _, err := prepare(serve, w); err != nil {
				t.Error(err)
			}
		})
	}
}

// Benchmark runs each HTTP workload as a sub-benchmark, after checking its answer. It also
// reports the CPU time of the process, with that of garbage collection.
func Benchmark(b *testing.B, serve Serve, versions ...string) {
	for _, w := range workloads(versions) {
		b.Run(w.Name, func(b *testing.B) {
			c, err := prepare(serve, w)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			began, known := cpuTime()
			for id := fix.FirstID + 1; b.Loop(); id++ {
				fix.PutID(c.body, id)
				if c.call(); c.out.status != http.StatusOK {
					b.Fatalf("status %d", c.out.status)
				}
			}
			if spent, _ := cpuTime(); known {
				b.ReportMetric(float64(spent-began)/float64(b.N), "cpu-ns/op")
			}
		})
	}
}

// cpuTime returns the CPU time of this process, which other load on the machine affects less
// than the clock. known is false where the system does not tell.
func cpuTime() (used time.Duration, known bool) {
	used, err := system.CPUTime(os.Getpid())
	return used, err == nil
}

// workloads returns the HTTP workloads of some versions of the protocol.
func workloads(versions []string) []fix.Workload {
	var all []fix.Workload
	for _, w := range fix.Workloads() {
		for _, v := range versions {
			if w.Kind == fix.HTTP && w.Version == v {
				all = append(all, w)
			}
		}
	}
	return all
}

// caller repeatedly calls one handler with one request.
type caller struct {
	// handler is what is measured, with the same request and a rewound body each time.
	handler http.Handler
	request *http.Request
	body    []byte
	reader  reader
	out     counter
}

// prepare creates the handler, opens the session if required, and checks the first
// answer.
func prepare(serve Serve, w fix.Workload) (*caller, error) {
	handler, err := serve(contract.For(w, "127.0.0.1:8080"))
	if err != nil {
		return nil, err
	}
	c := &caller{
		handler: handler,
		request: newRequest(w),
		out:     counter{header: http.Header{}},
	}
	if w.Session {
		if err := c.initialize(); err != nil {
			return nil, err
		}
	}
	c.body = w.Body(fix.FirstID)
	answer := c.record()
	if c.out.status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", c.out.status, answer)
	}
	return c, w.Check(answer, fix.FirstID)
}

// newRequest returns the request of a workload as net/http would hand it to a handler.
func newRequest(w fix.Workload) *http.Request {
	header := http.Header{}
	for _, h := range w.Header() {
		header.Set(h[0], h[1])
	}
	local := &net.TCPAddr{
		IP:   net.IPv4(127, 0, 0, 1),
		Port: 8080,
	}
	r := &http.Request{
		Method:     http.MethodPost,
		URL:        &url.URL{Path: "/mcp"},
		RequestURI: "/mcp",
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     header,
		Host:       "127.0.0.1:8080",
		RemoteAddr: "127.0.0.1:40000",
	}
	return r.WithContext(context.WithValue(context.Background(),
		http.LocalAddrContextKey, net.Addr(local)))
}

// initialize performs the handshake, and keeps the session id for later requests.
func (c *caller) initialize() error {
	c.body = fix.InitBody()
	answer := c.record()
	if err := fix.CheckInit(answer); err != nil {
		return err
	}
	if id := c.out.header.Get("Mcp-Session-Id"); id != "" {
		c.request.Header.Set("Mcp-Session-Id", id)
	}
	c.body = fix.InitializedBody()
	c.record()
	return nil
}

// record calls the handler once and returns a copy of its answer.
func (c *caller) record() []byte {
	var kept bytes.Buffer
	c.out.keep = &kept
	c.call()
	c.out.keep = nil
	return kept.Bytes()
}

// call sends the prepared request. It allocates nothing itself: everything measured belongs
// to the handler.
func (c *caller) call() {
	c.reader.Reset(c.body)
	c.request.Body = &c.reader
	c.request.ContentLength = int64(len(c.body))
	clear(c.out.header)
	c.out.n = 0
	c.out.status = 0
	c.handler.ServeHTTP(&c.out, c.request)
}

// reader is a request body that can be rewound.
type reader struct{ bytes.Reader }

// Close implements [io.Closer].
func (*reader) Close() error { return nil }

// counter is a ResponseWriter that counts bytes.
type counter struct {
	// status is the first one set. n is the length of the body so far.
	header http.Header
	status int
	n      int
	keep   io.Writer // nil while measuring
}

// Header implements [http.ResponseWriter].
func (c *counter) Header() http.Header { return c.header }

// WriteHeader implements [http.ResponseWriter]. Only the first call counts.
func (c *counter) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

// Write implements [http.ResponseWriter].
func (c *counter) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	c.n += len(p)
	if c.keep != nil {
		return c.keep.Write(p)
	}
	return len(p), nil
}

// Flush implements http.Flusher, which some peers require.
func (c *counter) Flush() {}
