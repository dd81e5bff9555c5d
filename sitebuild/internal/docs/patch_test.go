package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// refreshed is a folder of documents whose site is refreshed after each change.
type refreshed struct {
	t      *testing.T
	dir    string // with docs, site, and cache
	opts   docs.Options
	write  sitewriter.Options
	random *rand.Rand
	// patches counts the builds that read no documents beside the changed ones.
	patches int
}

func newRefreshed(t *testing.T, layout sitewriter.Layout) *refreshed {
	dir := t.TempDir()
	r := &refreshed{
		t:   t,
		dir: dir,
		opts: docs.Options{
			CacheDir:  filepath.Join(dir, "cache"),
			TermFiles: -1,
			PartBytes: 3000,
			Name:      "kettle",
			Language:  "en",
			Version:   "1.0.0",
		},
		write:  sitewriter.Options{Layout: layout},
		random: rand.New(rand.NewSource(7)),
	}
	for name, file := range thousand() {
		if number := strings.TrimSuffix(filepath.Base(name), ".md"); len(number) < 3 || number[1] < '4' && len(number) < 4 {
			r.put(name, strings.ReplaceAll(string(file.Data), "](p", "](https://example.com/p"))
		}
	}
	r.put("index.md", "# The kettle\n\nA kettle heats water. See [the first page](part01/p1.md).\n")
	r.put("part02/long.md", "# Long\n\nIt is long.\n\n## First\n\n"+strings.Repeat("A line about the spout.\n\n", 200))
	r.age()
	return r
}

// put writes a document.
func (r *refreshed) put(name, text string) {
	path := filepath.Join(r.dir, "docs", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// get reads a document.
func (r *refreshed) get(name string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, "docs", filepath.FromSlash(name)))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// age makes all documents old enough for a record to rely on their times.
func (r *refreshed) age() {
	at := time.Now().Add(-time.Hour)
	for _, name := range r.names() {
		if err := os.Chtimes(filepath.Join(r.dir, "docs", filepath.FromSlash(name)), at, at); err != nil {
			r.t.Fatal(err)
		}
	}
}

// names returns the documents.
func (r *refreshed) names() []string {
	var names []string
	dir := filepath.Join(r.dir, "docs")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

// refresh brings a site in a folder up to date, or builds another one without a cache.
func (r *refreshed) refresh(to string, cached bool) *sitewriter.Result {
	r.t.Helper()
	return r.refreshOutput(sitewriter.Dir(filepath.Join(r.dir, to)), cached)
}

// refreshOutput is refresh for any output.
func (r *refreshed) refreshOutput(to sitewriter.Output, cached bool) *sitewriter.Result {
	r.t.Helper()
	opts := r.opts
	if !cached {
		opts.CacheDir = ""
	}
	in, err := docs.Dir(filepath.Join(r.dir, "docs"), &opts)
	if err != nil {
		r.t.Fatal(err)
	}
	read := 0
	ctx := sitewriter.WithProgress(r.t.Context(), func(sitewriter.Progress) { read++ })
	result, err := sitewriter.Refresh(ctx, in, to, &r.write)
	if err != nil {
		r.t.Fatal(err)
	}
	if read == 0 {
		r.patches++
	}
	return result
}

// compare refreshes the site, and compares each of its files and the result with a site that is
// built as a whole.
func (r *refreshed) compare(when string) {
	r.t.Helper()
	before := r.tree("site")
	got := r.refresh("site", true)
	if err := os.RemoveAll(filepath.Join(r.dir, "whole")); err != nil {
		r.t.Fatal(err)
	}
	want := r.refresh("whole", false)
	site, whole := r.tree("site"), r.tree("whole")
	for name, data := range whole {
		if !bytes.Equal(site[name], data) {
			r.t.Errorf("%s: %s differs:\n%s", when, name, cmp.Diff(string(data), string(site[name])))
		}
	}
	changed := 0
	for name, data := range site {
		if whole[name] == nil {
			r.t.Errorf("%s: %s is not part of the site", when, name)
		}
		if old := before[name]; old != nil && !bytes.Equal(old, data) {
			changed++
		}
	}
	if r.t.Failed() {
		r.t.FailNow()
	}
	if got.Answers != want.Answers || got.Files != want.Files || got.Bytes != want.Bytes || got.Largest != want.Largest {
		r.t.Errorf("%s: %+v, want %+v", when, got, want)
	}
	if got.Changed != changed || got.Created+got.Changed+got.Unchanged != got.Files {
		r.t.Errorf("%s: %d created, %d changed, %d unchanged of %d, want %d changed", when, got.Created, got.Changed,
			got.Unchanged, got.Files, changed)
	}
	if diff := cmp.Diff(want.Report.Findings(), got.Report.Findings()); diff != "" {
		r.t.Errorf("%s: findings: %s", when, diff)
	}
}

// tree returns all files of a site.
func (r *refreshed) tree(of string) map[string][]byte {
	files := make(map[string][]byte)
	dir := filepath.Join(r.dir, of)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			files[name], err = os.ReadFile(path)
		}
		return err
	})
	return files
}

