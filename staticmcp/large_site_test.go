package staticmcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/slipway-mcp/slipway/internal/sitelint"
	"github.com/slipway-mcp/slipway/internal/test/race"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// bigManifest lists n resources; with 100,000 it has 16.7 MB.
func bigManifest(n int) []byte {
	var b bytes.Buffer
	b.WriteString(
		`{"protocolVersion":"2025-06-18","serverInfo":{"name":"big","version":"1.0.0"},"capabilities":{"tools":[` +
			`{"name":"get_article","description":"Returns an article.","inputSchema":{"type":"object",` +
			`"properties":{"title":{"type":"string"}},"required":["title"]}}],"resources":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b,
			`{"uri":"wiki://articles/%03d/number-%06d","name":"Article number %06d",`+
				`"description":"What there is to know about number %06d, in one page.","mimeType":"text/markdown"}`,
			i/1000, i, i, i)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// bigFiles is a file system with n resources and n answers, generated when read: what is
// measured is the reader's memory.
type bigFiles struct {
	n        int
	manifest []byte
}

var bigText = bytes.Repeat([]byte("All there is to know. "), 80)

func (b bigFiles) content(name string) ([]byte, bool) {
	var thousand, i int
	if name == "mcp.json" {
		return b.manifest, true
	}
	if n, _ := fmt.Sscanf(name, "resources/articles/%d/number-%d.json", &thousand, &i); n == 2 && i < b.n {
		return fmt.Appendf(nil, `{"uri":"wiki://articles/%03d/number-%06d","mimeType":"text/markdown","text":"%s"}`,
			i/1000, i, bigText), true
	}
	if n, _ := fmt.Sscanf(name, "tools/get_article/number-%d.json", &i); n == 1 && i < b.n {
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":"%s"}]}`, bigText), true
	}
	return nil, false
}

func (b bigFiles) Open(name string) (fs.File, error) {
	one := fstest.MapFS{}
	if data, ok := b.content(name); ok {
		one[name] = &fstest.MapFile{Data: data}
	} else if name == "tools/get_article" {
		for i := range b.n {
			one[fmt.Sprintf("%s/number-%06d.json", name, i)] = &fstest.MapFile{}
		}
	}
	return one.Open(name)
}

// write writes the files to a folder.
func (b bigFiles) write(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	names := []string{"mcp.json"}
	for i := range b.n {
		names = append(names, fmt.Sprintf("resources/articles/%03d/number-%06d.json", i/1000, i),
			fmt.Sprintf("tools/get_article/number-%06d.json", i))
	}
	for _, name := range names {
		data, _ := b.content(name)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// heap returns the memory in use after garbage collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestScale verifies the memory use of a site, and that it does not grow beyond the
// cache. Times are left to the benchmarks, so that a busy machine does not fail the test.
func TestScale(t *testing.T) {
	race.SkipLong(t)
	for _, tt := range []struct {
		files  int
		memory int64
	}{
		{1_000, 30 << 20},
		{100_000, 150 << 20},
	} {
		t.Run(fmt.Sprint(tt.files), func(t *testing.T) {
			files := bigFiles{tt.files, bigManifest(tt.files)}
			before := heap()
			start := time.Now()
			site, err := staticmcp.Open(t.Context(), files, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			took := time.Since(start)
			opened := heap() - before
			readEverything(t, site, tt.files)
			used := heap() - before
			t.Logf("%d resources and %d answers: open in %v with %.1f MiB, after reading all of them %.1f MiB",
				tt.files, tt.files, took, float64(opened)/(1<<20), float64(used)/(1<<20))
			if grown := used - opened; grown > 24<<20 {
				t.Errorf("use has made it grow by %d bytes, want at most its cache of 16 MiB and half as much again", grown)
			}
			if used > tt.memory {
				t.Errorf("the site uses %d bytes, want at most %d", used, tt.memory)
			}
		})
	}
}

// readEverything reads each of n resources and answers, or a tenth of very many.
func readEverything(t *testing.T, site *staticmcp.Site, n int) {
	t.Helper()
	ctx := context.Background()
	step := 1 + n/10_001
	for i := 0; i < n; i += step {
		uri := fmt.Sprintf("wiki://articles/%03d/number-%06d", i/1000, i)
		if _, err := site.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		arguments := fmt.Appendf(nil, `{"title":"Number-%06d"}`, i)
		r, err := site.CallTool(ctx, &mcp.CallToolParams{Name: "get_article", Arguments: arguments})
		if err != nil || r.Raw == nil {
			t.Fatalf("%s: %v %v", arguments, r, err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir() // opening does not read the answers
			if err := os.WriteFile(filepath.Join(dir, "mcp.json"), bigManifest(n), 0o600); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				site, err := staticmcp.OpenDir(b.Context(), dir, nil)
				if err != nil {
					b.Fatal(err)
				}
				site.Close()
			}
		})
	}
}

// BenchmarkFolder opens and uses a folder of 100,000 resources and 100,000 answers, which
// takes a while to write.
func BenchmarkFolder(b *testing.B) {
	files := bigFiles{100_000, bigManifest(100_000)}
	dir := files.write(b)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			site, err := staticmcp.OpenDir(b.Context(), dir, nil)
			if err != nil {
				b.Fatal(err)
			}
			site.Close()
		}
	})
	site, err := staticmcp.OpenDir(b.Context(), dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer site.Close()
	for name, title := range map[string]string{"hit": "number-%06d", "miss": "numbre-%06d"} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				arguments := fmt.Appendf(nil, `{"title":"`+title+`"}`, i%files.n)
				r, err := site.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_article", Arguments: arguments})
				if err != nil || r.IsError != (name == "miss") {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// BenchmarkCheck checks 10,000 files of 2 KB in a folder.
func BenchmarkCheck(b *testing.B) {
	dir := bigFiles{5000, bigManifest(5000)}.write(b)
	b.ResetTimer()
	for b.Loop() {
		report, err := sitelint.CheckDir(b.Context(), dir, nil)
		if err != nil || !report.OK(true) {
			b.Fatal(report, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_001, "ns/file")
}
