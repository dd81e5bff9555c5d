package hophttp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// startServer serves a handler until the test ends.
func startServer(t *testing.T, h http.HandlerFunc) (*hophttp.Server, *dialer) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &hophttp.Server{
		Handler:           h,
		ReadHeaderTimeout: time.Minute,
		ReadTimeout:       time.Minute,
		IdleTimeout:       time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
		if err := s.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Errorf("connections are left: %v", err)
		}
	})
	return s, &dialer{address: ln.Addr().String()}
}

// netClient is a client of net/http, as older replicas use it.
func netClient(t *testing.T, d *dialer) *http.Transport {
	t.Helper()
	c := &http.Transport{
		ExpectContinueTimeout: time.Minute,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			d.dials.Add(1)
			return new(net.Dialer).DialContext(ctx, "tcp", d.address)
		},
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// echo answers as the header Case says, and repeats the request.
func echo(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	w.Header().Set("X-Request", fmt.Sprint(r.Method, r.URL, r.RequestURI, r.Host, r.ContentLength, r.TransferEncoding,
		r.RemoteAddr != "", r.Header["Twice"]))
	if r.Header.Get("Case") == "unread" {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch r.Header.Get("Case") {
	case "empty":
	case "no content":
		w.WriteHeader(http.StatusNoContent)
	case "length":
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Header().Set("Content-Type", "text/special")
		_, _ = w.Write(body)
	case "short":
		w.Header().Set("Content-Length", fmt.Sprint(len(body)+1))
		_, _ = w.Write(body)
	case "stream":
		_ = control.Flush()
		for _, b := range body {
			_, _ = w.Write([]byte{b})
			if b == 'e' {
				_ = control.Flush()
			}
		}
	case "pieces":
		for range 30 {
			_, _ = w.Write(body)
		}
	case "close":
		w.Header().Set("Connection", "close")
		_, _ = w.Write(body)
	case "panic":
		panic(http.ErrAbortHandler)
	case "panic within":
		_, _ = w.Write(body)
		_ = control.Flush()
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
	}
}

// TestServer compares the server with that of net/http, for clients of this package and of net/http.
func TestServer(t *testing.T) {
	_, d := startServer(t, echo)
	reference := serve(t, echo)
	clients := map[string]func(*dialer) http.RoundTripper{
		"own":      func(d *dialer) http.RoundTripper { return d.transport() },
		"net/http": func(d *dialer) http.RoundTripper { return netClient(t, d) },
	}
	for client, connect := range clients {
		tested, known := connect(d), connect(reference)
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			for _, name := range []string{
				"", "empty", "no content", "length", "short", "stream", "pieces", "close", "panic", "panic within", "unread",
			} {
				for _, size := range []int64{0, 100, -100, 100_000, -100_000} {
					if size != 0 && method != http.MethodPost || method == http.MethodHead && name == "panic within" {
						continue // the client cannot notice the latter, and may use the connection before it is closed
					}
					send := func(to http.RoundTripper) string {
						req := request(t, method, "")
						if size != 0 {
							text := bytes.Repeat([]byte("the body, "), int(max(size, -size))/10)
							req = upload(t, max(size, -1), bytes.NewReader(text))
						}
						req.Header["Twice"] = []string{"1", "2"}
						req.Header.Set("Case", name)
						status, header, text, err := read(to, req)
						header.Del("Date")
						header.Del("Content-Length") // of net/http with some answers to HEAD
						header.Del("Connection")
						return fmt.Sprint(status, header, len(text), text[:min(len(text), 50)], err != nil)
					}
					if name == "unread" && size != 0 {
						if got := send(tested); !strings.HasPrefix(got, "418") && method != http.MethodGet {
							t.Errorf("%s: %s of %d unread bytes: %s", client, method, size, got)
						}
						continue // whether net/http is in time is not certain
					}
					if got, want := send(tested), send(known); got != want {
						t.Errorf("%s: %s %q, %d bytes:\n got %s\nwant %s", client, method, name, size, got, want)
					}
				}
			}
		}
	}
}

// TestConnectionsKept guards the price of a hop: connections serve many requests.
func TestConnectionsKept(t *testing.T) {
	_, d := startServer(t, echo)
	for _, client := range []http.RoundTripper{d.transport(), netClient(t, d)} {
		d.dials.Store(0)
		for i := range 20 {
			req := request(t, http.MethodPost, "body")
			req.Header.Set("Case", []string{"", "length", "stream", "unread"}[i%4])
			if status, _, text, err := read(client, req); status == 0 || i%4 < 3 && text != "body" || err != nil {
				t.Fatalf("request %d: %d %q %v", i, status, text, err)
			}
		}
		if n := d.dials.Load(); n != 1 {
			t.Errorf("%T: %d connections, want 1", client, n)
		}
	}
}

// TestExpect ensures that a body is asked for when the handler reads it, and not otherwise.
func TestExpect(t *testing.T) {
	_, d := startServer(t, echo)
	for _, client := range []http.RoundTripper{d.transport(), netClient(t, d)} {
		req := upload(t, 4, strings.NewReader("body"))
		req.Header.Set("Expect", "100-continue")
		if status, _, text, err := read(client, req); status != http.StatusAccepted || text != "body" || err != nil {
			t.Errorf("%T: %d %q %v", client, status, text, err)
		}
		req = upload(t, 4, failing{})
		req.Header.Set("Expect", "100-continue")
		req.Header.Set("Case", "unread")
		if status, _, _, err := read(client, req); status != http.StatusTeapot {
			t.Errorf("%T: %d %v, want 418 before the body is sent", client, status, err)
		}
	}
}

// TestClientGone guards calls whose client goes away: their context ends, before and after they have begun to
// answer, and whether the server has begun to watch the connection or not.
func TestClientGone(t *testing.T) {
	started, ended := make(chan bool), make(chan bool)
	_, d := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Case") == "stream" {
			_ = http.NewResponseController(w).Flush()
		}
		started <- true
		<-r.Context().Done()
		ended <- true
	})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, name := range []string{"", "stream"} {
			ctx, cancel := context.WithCancel(t.Context())
			req := request(t, method, "body").WithContext(ctx)
			req.Header.Set("Case", name)
			answered := make(chan bool)
			go func() {
				_, _, _, _ = read(d.transport(), req)
				close(answered)
			}()
			<-started
			cancel()
			<-ended
			<-answered
		}
	}
}

