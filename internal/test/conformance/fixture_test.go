package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// A notification after the response is lost to the client, and such a race is rare.
func TestProgressIsNeverLost(t *testing.T) {
	server := httptest.NewServer(mcpserver.New(newFixture(), nil).HTTPHandler(nil))
	defer server.Close()
	const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_tool_with_progress",` +
		`"_meta":{"progressToken":"t"}}}`
	results := make(chan string, 100)
	for range 100 {
		go func() {
			request, _ := http.NewRequest(http.MethodPost, server.URL+"/mcp", strings.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				results <- err.Error()
				return
			}
			defer response.Body.Close()
			text, _ := io.ReadAll(response.Body)
			results <- string(text)
		}()
	}
	for range 100 {
		var got []string
		for line := range strings.Lines(<-results) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var m struct {
				ID     *int
				Params struct{ Progress float64 }
			}
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatal(err)
			}
			switch {
			case m.ID != nil:
				got = append(got, "answer")
			default:
				got = append(got, fmt.Sprint(m.Params.Progress))
			}
		}
		if have, want := strings.Join(got, " "), "0 50 100 answer"; have != want {
			t.Fatalf("got %q, want %q", have, want)
		}
	}
}