// edit makes a random change of a document.
func (r *refreshed) edit() string {
	names := slices.DeleteFunc(r.names(), func(name string) bool { return !strings.HasSuffix(name, ".md") })
	name := names[r.random.Intn(len(names))]
	text := r.get(name)
	word := fmt.Sprintf("%s%d", []string{"kettle", "kettles", "spouts", "boiling", "sieve", "Valves"}[r.random.Intn(6)],
		r.random.Intn(3))
	switch kind := r.random.Intn(16); kind {
	case 0:
		r.put(fmt.Sprintf("part03/new%d.md", r.random.Intn(1000)), "# New "+word+"\n\nA page about the "+word+".\n")
		return "a new page"
	case 1:
		if err := os.Remove(filepath.Join(r.dir, "docs", filepath.FromSlash(name))); err != nil {
			r.t.Fatal(err)
		}
		return "without " + name
	case 2:
		r.put(name, strings.Replace(text, "\n# ", "\n# "+word+" ", 1))
		return "another title of " + name
	case 3:
		r.put(name, text+"\n## About "+word+"\n\nMore of it.\n")
		return "another section of " + name
	case 4:
		r.put(name, text+"\nSee [the start](../index.md) and [the others](p1.md).\n")
		return "other links of " + name
	case 5:
		dir := filepath.Join(r.dir, "docs")
		to := filepath.Join(dir, "part04", word+".md")
		if err := os.Rename(filepath.Join(dir, filepath.FromSlash(name)), to); err != nil {
			return "nothing"
		}
		return "another name of " + name
	case 6:
		r.put(name, "---\ndescription: "+word+"\n---\n# "+word+"\n\n"+text)
		return "other front matter of " + name
	case 7:
		r.put(name, text+strings.Repeat("\nThe "+word+" is repeated here. It has a number of parts.\n", 60))
		return "a long text in " + name
	case 8:
		return "nothing"
	default:
		at := max(strings.LastIndex(text, "\n\n"), 0)
		sentence := fmt.Sprintf("\n\nThe %s that depends on kettle sits on `opt.%s`; see [%s](https://example.com/).\n",
			word, word, word)
		if kind%2 == 0 && at > 100 {
			r.put(name, text[:at]+sentence) // without the last paragraph
		} else {
			r.put(name, text[:at]+sentence+text[at:])
		}
		return "another sentence in " + name
	}
}

// refreshSteps returns how many random edits are compared with whole builds.
func refreshSteps(short bool) int {
	if short { // one goroutine does most of the work
		return 8
	}
	return 20
}

// After any change, a refreshed site is the one that a whole build makes, byte for byte.
func TestRefresh(t *testing.T) {
	defer docs.SetMaxFull(10_000)()
	steps := map[sitewriter.Layout]int{
		sitewriter.Packed:  refreshSteps(race.Short()),
		sitewriter.OneFile: refreshSteps(race.Short()) / 4,
	}
	for layout, steps := range steps {
		t.Run(string(layout)+"layout", func(t *testing.T) {
			r := newRefreshed(t, layout)
			r.compare("the first build")
			for step := range steps {
				when := fmt.Sprintf("step %d: %s", step, r.edit())
				if r.random.Intn(4) == 0 {
					when += ", " + r.edit()
				}
				r.compare(when)
			}
			t.Logf("%d of %d builds were patches", r.patches, steps+1)
			if r.patches < steps/4 {
				t.Errorf("%d of %d builds were patches", r.patches, steps)
			}
		})
	}
}

