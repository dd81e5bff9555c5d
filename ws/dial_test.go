package ws_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// client returns an HTTP client that connects to the harness, whatever the address.
func (w *harness) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return w.dial() },
	}}
}

func (w *harness) dialer(t *testing.T, opts ws.DialOptions) *ws.Conn {
	t.Helper()
	opts.Client = w.client()
	c, err := ws.Dial(t.Context(), "ws://127.0.0.1/ws", &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// exchange sends a message and returns the next one.
func exchange(t *testing.T, c *ws.Conn, msg string) string {
	t.Helper()
	if err := c.WriteMessage([]byte(msg)); err != nil {
		t.Fatal(err)
	}
	got, err := c.ReadMessage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestDial(t *testing.T) {
	tests := []struct {
		name     string
		server   ws.Options
		opts     ws.DialOptions
		protocol string
	}{
		{"by default", ws.Options{}, ws.DialOptions{}, "mcp.v1"},
		{"another subprotocol", ws.Options{}, ws.DialOptions{Subprotocols: []string{"mcp"}}, "mcp"},
		{"no subprotocol", ws.Options{}, ws.DialOptions{Subprotocols: []string{}}, ""},
		{"a token", ws.Options{Authenticate: bearer}, ws.DialOptions{Token: "s3cret"}, "mcp.v1"},
		{"a token as subprotocol", ws.Options{Authenticate: bearer},
			ws.DialOptions{Subprotocols: []string{"mcp", "mcp.auth.s3cret"}}, "mcp"},
		{"headers", ws.Options{Authenticate: bearer}, ws.DialOptions{Header: http.Header{"Authorization": {"Bearer s3cret"}}},
			"mcp.v1"},
		{"compression", ws.Options{Compress: true}, ws.DialOptions{Compress: true}, "mcp.v1"},
		{"compression that the server does not have", ws.Options{}, ws.DialOptions{Compress: true}, "mcp.v1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, &tt.server, func(t *testing.T, w *harness) {
				c := w.dialer(t, tt.opts)
				if got := c.Subprotocol(); got != tt.protocol {
					t.Errorf("Subprotocol() = %q, want %q", got, tt.protocol)
				}
				if got := exchange(t, c, initialize); !strings.Contains(got, "2025-06-18") {
					t.Errorf("initialize: %s", got)
				}
				word := strings.Repeat("größe ", 20_000)
				if got := exchange(t, c, call(1, "echo", `{"word":"`+word+`"}`)); !strings.Contains(got, word) {
					t.Errorf("%d bytes came back, the word is not in them", len(got))
				}
				if err := c.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
				if _, err := c.ReadMessage(t.Context()); err != io.EOF {
					t.Errorf("ReadMessage after Close = %v, want io.EOF", err)
				}
			})
		})
	}
}

// The socket beneath TLS cannot be written to directly.
func TestDialTLS(t *testing.T) {
	src := newSource()
	server := httptest.NewTLSServer(ws.NewHandler(mcpserver.New(src, nil), nil))
	defer server.Close()
	c, err := ws.Dial(t.Context(), strings.Replace(server.URL, "https", "wss", 1),
		&ws.DialOptions{Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exchange(t, c, initialize)
	for range 20 {
		if got := exchange(t, c, call(1, "big", `{"size":300000}`)); len(got) < 300_000 {
			t.Errorf("the answer has %d bytes", len(got))
		}
	}
}

func TestDialRefused(t *testing.T) {
	w := overTCP(t, &ws.Options{Authenticate: bearer})
	elsewhere := httptest.NewServer(http.RedirectHandler("http://127.0.0.1/ws", http.StatusFound))
	defer elsewhere.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the reason\xff", http.StatusTeapot)
	}))
	defer broken.Close()
	tests := []struct {
		name, url string
		opts      ws.DialOptions
		status    int // 0: no answer at all
		text      string
	}{
		{"no token", "ws://127.0.0.1/ws", ws.DialOptions{Client: w.client()}, 401, "401 Unauthorized"},
		{"a redirect is not followed", elsewhere.URL, ws.DialOptions{Token: "s3cret"}, 302, "302 Found"},
		{"what the server says", broken.URL, ws.DialOptions{}, 418, "the reason?"},
		{"another scheme", "ftp://127.0.0.1/ws", ws.DialOptions{}, 0, "scheme"},
		{"no URL", "http://[", ws.DialOptions{}, 0, "an invalid URL"},
		{"no server", "ws://user:pass@127.0.0.1:1/ws?token=s3cret", ws.DialOptions{Token: "s3cret"}, 0,
			"connect to ws://127.0.0.1:1/ws: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ws.Dial(t.Context(), tt.url, &tt.opts)
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("Dial = %v, want an error with %q", err, tt.text)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "pass") {
				t.Errorf("the error tells a secret: %v", err)
			}
			var refused *ws.HandshakeError
			if errors.As(err, &refused) != (tt.status != 0) || refused != nil && refused.Status != tt.status {
				t.Errorf("Dial = %#v, want status %d", err, tt.status)
			}
			if tt.status == 401 && refused.Header.Get("WWW-Authenticate") == "" {
				t.Error("the challenge is not in Header")
			}
		})
	}
}