// TestGoneBefore guards replicas that were suspended: the context of a request ends at once if its client has given
// up before it is read.
func TestGoneBefore(t *testing.T) {
	arrived, proceed, ended := make(chan bool, 1), make(chan bool), make(chan bool)
	s, d := startServer(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-proceed
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		ended <- true
	})
	s.SetNotice(time.Hour)
	conn, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
	<-arrived
	_ = conn.Close()
	proceed <- true
	<-ended
}

// TestWatched guards connections that were watched during a request: they serve the next one, although it has
// arrived before the answer to the first.
func TestWatched(t *testing.T) {
	proceed := make(chan bool)
	_, d := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-proceed
		}
		fmt.Fprint(w, r.URL.Path, " ")
	})
	conn, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const get = "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n"
	fmt.Fprintf(conn, get, "slow")
	fmt.Fprintf(conn, get, "next")
	fmt.Fprintf(conn, get, "slow")
	proceed <- true
	in := bufio.NewReader(conn)
	for i, want := range []string{"/slow ", "/next ", "/slow "} {
		if i == 2 {
			proceed <- true
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if string(text) != want || err != nil {
			t.Errorf("answer %q %v, want %q", text, err, want)
		}
	}
}

// TestHijack guards notification streams, which take their connection over: from the handler, and later from
// another goroutine after they have begun to answer.
func TestHijack(t *testing.T) {
	server, d := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Header.Get("Case") == "late" {
			_, _ = io.WriteString(w, "first ")
			_ = control.Flush()
		}
		done := make(chan bool)
		go func() {
			defer close(done)
			conn, _, err := control.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			if r.Header.Get("Case") == "late" {
				_, _ = io.WriteString(conn, "4\r\nlast\r\n0\r\n\r\n")
			} else {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\ntaken")
			}
			_ = conn.Close()
		}()
		<-done
		if _, err := w.Write([]byte("more")); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("a write after Hijack: %v", err)
		}
		if _, _, err := control.Hijack(); !errors.Is(err, http.ErrHijacked) {
			t.Errorf("a second Hijack: %v", err)
		}
	})
	for name, want := range map[string]string{"": "taken", "late": "first last"} {
		req := request(t, http.MethodGet, "")
		req.Header.Set("Case", name)
		if _, _, text, err := read(d.transport(), req); text != want || err != nil {
			t.Errorf("%q %v, want %q", text, err, want)
		}
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestHijackEarly guards WebSockets: what has arrived before the connection was taken over is reported as buffered,
// because the handler then reads the connection itself.
func TestHijackEarly(t *testing.T) {
	got := make(chan string, 1)
	_, d := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			close(got)
			return
		}
		defer conn.Close()
		early, _ := in.Reader.Peek(in.Reader.Buffered())
		rest, _ := io.ReadAll(conn)
		got <- string(early) + string(rest)
	})
	long := strings.Repeat("frame ", 1000) // more than is buffered usually
	for _, frames := range []string{"", "first", long} {
		conn, err := net.Dial("tcp", d.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: talk\r\n\r\n"+frames)
		_ = conn.(*net.TCPConn).CloseWrite()
		if text := <-got; text != frames {
			t.Errorf("%d bytes arrived, want %d", len(text), len(frames))
		}
		_ = conn.Close()
	}
}

