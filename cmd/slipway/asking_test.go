package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// askingServer is a server on stdin and stdout that behaves like third-party ones: it
// asks for the client's folders as soon as it runs, and never says which call a question
// is for. Its single thread serves any number of concurrent calls.
type askingServer struct {
	out     io.Writer
	asked   int
	roots   string                     // the folders it received
	apps    bool                       // the client has declared MCP Apps
	about   map[string]json.RawMessage // the call of each question
	meeting []json.RawMessage          // pending calls of meet
}

// askingTools are the tools of an askingServer: who asks for the user's name, dirs
// returns the folders, meet is answered once three calls of it are in flight, pid returns
// the process id, and secret returns the content of the file in the first argument.
// refresh is only for pages, and listed for clients that support them.
const askingTools = `{"tools":[%s{"name":"who","inputSchema":{"type":"object"}},{"name":"dirs",` +
	`"inputSchema":{"type":"object"}},` +
	`{"name":"meet","inputSchema":{"type":"object"}},{"name":"pid","inputSchema":{"type":"object"}},{"name":"secret",` +
	`"inputSchema":{"type":"object"}}]}`

const refreshTool = `{"name":"refresh","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}},`

type askingMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name         string          `json:"name"`
		Capabilities json.RawMessage `json:"capabilities"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func askingMain() {
	s := &askingServer{out: os.Stdout, about: make(map[string]json.RawMessage)}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m askingMessage
		if json.Unmarshal(in.Bytes(), &m) == nil {
			s.receive(&m)
		}
	}
}

func (s *askingServer) receive(m *askingMessage) {
	switch m.Method {
	case "":
		s.answered(m)
	case "initialize":
		s.apps = strings.Contains(string(m.Params.Capabilities),
			`"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}`)
		s.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+
			`"serverInfo":{"name":"asking","version":"1"}}}`, m.ID)
	case "notifications/initialized", "notifications/roots/list_changed":
		s.ask("roots/list", "{}", nil)
	case "tools/list":
		s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID,
			fmt.Sprintf(askingTools, map[bool]string{true: refreshTool}[s.apps]))
	case "ping":
		s.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case "tools/call":
		s.call(m)
	}
}

func (s *askingServer) call(m *askingMessage) {
	switch m.Params.Name {
	case "who":
		s.ask("elicitation/create",
			`{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`, m.ID)
	case "dirs":
		s.text(m.ID, s.roots)
	case "secret":
		text, _ := os.ReadFile(os.Args[1])
		s.text(m.ID, string(text))
	case "refresh":
		s.text(m.ID, fmt.Sprint("refreshed ", s.apps))
	case "pid":
		s.text(m.ID, fmt.Sprint(os.Getpid()))
	case "meet":
		if s.meeting = append(s.meeting, m.ID); len(s.meeting) == 3 {
			for _, id := range s.meeting {
				s.text(id, "met")
			}
			s.meeting = nil
		}
	}
}

// ask asks the client a question, for a call or without one.
func (s *askingServer) ask(method, params string, call json.RawMessage) {
	s.asked++
	s.about[fmt.Sprint(s.asked)] = call
	s.say(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.asked, method, params)
}

func (s *askingServer) answered(m *askingMessage) {
	call, known := s.about[string(m.ID)]
	switch {
	case !known:
	case call != nil && m.Error != nil:
		s.text(call, "error "+string(m.Error))
	case call != nil:
		s.text(call, string(m.Result))
	case m.Error != nil:
		s.roots = "error " + string(m.Error)
	default:
		s.roots = string(m.Result)
	}
}

func (s *askingServer) text(id json.RawMessage, text string) {
	s.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, text)
}

func (s *askingServer) say(format string, values ...any) { fmt.Fprintf(s.out, format+"\n", values...) }

// lineClient is a client of slipway over stdin and stdout. It answers questions while it
// waits for a response.
type lineClient struct {
	t      *testing.T
	in     io.Writer
	out    *bufio.Scanner
	lastID int
	dirs   []string // its folders
	modern bool
	asked  int
}

// newLineClient runs slipway with args, and starts a session.
func newLineClient(t *testing.T, modern bool, args ...string) *lineClient {
	t.Helper()
	in, out := startPiped(t, args...)
	c := &lineClient{t: t, in: in, out: out, modern: modern}
	if !modern {
		c.request("initialize",
			`"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"lines",`+
				`"version":"1"}`)
		c.notify("notifications/initialized")
	}
	return c
}

func (c *lineClient) notify(method string) {
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","method":%q}`+"\n", method)
}

