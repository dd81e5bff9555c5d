package hophttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// dialer connects to one server, and counts.
type dialer struct {
	address       string
	opaque        bool      // connections of which the system cannot be asked
	ended         chan bool // receives true when a read of an opaque connection fails
	dials, writes atomic.Int64
}

func (d *dialer) transport() *hophttp.Transport {
	return &hophttp.Transport{Dial: func(ctx context.Context) (net.Conn, error) {
		d.dials.Add(1)
		c, err := new(net.Dialer).DialContext(ctx, "tcp", d.address)
		if err != nil {
			return nil, err
		}
		if d.opaque {
			return &opaqueConn{countingConn{Conn: c, writes: &d.writes}, d.ended}, nil
		}
		return &askedConn{countingConn{Conn: c, writes: &d.writes}}, nil
	}}
}

type countingConn struct {
	net.Conn

	writes *atomic.Int64
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

type askedConn struct{ countingConn }

type opaqueConn struct {
	countingConn

	ended chan<- bool
}

func (c *opaqueConn) Read(b []byte) (n int, err error) {
	if n, err = c.Conn.Read(b); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.ended <- true
	}
	return n, err
}

func (c *askedConn) NetConn() net.Conn { return c.Conn }

func serve(t *testing.T, h http.HandlerFunc) *dialer {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &dialer{address: s.Listener.Addr().String()}
}

// serveText answers each connection with a text after the head of its first request.
func serveText(t *testing.T, text string) *dialer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4<<10))
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	return &dialer{address: ln.Addr().String()}
}

func request(t *testing.T, method, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://replica/path?a=b", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// read sends a request and reads the answer.
func read(transport http.RoundTripper, req *http.Request) (status int, header http.Header, body string, err error) {
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(text), err
}

// TestAnswers compares the answers of a server of net/http with those that net/http reads.
func TestAnswers(t *testing.T) {
	long := strings.Repeat("long ", 50_000)
	d := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["X-Value"] = []string{"1", "2"}
		w.Header().Set("X-Request", fmt.Sprint(r.Method, r.URL, r.Host, r.ContentLength, len(body)))
		w.Header().Set("Date", "now")
		switch r.Header.Get("Case") {
		case "empty":
			w.WriteHeader(http.StatusNoContent)
		case "long head":
			w.Header().Set("X-Long", long[:60_000])
		case "stream":
			for range 3 {
				_, _ = io.WriteString(w, "piece ")
				_ = http.NewResponseController(w).Flush()
			}
		case "close":
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "last")
		case "early":
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = io.WriteString(w, "after")
		case "long":
			_, _ = io.WriteString(w, long)
		default:
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "short")
		}
	})
	transport := d.transport()
	reference := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", d.address)
	}}
	defer reference.CloseIdleConnections()
	defer transport.CloseIdleConnections()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		for _, name := range []string{"short", "empty", "long head", "stream", "close", "early", "long"} {
			body := ""
			if method == http.MethodPost {
				body = "text"
			}
			req := request(t, method, body)
			req.Header.Set("Case", name)
			status, header, text, err := read(transport, req)
			req = request(t, method, body)
			req.Header.Set("Case", name)
			wantStatus, wantHeader, want, wantErr := read(reference, req)
			header.Del("Content-Length") // net/http removes that of an answer to HEAD only sometimes
			wantHeader.Del("Content-Length")
			wantHeader.Del("Connection")
			if err != nil || wantErr != nil || status != wantStatus || text != want ||
				fmt.Sprint(header) != fmt.Sprint(wantHeader) {
				t.Errorf("%s %s: %d %.200v %.40q %v, want %d %.200v %.40q %v",
					method, name, status, header, text, err, wantStatus, wantHeader, want, wantErr)
			}
		}
	}
	if n := d.dials.Load(); n != 5 {
		t.Errorf("%d connections, want one and one after each that was closed", n)
	}
}

// TestFields guards what is forwarded: fields of the connection and of proxies are not.
func TestFields(t *testing.T) {
	d := serve(t, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		fmt.Fprint(w, r.Header)
	})
	req := request(t, http.MethodPost, "body")
	for _, name := range []string{"Connection", "Keep-Alive", "Te", "Forwarded", "X-Forwarded-For", "Private"} {
		req.Header.Set(name, "other")
	}
	req.Header.Set("Connection", "keep-alive, Private")
	req.Header["Kept"] = []string{"1", "2"}
	_, _, text, err := read(d.transport(), req)
	if want := "map[Content-Length:[4] Kept:[1 2]]"; text != want || err != nil {
		t.Errorf("%s %v, want %s", text, err, want)
	}
	req = request(t, http.MethodPost, "body")
	req.Header.Set("Kept", "1\r\nInjected: 2")
	if _, _, text, err := read(d.transport(), req); err == nil {
		t.Errorf("a value of two lines was sent: %s", text)
	}
}

