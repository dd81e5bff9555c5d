package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

var (
	_ net.Conn     = (*timeoutConn)(nil)
	_ syscall.Conn = (*timeoutConn)(nil)
)

// patientPipe returns a connection on which writes block until they are read.
func patientPipe(t *testing.T) (server *timeoutConn, client net.Conn) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	return &timeoutConn{Conn: here}, there
}

func TestPatienceEnds(t *testing.T) {
	const size = 3 * writeChunk
	for name, read := range map[string]int{"nothing is read": 0, "the first piece is read": writeChunk} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := patientPipe(t)
				go io.CopyN(io.Discard, client, int64(read))
				began := time.Now()
				n, err := server.Write(make([]byte, size))
				if n != read || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Write = %d, %v, want %d and a passed deadline", n, err, read)
				}
				if took := time.Since(began); took < writeTimeout || took > writeTimeout*3/2 {
					t.Errorf("it took %v, want %v to %v", took, writeTimeout, writeTimeout*3/2)
				}
			})
		})
	}
}

// A client may be slow as long as it keeps reading, and idle as long as nothing is sent.
func TestPatienceLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := patientPipe(t)
		const pieces = 20
		go func() {
			for range pieces {
				time.Sleep(writeTimeout - time.Second)
				io.CopyN(io.Discard, client, writeChunk)
			}
			io.Copy(io.Discard, client)
		}()
		for _, size := range []int{pieces * writeChunk, 1} {
			if n, err := server.Write(make([]byte, size)); n != size || err != nil {
				t.Errorf("Write = %d, %v, want %d", n, err, size)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A deadline set by another caller is kept until it is cleared.
func TestPatienceOfOthers(t *testing.T) {
	set := map[string]func(*timeoutConn, time.Time) error{
		"SetWriteDeadline": (*timeoutConn).SetWriteDeadline,
		"SetDeadline":      (*timeoutConn).SetDeadline,
	}
	for name, set := range set {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := patientPipe(t)
				for _, theirs := range []time.Duration{time.Second, time.Hour} {
					began := time.Now()
					if err := set(server, began.Add(theirs)); err != nil {
						t.Fatal(err)
					}
					if _, err := server.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != theirs {
						t.Errorf("Write: %v after %v, want a passed deadline after %v", err, time.Since(began), theirs)
					}
				}
				if err := set(server, time.Time{}); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if _, err := server.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) ||
					time.Since(began) > writeTimeout*3/2 {
					t.Errorf("Write: %v after %v, want ours", err, time.Since(began))
				}
			})
		})
	}
}

// pipeListener accepts the connections that dial returns.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

func (l pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	l <- here
	return there, nil
}

// A stream of HTTP/2 whose client does not read is reset, and the connection stays usable.
func TestPatienceOfStreams(t *testing.T) {
	const window = 64 << 10
	synctest.Test(t, func(t *testing.T) {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		ended := make(chan time.Duration, 1)
		ln := make(pipeListener)
		server := &http.Server{
			Protocols: &protocols,
			Handler: limitStreams(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/small" {
					_, _ = io.WriteString(w, "ok")
					return
				}
				began := time.Now()
				context.AfterFunc(r.Context(), func() { ended <- time.Since(began) })
				_, _ = w.Write(make([]byte, 1<<20))
			})),
		}
		go server.Serve(ln)
		transport := &http.Transport{
			Protocols:   &protocols,
			DialContext: ln.dial,
			HTTP2:       &http.HTTP2Config{MaxReceiveBufferPerStream: window},
		}
		client := &http.Client{Transport: transport}
		resp, err := client.Get("http://pipe/unread")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(2 * writeTimeout)
		select {
		case took := <-ended:
			if took < writeTimeout || took > writeTimeout*3/2 {
				t.Errorf("the stream was reset after %v, want %v to %v", took, writeTimeout, writeTimeout*3/2)
			}
		default:
			t.Error("the stream still waits for its client")
		}
		other, err := client.Get("http://pipe/small")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(other.Body); string(text) != "ok" || err != nil {
			t.Errorf("the next request on the connection: %q, %v", text, err)
		}
		_ = other.Body.Close()
		transport.CloseIdleConnections()
		close(ln)
		_ = server.Close()
	})
}

// chatty is a Source whose tool sends a message, and answers after minutes.
type chatty struct{ mcp.Source }

func (chatty) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:  mcp.Implementation{Name: "chatty", Version: "1"},
		Logging: true,
		Tools:   []mcp.Tool{{Name: "wait", InputSchema: []byte(`{"type":"object"}`)}},
	}, nil
}

func (chatty) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	mcp.RequestFrom(ctx).Log(mcp.LogError, "", "one moment")
	select {
	case <-time.After(5 * time.Minute):
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestSilenceAfterAnEvent ensures that a call over HTTP/2 may be silent for minutes after its first message.
func TestSilenceAfterAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		ln := make(pipeListener)
		server := &http.Server{
			Protocols: &protocols,
			Handler:   limitStreams(mcpserver.New(chatty{}, nil).HTTPHandler(nil)),
		}
		go server.Serve(ln)
		transport := &http.Transport{Protocols: &protocols, DialContext: ln.dial}
		client := &http.Client{Transport: transport}
		session := ""
		post := func(body string) string {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				req.Header.Set("Mcp-Session-Id", session)
				req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Errorf("the answer ends with %v: %s", err, text)
			}
			session = cmp.Or(session, resp.Header.Get("Mcp-Session-Id"))
			return string(text)
		}
		post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"c","version":"1"}}}`)
		answer := post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`)
		if !strings.Contains(answer, "one moment") || !strings.Contains(answer, `"text":"done"`) {
			t.Errorf("the answer is %s", answer)
		}
		transport.CloseIdleConnections()
		close(ln)
		_ = server.Close()
	})
}