// request sends a request and returns its result.
func (c *lineClient) request(method, members string) json.RawMessage {
	c.t.Helper()
	if c.modern {
		members += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{"roots":{}},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"lines","version":"1"}}`
	}
	c.lastID++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":"c%d","method":%q,"params":{%s}}`+"\n", c.lastID, method, members)
	for c.out.Scan() {
		var m askingMessage
		if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
			c.t.Fatal(err)
		}
		switch {
		case m.Method == "roots/list":
			fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, c.roots())
		case m.Method != "":
		case string(m.ID) != fmt.Sprintf(`"c%d"`, c.lastID):
		case m.Error != nil:
			c.t.Fatalf("%s: %s", method, m.Error)
		default:
			return m.Result
		}
	}
	c.t.Fatalf("%s: slipway has ended", method)
	return nil
}

func (c *lineClient) roots() string {
	c.asked++
	var all []string
	for _, dir := range c.dirs {
		all = append(all, fmt.Sprintf(`{"uri":"file://%s"}`, dir))
	}
	return `{"roots":[` + strings.Join(all, ",") + `]}`
}

// call calls a tool and returns its text. A client of 2026-07-28 retries with the
// requested input.
func (c *lineClient) call(tool string) string {
	c.t.Helper()
	result := c.request("tools/call", fmt.Sprintf(`"name":%q`, tool))
	var asks struct {
		InputRequests map[string]struct{ Method string }
		RequestState  string
	}
	_ = json.Unmarshal(result, &asks)
	for key, q := range asks.InputRequests {
		if q.Method != "roots/list" {
			c.t.Fatalf("asked for %s", result)
		}
		result = c.request("tools/call",
			fmt.Sprintf(`"name":%q,"inputResponses":{%q:%s},"requestState":%q`, tool, key, c.roots(), asks.RequestState))
	}
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 {
		c.t.Fatalf("%s = %s", tool, result)
	}
	return r.Content[0].Text
}