// After any change, a refreshed site in memory is the one that a whole build makes.
func TestRefreshMemory(t *testing.T) {
	defer docs.SetMaxFull(10_000)()
	steps := refreshSteps(race.Short())
	r := newRefreshed(t, sitewriter.OneFile)
	r.write = sitewriter.Options{
		NoIndex:      true,
		NoAliases:    true,
		Compact:      true,
		Lenient:      true,
		SpoolOptions: sitewriter.SpoolOptions{TempDir: t.TempDir()},
	}
	memory := sitewriter.NewMemory()
	for step := range steps {
		when := fmt.Sprintf("step %d", step)
		if step > 0 {
			when += ": " + r.edit()
		}
		got := r.refreshOutput(memory, true)
		whole := sitewriter.NewMemory()
		want := r.refreshOutput(whole, false)
		if memory.String() != whole.String() {
			t.Fatalf("%s: the files are\n%s\nwant\n%s", when, memory, whole)
		}
		for name := range strings.Lines(whole.String()) {
			name = strings.TrimSuffix(name, "\n")
			site, err := memory.ReadFile(name)
			data, err2 := whole.ReadFile(name)
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(site, data) {
				t.Fatalf("%s: %s differs, %v:\n%s", when, name, err, cmp.Diff(string(data), string(site)))
			}
		}
		if got.Answers != want.Answers || got.Files != want.Files || got.Bytes != want.Bytes || got.Largest != want.Largest {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
		if diff := cmp.Diff(want.Report.Findings(), got.Report.Findings()); diff != "" {
			t.Errorf("%s: findings: %s", when, diff)
		}
	}
	t.Logf("%d of %d builds were patches", r.patches, steps)
	if r.patches < steps/4 {
		t.Errorf("%d of %d builds were patches", r.patches, steps)
	}
}

// A site that was changed, a write that was interrupted and a damaged record are noticed: the next
// build repairs all.
func TestRefreshRepairs(t *testing.T) {
	race.SkipLong(t)
	defer docs.SetMaxFull(10_000)()
	r := newRefreshed(t, sitewriter.Packed)
	r.compare("the first build")
	sentence := func() {
		r.put("part01/p1.md", r.get("part01/p1.md")+fmt.Sprintf("\nThe kettle number %d.\n", r.random.Intn(1000)))
	}
	// patched refreshes after an edit, which is a patch unless something is wrong.
	patched := func(when string, want bool) {
		t.Helper()
		sentence()
		before := r.patches
		r.compare(when)
		if got := r.patches > before; got != want {
			t.Errorf("%s: a patch is %t, want %t", when, got, want)
		}
	}
	site := func(name string) string { return filepath.Join(r.dir, "site", filepath.FromSlash(name)) }
	patched("an edit", true)
	for name, damage := range map[string]func() error{
		"an edited file": func() error {
			data, err := os.ReadFile(site("llms.txt"))
			data[3] ^= 1
			return errors.Join(err, os.WriteFile(site("llms.txt"), data, 0o644))
		},
		"a deleted file":  func() error { return os.Remove(site("resources/home.json")) },
		"a journal":       func() error { return os.WriteFile(site(".staticmcp/journal"), []byte("\nllms.txt\n"), 0o644) },
		"without records": func() error { return os.RemoveAll(r.opts.CacheDir) },
		"damaged records": func() error {
			return filepath.WalkDir(r.opts.CacheDir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".pages") {
					return err
				}
				data, err := os.ReadFile(path)
				for i := 100; i < len(data); i += 500 {
					data[i] ^= 0x55
				}
				return errors.Join(err, os.WriteFile(path, data, 0o600))
			})
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		patched(name, false)
		patched("after "+name, true)
	}
	// A folder with the name of a temporary file interrupts the write of the resource.
	blocked := site("resources/part01/.slipway-tmp")
	if err := os.MkdirAll(filepath.Join(blocked, "more"), 0o755); err != nil {
		t.Fatal(err)
	}
	sentence()
	in, err := docs.Dir(filepath.Join(r.dir, "docs"), &r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sitewriter.Refresh(t.Context(), in, sitewriter.Dir(filepath.Join(r.dir, "site")), &r.write); err == nil {
		t.Fatal("nothing was interrupted")
	}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	patched("an interrupted patch", false)
	patched("after an interrupted patch", true)
}

// Contents that change without a change of size, time and number are noticed if the time is recent.
func TestRefreshOfARecentFile(t *testing.T) {
	defer docs.SetMaxFull(10_000)()
	r := newRefreshed(t, sitewriter.Packed)
	r.put("part01/p1.md", r.get("part01/p1.md")+"\nThe lid is closed.\n")
	r.compare("the first build")
	name := filepath.Join(r.dir, "docs", "part01", "p1.md")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	r.put("part01/p1.md", strings.Replace(r.get("part01/p1.md"), "The lid is closed", "The lid is opened", 1))
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	r.compare("an edit within the same tick")
}

// TestRefreshTouched: an output that is changed manually during a build is built again.
func TestRefreshTouched(t *testing.T) {
	defer docs.SetMaxFull(10_000)()
	for _, first := range []bool{true, false} { // the first build, or a patch
		r := newRefreshed(t, sitewriter.Packed)
		if !first {
			r.refresh("site", true)
			r.put("part02/long.md", r.get("part02/long.md")+"\nAnother sentence.\n")
		}
		touched := ""
		r.write.Progress = func(p sitewriter.Progress) {
			written, _ := filepath.Glob(filepath.Join(r.dir, "site", "packs", "*.json"))
			if p.Stage != "done" || touched != "" {
				return
			}
			touched = written[0]
			for _, name := range written[1:] { // a patch writes few of them
				if modified(t, name).After(modified(t, touched)) {
					touched = name
				}
			}
			if err := os.WriteFile(touched, []byte("{}"), 0o644); err != nil {
				t.Error(err)
			}
		}
		r.refresh("site", true)
		if touched == "" {
			t.Fatal("nothing was changed during the build")
		}
		r.write.Progress = nil
		r.compare("after a change of " + filepath.Base(touched))
	}
}

// modified returns when a file was modified.
func modified(t *testing.T, name string) time.Time {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}
