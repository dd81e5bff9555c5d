package mcpb_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// folder writes files into a new folder. A name that ends with "*" is executable; content
// that begins with "->" is the target of a link.
func folder(t *testing.T, pairs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(pairs); i += 2 {
		name, executable := strings.CutSuffix(pairs[i], "*")
		mode := fs.FileMode(0o640)
		if executable {
			mode = 0o750
		}
		name = filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if target, link := strings.CutPrefix(pairs[i+1], "->"); link {
			err = errors.Join(err, os.Symlink(target, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(pairs[i+1]), mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// noise returns incompressible data, always the same.
func noise(n int) string {
	b := make([]byte, n)
	r := rand.NewPCG(1, 2)
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return string(b)
}

func server(t *testing.T, more ...string) string {
	return folder(t,
		append([]string{"manifest.json", smallManifest, "server/index.js", "console.log('hi')\n"}, more...)...)
}

func TestPack(t *testing.T) {
	big := strings.Repeat("a line of text that can be packed, number 1234567890\n", 30_000) // 1.6 MB, 4 pieces
	dir := server(t,
		"server/big.txt", big, "server/noise", noise(1<<20), "server/small-noise", noise(1000), "server/empty", "",
		"server/run*", "x", "server/script", "#!/bin/sh\n", "café", "é", "server/exact", big[:256<<10],
		"node_modules/a/index.js", "a", "node_modules/a/index.d.ts", "types", "debug.log", "no", ".env", "SECRET=x",
		".mcpbignore", "secret*\n", "secret.txt", "no", "manifest.json.map", "{}")
	out := filepath.Join(t.TempDir(), "x.mcpb")
	report, err := mcpb.Pack(t.Context(), dir, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	var excluded []string
	for _, e := range report.Excluded {
		excluded = append(excluded, e.Name+" by "+e.Reason)
	}
	want := []string{".env by .env* (built in)", ".mcpbignore by .mcpbignore (built in)", "debug.log by *.log (built in)",
		"manifest.json.map by *.map (built in)", "node_modules/a/index.d.ts by *.d.ts (built in)",
		"secret.txt by secret* (.mcpbignore:1)"}
	if diff := cmp.Diff(excluded, want); diff != "" {
		t.Error(diff)
	}
	a, err := mcpb.OpenArchive(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var names []string
	for e := range a.Entries() {
		names = append(names, e.Name)
		if executable := e.Name == "server/run" || e.Name == "server/script"; executable != (e.Mode == 0o755) {
			t.Errorf("%s: mode %v", e.Name, e.Mode)
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name))
		if got, err2 := fs.ReadFile(a.FS(), e.Name); err != nil || err2 != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes instead of %d, %v, %v", e.Name, len(got), len(content), err, err2)
		}
	}
	if diff := cmp.Diff(names,
		[]string{"manifest.json", "café", "node_modules/a/index.js", "server/big.txt", "server/empty", "server/exact",
			"server/index.js", "server/noise", "server/run", "server/script", "server/small-noise"}); diff != "" {
		t.Error(diff)
	}
	info, _ := os.Stat(out)
	if report.Files != len(names) ||
		report.ArchiveBytes != info.Size() ||
		report.Largest[0].Name != "server/noise" ||
		report.Bytes != a.Size() {
		t.Errorf("got %+v", report)
	}
	standard, err := zip.OpenReader(out)
	if err != nil {
		t.Fatal(err)
	}
	defer standard.Close()
	if f := standard.File[1]; f.Modified.Year() != 1980 || f.Mode() != 0o644 || f.NonUTF8 || f.Name != "café" {
		t.Errorf("got %+v", f.FileHeader)
	}
}

// TestPackSame packs copies of a folder in different ways, which must result in the same
// bytes.
func TestPackSame(t *testing.T) {
	content := []string{"b", "b", "a", strings.Repeat("text ", 400_000), "c", noise(700_000), "server/run*", "x"}
	var first []byte
	for i, opts := range []*mcpb.PackOptions{nil, {Workers: 1}, {Workers: 7}, {Workers: 3, Time: time.Unix(0, 0)}} {
		dir := server(t, content...)
		old := time.Now().Add(-time.Duration(i) * 1000 * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "a"), old, old); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "b"), 0o600+fs.FileMode(i)); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "x.mcpb")
		if _, err := mcpb.Pack(t.Context(), dir, out, opts); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(data, first) {
			t.Errorf("%d: %d bytes differ from %d", i, len(data), len(first))
		}
	}
	epoch, err := mcpb.ParseEpoch("1700000000")
	if err != nil || epoch.Year() != 2023 {
		t.Errorf("got %v, %v", epoch, err)
	}
	for _, bad := range []string{"", "x", "-1", "1.5"} {
		if _, err := mcpb.ParseEpoch(bad); err == nil {
			t.Errorf("%q is a time", bad)
		}
	}
}

func TestPackRefuses(t *testing.T) {
	tests := map[string]struct {
		dir  string
		opts *mcpb.PackOptions
		want string
	}{
		"invalid":          {folder(t, "manifest.json", `{"manifest_version": "0.3"}`), nil, "the bundle is not valid"},
		"no entry point":   {folder(t, "manifest.json", smallManifest), nil, "the bundle is not valid"},
		"entry point left": {server(t, ".mcpbignore", "/server/\n"), nil, "the bundle is not valid"},
		"no manifest":      {folder(t, "a", "a"), nil, "manifest.json"},
		"link out": {
			server(t, "x", "->../../../../../../etc/passwd"),
			nil,
			"x: it is a link that points outside the folder",
		},
		"link to nowhere":  {server(t, "x", "->nowhere"), nil, "x: it is a broken link"},
		"link in a circle": {server(t, "lib/x", "->../lib"), nil, "it is a link to a folder that it is in"},
		"any link": {
			server(t, "x", "->server/index.js"),
			&mcpb.PackOptions{Links: mcpb.LinksRefuse},
			"x: it is a link",
		},
		"backslash":        {server(t, `a\b`, "x"), nil, "the bundle is not valid"},
		"names alike":      {server(t, "README", "x", "readme", "y"), nil, "is the same as"},
		"nothing to prune": {server(t), &mcpb.PackOptions{Prune: true}, "no package.json"},
		"warning": {
			server(t, "aux.js", "x", ".mcpbignore", "index.js\n!/server/index.js\n", "node_modules/a/index.js", "x"),
			&mcpb.PackOptions{Strict: true},
			"not valid: ",
		},
		"a folder that is a": {filepath.Join(t.TempDir(), "none"), nil, "no such file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("such files cannot be made on Windows")
			}
			out := filepath.Join(t.TempDir(), "x.mcpb")
			_, err := mcpb.Pack(t.Context(), test.dir, out, test.opts)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a bundle was written")
			}
		})
	}
}