// askingFile writes definitions of an askingServer, with additional members in its entry.
func askingFile(t *testing.T, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "asking.json")
	if err := os.WriteFile(file, []byte(`{"servers":{"asker":{"command":"asking"`+more+`}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRootsOfTheClientOnStdio ensures that a server which asks for folders as soon as it
// runs, and after each change, gets those of the client on stdin and stdout.
func TestRootsOfTheClientOnStdio(t *testing.T) {
	for name, args := range map[string][]string{
		"serve command":     {"serve", "--stdio", "--", "asking"},
		"serve definitions": {"serve", "--stdio", askingFile(t, "")},
		"config run":        {"config", "run", askingFile(t, ""), "asker"},
	} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/modern %v", name, modern), func(t *testing.T) {
				c := newLineClient(t, modern, args...)
				c.dirs = []string{"/first"}
				if got, want := c.eventually("dirs", "/first"), `{"roots":[{"uri":"file:///first"}]}`; got != want {
					t.Fatalf("the server knows %q, want %q", got, want)
				}
				if modern {
					return // it cannot announce changes
				}
				c.dirs = []string{"/second", "/third"}
				c.notify("notifications/roots/list_changed")
				if got, want := c.eventually("dirs", "/second"),
					`{"roots":[{"uri":"file:///second"},{"uri":"file:///third"}]}`; got != want {
					t.Errorf("the server knows %q, want %q", got, want)
				}
				if c.asked != 2 {
					t.Errorf("the client was asked %d times, want 2", c.asked)
				}
			})
		}
	}
}

// eventually calls a tool until its text contains part, because there is no signal that a
// server has processed the answer to its question.
func (c *lineClient) eventually(tool, part string) (got string) {
	c.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience/2; {
		if got = c.call(tool); strings.Contains(got, part) {
			break
		}
	}
	return got
}

// TestSharedChildAsksTheRightClient ensures that clients which share one process are each
// asked only the questions of their own calls.
func TestSharedChildAsksTheRightClient(t *testing.T) {
	at, _ := serveProcess(t, []upstreamOf{{name: "asker", entry: `{"command":"asking"}`}})
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.FlushInterval = -1
	const rounds = 3
	versions := []mcp.Version{mcp.Version20251125, mcp.Version20250618, mcp.Version20260728}
	clients := make([]*mcptest.Client, len(versions))
	for i, v := range versions {
		clients[i] = mcptest.ConnectHTTP(t, proxy, v,
			&mcptest.ConnectOptions{Answer: func(string, json.RawMessage) (any, error) {
				return map[string]any{"action": "accept", "content": map[string]any{"name": fmt.Sprint("user ", i)}}, nil
			}})
	}
	together := func(tool string, want func(i int) string) {
		t.Helper()
		var calls sync.WaitGroup
		for i, c := range clients {
			calls.Go(func() {
				for range rounds {
					got, e := c.Try("tools/call", map[string]any{"name": tool})
					if e != nil || !strings.Contains(string(got), want(i)) {
						t.Errorf("%v: %s = %s, %v, want %s", versions[i], tool, got, e, want(i))
					}
				}
			})
		}
		calls.Wait()
	}
	together("who", func(i int) string { return fmt.Sprint("user ", i) })
	together("meet", func(int) string { return "met" }) // a tool that does not ask runs at the same time
	if got := string(clients[0].Call("tools/call", map[string]any{"name": "dirs"})); !strings.Contains(got,
		"no client to ask") {
		t.Errorf("the server that asked for folders received %s", got)
	}
}

// TestIsolatedSessions ensures that with isolate each session has its own process, which
// sees its folders and exits with it.
func TestIsolatedSessions(t *testing.T) {
	at, _ := serveProcess(t, []upstreamOf{{name: "asker",
		entry: `{"command":"asking","isolate":{"by":"session","total":2}}`}})
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.FlushInterval = -1
	connect := func(dir string, v mcp.Version) *mcptest.Client {
		return mcptest.ConnectHTTP(t, proxy, v,
			&mcptest.ConnectOptions{Answer: func(method string, _ json.RawMessage) (any, error) {
				return map[string]any{"roots": []any{map[string]any{"uri": "file://" + dir}}, "action": "accept",
					"content": map[string]any{"name": dir}}, nil
			}})
	}
	pid := func(c *mcptest.Client) string { return c.CallTool("pid", nil).Content[0].Text }
	one, two := connect("/one", mcp.Version20251125), connect("/two", mcp.Version20250618)
	first, second := pid(one), pid(two)
	if first == second || pid(one) != first || pid(two) != second {
		t.Errorf("processes %s and %s, then %s and %s", first, second, pid(one), pid(two))
	}
	for i, c := range []*mcptest.Client{one, two} { // so that the process of one is idle longest
		dir := []string{"/one", "/two"}[i]
		var got string
		for begin := time.Now(); time.Since(begin) < patience/2 && !strings.Contains(got, dir); {
			got = c.CallTool("dirs", nil).Content[0].Text
		}
		if want := `{"roots":[{"uri":"file://` + dir + `"}]}`; !strings.Contains(got, `"uri":"file://`+dir+`"`) {
			t.Errorf("the process of %s knows %s, want %s", dir, got, want)
		}
	}
	if out, err := exec.Command("slipway", "ps").CombinedOutput(); err != nil {
		t.Errorf("ps: %v: %s", err, out)
	}
	three := connect("/three", mcp.Version20251125)
	if third := pid(three); third == first || third == second {
		t.Errorf("the third session got process %s", third)
	}
	if again := pid(one); again == first {
		t.Error("the process that was idle longest was not stopped to make room")
	}
	_, e := connect("/four", mcp.Version20260728).Try("tools/call", map[string]any{"name": "pid"})
	if e == nil || !strings.Contains(e.Message, "belongs to none") {
		t.Errorf("a request without a session is answered with %v", e)
	}
}

// TestIsolatedPrincipals ensures that, with isolation by principal, sessions of one token
// share a process, and those of another token do not.
func TestIsolatedPrincipals(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("ann ann-4f9c1d2e7b8a55\nbob bob-0c55f1a9d3e277\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at, _ := serveProcess(t, []upstreamOf{{name: "asker",
		entry: `{"command":"asking","isolate":"principal"}`}}, "--auth-token-file", tokens)
	connect := func(token string, v mcp.Version) *mcptest.Client {
		return mcptest.ConnectHTTP(t, httputil.NewSingleHostReverseProxy(at), v,
			&mcptest.ConnectOptions{Header: http.Header{"Authorization": {"Bearer " + token}}})
	}
	pid := func(c *mcptest.Client) string { return c.CallTool("pid", nil).Content[0].Text }
	ann, bob := connect("ann-4f9c1d2e7b8a55", mcp.Version20251125), connect("bob-0c55f1a9d3e277", mcp.Version20250618)
	again := connect("ann-4f9c1d2e7b8a55", mcp.Version20260728)
	if first, second, third := pid(ann), pid(bob), pid(again); first == second || first != third {
		t.Errorf("processes of ann %s, bob %s, ann %s", first, second, third)
	}
}