// TestOneWrite guards the price of a hop: a request is one write, and connections are used again.
func TestOneWrite(t *testing.T) {
	d := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	transport := d.transport()
	for range 10 {
		body := strings.Repeat("b", 20_000)
		if _, _, text, err := read(transport, request(t, http.MethodPost, body)); text != body || err != nil {
			t.Fatalf("%.40q %v", text, err)
		}
	}
	if d.dials.Load() != 1 || d.writes.Load() != 10 {
		t.Errorf("%d connections and %d writes, want 1 and 10", d.dials.Load(), d.writes.Load())
	}
}

// TestClosedWhileIdle guards replicas that were killed: a request is not sent on a connection that has been closed,
// because nothing would tell whether it was served.
func TestClosedWhileIdle(t *testing.T) {
	for name, opaque := range map[string]bool{"asked": false, "opaque": true} {
		t.Run(name, func(t *testing.T) {
			var served atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
			closed := make(chan bool, 1)
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					closed <- true
				}
			}
			s.Start()
			d := &dialer{
				address: s.Listener.Addr().String(),
				opaque:  opaque,
				ended:   make(chan bool, 1),
			}
			transport := d.transport()
			for range 2 {
				if status, _, _, err := read(transport, request(t, http.MethodPost, "body")); status != http.StatusOK {
					t.Fatal(status, err)
				}
			}
			s.Close()
			<-closed
			if opaque {
				<-d.ended // a system that cannot be asked is watched
			}
			_, _, _, err := read(transport, request(t, http.MethodPost, "body"))
			var unsent *hophttp.NotSentError
			if !errors.As(err, &unsent) || d.dials.Load() != 2 || served.Load() != 2 {
				t.Errorf("error %v after %d connections, %d served", err, d.dials.Load(), served.Load())
			}
		})
	}
}

// unwritable fails to write once it is broken.
type unwritable struct {
	net.Conn

	broken *atomic.Bool
}

func (c *unwritable) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// TestWrittenAgain guards a request whose connection cannot be written to: its body has been read by then.
func TestWrittenAgain(t *testing.T) {
	d := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	broken := new(atomic.Bool)
	transport := &hophttp.Transport{Dial: func(ctx context.Context) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", d.address)
		this := broken
		broken = new(atomic.Bool)
		return &unwritable{c, this}, err
	}}
	first := broken
	for _, body := range []string{"one", "two"} {
		if status, _, got, err := read(transport, request(t, http.MethodPost, body)); err != nil || got != body {
			t.Fatalf("%s: status %d, %q, error %v", body, status, got, err)
		}
		first.Store(true)
	}
}

// TestCancel guards clients that go away: the other replica notices, and the error is the cause.
func TestCancel(t *testing.T) {
	started, ended := make(chan bool), make(chan bool)
	d := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet {
			_ = http.NewResponseController(w).Flush()
		}
		started <- true
		<-r.Context().Done()
		ended <- true
	})
	cause := errors.New("cause")
	for _, method := range []string{http.MethodPost, http.MethodGet} { // before the answer, and within
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-started
			cancel(cause)
		}()
		_, _, _, err := read(d.transport(), request(t, method, "body").WithContext(ctx))
		<-ended
		var unsent *hophttp.NotSentError
		if !errors.Is(err, cause) || errors.As(err, &unsent) {
			t.Errorf("%s: error %v, want the cause", method, err)
		}
		stop := new(hophttp.Canceler)
		go func() {
			<-started
			stop.Cancel(cause)
			stop.Cancel(errors.New("another cause"))
		}()
		resp, err := d.transport().Send(request(t, method, "body"), nil, stop)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		<-ended
		if !errors.Is(err, cause) || !errors.Is(stop.Cause(), cause) || errors.As(err, &unsent) {
			t.Errorf("%s with a canceler: error %v, want the cause", method, err)
		}
	}
}

// TestCancelResets guards a cancelled request whose connection is cut: the system discards it instead of transmitting
// it once the connection is restored, so the other replica does not serve it then. A client that only goes away does
// not cancel its request.
func TestCancelResets(t *testing.T) {
	for _, resets := range []bool{true, false} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		stop := new(hophttp.Canceler)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		ended := make(chan error, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				ended <- err
				return
			}
			defer c.Close()
			_, _ = http.ReadRequest(bufio.NewReader(c))
			if resets {
				stop.Cancel(errors.New("cause"))
			} else {
				leave()
			}
			_, err = io.Copy(io.Discard, c)
			ended <- err
		}()
		d := &dialer{address: ln.Addr().String()}
		resp, err := d.transport().Send(request(t, http.MethodGet, "").WithContext(ctx), nil, stop)
		if err == nil {
			_ = resp.Body.Close()
			t.Fatal("a request that has ended early has an answer")
		}
		if err := <-ended; (err != nil) != resets {
			t.Errorf("the connection ended with %v; reset: %t", err, resets)
		}
	}
}

