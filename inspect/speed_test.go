package inspect_test

import (
	"fmt"
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
