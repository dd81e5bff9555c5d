package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// modernCall calls a tool over HTTP like a client of 2026-07-28 that can be asked, and
// returns the response. members are additional members of params, each preceded by a
// comma.
func modernCall(t *testing.T, url, tool, arguments string, members ...string) string {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments +
		strings.Join(members, "") + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func gateway(t *testing.T, src mcp.Source) (url string) {
	url, _ = gatewayWith(t, src, mcpserver.Budget{})
	return url
}

func gatewayWith(t *testing.T, src mcp.Source, budget mcpserver.Budget) (url string, server *mcpserver.Server) {
	server = mcpserver.New(src, &mcpserver.Options{Budget: budget})
	front := httptest.NewServer(server.HTTPHandler(nil))
	t.Cleanup(front.Close)
	return front.URL, server
}

// forgetful serves a session of 2025-06-18 over HTTP that ends with a call of the tool
// forget. The tool wait sends on waiting and never answers.
func forgetful(t *testing.T) (url string, waiting chan bool) {
	waiting = make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m heardMessage
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := `{}`
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "one")
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
				`"serverInfo":{"name":"forgetful","version":"1"}}`
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"wait","inputSchema":{"type":"object"}},` +
				`{"name":"forget","inputSchema":{"type":"object"}}]}`
		case strings.Contains(string(m.Params), "forget"):
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case m.Method == "tools/call":
			waiting <- true
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return server.URL, waiting
}

// TestReasonOfCutCalls ensures that a call which may be parked fails with the reason if
// the session ends, not as if its client had cancelled it.
func TestReasonOfCutCalls(t *testing.T) {
	check := func(t *testing.T, answer, reason string) {
		t.Helper()
		if strings.Contains(answer, "context canceled") || !strings.Contains(answer, reason) ||
			!strings.Contains(answer, `server \"far\" was lost while it served this request: `) {
			t.Errorf("the call is answered with %s, want the reason %q", answer, reason)
		}
	}
	t.Run("HTTP", func(t *testing.T) {
		address, waiting := forgetful(t)
		src := open(t, &client.Endpoint{URL: address, NoListen: true}, &client.Options{Name: "far"})
		url := gateway(t, src)
		ended := make(chan string, 1)
		go func() { ended <- modernCall(t, url, "wait", `{}`) }()
		<-waiting
		check(t, modernCall(t, url, "forget", `{}`), "HTTP status 503")
		check(t, <-ended, "HTTP status 503")
	})
	t.Run("stdio", func(t *testing.T) {
		src := open(t, command(t, "server"), &client.Options{Name: "far", Version: mcp.Version20250618})
		url := gateway(t, src)
		for range 10 {
			pid := pidOf(t, src)
			marker := filepath.Join(t.TempDir(), "called")
			ended := make(chan string, 1)
			go func() { ended <- modernCall(t, url, "block", `{"text":"`+marker+`"}`) }()
			until(t, "the call is handled", nil, nil, func() bool {
				_, err := os.Stat(marker)
				return err == nil
			})
			killProcess(t, pid)
			check(t, <-ended, "the server ended: signal: killed")
		}
	})
}

// TestParkedCallsAreKept ensures that a parked call counts toward the server's budget, in
// number and bytes, until it is resumed or makes room for another.
func TestParkedCallsAreKept(t *testing.T) {
	t.Parallel()
	src := open(t, command(t, "server"), &client.Options{Name: "far", Version: mcp.Version20250618})
	url, server := gatewayWith(t, src, mcpserver.Budget{Parked: 1})
	parked := func() mcpserver.KeptStats {
		for _, k := range server.Stats().Kept {
			if k.Kind == "parked_call" {
				return k
			}
		}
		t.Fatal("there is no such kind")
		return mcpserver.KeptStats{}
	}
	ask := func(padding string) (state string) {
		answer := modernCall(t, url, "ask", `{"padding":"`+padding+`"}`)
		var m struct{ Result struct{ RequestState string } }
		if err := json.Unmarshal([]byte(answer), &m); err != nil || m.Result.RequestState == "" {
			t.Fatalf("the call is not parked: %s", answer)
		}
		return m.Result.RequestState
	}
	resume := func(padding, state string) string {
		return modernCall(t, url, "ask", `{"padding":"`+padding+`"}`, `,"requestState":"`+state+
			`","inputResponses":{"question-1":{"action":"accept","content":{"name":"ann"}}}`)
	}
	long := strings.Repeat("x", 100_000)
	first := ask(long)
	if got := parked(); got.Count != 1 || got.Bytes < 100_000 {
		t.Errorf("one parked call of 100,000 bytes is kept as %+v", got)
	}
	second := ask("short")
	if got := parked(); got.Count != 1 || got.Bytes > 50_000 || got.Shed != 1 {
		t.Errorf("a short one that has replaced it is kept as %+v", got)
	}
	if got := resume(long, first); !strings.Contains(got, "has been lost, or has waited too long") {
		t.Errorf("the call that was given up: %s", got)
	}
	if got := resume("short", second); !strings.Contains(got, "ann") {
		t.Errorf("the other: %s", got)
	}
	if got := parked(); got.Count != 0 || got.Bytes != 0 {
		t.Errorf("nothing is parked, and kept is %+v", got)
	}
	// A call that can never be kept is refused without asking the client.
	url, server = gatewayWith(t, src, mcpserver.Budget{ClientBytes: 60_000})
	if got := modernCall(t, url, "ask", `{"padding":"`+long+`"}`); !strings.Contains(got, `"code":-31003`) {
		t.Errorf("a call beyond the share of its client: %s", got)
	}
}