// TestCancelDial cancels requests that wait for a connection, and ones that were cancelled before.
func TestCancelDial(t *testing.T) {
	cause := errors.New("cause")
	for _, early := range []bool{false, true} {
		stop := new(hophttp.Canceler)
		transport := &hophttp.Transport{Dial: func(ctx context.Context) (net.Conn, error) {
			stop.Cancel(cause)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		if early {
			stop.Cancel(cause)
		}
		_, err := transport.Send(request(t, http.MethodPost, "body"), nil, stop)
		var unsent *hophttp.NotSentError
		if !errors.Is(err, cause) || !errors.As(err, &unsent) {
			t.Errorf("early %v: error %v, want the cause, and that nothing was sent", early, err)
		}
	}
}

// TestIncomplete guards against half an answer that looks whole.
func TestIncomplete(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, text := range []string{
		"", ok, ok + "Content-Length: 5\r\n\r\n1234", ok + "Transfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5\r\n1234", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n",
		ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n1", ok + "Content-Length: -1\r\n\r\n",
		ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ok + "Transfer-Encoding: gzip\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n1\r\n123\r\n0\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
		ok + "No colon\r\n\r\n", ok + "A: b\r\n folded\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n", ok + strings.Repeat("A: b\r\n", 30000) + "\r\n",
		ok + "A: " + strings.Repeat("b", 200<<10) + "\r\n\r\n",
	} {
		d := serveText(t, text)
		_, _, got, err := read(d.transport(), request(t, http.MethodPost, "body"))
		var unsent *hophttp.NotSentError
		if err == nil || errors.Is(err, io.EOF) || errors.As(err, &unsent) {
			t.Errorf("%.80q: body %q, error %v", text, got, err)
		}
	}
}

// upload sends a body that is not known in advance.
func upload(t *testing.T, length int64, body io.Reader) *http.Request {
	t.Helper()
	req := request(t, http.MethodPost, "")
	req.Body, req.GetBody, req.ContentLength = io.NopCloser(body), nil, length
	return req
}

// TestUpload guards bodies that are forwarded as they arrive.
func TestUpload(t *testing.T) {
	broken := make(chan error, 1)
	d := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Refuse") != "" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			broken <- err
		}
		_, _ = w.Write(body)
	})
	body := bytes.Repeat([]byte("body "), 100_000)
	for _, length := range []int64{int64(len(body)), -1} {
		for _, expect := range []string{"", "100-continue"} {
			transport := d.transport()
			for range 2 {
				req := upload(t, length, bytes.NewReader(body))
				if expect != "" {
					req.Header.Set("Expect", expect)
				}
				if _, _, text, err := read(transport, req); text != string(body) || err != nil {
					t.Errorf("length %d: %.20q %v", length, text, err)
				}
			}
		}
		incomplete := io.MultiReader(bytes.NewReader(body[:100_000]), failing{})
		if _, _, _, err := read(d.transport(), upload(t, length, incomplete)); err == nil {
			t.Error("a body that could not be read was answered")
		}
		<-broken
		if length > 0 {
			if _, _, _, err := read(d.transport(), upload(t, length, bytes.NewReader(body[1:]))); err == nil {
				t.Error("a body that was too short was answered")
			}
			<-broken
		}
		req := upload(t, length, failing{})
		req.Header.Set("Expect", "100-continue")
		req.Header.Set("Refuse", "yes")
		if status, _, _, err := read(d.transport(), req); status != http.StatusRequestEntityTooLarge {
			t.Errorf("length %d: %d %v, want 413 before the body", length, status, err)
		}
	}
}

// TestUnknownLength guards a body that could be read again but has no known length: it is sent, not only announced.
func TestUnknownLength(t *testing.T) {
	d := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	req := upload(t, -1, strings.NewReader("body"))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if status, _, text, err := read(d.transport(), req.WithContext(ctx)); text != "body" || err != nil {
		t.Errorf("%d %q %v", status, text, err)
	}
}

// TestUnwantedBody ensures that nothing of a request is read once it was answered: its handler may have ended.
func TestUnwantedBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		go func() {
			_, _ = server.Read(make([]byte, 4<<10))
			_, _ = io.WriteString(server, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
		}()
		transport := &hophttp.Transport{Dial: func(context.Context) (net.Conn, error) { return client, nil }}
		body := new(countedReads)
		req := upload(t, 1000, body)
		req.Header.Set("Expect", "100-continue")
		if status, _, _, err := read(transport, req); status != http.StatusRequestEntityTooLarge {
			t.Error(status, err)
		}
		time.Sleep(time.Minute)
		if n := body.reads.Load(); n != 0 {
			t.Errorf("the body was read %d times after the answer", n)
		}
	})
}

type countedReads struct{ reads atomic.Int64 }

func (c *countedReads) Read([]byte) (int, error) {
	c.reads.Add(1)
	return 0, io.EOF
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the client has gone") }