// TestBodyReadLate guards connections of other requests: a goroutine that still reads a body after the handler has
// returned, as one does that forwards it, takes nothing from the next request.
func TestBodyReadLate(t *testing.T) {
	reading, late := make(chan bool), make(chan error, 1)
	_, d := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/next" {
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
			return
		}
		go func() {
			b := make([]byte, 32<<10)
			_, _ = io.ReadFull(r.Body, b[:5])
			close(reading)
			for {
				if _, err := r.Body.Read(b); err != nil {
					late <- err
					return
				}
			}
		}()
		<-reading
		time.Sleep(20 * time.Millisecond) // mostly, it waits in Read by then
	})
	conn, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if err := <-late; errors.Is(err, io.EOF) {
		t.Errorf("the body was read to its end: %v", err)
	}
	_, _ = io.WriteString(conn, "restxPOST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
	if resp, err := http.ReadResponse(in, nil); err == nil {
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK || string(text) != "body" {
			t.Errorf("the next request was answered with %d %q", resp.StatusCode, text)
		}
	}
}

// TestClosedBeforeServed ensures that a request is not served that was read while the server closed its connection as
// an idle one: its answer would be lost.
func TestClosedBeforeServed(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	served := make(chan bool, 1)
	s := &hophttp.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served <- true })}
	client, end := net.Pipe()
	defer client.Close()
	closing := &closingConn{
		Conn: end,
		shut: func() { _ = s.Shutdown(over) },
	}
	ended := make(chan bool)
	go func() { _ = s.Serve(&oneConn{conn: closing, ended: ended}) }()
	if _, err := io.ReadAll(client); err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	close(ended)
	if len(served) > 0 {
		t.Error("a request was served whose connection had been closed")
	}
}

// closingConn is a connection on which a request arrives while its server shuts down.
type closingConn struct {
	net.Conn

	shut func()
}

func (c *closingConn) Read(b []byte) (int, error) {
	c.shut()
	return copy(b, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), nil
}

