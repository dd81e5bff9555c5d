//go:build unix

package ws_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// childVariable makes the test binary run a server in a separate process, so that its
// resources can be measured apart from those of the clients.
const childVariable = "WS_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childVariable); kind != "" {
		serveChild(kind)
		return
	}
	os.Exit(m.Run())
}

// serveChild serves until its standard input ends.
func serveChild(kind string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/cpu", func(w http.ResponseWriter, _ *http.Request) {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		fmt.Fprint(w, u.Utime.Nano()+u.Stime.Nano())
	})
	mux.HandleFunc("/rss", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		statm, _ := os.ReadFile("/proc/self/statm")
		pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
		fmt.Fprint(w, pages*os.Getpagesize())
	})
	if kind == "bare" {
		mux.HandleFunc("/ws", bareEcho)
	} else {
		catalog := &mcp.Catalog{Server: mcp.Implementation{Name: "echo", Version: "1"}, Tools: []mcp.Tool{{Name: "echo"}}}
		mux.Handle("/ws", ws.NewHandler(server.New(echo{catalog: catalog}, nil), nil))
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() { _ = http.Serve(ln, mux) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// bareEcho is a minimal WebSocket server with the same library.
func bareEcho(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"mcp.v1"}})
	if err != nil {
		return
	}
	go func() {
		for {
			kind, p, err := c.Read(context.Background())
			if err != nil || c.Write(context.Background(), kind, p) != nil {
				_ = c.CloseNow()
				return
			}
		}
	}()
}

// echo has one tool, which returns its argument.
type echo struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

func (e echo) Catalog(context.Context) (*mcp.Catalog, error) { return e.catalog, nil }

func (echo) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(p.Arguments))}}, nil
}

// child starts a server process and returns its address.
func child(tb testing.TB, kind string) string {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+kind)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// ask returns a number reported by the server.
func ask(tb testing.TB, addr, path string) int {
	tb.Helper()
	r, err := http.Get("http://" + addr + path)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	n, err := strconv.Atoi(string(text))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// BenchmarkEcho compares a tool call with a loop that sends every message back, on 16
// concurrent connections, with 1 and 16 calls in flight on each.
func BenchmarkEcho(b *testing.B) {
	for _, window := range []int{1, 16} {
		for _, kind := range []string{"bare", "slipway"} {
			b.Run(fmt.Sprintf("window=%d/%s", window, kind), func(b *testing.B) { benchmarkEcho(b, kind, window) })
		}
	}
}

func benchmarkEcho(b *testing.B, kind string, window int) {
	const conns = 16
	addr := child(b, kind)
	call := frame(opText,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`)
	var all []*rawConn
	for range conns {
		c := dialRaw(b, addr)
		c.send(frame(opText, initialize))
		c.receive()
		all = append(all, c)
	}
	n := b.N/conns + 1
	done := make(chan struct{})
	b.ResetTimer()
	before := ask(b, addr, "/cpu")
	for _, c := range all {
		go func() {
			defer func() { done <- struct{}{} }()
			burst := strings.Repeat(string(call), min(window, n))
			c.send([]byte(burst))
			for i := range n {
				c.receive()
				if i+window < n {
					c.send(call)
				}
			}
		}()
	}
	for range all {
		<-done
	}
	b.ReportMetric(float64(ask(b, addr, "/cpu")-before)/float64(n*conns), "server-ns/op")
}

// BenchmarkIdle measures the memory of idle connections.
func BenchmarkIdle(b *testing.B) {
	for _, kind := range []string{"bare", "slipway"} {
		b.Run(kind, func(b *testing.B) { b.ReportMetric(idle(b, kind), "RSS-B/conn"); b.ReportMetric(0, "ns/op") })
	}
}

func TestIdleConnectionMemory(t *testing.T) {
	if runtime.GOOS != "linux" || race.Enabled {
		t.Skip("measures resident memory as Linux tells it, without the race detector's share")
	}
	if got := idle(t, "slipway"); got > 18<<10 {
		t.Errorf("an idle connection holds %.0f bytes, want at most 18 KiB", got)
	}
}

// idle returns the resident memory per connection that has initialized, called a tool and
// answered a ping: the server must become idle again after a ping, too.
func idle(tb testing.TB, kind string) float64 {
	const conns = 2000
	addr := child(tb, kind)
	before := 0
	for i := range conns + 100 {
		c := dialRaw(tb, addr)
		c.send(frame(opText, initialize))
		c.receive()
		c.send(frame(opText,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`))
		c.receive()
		c.send(frame(opPing, ""))
		c.receive()
		if i == 99 {
			before = ask(tb, addr, "/rss")
		}
	}
	return float64(ask(tb, addr, "/rss")-before) / conns
}
