package staticmcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

const oneTool = `{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1"},"capabilities":{
	"resources":[{"uri":"http://status/404","name":"404","description":"d","mimeType":"text/plain"}],
	"tools":[{"name":"get","description":"d","inputSchema":{"type":"object","properties":{"name":{"type":"string"},` +
	`"page":{"type":"integer"}},"required":["name"]}}]}}`

// tenKilobytes is an answer of about 10 KB with a few escapes in it.
func tenKilobytes() string {
	text, _ := json.Marshal(strings.Repeat("A line of an answer that has \"quotes\" and ends.\n", 200))
	return `{"content":[{"type":"text","text":` + string(text) + `}]}`
}

func answers() fstest.MapFS {
	return fstest.MapFS{
		"mcp.json":                   {Data: []byte(oneTool)},
		"tools/get/cote_d_azur.json": {Data: []byte(tenKilobytes())},
		"tools/get/raw name/2.json":  {Data: []byte(tenKilobytes())},
		"resources/status/404.json":  {Data: []byte(`{"uri":"http://status/404","mimeType":"text/plain","text":"x"}`)},
	}
}

// TestWarmAllocations verifies that serving a cached answer allocates nothing.
func TestWarmAllocations(t *testing.T) {
	site, err := staticmcp.Open(t.Context(), answers(), &staticmcp.Options{Poll: -1, Recheck: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	ctx := context.Background()
	for name, do := range map[string]func() error{
		"tool": func() error {
			_, err := site.CallTool(ctx,
				&mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(`{"name":"Côte d’Azur"}`)})
			return err
		},
		"resource": func() error {
			_, err := site.ReadResource(ctx, &mcp.ReadResourceParams{URI: "http://status/404"})
			return err
		},
		"catalog": func() error { _, err := site.Catalog(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			got := testing.AllocsPerRun(100, func() {
				if err := do(); err != nil {
					t.Fatal(err)
				}
			})
			if got > 1 { // one for the parameters, which a server has at no cost
				t.Errorf("a warm answer costs %v allocations, want none", got)
			}
		})
	}
}

func BenchmarkWarm(b *testing.B) {
	site := folderSite(b, &staticmcp.Options{Poll: -1})
	bench(b, site)
}

// BenchmarkCold reads, validates and wraps the file each time.
func BenchmarkCold(b *testing.B) {
	site := folderSite(b, &staticmcp.Options{Poll: -1, CacheBytes: -1})
	bench(b, site)
}

// BenchmarkChecked checks the file for changes each time.
func BenchmarkChecked(b *testing.B) {
	site := folderSite(b, &staticmcp.Options{Poll: -1, Recheck: -1})
	bench(b, site)
}

func folderSite(b *testing.B, opts *staticmcp.Options) *staticmcp.Site {
	b.Helper()
	dir := b.TempDir()
	if err := os.CopyFS(dir, answers()); err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for name := range answers() {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			b.Fatal(err)
		}
	}
	site, err := staticmcp.OpenDir(b.Context(), dir, opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { site.Close() })
	return site
}

func bench(b *testing.B, site *staticmcp.Site) {
	ctx := context.Background()
	for _, arguments := range []string{`{"name":"Côte d’Azur"}`, `{"name":"raw name","page":2}`} {
		b.Run(fmt.Sprintf("call/%d", len(arguments)), func(b *testing.B) {
			b.ReportAllocs()
			params := &mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(arguments)}
			for b.Loop() {
				if r, err := site.CallTool(ctx, params); err != nil || r.Raw == nil {
					b.Fatal(r, err)
				}
			}
		})
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		params := &mcp.ReadResourceParams{URI: "http://status/404"}
		for b.Loop() {
			if _, err := site.ReadResource(ctx, params); err != nil {
				b.Fatal(err)
			}
		}
	})
}
