package sitewriter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/pagecache"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
)

// patchedGuide is a guide of 5 pages; all changes of the text of page 0 are patches.
type patchedGuide struct {
	dir, text string
	// stored is the text that the last patch stored, and patches counts them.
	stored  string
	patches int
}

func (g *patchedGuide) Paths() []string { return nil }

func (g *patchedGuide) Site(context.Context) (*sitewriter.Site, error) {
	return guide(5, 1000, g.text), nil
}

func (g *patchedGuide) Records() (dir, name string) { return g.dir, "guide" }

func (g *patchedGuide) RecordedSite(ctx context.Context) (*sitewriter.Site, func() [][]byte, error) {
	g.stored = ""
	site, err := g.Site(ctx)
	return site, func() [][]byte { return [][]byte{[]byte(g.text)} }, err
}

func (g *patchedGuide) Patch(_ context.Context, old *sitewriter.Recorded) (*sitewriter.Patch, error) {
	key := pagecache.Key{1}
	if data, _ := old.Stored(key); string(data) != g.stored {
		return nil, fmt.Errorf("%q is stored, want %q", data, g.stored)
	}
	g.stored = g.text
	g.patches++
	return &sitewriter.Patch{
		Site:    guide(5, 1000, g.text),
		Answers: []*sitewriter.Answer{sitewriter.Text("get_page", map[string]string{"path": "p0"}, g.text)},
		Parts:   [][]byte{[]byte(g.text)},
		Stored:  map[pagecache.Key][]byte{key: []byte(g.text)},
	}, nil
}

// files returns all files of a site.
func files(t *testing.T, site fs.FS) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(site, name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPatchedMemory: a patched site in memory has the files of a new one, also after many patches, whose
// temporary file does not grow. Unchanged files keep their time, and an open file its contents.
func TestPatchedMemory(t *testing.T) {
	for _, limit := range []int64{1, 1 << 30} {
		for _, layout := range []sitewriter.Layout{sitewriter.OneFile, sitewriter.Packed} {
			t.Run(fmt.Sprint(limit, layout), func(t *testing.T) {
				opts := &sitewriter.Options{
					Layout:       layout,
					NoIndex:      layout == sitewriter.OneFile,
					SpoolOptions: sitewriter.SpoolOptions{SpoolBytes: limit, TempDir: t.TempDir()},
				}
				in := &patchedGuide{dir: t.TempDir(), text: "first"}
				m := sitewriter.NewMemory()
				refresh := func() *sitewriter.Result {
					t.Helper()
					r, err := sitewriter.Refresh(t.Context(), in, m, opts)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				first := refresh()
				begun := m.Spooled()
				info, err := fs.Stat(m, "mcp.json")
				if err != nil {
					t.Fatal(err)
				}
				open, err := m.Open("mcp.json")
				if err != nil {
					t.Fatal(err)
				}
				defer open.Close()
				for n := range 40 {
					in.text = strings.Repeat(fmt.Sprint("text ", n, " "), 100+n)
					got := refresh()
					whole := sitewriter.NewMemory()
					want, err := sitewriter.Write(t.Context(), guide(5, 1000, in.text), whole, opts)
					if err != nil {
						t.Fatal(err)
					}
					site := files(t, m)
					for name, text := range files(t, whole) {
						if site[name] != text {
							t.Fatalf("text %d: %s is %q, want %q", n, name, site[name], text)
						}
					}
					if len(site) != want.Files || got.Bytes != want.Bytes || got.Files != want.Files || got.Changed == 0 {
						t.Fatalf("text %d: %d files, %+v, want %+v", n, len(site), got, want)
					}
				}
				if in.patches != 40 {
					t.Errorf("%d patches, want 40", in.patches)
				}
				if limit == 1 && m.Spooled() > begun+4*first.Bytes {
					t.Errorf("%d bytes of a file for a site of %d bytes", m.Spooled(), first.Bytes)
				}
				if now, err := fs.Stat(m, "mcp.json"); err != nil || !now.ModTime().Equal(info.ModTime()) {
					t.Errorf("an unchanged file is of %v, %v, want %v", now.ModTime(), err, info.ModTime())
				}
				if text, err := io.ReadAll(open); err != nil || string(text) != files(t, m)["mcp.json"] {
					t.Errorf("the open file has %q, %v", text, err)
				}
				refresh()
				if r := refresh(); r.Changed != 0 || r.Unchanged != r.Files {
					t.Errorf("without a change: %+v", r)
				}
			})
		}
	}
}

// TestPatchedMemoryLimits: a patch that exceeds the limit is refused, another write ends the record, and
// where no file can be created, patches are in memory.
func TestPatchedMemoryLimits(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // of Unix and Windows
		t.Setenv(name, missing)
	}
	opts := &sitewriter.Options{SpoolOptions: sitewriter.SpoolOptions{SpoolBytes: 1, TempDir: missing}}
	in := &patchedGuide{dir: t.TempDir(), text: "first"}
	m := sitewriter.NewMemory()
	m.MaxBytes = 20_000
	refresh := func(text string) error {
		in.text = text
		_, err := sitewriter.Refresh(t.Context(), in, m, opts)
		return err
	}
	verify := func(text string, patches int) {
		t.Helper()
		if page, err := m.ReadFile("tools/get_page/p0.json"); err != nil || !strings.Contains(string(page), text) {
			t.Errorf("the page has %q, %v, want %s", page, err, text)
		}
		if in.patches != patches {
			t.Errorf("%d patches, want %d", in.patches, patches)
		}
	}
	if err := errors.Join(refresh("first"), refresh("second")); err != nil {
		t.Fatal(err)
	}
	verify("second", 1)
	if err := refresh(strings.Repeat("long ", 3200)); !errors.As(err, new(*sitewriter.MemoryError)) {
		t.Errorf("a long text: %v, want a MemoryError", err)
	}
	verify("second", 2)
	in.stored = "second"
	if err := refresh("third"); err != nil {
		t.Fatal(err)
	}
	verify("third", 3)
	if _, err := sitewriter.Write(t.Context(), guide(4, 1000, "written"), m, opts); err != nil {
		t.Fatal(err)
	}
	if err := refresh("fourth"); err != nil {
		t.Fatal(err)
	}
	verify("fourth", 3)
	if _, err := m.ReadFile("tools/get_page/p4.json"); err != nil {
		t.Error(err)
	}
}
