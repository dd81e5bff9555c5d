package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// garbled are answers of a server, with ID as a placeholder.
var garbled = map[string]string{
	"nested": `{"jsonrpc":"2.0","id":ID,"result":{"content":` + strings.Repeat("[", 600) +
		strings.Repeat("]", 600) + `}}`,
	"nested, id last": `{"jsonrpc":"2.0","result":{"content":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) +
		`},"id":ID}`,
	"invalid":        `{"jsonrpc":"2.0","id":ID,"result":{"content":[nope]}}`,
	"cut":            `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"te`,
	"no id":          `{"jsonrpc":"2.0","result":{"content":[]}}`,
	"cut, no id":     `{"jsonrpc":"2.0","result":{"content":[`,
	"not UTF-8":      `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"` + "\xff" + `"}]}}`,
	"error cut":      `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":`,
	"null id":        `{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`,
	"fraction as id": `{"jsonrpc":"2.0","id":ID.0,"result":{"content":[]}}`,
	"list as id":     `{"jsonrpc":"2.0","id":[ID],"result":{"content":[]}}`,
	"object as id":   `{"jsonrpc":"2.0","id":{"a":ID},"result":{"content":[]}}`,
	"boolean as id":  `{"jsonrpc":"2.0","id":true,"result":{"content":[]}}`,
	"text as id":     `{"jsonrpc":"2.0","id":"one","result":{"content":[]}}`,
	"id of nothing":  `{"jsonrpc":"2.0","id":ID99,"result":{"content":[]}}`,
	"method":         `{"jsonrpc":"2.0","id":ID,"method":"tools/call","result":{"content":[]}}`,
	"marked":         "\ufeff" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`,
	"UTF-16":         wide(`{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`),
}

func wide(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }

// garbler is a line-based server whose tools are named after the answers in garbled; the
// tool fine works, and silent has no answer. Like some servers, it answers notifications.
// It returns the answer, or "".
func garbler(line []byte) string {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if json.Unmarshal(line, &m) != nil {
		return ""
	}
	if m.ID == nil {
		return `{"jsonrpc":"2.0","id":null,"result":{}}`
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"garbler","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"fine","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		if m.Params.Name == "silent" {
			return ""
		}
		if answer, ok := garbled[m.Params.Name]; ok {
			return strings.ReplaceAll(answer, "ID", string(m.ID))
		}
		result = `{"content":[{"type":"text","text":"fine"}]}`
	case "server/discover":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func playGarbler() int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if answer := garbler(in.Bytes()); answer != "" {
			fmt.Printf("[info] {not an answer}\n{\"level\":30,\"result\n%s\n", answer)
		}
	}
	return 0
}

// garblerConn is the same server as a connection.
type garblerConn struct{ out chan string }

func (c *garblerConn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case text := <-c.out:
		return []byte(text), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *garblerConn) WriteMessage(msg []byte) error {
	if answer := garbler(msg); answer != "" {
		c.out <- answer
	}
	return nil
}

// TestUnreadableAnswers ensures that a call with an unreadable answer fails immediately
// with the reason, over every transport, and that other calls continue.
func TestUnreadableAnswers(t *testing.T) {
	t.Parallel()
	web := func(events bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			body, _ := io.ReadAll(r.Body)
			answer := garbler(body)
			switch {
			case answer == "":
				w.WriteHeader(http.StatusAccepted)
			case events:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: %s\n\n", answer)
				_ = http.NewResponseController(w).Flush()
				if !strings.Contains(answer, "fine") && bytes.Contains(body, []byte("tools/call")) {
					<-r.Context().Done() // the stream stays open, as usual
				}
			default:
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, answer)
			}
		}
	}
	for name, transport := range map[string]func(t *testing.T) client.Transport{
		"stdio": func(t *testing.T) client.Transport { return command(t, "garbler") },
		"http": func(t *testing.T) client.Transport {
			front := httptest.NewServer(web(false))
			t.Cleanup(front.Close)
			return &client.Endpoint{URL: front.URL, NoListen: true}
		},
		"events": func(t *testing.T) client.Transport {
			front := httptest.NewServer(web(true))
			t.Cleanup(front.CloseClientConnections)
			t.Cleanup(front.Close)
			return &client.Endpoint{URL: front.URL, NoListen: true}
		},
		"connection": func(t *testing.T) client.Transport {
			return &client.Dialer{Name: "garbler", Dial: func(context.Context) (server.Conn, error) {
				return &garblerConn{make(chan string, 100)}, nil
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := open(t, transport(t), nil)
			for answer := range garbled {
				_, err := call(t, src, answer, "")
				if err == nil || !strings.Contains(err.Error(), "the server's answer cannot be read: ") {
					t.Errorf("%s: the call ends with %v", answer, err)
				}
				if got := mustCall(t, src, "fine", ""); got != "fine" {
					t.Errorf("%s: the next call = %q", answer, got)
				}
			}
			if st := src.State(); st.Starts != 1 {
				t.Errorf("%d starts, want 1", st.Starts)
			}
		})
	}
}

// TestUnreadableAnswerOfOneOfMany ensures that an unreadable answer fails only the
// request that it names, or all if it names none, because one of them would wait forever.
func TestUnreadableAnswerOfOneOfMany(t *testing.T) {
	src := open(t, command(t, "garbler"), nil)
	ended := make(chan error, 3)
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 3 {
		all.Go(func() {
			_, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "silent"})
			ended <- err
		})
	}
	until(t, "the calls are in flight", nil, nil, func() bool { return src.State().InFlight == 3 })
	if _, err := call(t, src, "nested", ""); err == nil {
		t.Error("a call whose answer cannot be read succeeds")
	}
	select {
	case err := <-ended:
		t.Errorf("another call ended with %v", err)
	default:
	}
	if _, err := call(t, src, "cut, no id", ""); err == nil {
		t.Error("a call whose answer cannot be read succeeds")
	}
	all.Wait()
	for range 3 {
		if err := <-ended; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call in flight ends with %v", err)
		}
	}
}

// endless answers tools/list endlessly: with large pages, with empty ones, or with one
// tool each.
func endless(kind string) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	large := strings.Repeat("x", 1<<20)
	for n := 0; in.Scan(); n++ {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Method == "initialize" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
				`"serverInfo":{"name":"endless","version":"1"}}}`+"\n", m.ID)
			continue
		}
		tool := fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, n)
		switch kind {
		case "large":
			tool = fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, n, large)
		case "empty":
			tool = ""
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s],"nextCursor":"c%d"}}`+"\n", m.ID, tool, n)
	}
	return 0
}