// TestSwitchProtocols guards WebSockets that are forwarded: both ends talk after the heads, with clients and servers of
// this package and of net/http.
func TestSwitchProtocols(t *testing.T) {
	switching := func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Connection"), "Upgrade") || r.Header.Get("Upgrade") != "talk" {
			t.Errorf("header %v", r.Header)
		}
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "talk")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for range 2 {
			line, _ := in.ReadString('\n')
			_, _ = io.WriteString(conn, "got "+line)
		}
	}
	_, own := startServer(t, switching)
	for _, d := range []*dialer{own, serve(t, switching)} {
		for _, client := range []http.RoundTripper{d.transport(), netClient(t, d)} {
			req := request(t, http.MethodGet, "")
			req.Body = nil
			req.Header.Set("Connection", "keep-alive, Upgrade")
			req.Header.Set("Upgrade", "talk")
			resp, err := client.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != "talk" {
				t.Fatalf("%T: %v %v", client, resp, err)
			}
			both := resp.Body.(io.ReadWriteCloser)
			for _, line := range []string{"first\n", "second\n"} {
				_, _ = io.WriteString(both, line)
				got := make([]byte, len("got ")+len(line))
				if _, err := io.ReadFull(both, got); string(got) != "got "+line {
					t.Errorf("%T: %q %v", client, got, err)
				}
			}
			if rest, err := io.ReadAll(both); len(rest) > 0 || err != nil {
				t.Errorf("%T: %q %v after the end", client, rest, err)
			}
			_ = both.Close()
		}
	}
}

// TestShutdown guards upgrades: a server that shuts down answers what it serves, closes idle connections, and
// accepts no others.
func TestShutdown(t *testing.T) {
	started, proceed := make(chan bool), make(chan bool)
	s, d := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			started <- true
			<-proceed
		}
		fmt.Fprint(w, "answer")
	})
	transport := d.transport()
	if _, _, text, err := read(transport, request(t, http.MethodGet, "")); text != "answer" || err != nil {
		t.Fatal(text, err)
	}
	idle, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	answered := make(chan string)
	go func() {
		_, header, text, err := read(d.transport(), request(t, http.MethodPost, "body"))
		answered <- fmt.Sprint(text, header["Connection"], err)
	}()
	<-started
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown = %v while a request is served", err)
	}
	_ = idle.SetDeadline(time.Now().Add(time.Minute))
	if said, err := io.ReadAll(idle); err != nil || !strings.Contains(string(said), "\r\nSlipway-Closed: 1\r\n") {
		t.Errorf("an idle connection: %q, %v, want its end, which is announced", said, err)
	}
	proceed <- true
	if got := <-answered; got != "answer[] <nil>" {
		t.Errorf("the request in flight: %s", got)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	var unsent *hophttp.NotSentError
	if _, _, _, err := read(transport, request(t, http.MethodGet, "")); !errors.As(err, &unsent) {
		t.Errorf("a request after Shutdown: %v", err)
	}
}

// TestShutdownUnderLoad guards requests that are sent while the server closes their connections: each is answered, or
// known not to be served.
func TestShutdownUnderLoad(t *testing.T) {
	for n := range 20 {
		text := strings.Repeat("text", 1+n%2*4096) // every other one is larger than a buffer
		var served, answered atomic.Int64
		server, d := startServer(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			served.Add(1)
		})
		transport := d.transport()
		dial := transport.Dial
		transport.Dial = func(ctx context.Context) (net.Conn, error) {
			if answered.Load() > 50 {
				return nil, errors.New("refused") // as a handshake is
			}
			return dial(ctx)
		}
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for {
					req, _ := http.NewRequest(http.MethodPost, "https://replica/", strings.NewReader(text))
					resp, err := transport.RoundTrip(req)
					if err != nil {
						var unsent *hophttp.NotSentError
						if !errors.As(err, &unsent) {
							t.Errorf("error = %v, want an answer or a NotSentError", err)
						}
						return
					}
					_ = resp.Body.Close()
					answered.Add(1)
				}
			})
		}
		for answered.Load() < 100 {
			runtime.Gosched()
		}
		if err := server.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		clients.Wait()
		if all := served.Load(); all != answered.Load() {
			t.Errorf("%d requests served, %d answered", all, answered.Load())
		}
	}
}

