package sitewriter_test

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
)

// guide returns a site with n pages of a size. The text of page 0 is changed.
func guide(n, size int, changed string) *sitewriter.Site {
	site := &sitewriter.Site{
		Server: mcp.Implementation{Name: "guide", Version: "1.0.0"},
		Tools: []mcp.Tool{{
			Name: "get_page", Description: "A page.",
			InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		}},
	}
	site.Answers = func(yield func(*sitewriter.Answer, error) bool) {
		for i := range n {
			text := strings.Repeat(fmt.Sprintf("Page %d. ", i), size/8)
			if i == 0 {
				text = changed
			}
			if !yield(sitewriter.Text("get_page", map[string]string{"path": fmt.Sprintf("p%d", i)}, text), nil) {
				return
			}
		}
	}
	return site
}

// TestSpooledMemory: a large site is a correct file system whose contents are not in memory. A
// write replaces it, unchanged files keep their time, and an open file its contents.
func TestSpooledMemory(t *testing.T) {
	for _, limit := range []int64{1, 1 << 30} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			m := sitewriter.NewMemory()
			opts := &sitewriter.Options{SpoolOptions: sitewriter.SpoolOptions{SpoolBytes: limit, TempDir: t.TempDir()}}
			write := func(n, size int, text string) *sitewriter.Result {
				t.Helper()
				r, err := sitewriter.Write(t.Context(), guide(n, size, text), m, opts)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			before := heap()
			write(30, 100_000, "first")
			if grown := heap() - before; limit == 1 && grown > 1<<20 {
				t.Errorf("%d bytes of a site of 3 MB are in memory", grown)
			}
			write(5, 1000, "first")
			const page, other = "tools/get_page/p0.json", "tools/get_page/p1.json"
			if err := fstest.TestFS(m, "mcp.json", page, other); err != nil {
				t.Error(err)
			}
			open, err := m.Open(page)
			if err != nil {
				t.Fatal(err)
			}
			defer open.Close()
			info, err := fs.Stat(m, other)
			if err != nil {
				t.Fatal(err)
			}
			if r := write(5, 1000, "second"); r.Changed != 2 || r.Created != 0 || r.Deleted != 0 {
				t.Errorf("%d files are updated, %d created, %d deleted, want 2, 0, 0", r.Changed, r.Created, r.Deleted)
			}
			runtime.GC() // would close the file of the first site, if nothing used it
			if text, err := io.ReadAll(open); err != nil || !strings.Contains(string(text), "first") {
				t.Errorf("the open file has %q, %v, want the first text", text, err)
			}
			if text, err := m.ReadFile(page); err != nil || !strings.Contains(string(text), "second") {
				t.Errorf("the page has %q, %v, want the second text", text, err)
			}
			if now, err := fs.Stat(m, other); err != nil || !now.ModTime().Equal(info.ModTime()) {
				t.Errorf("an unchanged file is of %v, %v, want %v", now.ModTime(), err, info.ModTime())
			}
		})
	}
}

// TestMemoryWithoutTemporaryFolder: where no file can be created, a large site is in memory, within its limit.
func TestMemoryWithoutTemporaryFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	write := func(limit int64) (*sitewriter.Memory, error) {
		m := sitewriter.NewMemory()
		m.MaxBytes = limit
		_, err := sitewriter.Write(t.Context(), guide(5, 1000, "first"), m, &sitewriter.Options{
			SpoolOptions: sitewriter.SpoolOptions{SpoolBytes: 1, TempDir: missing},
		})
		return m, err
	}
	if _, err := write(0); err != nil {
		t.Errorf("with the system's temporary folder: %v", err)
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // of Unix and Windows
		t.Setenv(name, missing)
	}
	m, err := write(0)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := m.ReadFile("tools/get_page/p0.json"); err != nil || !strings.Contains(string(text), "first") {
		t.Errorf("the page has %q, %v", text, err)
	}
	if _, err := write(1000); err == nil {
		t.Error("a site that exceeds the limit is in memory")
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
