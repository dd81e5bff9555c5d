package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/slipway-mcp/slipway/inspect"
	"github.com/slipway-mcp/slipway/mcp"
)

// BenchmarkCatalog makes the forms of 1,000 tools.
func BenchmarkCatalog(b *testing.B) {
	o := newOffice()
	o.catalog = o.catalog.Copy()
	for i := range 1000 {
		tool := o.catalog.Tools[5]
		tool.Name = fmt.Sprintf("count_%d", i)
		o.catalog.Tools = append(o.catalog.Tools, tool)
	}
	d := newDesk(b, nil, inspect.Served("office", mcp.Source(o)))
	d.ready("")
	for b.Loop() {
		if status, _ := d.do("GET", "/api/catalog", ""); status != 200 {
			b.Fatal(status)
		}
	}
}

// BenchmarkFrames reads the heads of 10,000 frames through the stream.
func BenchmarkFrames(b *testing.B) {
	d := newDesk(b, nil)
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"flood","arguments":{"n":10000}}}`)
	last := s.until("the end", ended).Call.Answer
	for b.Loop() {
		d.stream(0).until("the answer", func(e *event) bool { return e.Frame != nil && e.Frame.Seq == last })
	}
}

// BenchmarkFlood calls a tool that sends 10,000 notifications, and reads all of them from the stream.
func BenchmarkFlood(b *testing.B) {
	d := newDesk(b, nil)
	d.ready("")
	s := d.stream(-1)
	for b.Loop() {
		d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"flood","arguments":{"n":10000}}}`)
		s.until("the end", ended)
	}
}

// BenchmarkSearch searches the bodies of 10,000 frames.
func BenchmarkSearch(b *testing.B) {
	d := newDesk(b, nil)
	d.ready("")
	s := d.stream(-1)
	d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"flood","arguments":{"n":10000}}}`)
	s.until("the end", ended)
	for b.Loop() {
		if status, _ := d.do("GET", "/api/search?q=nowhere", ""); status != 200 {
			b.Fatal(status)
		}
	}
}

// rows is a source with one tool, which returns 4 MB of structured content.
type rows struct {
	mcp.Unimplemented
	result *mcp.CallToolResult
}

func newRows(tb testing.TB) *rows {
	var list []any
	for i := range 40_000 {
		list = append(list, map[string]any{
			"id":    i,
			"name":  fmt.Sprintf("row number %d", i),
			"tags":  []string{"a", "b"},
			"open":  i%3 == 0,
			"score": float64(i) / 7,
		})
	}
	content, err := json.Marshal(map[string]any{"rows": list})
	if err != nil {
		tb.Fatal(err)
	}
	return &rows{result: &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.Text("40,000 rows")},
		StructuredContent: content,
	}}
}

func (r *rows) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Tools: []mcp.Tool{{
		Name:        "rows",
		InputSchema: json.RawMessage(`{"type":"object"}`),
	}}}, nil
}

func (r *rows) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return r.result, nil
}

// BenchmarkLargeResult makes a call and reads what the page shows of its result of 4 MB first.
func BenchmarkLargeResult(b *testing.B) {
	d := newDesk(b, nil, inspect.Served("rows", newRows(b)))
	d.ready("")
	s := d.stream(-1)
	for b.Loop() {
		d.post("/api/call", `{"source":1,"method":"tools/call","params":{"name":"rows","arguments":{}}}`)
		call := s.until("the end", ended).Call
		if call.Bytes < 3<<20 {
			b.Fatal(call.Bytes)
		}
		r, _ := http.NewRequestWithContext(b.Context(), "GET", fmt.Sprintf("%s/api/frames/%d", d.url, call.Answer), nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Range", "bytes=0-262143")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if n != 256<<10 || err != nil {
			b.Fatal(n, err)
		}
	}
}
