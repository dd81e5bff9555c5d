package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// oldServer serves only HTTP+SSE of 2024-11-05.
func oldServer(t *testing.T, src mcp.Source) *httptest.Server {
	t.Helper()
	server := mcpserver.New(src, nil)
	sse := server.SSEHandler("/message", nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path != "/message" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		sse.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		web.CloseClientConnections()
		web.Close()
	})
	return web
}

func TestSourceOverOldSSE(t *testing.T) {
	web := oldServer(t, &world{})
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		return open(t, &client.Endpoint{URL: web.URL + "/sse"}, nil)
	}, suiteOptions())
}

func TestOldSSE(t *testing.T) {
	leaks(t)
	blocked := make(chan struct{})
	web := oldServer(t, &world{blocked: blocked})
	src := open(t, &client.Endpoint{URL: web.URL + "/sse"}, nil)
	if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
		t.Errorf("echo = %q", got)
	}
	ended := inFlight(t, src, t.Context())
	<-blocked
	web.CloseClientConnections()
	if err := <-ended; err == nil {
		t.Error("a call survives its stream")
	}
	if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
		t.Errorf("echo = %q", got)
	}
}

// bearer adds a token to each request, like a login.
type bearer struct{}

func (bearer) Authorize(r *http.Request) error {
	r.Header.Set("Authorization", "Bearer hunter22")
	return nil
}

func (bearer) Refused(*http.Response) (bool, error) { return false, nil }

// TestOldSSEOnAnotherHost redirects the stream of 2024-11-05 to another host, which then names itself as the address
// for messages. It works, and gets no secrets.
func TestOldSSEOnAnotherHost(t *testing.T) {
	for _, test := range []struct {
		name     string
		endpoint *client.Endpoint
	}{
		{"header", &client.Endpoint{Header: http.Header{"X-Api-Key": {"hunter22"}}}},
		{"credentials", &client.Endpoint{Credentials: bearer{}}},
		{"caller", &client.Endpoint{Describe: func(r *http.Request) error {
			r.Header.Set("X-User", "hunter22")
			return nil
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var leaked atomic.Pointer[string]
			other := oldServer(t, &world{})
			served := other.Config.Handler
			other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for name, values := range r.Header {
					if strings.Contains(values[0], "hunter22") {
						leaked.Store(&name)
					}
				}
				served.ServeHTTP(w, r)
			})
			named := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				http.Redirect(w, r, other.URL+"/sse", http.StatusTemporaryRedirect)
			}))
			t.Cleanup(named.Close)
			test.endpoint.URL = named.URL + "/sse"
			src := open(t, test.endpoint, nil)
			if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
				t.Errorf("echo = %q, want hi", got)
			}
			if name := leaked.Load(); name != nil {
				t.Errorf("the other host was sent the secret in %s", *name)
			}
		})
	}
}

// resting disconnects its client during a call, and answers later.
type resting struct{ world }

func (r *resting) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name != "pid" {
		return r.world.CallTool(ctx, p)
	}
	req := mcp.RequestFrom(ctx)
	req.Log(mcp.LogError, "", "here we go")
	if !req.Disconnect(time.Millisecond) {
		return nil, errors.New("the client cannot be let go")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("later")}}, nil
}

func TestBrokenStreamIsContinued(t *testing.T) {
	u := newUpstream(t, &resting{})
	src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true}, &client.Options{Version: mcp.Version20251125})
	c := mcptest.Connect(t, src, mcp.Version20251125, nil)
	r := c.CallTool("pid", nil)
	if r.Content[0].Text != "later" {
		t.Errorf("the answer is %+v", r)
	}
	resumed := false
	u.mu.Lock()
	for _, r := range u.heard {
		resumed = resumed || r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") != ""
	}
	u.mu.Unlock()
	if !resumed || src.State().Starts != 1 {
		t.Errorf("resumed %v, State = %+v; want one session and a GET with Last-Event-Id", resumed, src.State())
	}
}

// pipeConn is an in-memory connection.
type pipeConn struct {
	in   <-chan []byte
	out  chan<- []byte
	gone chan struct{}
	once *sync.Once
}

