package mcpb_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
)

// cacheFolder returns a cache for the test, which may contain read-only folders.
func cacheFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	t.Cleanup(func() { _ = fsutil.RemoveTree(dir) })
	return dir
}

// packedBundle packs the bundle of [bundle] with a few additional files.
func packedBundle(t *testing.T) string {
	t.Helper()
	dir := bundle(t, "")
	for name, text := range map[string]string{"lib/a.js": "a()", "lib/deep/b.js": "b()", "lib/empty": ""} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "played.mcpb")
	if _, err := mcpb.Pack(t.Context(), dir, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// openedDir opens a bundle and returns its folder, and the rules of its warnings.
func openedDir(t *testing.T, name string, opts mcpb.OpenOptions) (dir string, warned []string) {
	t.Helper()
	opts.Values = map[string]any{"key": "k"}
	opts.Warn = func(f check.Finding) { warned = append(warned, ruletest.Record(f)[0].Rule.ID) }
	got, src := started(t, name, &opts)
	if !strings.Contains(got, "key=k") {
		t.Fatalf("got %s", got)
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	return src.Launch().Dir, warned
}

// described returns the names, modes and content of a folder.
func described(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		text := []byte{}
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(name)
		}
		fmt.Fprintf(&b, "%s %v %x\n", filepath.ToSlash(rel), info.Mode(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestOpenReplacesChangedCopy(t *testing.T) {
	name, cache := packedBundle(t), cacheFolder(t)
	dir, warned := openedDir(t, name, mcpb.OpenOptions{CacheDir: cache})
	whole := described(t, dir)
	if warned != nil {
		t.Errorf("the first start warns: %v", warned)
	}
	if runtime.GOOS != "windows" {
		for _, want := range []string{". dr-xr-xr-x", "lib/deep dr-xr-xr-x", "lib/a.js -r--r--r--", "run -r-xr-xr-x"} {
			if !strings.Contains(whole, want) {
				t.Errorf("no %q in\n%s", want, whole)
			}
		}
	}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write := func(name, text string) error { return os.WriteFile(at(name), []byte(text), 0o644) }
	for what, change := range map[string]func() error{
		"one byte":       func() error { return write("lib/a.js", "b()") },
		"longer":         func() error { return write("lib/a.js", "a();evil()") },
		"emptied":        func() error { return write("lib/a.js", "") },
		"filled":         func() error { return write("lib/empty", "evil()") },
		"manifest":       func() error { return write("manifest.json", "{}") },
		"added":          func() error { return write("lib/evil.js", "") },
		"hidden":         func() error { return write(".npmrc", "") },
		"folder":         func() error { return os.Mkdir(at("node_modules"), 0o555) },
		"removed":        func() error { return os.Remove(at("lib/deep/b.js")) },
		"removed folder": func() error { return os.RemoveAll(at("lib")) },
		"replaced": func() error {
			return errors.Join(os.Remove(at("lib/a.js")),
				os.Mkdir(at("lib/a.js"), 0o555))
		},
		"link": func() error {
			return errors.Join(os.Remove(at("lib/a.js")),
				os.Symlink("deep/b.js", at("lib/a.js")))
		},
		"linked folder": func() error {
			return errors.Join(os.Rename(at("lib"), at("../moved")), os.Symlink("../moved", at("lib")))
		},
		"linked bundle": func() error {
			return errors.Join(os.Chmod(dir, 0o700), os.Rename(dir, dir+"-moved"), os.Symlink(dir+"-moved", dir))
		},
		"executable":      func() error { return os.Chmod(at("lib/a.js"), 0o555) },
		"not executable":  func() error { return os.Chmod(at("run"), 0o444) },
		"writable":        func() error { return os.Chmod(at("lib/a.js"), 0o644) },
		"writable folder": func() error { return os.Chmod(at("lib/deep"), 0o755) },
		"set-user-id":     func() error { return os.Chmod(at("run"), 0o555|fs.ModeSetuid) },
	} {
		t.Run(what, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.ContainsAny(what, "xwl") {
				t.Skip("no such modes here")
			}
			err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
				if err == nil && what != "executable" && e.IsDir() {
					err = os.Chmod(name, 0o755)
				}
				return err
			})
			if err := errors.Join(err, change()); err != nil {
				t.Fatal(err)
			}
			if warned := unpackedAgain(t, name, cache); len(warned) != 1 || warned[0] != "mcpb/cache-changed" {
				t.Errorf("warned of %v", warned)
			}
			if got := described(t, dir); got != whole {
				t.Errorf("the copy is\n%s\nwant\n%s", got, whole)
			}
			if warned := unpackedAgain(t, name, cache); warned != nil {
				t.Errorf("the next start warns of %v", warned)
			}
			_ = fsutil.RemoveTree(filepath.Join(cache, "moved"))
			_ = fsutil.RemoveTree(dir + "-moved")
		})
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

// unpackedAgain opens a bundle without starting its server, and returns the rules of its
// warnings.
func unpackedAgain(t *testing.T, name, cache string) (warned []string) {
	t.Helper()
	src, err := mcpb.Open(t.Context(), name, &mcpb.OpenOptions{
		CacheDir: cache, Values: map[string]any{"key": "k"}, Live: &client.Options{
			Lazy: true, Previous: client.Previous{Catalog: &mcp.Catalog{}},
		},
		Warn: func(f check.Finding) { warned = append(warned, ruletest.Record(f)[0].Rule.ID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	return warned
}

// TestOpenChangedAtOnce starts a bundle with a changed copy several times concurrently:
// each start gets a complete copy.
func TestOpenChangedAtOnce(t *testing.T) {
	name, cache := packedBundle(t), cacheFolder(t)
	dir, _ := openedDir(t, name, mcpb.OpenOptions{CacheDir: cache})
	whole := described(t, dir)
	script := filepath.Join(dir, "lib", "a.js")
	if err := errors.Join(os.Chmod(script, 0o644), os.WriteFile(script, []byte("evil()"), 0o644)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			src, err := mcpb.Open(t.Context(), name, &mcpb.OpenOptions{CacheDir: cache, Values: map[string]any{"key": "k"}})
			if err != nil {
				t.Error(err)
				return
			}
			defer src.Close()
			if text, err := os.ReadFile(script); string(text) != "a()" {
				t.Errorf("a server runs with %q: %v", text, err)
			}
		})
	}
	all.Wait()
	if got := described(t, dir); got != whole {
		t.Errorf("the copy is\n%s\nwant\n%s", got, whole)
	}
}

// TestOpenWithoutModes starts a bundle that was packed on a system without execute bits:
// with a Unix mode that lacks it, and with no mode at all.
func TestOpenWithoutModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is executable here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	manifest := `{"manifest_version": "0.3", "name": "w", "version": "1.0.0", "description": "d", "author": {"name": "A"},
"server": {"type": "binary", "entry_point": "server/run", "mcp_config": {"command": "${__dirname}/server/run",
"env": {"API_KEY": "k", "` + playVariable + `": "1"}}}}`
	files := []struct{ name, text string }{
		{"manifest.json", manifest},
		{"server/run", "#!/bin/sh\nexec '" + self + "'\n"},
		{"server/data", "x"},
	}
	for what, attributes := range map[string]uint32{"DOS": 0x20, "Unix without the bit": 0o100666 << 16} {
		t.Run(what, func(t *testing.T) {
			var packed bytes.Buffer
			z := zip.NewWriter(&packed)
			for _, f := range files {
				w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, ExternalAttrs: attributes})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write([]byte(f.text)); err != nil {
					t.Fatal(err)
				}
			}
			name := filepath.Join(t.TempDir(), "w.mcpb")
			if err := errors.Join(z.Close(), os.WriteFile(name, packed.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
			cache := cacheFolder(t)
			for range 2 {
				src, err := mcpb.Open(t.Context(), name, &mcpb.OpenOptions{CacheDir: cache})
				if err != nil {
					t.Fatal(err)
				}
				if err := src.Close(); err != nil {
					t.Fatal(err)
				}
				if got := described(t, src.Launch().Dir); !strings.Contains(got, "server/run -r-xr-xr-x") ||
					!strings.Contains(got, "server/data -r--r--r--") {
					t.Errorf("unpacked as\n%s", got)
				}
				if src.Launch().Warnings != nil {
					t.Errorf("warnings: %v", src.Launch().Warnings)
				}
			}
		})
	}
}

func TestOpenRequiresSigner(t *testing.T) {
	name := packedBundle(t)
	id, _, err := mcpb.SelfSignedIdentity(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	another, _, err := mcpb.SelfSignedIdentity(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	unsigned := filepath.Join(t.TempDir(), "unsigned.mcpb")
	text, err := os.ReadFile(name)
	if err := errors.Join(err, os.WriteFile(unsigned, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	report, err := mcpb.Sign(t.Context(), name, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := mcpb.Sign(t.Context(), unsigned, another, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcpb.Unsign(t.Context(), unsigned, nil); err != nil {
		t.Fatal(err)
	}
	cache := cacheFolder(t)
	tests := map[string]struct {
		name, fingerprint string
		ok                bool
	}{
		"its signer":     {name, report.Signer.SHA256, true},
		"another signer": {name, other.Signer.SHA256, false},
		"unsigned":       {unsigned, report.Signer.SHA256, false},
		"a folder":       {bundle(t, ""), report.Signer.SHA256, false},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			signer, err := mcpb.ParseSigner(test.fingerprint)
			if err != nil {
				t.Fatal(err)
			}
			src, err := mcpb.Open(t.Context(), test.name, &mcpb.OpenOptions{
				CacheDir: cache,
				Signer:   signer,
				Values:   map[string]any{"key": "k"},
			})
			if err == nil {
				src.Close()
			}
			var refused *mcpb.SignerError
			if (err == nil) != test.ok || err != nil && !errors.As(err, &refused) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPruneCache(t *testing.T) {
	cache := cacheFolder(t)
	var names, dirs []string
	for i := range 3 {
		name := filepath.Join(t.TempDir(), "b.mcpb")
		folder := bundle(t, fmt.Sprintf(`, "keywords": ["%d"]`, i))
		if err := os.WriteFile(filepath.Join(folder, "data"), bytes.Repeat([]byte{'x'}, 1<<20), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := mcpb.Pack(t.Context(), folder, name, nil); err != nil {
			t.Fatal(err)
		}
		dir, _ := openedDir(t, name, mcpb.OpenOptions{CacheDir: cache})
		used := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(dir+".lock", used, used); err != nil {
			t.Fatal(err)
		}
		names, dirs = append(names, name), append(dirs, dir)
	}
	left := func() (list []string) {
		bundles, err := mcpb.ListCache(t.Context(), cache)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bundles {
			list = append(list, b.Dir)
		}
		return list
	}
	if got := left(); len(got) != 3 || got[0] != dirs[2] || got[2] != dirs[0] {
		t.Fatalf("in the cache: %v, want %v from the last one on", got, dirs)
	}

	// The oldest one is running, so the next one is removed.
	src, err := mcpb.Open(t.Context(), names[0], &mcpb.OpenOptions{CacheDir: cache, Values: map[string]any{"key": "k"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	old := time.Now().Add(-100 * time.Hour)
	if err := os.Chtimes(dirs[0]+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	report, err := mcpb.PruneCache(t.Context(), &mcpb.PruneOptions{Dir: cache, MaxBytes: 2<<20 + 1<<19})
	if err != nil || len(report.Removed) != 1 || report.Removed[0].Dir != dirs[1] || report.Kept != 2 {
		t.Errorf("pruned %+v: %v", report, err)
	}
	if report, err = mcpb.PruneCache(t.Context(), &mcpb.PruneOptions{
		Dir: cache,
		All: true,
	}); err != nil || report.Kept != 1 {
		t.Errorf("pruned %+v: %v", report, err)
	}
	if got := left(); len(got) != 1 || got[0] != dirs[0] {
		t.Errorf("in the cache: %v, want the one in use", got)
	}

	// Adding a bundle makes room; running ones stay.
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	openedDir(t, names[1], mcpb.OpenOptions{CacheDir: cache, CacheBytes: 1})
	if got := left(); len(got) != 1 || got[0] != dirs[1] {
		t.Errorf("in the cache: %v, want the one that was added", got)
	}
	if _, err = mcpb.PruneCache(t.Context(), &mcpb.PruneOptions{Dir: cache, All: true}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if list, err := mcpb.ListCache(t.Context(), filepath.Join(cache, "none")); err != nil || len(list) != 0 {
		t.Errorf("a cache that does not exist: %v, %v", list, err)
	}
}