func TestListsAreBounded(t *testing.T) {
	for kind, want := range map[string]string{
		"large": `tools/list of server "upstream": the lists have more than 5000000 bytes`,
		"empty": `tools/list of server "upstream": 8 empty pages in a row, each with a cursor for another`,
		"small": `tools/list of server "upstream": more than 50 pages`,
	} {
		t.Run(kind, func(t *testing.T) {
			leaks(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			opts := &client.Options{Name: "upstream", Limits: client.Limits{ListBytes: 5_000_000, Pages: 50}}
			src, err := client.Open(ctx, command(t, "endless", kind), opts)
			if err == nil {
				_ = src.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Open = %v, want %q", err, want)
			}
		})
	}
}

// TestEntriesWithDuplicateMembers ensures that an entry such as {"name":1,"name":2},
// which two readers may interpret differently, reaches no client.
func TestEntriesWithDuplicateMembers(t *testing.T) {
	var logged []string
	var mu sync.Mutex
	src := open(t, command(t, "script",
		`initialize {"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},`+
			`"prompts":{}},"serverInfo":{"name":"s","version":"1"}}}`,
		`tools/list {"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},`+
			`{"name":"safe","description":"1","inputSchema":{"type":"object"},"n\u0061me":"evil"},`+
			`{"name":"deep","inputSchema":{"type":"object","properties":{"x":{},"x":{}}}}]}}`,
		`prompts/list {"jsonrpc":"2.0","id":ID,"result":{"prompts":[{"name":"p","name":"q"},{"name":"r"}]}}`),
		&client.Options{Observe: func(e client.Event) {
			mu.Lock()
			defer mu.Unlock()
			logged = append(logged, e.Detail)
		}})
	cat, err := src.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(cat.Tools) != 1 || cat.Tools[0].Name != "a" || len(cat.Prompts) != 1 || cat.Prompts[0].Name != "r" {
		t.Errorf("tools %v, prompts %v; want a and r", cat.Tools, cat.Prompts)
	}
	mu.Lock()
	defer mu.Unlock()
	text := strings.Join(logged, "\n")
	for _, want := range []string{
		`tools/list: entry 2 ("evil") has a duplicate member "name" and is dropped`,
		`tools/list: entry 3 ("deep") has a duplicate member "x" and is dropped`,
		`prompts/list: entry 1 ("q") has a duplicate member "name" and is dropped`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
}

// TestRecoveredUpstreamWorksAtOnce ensures that the first call after a long outage
// succeeds, even though the pauses have grown.
func TestRecoveredUpstreamWorksAtOnce(t *testing.T) {
	leaks(t)
	u := newUpstream(t, &world{})
	src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true},
		&client.Options{Timeouts: client.Timeouts{Wait: time.Millisecond}})
	mustCall(t, src, "pid", "")
	var attempts int
	u.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts++
		http.Error(w, fmt.Sprintf("attempt %d", attempts), http.StatusServiceUnavailable)
	}))
	last := ""
	for range 6 {
		_, err := call(t, src, "pid", "")
		if err == nil || err.Error() == last {
			t.Fatalf("a call while the server is down ends with %v after %s", err, last)
		}
		last = err.Error()
	}
	if next := time.Until(src.State().Next); next < time.Second {
		t.Fatalf("the pause is %v, want a long one", next)
	}
	u.restart(t, &world{})
	began := time.Now()
	mustCall(t, src, "pid", "")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the first call after the recovery took %v", took)
	}
}
