package pagecache_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/pagecache"
)

func key(name string) pagecache.Key { return sha256.Sum256([]byte(name)) }

// value returns the two parts stored under a name.
func value(name string) [][]byte {
	return [][]byte{[]byte("head of " + name), bytes.Repeat([]byte(name), 100)}
}

// open opens a cache, and closes it at the end of the test.
func open(t *testing.T, dir, source string, opts *pagecache.Options) *pagecache.Cache {
	t.Helper()
	c, err := pagecache.Open(dir, source, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// use gets the named entries, adds the missing ones, commits, verifies all, and returns how many
// were missing.
func use(t *testing.T, c *pagecache.Cache, names ...string) (missing int) {
	t.Helper()
	entries := make(map[string]*pagecache.Entry)
	for _, name := range names {
		e, ok := c.Get(key(name))
		if !ok {
			missing++
			var err error
			if e, err = c.Put(key(name), value(name)...); err != nil {
				t.Fatal(err)
			}
		}
		entries[name] = e
	}
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	for name, e := range entries {
		for i, want := range value(name) {
			if got, err := e.Part(i); err != nil || !bytes.Equal(got, want) {
				t.Errorf("part %d of %s = %.20q, %v, want %.20q", i, name, got, err, want)
			}
		}
	}
	return missing
}

// segments returns the files of all sources.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*", "*.pages"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEntries: entries that a build used are found by the next one, others are removed.
func TestEntries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	for i, build := range []struct {
		names   string
		missing int
	}{{"a b c", 3}, {"a b c", 0}, {"a b d", 1}, {"a b d", 0}, {"d", 0}, {"a d", 1}} {
		c := open(t, dir, "docs", nil)
		if got := use(t, c, strings.Fields(build.names)...); got != build.missing {
			t.Errorf("build %d: %d entries are missing, want %d", i, got, build.missing)
		}
	}
	if c := open(t, dir, "other docs", nil); use(t, c, "a") != 1 {
		t.Error("a source has the entries of another one")
	}
}

// TestAddedAgain: an entry that was added again is the last one, however many segments have it.
func TestAddedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	for i := range 60 {
		c := open(t, dir, "docs", nil)
		if e, ok := c.Get(key("again")); ok {
			if data, err := e.Part(0); err != nil || string(data) != fmt.Sprint(i-1) {
				t.Errorf("build %d found the entry of build %s, %v", i, data, err)
			}
			c.Release(key("again"))
		} else if i > 0 {
			t.Errorf("build %d has lost the entry", i)
		}
		if _, err := c.Put(key("again"), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		var names []string // keep the segments with the earlier ones
		for n := range i + 1 {
			names = append(names, fmt.Sprint("page", n))
		}
		use(t, c, names...)
		c.Close()
	}
}

// TestManySegments: segments of many small builds are merged, and lose nothing.
func TestManySegments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint("page", i))
		if got := use(t, open(t, dir, "docs", nil), names...); got != 1 {
			t.Fatalf("build %d: %d entries are missing, want 1", i, got)
		}
	}
	if n := len(segments(t, dir)); n > 10 {
		t.Errorf("40 builds left %d segments", n)
	}
}

// TestDamage: a segment of which any byte differs, or that is cut off, is not used, and replaced.
func TestDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	use(t, open(t, dir, "docs", nil), "a", "b")
	name := segments(t, dir)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := range len(whole) {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x40
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		c := open(t, dir, "docs", nil)
		if _, ok := c.Get(key("a")); ok {
			t.Fatalf("the segment is used although byte %d of %d differs", at, len(whole))
		}
		c.Close()
	}
	for _, n := range []int{0, 1, 20, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(name, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok := open(t, dir, "docs", nil).Get(key("a")); ok {
			t.Errorf("the segment is used although it ends after %d bytes", n)
		}
	}
	if got := use(t, open(t, dir, "docs", nil), "a", "b"); got != 2 {
		t.Errorf("%d entries are missing, want 2", got)
	}
	if list := segments(t, dir); len(list) != 1 || list[0] == name {
		t.Errorf("the damaged segment is not replaced: %v", list)
	}
}

// TestProcesses: builds that run at the same time do not disturb each other.
func TestProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for n := range 5 {
				c, err := pagecache.Open(dir, "docs", nil)
				if err != nil {
					t.Error(err)
					return
				}
				use(t, c, "common", fmt.Sprint("page", i), fmt.Sprint("page", i, n))
				c.Close()
			}
		})
	}
	work.Wait()
	if partial, _ := filepath.Glob(filepath.Join(dir, "*", "*.partial")); len(partial) > 0 {
		t.Errorf("partial segments are left: %v", partial)
	}
}

