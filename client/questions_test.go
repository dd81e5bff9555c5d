package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// dropping is a server of 2025-11-25 that announces no changes, and asks on the standing
// stream during its only tool. It drops a question while the stream is closed, as servers of
// the TypeScript SDK do.
type dropping struct {
	late    time.Duration // the time until its stream is open
	refuses bool          // it has no stream

	mu       sync.Mutex
	asked    chan string // questions for the stream, or nil while it is closed
	answered chan string
}

func (d *dropping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		d.stream(w, r)
		return
	case http.MethodDelete:
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Result json.RawMessage
	}
	_ = json.Unmarshal(body, &m)
	result := "{}"
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "one")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"dropping","version":"1"}}`
	case "server/discover":
		http.Error(w, "what is that?", http.StatusBadRequest)
		return
	case "tools/list":
		result = `{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, d.ask())
	case "":
		d.answered <- string(m.Result)
	}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// ask asks on the stream, and returns the answer.
func (d *dropping) ask() string {
	d.mu.Lock()
	asked := d.asked
	d.mu.Unlock()
	if asked == nil {
		return "dropped"
	}
	asked <- `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?"}}`
	return <-d.answered
}

// stream is the standing stream.
func (d *dropping) stream(w http.ResponseWriter, r *http.Request) {
	if d.refuses {
		http.Error(w, "no stream", http.StatusMethodNotAllowed)
		return
	}
	select {
	case <-time.After(d.late):
	case <-r.Context().Done():
		return
	}
	asked := make(chan string)
	d.mu.Lock()
	d.asked = asked
	d.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	for {
		select {
		case question := <-asked:
			fmt.Fprintf(w, "data: %s\n\n", question)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// TestQuestionOnTheStandingStream ensures that the first call waits for the standing stream,
// also of a server that announces no changes; but not for one that it refuses.
func TestQuestionOnTheStandingStream(t *testing.T) {
	for name, tt := range map[string]struct {
		server *dropping
		want   string
	}{
		"open":    {&dropping{}, "accept"},
		"late":    {&dropping{late: 100 * time.Millisecond}, "accept"},
		"refused": {&dropping{refuses: true}, "dropped"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.server.answered = make(chan string, 1)
			web := httptest.NewServer(tt.server)
			t.Cleanup(web.Close)
			src := open(t, &client.Endpoint{URL: web.URL}, &client.Options{
				Version: mcp.Version20251125,
				Questions: client.Questions{
					Capabilities: json.RawMessage(client.ElicitationOnly),
					Answer: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage(`{"action":"accept"}`), nil
					},
				},
			})
			began := time.Now()
			result, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
			text, _ := json.Marshal(result)
			if err != nil || !strings.Contains(string(text), tt.want) {
				t.Errorf("CallTool = %s, %v, want %s", text, err, tt.want)
			}
			if took := time.Since(began); took > 900*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		})
	}
}