// TestTimeouts ensures that a connection does not wait forever for a head, a body or a request.
func TestTimeouts(t *testing.T) {
	for name, text := range map[string]string{
		"idle": "", "head": "GET / HT", "body": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nbo",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, end := net.Pipe()
				timeouts := map[string]time.Duration{"idle": time.Hour, "head": time.Hour, "body": time.Hour}
				timeouts[name] = time.Second
				s := &hophttp.Server{
					Handler:           http.HandlerFunc(echo),
					IdleTimeout:       timeouts["idle"],
					ReadHeaderTimeout: timeouts["head"],
					ReadTimeout:       timeouts["body"],
				}
				ended := make(chan bool)
				go func() { _ = s.Serve(&oneConn{conn: end, ended: ended}) }()
				began := time.Now()
				_, _ = io.WriteString(client, text)
				_, _ = io.ReadAll(client)
				if waited := time.Since(began); waited > 3*time.Second {
					t.Errorf("the connection was closed after %v", waited)
				}
				close(ended)
			})
		})
	}
}

// FuzzRequest reads requests, and accepts none that net/http reads as another one.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET /a?b HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbodyGET",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		"GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
	} {
		f.Add(text)
	}
	describe := func(r *http.Request) string {
		body, err := io.ReadAll(r.Body)
		return fmt.Sprintf("%s %s %s %q %d %q %v", r.Method, r.URL, r.RequestURI, r.Host, r.ContentLength, body, err == nil)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		client, end := net.Pipe()
		got := make(chan string, 100)
		s := &hophttp.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case got <- describe(r):
			default:
			}
			w.Header().Set("Connection", "close")
		})}
		go func() { _, _ = io.Copy(io.Discard, client) }()
		ended := make(chan bool)
		go func() {
			_ = s.Serve(&oneConn{conn: end, ended: ended})
		}()
		_, _ = io.WriteString(client, text)
		_ = client.Close()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(ended)
		select {
		case first := <-got:
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
			if err != nil {
				return // net/http accepts less in places
			}
			if want := describe(r); first != want && strings.HasSuffix(want, "true") {
				t.Errorf("%s, net/http reads %s", first, want)
			}
		default:
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn  net.Conn
	ended chan bool
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}
func (*oneConn) Close() error   { return nil }
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestShutdownDuringHandshake sends a request on a connection whose handshake the server has not completed when it
// stops. The client has, so it must learn that the request was not served.
func TestShutdownDuringHandshake(t *testing.T) {
	issuer := httptest.NewTLSServer(nil)
	issuer.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	verifying, proceed := make(chan bool), make(chan bool)
	config := issuer.TLS.Clone()
	config.VerifyConnection = func(tls.ConnectionState) error {
		verifying <- true
		<-proceed
		return nil
	}
	s := &hophttp.Server{
		Handler:     http.NotFoundHandler(),
		IdleTimeout: time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(tls.NewListener(ln, config)) }()
	transport := &hophttp.Transport{Dial: func(ctx context.Context) (net.Conn, error) {
		d := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		return d.DialContext(ctx, "tcp", ln.Addr().String())
	}}
	refused := make(chan error, 1)
	go func() {
		_, _, _, err := read(transport, request(t, http.MethodPost, "body"))
		refused <- err
	}()
	<-verifying
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown = %v during a handshake", err)
	}
	proceed <- true
	var unsent *hophttp.NotSentError
	if err := <-refused; !errors.As(err, &unsent) {
		t.Errorf("error = %v, want a NotSentError", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-served
}

// TestFieldsBetween sends fields between replicas. They derive the context, and no request of a client has them.
func TestFieldsBetween(t *testing.T) {
	type key struct{}
	s := &hophttp.Server{
		Context: func(ctx context.Context, between []hophttp.Field) context.Context {
			return context.WithValue(ctx, key{}, between)
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, r.Context().Value(key{}), r.Header["Slipway-Count"], r.Header["Other"])
		}),
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-served
	})
	transport := (&dialer{address: ln.Addr().String()}).transport()
	t.Cleanup(transport.CloseIdleConnections)
	for range 2 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host/", nil)
		req.Header.Set("Other", "1")
		req.Header.Set("Slipway-Client", "of the client")
		resp, err := transport.Send(req, []hophttp.Field{{"Slipway-Count", "1"}, {"Slipway-Secure", "true"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		if want := "[[Slipway-Count 1] [Slipway-Secure true]] [] [1]"; string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