// unkind returns a connection to a server that sends the given frames, valid or not.
func unkind(t *testing.T, frames ...[]byte) *ws.Conn {
	t.Helper()
	ln := &memory{conns: make(chan net.Conn), ended: make(chan struct{})}
	hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-WebSocket-Accept", accept(r.Header.Get("Sec-WebSocket-Key")))
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		for _, f := range frames {
			_, _ = conn.Write(f)
		}
		<-t.Context().Done()
	})}
	go func() { _ = hs.Serve(ln) }()
	t.Cleanup(func() { _ = hs.Close() })
	w := &harness{dial: ln.dial}
	return w.dialer(t, ws.DialOptions{MaxMessage: 100})
}

// plain returns a complete server message.
func plain(op byte, payload string) []byte {
	return append([]byte{final | op, byte(len(payload))}, payload...)
}

func TestReadMessageErrors(t *testing.T) {
	tests := []struct {
		name  string
		frame []byte
		want  string // "" is io.EOF
	}{
		{"closed", plain(opClose, "\x03\xe8"), ""},
		{"going away", plain(opClose, "\x03\xe9bye"), ""},
		{"closed without a word", plain(opClose, ""), ""},
		{"a complaint", plain(opClose, "\x03\xf0too slow"), "closed the connection with code 1008: too slow"},
		{"a complaint without a reason", plain(opClose, "\x03\xf1"), "closed the connection with code 1009"},
		{"binary", plain(opBinary, "{}"), "binary"},
		{"not UTF-8", plain(opText, "\xff"), "UTF-8"},
		{"too big", append([]byte{final | opText, 126, 0, 101}, strings.Repeat("x", 101)...), "more than 100 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := unkind(t, tt.frame).ReadMessage(t.Context())
				if tt.want == "" && err == io.EOF {
					return
				}
				if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("ReadMessage = %v, want %q", err, tt.want)
				}
				var closed *ws.CloseError
				if errors.As(err, &closed) != strings.Contains(tt.want, "closed") {
					t.Errorf("ReadMessage = %#v", err)
				}
			})
		})
	}
}

// The client pings, too: the connection ends if the server has vanished.
func TestDialPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unkind(t) // never answers
		begin := time.Now()
		if _, err := c.ReadMessage(t.Context()); err != io.EOF {
			t.Errorf("ReadMessage = %v, want io.EOF", err)
		}
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("ended after %v, want a minute", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		c := w.dialer(t, ws.DialOptions{})
		time.AfterFunc(time.Hour, func() { _ = c.WriteMessage([]byte(modern(1, "tools/call", `"name":"echo"`))) })
		if _, err := c.ReadMessage(t.Context()); err != nil {
			t.Errorf("after an idle hour: %v", err)
		}
	})
}

// While no reader is waiting, a pong cannot be seen.
func TestDialPingsWhileNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, &ws.Options{PingInterval: -1, WriteTimeout: time.Hour})
		c := w.dialer(t, ws.DialOptions{})
		<-time.After(10 * time.Minute)
		if got := exchange(t, c, modern(1, "tools/call", `"name":"echo"`)); !strings.Contains(got, `"id":1`) {
			t.Errorf("answer = %s", got)
		}
	})
}

func TestReadMessageEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overMemory(t, nil).dialer(t, ws.DialOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.ReadMessage(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ReadMessage = %v, want the end of its context", err)
		}
	})
}

func TestWriteMessageToAServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		c := w.dialer(t, ws.DialOptions{WriteTimeout: 5 * time.Second, PingInterval: -1})
		w.catalogs = make(chan struct{}) // initialize will not end
		defer close(w.catalogs)
		if err := c.WriteMessage([]byte(initialize)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err := c.WriteMessage([]byte(initialize))
		if took := time.Since(begin); err == nil || took != 5*time.Second {
			t.Errorf("WriteMessage = %v after %v, want an error after 5s", err, took)
		}
	})
}
