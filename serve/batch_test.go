package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/router"
	"github.com/slipway-mcp/slipway/serve"
)

// A batch of short requests with long answers is answered in part: the memory for its
// answers is bounded, however large each answer is.
func TestBatchAnswersAreBounded(t *testing.T) {
	const size, requests = 600 << 10, 60
	src, err := router.New("library", "1.0.0",
		router.Resource("book", "x://book", func(context.Context) (string, error) { return strings.Repeat("a", size), nil }))
	if err != nil {
		t.Fatal(err)
	}
	reads := make([]string, requests)
	for i := range reads {
		reads[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"x://book"}}`, i+1)
	}
	batch := "[" + strings.Join(reads, ",") + "]"

	check := func(t *testing.T, text []byte) {
		t.Helper()
		var answers []struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *mcp.Error      `json:"error"`
		}
		if err := json.Unmarshal(text, &answers); err != nil || len(answers) != requests {
			t.Fatalf("%d answers of %d bytes: %v", len(answers), len(text), err)
		}
		if len(text) > 8<<20 {
			t.Errorf("the answers have %d bytes", len(text))
		}
		for i, a := range answers {
			full := i*size > 4<<20
			if a.ID != i+1 || full != (a.Error != nil) || full && a.Error.Code != mcp.CodeToolBusy {
				t.Errorf("answer %d: id %d, %d bytes, %v", i+1, a.ID, len(a.Result), a.Error)
			}
		}
	}
	t.Run("http", func(t *testing.T) {
		site := httptest.NewServer(serve.NewHandler(src, nil))
		defer site.Close()
		client := &tenant{url: site.URL, http: site.Client()}
		r := client.request(http.MethodPost, batch, "")
		r.Header.Set("MCP-Protocol-Version", "2025-03-26")
		got, err := client.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		check(t, text)
	})
	t.Run("stdio", func(t *testing.T) {
		in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26",` +
			`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" + batch + "\n"
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- server.New(src, nil).ServeStdio(t.Context(), inR, outW, nil) }()
		go func() { _, _ = io.WriteString(inW, in) }()
		lines := bufio.NewReader(outR)
		_, _ = lines.ReadBytes('\n')
		text, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		check(t, text)
		_ = inW.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
