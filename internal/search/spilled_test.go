package search

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// indexFiles builds an index of many pages whose postings move to a file once they take limit slabs.
// It returns the files of the index and those that were created.
func indexFiles(t *testing.T, limit int, create func() (*os.File, error)) (map[string]string, *Builder) {
	t.Helper()
	files := make(map[string]string)
	b := NewBuilder(&Options{Language: "en", TempFile: create}, func(name string, data []byte) error {
		files[name] = string(data)
		return nil
	})
	b.spilled.limit = limit
	for n := range 600 {
		text := strings.Builder{}
		for k := range 60 {
			fmt.Fprintf(&text, "word%d only%dx%d ", (n*k)%500, n, k)
		}
		err := b.Add(Page{
			ID: fmt.Sprint("p", n), Title: fmt.Sprint("Page ", n),
			Sections: []Section{{Text: "common " + text.String()}, {Slug: "s", Heading: "More", Text: text.String()}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if limit > 0 && len(b.spilled.pieces) < 2 && !b.spilled.failed {
		t.Fatalf("postings moved to the file %d times, want several", len(b.spilled.pieces))
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return files, b
}

// TestSpilled: an index is the same when postings were in a file, of which nothing remains, or when no
// file could be created or written.
func TestSpilled(t *testing.T) {
	race.SkipLong(t)
	want, _ := indexFiles(t, 0, nil)
	dir := t.TempDir()
	var closed *os.File
	for name, create := range map[string]func() (*os.File, error){
		"file":    func() (*os.File, error) { f, err := os.CreateTemp(dir, ""); closed = f; return f, err },
		"no file": func() (*os.File, error) { return nil, errors.New("no folder") },
		"read-only": func() (*os.File, error) {
			name := filepath.Join(dir, "read-only")
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return nil, err
			}
			return os.Open(name)
		},
	} {
		got, b := indexFiles(t, 2, create)
		if !maps.Equal(got, want) {
			t.Errorf("%s: the index differs: %s", name, cmp.Diff(want, got))
		}
		if b.spilled.file != nil {
			t.Errorf("%s: the file is not released", name)
		}
	}
	if _, err := closed.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("stat of the file: %v, want it closed", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files remain: %v %v", left, err)
	}
}

// TestSpillBounds: most of the postings of many pages are not in memory.
func TestSpillBounds(t *testing.T) {
	b := NewBuilder(&Options{TempFile: func() (*os.File, error) { return os.CreateTemp(t.TempDir(), "") }}, nil)
	defer b.Release()
	b.spilled.limit = 4
	text := strings.Builder{}
	for k := range 2000 {
		fmt.Fprintf(&text, "word%d ", k)
	}
	for n := range 250 {
		if err := b.Add(Page{ID: fmt.Sprint(n), Sections: []Section{{Text: text.String()}}}); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for n := range b.terms {
		total += b.postingsSize(n)
	}
	slabs := len(b.postings.slabs) + len(b.postings.free)
	if total < 20*slabSize || slabs > 12 {
		t.Errorf("%d bytes of postings take %d slabs of %d, want at most 12", total, slabs, slabSize)
	}
}