// TestHalfMarked: a marker that is being written by another process, or was not written to its
// end, is completed; beside other files, or with another text, it marks nothing.
func TestHalfMarked(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "pages")
	if err := pagecache.Prepare(whole); err != nil {
		t.Fatal(err)
	}
	marker, err := os.ReadFile(filepath.Join(whole, "CACHEDIR.TAG"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text, beside string
		foreign      bool
	}{
		{text: ""},
		{text: string(marker[:20])},
		{text: string(marker[:20]), beside: "letter.txt", foreign: true},
		{text: "Signature: 1\n", foreign: true},
		{text: string(marker) + "and more", foreign: true},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"CACHEDIR.TAG": tt.text, tt.beside: ""} {
			if name == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := pagecache.Prepare(dir); errors.Is(err, pagecache.ErrForeign) != tt.foreign {
			t.Errorf("marker %q beside %q: %v", tt.text, tt.beside, err)
		}
		after, _ := os.ReadFile(filepath.Join(dir, "CACHEDIR.TAG"))
		want := string(marker)
		if tt.foreign {
			want = tt.text
		}
		if string(after) != want {
			t.Errorf("marker %q beside %q: it is now %q", tt.text, tt.beside, after)
		}
	}
}

// TestUncommitted: a build that fails leaves nothing.
func TestUncommitted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	c := open(t, dir, "docs", nil)
	if _, err := c.Put(key("a"), value("a")...); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if use(t, open(t, dir, "docs", nil), "a") != 1 {
		t.Error("an entry that was not committed is used")
	}
}

// TestLimits: old sources, and the least recently used ones beyond the size, are removed.
func TestLimits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	age := func(hours int) {
		for _, name := range segments(t, dir) {
			source := filepath.Dir(name)
			info, err := os.Stat(source)
			if err != nil {
				t.Fatal(err)
			}
			then := info.ModTime().Add(-time.Duration(hours) * time.Hour)
			if err := os.Chtimes(source, then, then); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, source := range []string{"one", "two", "three"} {
		use(t, open(t, dir, source, nil), "a", "b", "c")
		age(1)
	}
	size := int64(0)
	for _, name := range segments(t, dir) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size = info.Size()
	}
	use(t, open(t, dir, "four", &pagecache.Options{MaxBytes: 3*size + size/2}), "a", "b", "c")
	if n := len(segments(t, dir)); n != 3 {
		t.Errorf("%d sources are left, want 3", n)
	}
	if got := use(t, open(t, dir, "two", nil), "a", "b", "c"); got != 0 {
		t.Error("a source was removed that was used later than another one")
	}
	age(48)
	use(t, open(t, dir, "five", &pagecache.Options{MaxAge: 24 * time.Hour}), "a")
	if n := len(segments(t, dir)); n != 1 {
		t.Errorf("%d sources are left, want 1", n)
	}
	// A source that is larger than the limit is not stored, but its build can use it.
	c := open(t, dir, "six", &pagecache.Options{MaxBytes: 100})
	use(t, c, "a", "b")
	c.Close()
	if use(t, open(t, dir, "six", nil), "a") != 1 {
		t.Error("a source larger than the limit is stored")
	}
}

// TestForeign: a folder with other contents is refused, and files that are not of the cache are
// never removed.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "thesis.pages")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pagecache.Open(dir, "docs", nil); !errors.Is(err, pagecache.ErrForeign) {
		t.Errorf("Open of a foreign folder = %v, want ErrForeign", err)
	}
	cache := filepath.Join(dir, "cache")
	use(t, open(t, cache, "docs", nil), "a")
	source := filepath.Dir(segments(t, cache)[0])
	kept := []string{
		mine, filepath.Join(cache, "notes.pages"), filepath.Join(cache, "other", "x.pages"), filepath.Join(source, "x.txt"),
		filepath.Join(cache, "CACHEDIR.TAG"),
	}
	for _, name := range kept[1:4] {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-1000 * time.Hour)
	if err := os.Chtimes(source, then, then); err != nil {
		t.Fatal(err)
	}
	use(t, open(t, cache, "other docs", &pagecache.Options{MaxBytes: 1}), "a")
	if n := len(segments(t, cache)); n != 1 { // that of "other"
		t.Errorf("%d segments are left, want 1", n)
	}
	for _, name := range kept {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// TestRelease: an entry that was released is not kept, and one that replaces it is.
func TestRelease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	use(t, open(t, dir, "docs", nil), "record", "page")
	c := open(t, dir, "docs", &pagecache.Options{Unchecked: true})
	if _, ok := c.Get(key("page")); !ok {
		t.Error("no entry without verification")
	}
	if _, ok := c.Get(key("record")); !ok {
		t.Fatal("no record")
	}
	c.Release(key("record"))
	if _, err := c.Put(key("record"), []byte("another")); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c = open(t, dir, "docs", nil)
		e, ok := c.Get(key("record"))
		if !ok {
			t.Fatal("no record")
		}
		if data, err := e.Part(0); err != nil || string(data) != "another" {
			t.Errorf("the record is %q, %v", data, err)
		}
		if _, ok := c.Get(key("page")); !ok {
			t.Error("no page")
		}
		if err := c.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}