func TestPackLinks(t *testing.T) {
	dir := server(t, "lib/a.js", "a", "lib2", "->lib", "b.js", "->lib/a.js", "node_modules/.bin/x", "->../../../gone")
	for links, want := range map[mcpb.Links][]string{
		"":             {"b.js", "lib/a.js", "lib2/a.js"},
		mcpb.LinksSkip: {"lib/a.js"},
	} {
		s, err := mcpb.Select(dir, links)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range s.Files {
			if strings.HasSuffix(f.Name, ".js") && !strings.HasPrefix(f.Name, "server") {
				got = append(got, f.Name)
			}
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%q: %s", links, diff)
		}
		if _, err := mcpb.Pack(t.Context(), dir, filepath.Join(t.TempDir(), "x"),
			&mcpb.PackOptions{Links: links}); err != nil {
			t.Error(err)
		}
	}
}

func TestPackInPlace(t *testing.T) {
	dir := server(t)
	t.Chdir(dir)
	var last string
	for i := range 3 {
		report, err := mcpb.Pack(t.Context(), ".", "out.bin", &mcpb.PackOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && report.SHA256 != last {
			t.Error("the bundle is packed into itself")
		}
		last = report.SHA256
	}
	if _, err := mcpb.Pack(t.Context(), ".", "out.bin", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	report, err := mcpb.Pack(t.Context(), ".", "", nil)
	if err != nil || report.Archive != "x-y-1.2.3.mcpb" {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestPrune(t *testing.T) {
	pkg := func(name, deps string) string { return `{"name": "` + name + `", "dependencies": {` + deps + `}}` }
	dir := server(t,
		"package.json", `{"dependencies": {"a": "1", "@s/b": "1"}, "devDependencies": {"dev": "1"}}`,
		"node_modules/a/package.json", pkg("a", `"c": "1"`),
		"node_modules/a/node_modules/c/package.json", pkg("c", `"d": "1"`),
		"node_modules/@s/b/package.json", pkg("@s/b", `"c": "1"`), "node_modules/c/package.json", pkg("c", ""),
		"node_modules/d/package.json", pkg("d", ""), "node_modules/dev/package.json", pkg("dev", `"e": "1"`),
		"node_modules/e/package.json", pkg("e", ""), "node_modules/dev/node_modules/c/package.json", pkg("c", ""))
	report, err := mcpb.Pack(t.Context(), dir, filepath.Join(t.TempDir(), "x"), &mcpb.PackOptions{Prune: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range report.Excluded {
		got = append(got, e.Name)
	}
	if diff := cmp.Diff(got, []string{
		"node_modules/dev",
		"node_modules/dev/node_modules/c",
		"node_modules/e",
	}); diff != "" {
		t.Error(diff)
	}
}

// TestPackRefusesWhatReadersRefuse packs bundles just beyond each limit, which must leave
// no file, and just within it, which must open.
func TestPackRefusesWhatReadersRefuse(t *testing.T) {
	race.SkipLong(t)
	const manifest = `{"manifest_version":"0.3","name":"n","version":"1.0.0","description":"d","author":{"name":"A"},
"server":{"type":"node","entry_point":"index.js","mcp_config":{"command":"node","args":["${__dirname}/index.js"]}}}`
	zeros := strings.Repeat("\x00", 33<<20)
	for name, test := range map[string]struct {
		limits *mcpb.Limits
		data   string
		rule   string
	}{
		"ratio":        {nil, zeros, "mcpb/archive-bomb"},
		"larger ratio": {&mcpb.Limits{Ratio: 2000}, zeros, ""},
		"entries":      {&mcpb.Limits{Entries: 2}, "x", "mcpb/archive-limit"},
		"all entries":  {&mcpb.Limits{Entries: 3}, "x", ""},
		"one file":     {&mcpb.Limits{FileBytes: 999}, noise(1000), "mcpb/archive-limit"},
		"all files":    {&mcpb.Limits{TotalBytes: 1000}, noise(1000), "mcpb/archive-limit"},
		"archive":      {&mcpb.Limits{ArchiveBytes: 1000}, noise(1000), "mcpb/archive-limit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, "manifest.json", manifest, "index.js", "x", "data.bin", test.data)
			out := filepath.Join(t.TempDir(), "x.mcpb")
			_, err := mcpb.Pack(t.Context(), dir, out, &mcpb.PackOptions{Limits: test.limits})
			var refused *mcpb.ArchiveError
			if test.rule == "" {
				a, opened := mcpb.OpenArchive(out, test.limits)
				if err := errors.Join(err, opened); err != nil {
					t.Fatal(err)
				}
				a.Close()
				return
			}
			if !errors.As(err, &refused) || ruletest.Record(refused.Finding(out))[0].Rule.ID != test.rule {
				t.Errorf("got %v, want %s", err, test.rule)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