func pipe() (one, other *pipeConn) {
	a, b, gone, once := make(chan []byte, 100), make(chan []byte, 100), make(chan struct{}), &sync.Once{}
	return &pipeConn{a, b, gone, once}, &pipeConn{b, a, gone, once}
}

func (p *pipeConn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case m := <-p.in:
		return m, nil
	case <-p.gone:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeConn) WriteMessage(m []byte) error {
	select {
	case <-p.gone:
		return io.ErrClosedPipe
	default:
	}
	select {
	case p.out <- append([]byte(nil), m...):
		return nil
	case <-p.gone:
		return io.ErrClosedPipe
	}
}

func (p *pipeConn) Close() error { p.once.Do(func() { close(p.gone) }); return nil }

func TestSourceOverConn(t *testing.T) {
	leaks(t)
	server := mcpserver.New(&world{}, nil)
	defer server.Shutdown(context.Background())
	var last *pipeConn
	var serving sync.WaitGroup
	defer serving.Wait()
	src := open(t, &client.Dialer{Name: "memory", Dial: func(context.Context) (mcpserver.Conn, error) {
		ours, theirs := pipe()
		last = theirs
		serving.Go(func() { _ = server.ServeConn(context.Background(), theirs, nil) })
		return ours, nil
	}}, nil)
	defer src.Close()
	mustCall(t, src, "echo", `{"text":"hi"}`)
	_ = last.Close()
	if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" || src.State().Starts != 2 {
		t.Errorf("echo = %q, State = %+v", got, src.State())
	}
}

func TestGuardSeesRedirectsAndAllows(t *testing.T) {
	u := newUpstream(t, &world{})
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	src := open(t, &client.Endpoint{URL: u.URL + "/mcp", PublicOnly: true, Allow: allow}, nil)
	mustCall(t, src, "echo", `{"text":"hi"}`)
	u.serve(http.RedirectHandler("http://[::1]:9/mcp", http.StatusTemporaryRedirect))
	_, err := client.Open(t.Context(), &client.Endpoint{URL: u.URL + "/mcp", PublicOnly: true, Allow: allow}, nil)
	var blocked *client.BlockedError
	if !errors.As(err, &blocked) {
		t.Errorf("Open after a redirect = %v, want a BlockedError", err)
	}
}

// TestRedirectsOfTypedURLs ensures that the host of a URL may be anywhere, under any
// name, but its redirects may not.
func TestRedirectsOfTypedURLs(t *testing.T) {
	u := newUpstream(t, &world{})
	named := strings.Replace(u.URL, "127.0.0.1", "localhost", 1)
	spelled := strings.Replace(u.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)
	away := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(away.Close)
	for _, test := range []struct {
		name, to, allow string
		blocked         bool
	}{
		{"own port", u.URL + "/mcp", "", false},
		{"other name of this machine", named + "/mcp", "", false},
		{"other spelling", spelled + "/mcp", "", true},
		{"other spelling, allowed", spelled + "/mcp", "127.0.0.0/8", false},
		{"metadata", "http://169.254.169.254/latest", "", true},
		{"private", "http://10.0.0.1/mcp", "127.0.0.0/8", true},
		{"private in IPv6", "http://[fd00::1]/mcp", "", true},
		{"any address", "http://0.0.0.0:9/mcp", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			away.Config.Handler = http.RedirectHandler(test.to, http.StatusPermanentRedirect)
			endpoint := &client.Endpoint{URL: away.URL + "/mcp"}
			if test.allow != "" {
				endpoint.Allow = []netip.Prefix{netip.MustParsePrefix(test.allow)}
			}
			src, err := client.Open(t.Context(), endpoint, nil)
			var blocked *client.BlockedError
			if errors.As(err, &blocked) != test.blocked { // the server itself refuses some names of its host
				t.Fatalf("Open = %v, want blocked: %t", err, test.blocked)
			}
			if err == nil {
				mustCall(t, src, "echo", `{"text":"hi"}`)
				_ = src.Close()
			}
		})
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	f.Add(`{"id":"7","error":{"code":1,"message":""},"method":"\u0061"}`)
	fuzzbound.Fuzz(f, func(t *testing.T, text string) { client.Receive([]byte(text)) })
}
