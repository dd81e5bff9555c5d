package sitelint_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/staticmcp"
)

var updateChecks = flag.Bool("update", false, "rewrite the expectations of testdata/check")

// The archives in testdata/check are sites, each with the expected report in the file
// "want". The file "options" names readers and hosts.
func TestCheck(t *testing.T) {
	archives, err := filepath.Glob("testdata/check/*.txtar")
	if err != nil || len(archives) < 10 {
		t.Fatalf("found %d archives, error %v", len(archives), err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, files, opts := readCheck(t, name)
			report, err := sitelint.Check(t.Context(), files, opts)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := report.WriteText(&got, false); err != nil {
				t.Fatal(err)
			}
			ruletest.Findings(report) // the text contains all of them
			want := &archive.Files[len(archive.Files)-1]
			if *updateChecks {
				want.Data = got.Bytes()
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got.String()); diff != "" {
				t.Errorf("Check (- want, + got):\n%s", diff)
			}
		})
	}
}

func readCheck(t testing.TB, name string) (*txtar.Archive, fstest.MapFS, *sitelint.Options) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	opts := &sitelint.Options{}
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
		case "options":
			key, list, _ := strings.Cut(strings.TrimSpace(string(f.Data)), " ")
			into := map[string]*[]string{"readers": &opts.Readers, "hosts": &opts.Hosts}[key]
			*into = strings.Split(list, ",")
		default:
			files[strings.NewReplacer("BEIJINGS", hashOf("北京"), "BEIJING",
				hashOf("wiki://北京")).Replace(f.Name)] = &fstest.MapFile{Data: f.Data}
		}
	}
	return archive, files, opts
}

// hashOf returns the end of the name that distinguishes a URI or a value from others.
func hashOf(text string) string {
	a := staticmcp.Address{Texts: []string{text}}
	if strings.Contains(text, "://") {
		a = staticmcp.ResourceAddress(text)
	}
	name := a.DistinctNames(0)[0]
	return name[len(name)-16:]
}

// small returns a site without findings.
func small() fstest.MapFS {
	return fstest.MapFS{
		"mcp.json": {
			Data: []byte(`{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1.0.0"},"capabilities":{
 "resources":[{"uri":"x://a","name":"n","description":"d","mimeType":"text/plain"}],
 "tools":[{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}]}}`)},
		"resources/a.json": {Data: []byte(`{"uri":"x://a","mimeType":"text/plain","text":"a"}`)},
		"tools/t/a.json":   {Data: []byte(`{"content":[{"type":"text","text":"a"}]}`)},
	}
}

// rules returns the distinct rules of the findings, sorted, without "staticmcp/".
func rules(r *check.Report) string {
	var all []string
	for _, f := range ruletest.Findings(r) {
		all = append(all, strings.TrimPrefix(f.Rule.ID, "staticmcp/"))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

func TestCheckOfBytesAndSizes(t *testing.T) {
	bom := []byte("\xef\xbb\xbf")
	tests := map[string]struct {
		change func(fstest.MapFS)
		opts   *sitelint.Options
		want   string
	}{
		"fine": {func(fstest.MapFS) {}, nil, ""},
		"byte order marks": {func(f fstest.MapFS) { f["mcp.json"].Data = append(bom, f["mcp.json"].Data...) }, nil,
			"bom"},
		"not UTF-8": {func(f fstest.MapFS) { f["tools/t/a.json"].Data = []byte("{\"content\":[\"\xff\"]}") },
			nil, "json"},
		"an answer over 1 MB": {func(f fstest.MapFS) { f["tools/t/a.json"].Data = answerOf(1<<20 + 1) }, nil,
			"large-answer"},
		"over the limit": {func(f fstest.MapFS) { f["tools/t/a.json"].Data = answerOf(100) },
			&sitelint.Options{MaxFileBytes: 99}, "too-large"},
		"a manifest over limits": {func(fstest.MapFS) {}, &sitelint.Options{MaxManifestBytes: 9}, "too-large"},
		"a large folder": {func(f fstest.MapFS) {
			for i := range 10_000 {
				f[fmt.Sprintf("tools/t/n%d.json", i)] = f["tools/t/a.json"]
			}
		}, nil, "large-folder"},
		"a pipe": {func(f fstest.MapFS) { f["tools/t/p.json"] = &fstest.MapFile{Mode: fs.ModeNamedPipe} }, nil,
			"special-file"},
		"a folder that is a file": {func(f fstest.MapFS) {
			delete(f, "tools/t/a.json")
			f["tools"] = &fstest.MapFile{Data: []byte("x")}
		}, nil, "no-answers special-file"},
		"over the limits of a host": {
			func(f fstest.MapFS) { f["tools/t/a.json"].Data = answerOf(26 << 20); f["404.html"] = &fstest.MapFile{} },
			&sitelint.Options{Hosts: []string{"cloudflare-pages"}, MaxFileBytes: 64 << 20},
			"host-limit large-answer"},
		"folders without an end": {func(f fstest.MapFS) {
			f["tools/t/"+strings.Repeat("a/", 70)+"a.json"] = &fstest.MapFile{Data: answerOf(0)}
		}, nil, "special-file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := small()
			tt.change(files)
			report, err := sitelint.Check(t.Context(), files, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules(report); got != tt.want {
				t.Errorf("rules = %q, want %q: %v", got, tt.want, ruletest.Findings(report))
			}
		})
	}
}

func answerOf(size int) []byte {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":"%s"}]}`, strings.Repeat("a", size))
}

func TestCheckFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if err := os.CopyFS(dir, small()); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(dir), "secret.json")
	inside := filepath.Join(dir, "tools", "t", "a.json")
	for link, target := range map[string]string{"out": outside, "gone": "nowhere", "in": inside} {
		name := filepath.Join(dir, "tools", "t", link+".json")
		if target == inside {
			target = "a.json"
		}
		if err := errors.Join(os.WriteFile(outside, answerOf(1), 0o600), os.Symlink(target, name)); err != nil {
			t.Skip("no symbolic links: ", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tools", "t", "closed.json"), answerOf(1), 0); err != nil {
		t.Fatal(err)
	}
	report, err := sitelint.CheckDir(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range ruletest.Findings(report) {
		got = append(got, strings.TrimPrefix(f.File, filepath.ToSlash(dir))+" "+f.Rule.ID)
	}
	want := []string{
		"/tools/t/closed.json staticmcp/unreadable",
		"/tools/t/gone.json staticmcp/special-file",
		"/tools/t/out.json staticmcp/special-file",
	}
	if os.Geteuid() == 0 {
		want = want[1:] // root reads everything
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (- want, + got):\n%s", diff)
	}
}

// failing is a file system in which one file cannot be read.
type failing struct {
	fstest.MapFS
	bad string
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.bad {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("the disk is on fire")}
	}
	return f.MapFS.Open(name)
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	for bad, want := range map[string]string{
		"mcp.json":              "unreadable",
		"tools":                 "no-answers unreadable",
		"tools/t/a.json":        "unreadable",
		".staticmcp/index.json": "index-stale",
	} {
		files := small()
		files[".staticmcp/index.json"] = &fstest.MapFile{Data: []byte(`{}`)}
		report, err := sitelint.Check(t.Context(), failing{files, bad}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := rules(report)
		if bad == "mcp.json" {
			// Nothing is known about the site then.
			got = strings.TrimSpace(strings.ReplaceAll(got, "unlisted", ""))
		}
		findings := ruletest.Findings(report)
		if got != want ||
			!strings.Contains(findings[0].Message+findings[len(findings)-1].Message,
				"the disk is on fire") {
			t.Errorf("%s: rules = %q, want %q: %v", bad, got, want, findings)
		}
	}
}

func TestCheckZip(t *testing.T) {
	files := small()
	delete(files, "resources/a.json")
	name := filepath.Join(t.TempDir(), "site.zip")
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	if err := errors.Join(w.AddFS(files), w.Close(), os.WriteFile(name, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	report, err := sitelint.CheckZip(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := ruletest.Findings(report); len(f) != 1 || f[0].File != name+"!mcp.json" || f[0].Line != 2 {
		t.Errorf("findings = %+v, want one in line 2 of %s!mcp.json", f, name)
	}
	if _, err := sitelint.CheckZip(t.Context(), "nothing.zip", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CheckZip of nothing = %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	files := small()
	files["tools/t/b.json"] = &fstest.MapFile{Data: []byte(`{}`)}
	files["mcp.json"].Data = bytes.Replace(files["mcp.json"].Data,
		[]byte(`"type":"string"`), []byte(`"enum":["a","b","c"]`), 1)
	tests := map[string]struct {
		change func(fstest.MapFS)
		miss   func(http.ResponseWriter)
		opts   *sitelint.Options
		want   string
	}{
		"plain": {func(fstest.MapFS) {}, nil, nil, "answer-missing answer-shape web-headers"},
		"a page for everything": {func(fstest.MapFS) {},
			func(w http.ResponseWriter) { fmt.Fprint(w, "<!doctype html>") }, nil,
			"answer-missing answer-shape web-headers web-not-found"},
		"nothing there": {func(f fstest.MapFS) { clear(f) }, nil, nil, "manifest-missing"},
		"too many":      {func(fstest.MapFS) {}, nil, &sitelint.Options{MaxProbes: 1}, "partial web-headers"},
		"another name": {func(f fstest.MapFS) {
			rename(f, "x://a", "x://A.b", "resources/a.json",
				"resources/A.b.json")
		},
			nil, nil, "answer-missing answer-shape file-name web-headers"},
		"no resource": {func(f fstest.MapFS) { delete(f, "resources/a.json") }, nil, nil,
			"answer-missing answer-shape file-missing web-headers"},
		"free values": {func(f fstest.MapFS) { f["mcp.json"] = small()["mcp.json"] }, nil, nil,
			"partial web-headers"},
		"prompts and tools without arguments": {func(f fstest.MapFS) {
			f["mcp.json"].Data = bytes.Replace(f["mcp.json"].Data, []byte(`"tools":[`),
				[]byte(`"prompts":[{"name":"p"}],"tools":[{"name":"bare","description":"d","inputSchema":{"type":"object"}},`), 1)
		}, nil, nil, "answer-missing answer-shape file-missing no-answers web-headers"},
		"an answer over the limit": {func(f fstest.MapFS) { f["tools/t/a.json"].Data = answerOf(2000) }, nil,
			&sitelint.Options{MaxFileBytes: 1000}, "answer-missing answer-shape too-large web-headers"},
		"an index": {func(f fstest.MapFS) {
			f[".staticmcp/index.json"] = &fstest.MapFile{
				Data: []byte(
					`{"format":1,"files":[{"path":"tools/t/gone.json"},{"path":"tools/t/b.json","size":2,` +
						`"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}]}`),
			}
			f["mcp.json"] = small()["mcp.json"]
		}, nil, nil, "answer-shape index-missing web-headers"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			site := fstest.MapFS{}
			for path, f := range files {
				site[path] = &fstest.MapFile{Data: f.Data}
			}
			tt.change(site)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := fs.Stat(site, strings.TrimPrefix(r.URL.Path, "/docs/")); err != nil && tt.miss != nil {
					tt.miss(w)
					return
				}
				http.StripPrefix("/docs/", http.FileServerFS(site)).ServeHTTP(w, r)
			}))
			defer web.Close()
			report, err := sitelint.CheckURL(t.Context(), web.URL+"/docs", tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules(report); got != tt.want {
				t.Errorf("rules = %q, want %q: %v", got, tt.want, ruletest.Findings(report))
			}
			for _, f := range ruletest.Findings(report) {
				if !strings.HasPrefix(f.File, web.URL+"/docs/") {
					t.Errorf("a finding is in %q", f.File)
				}
			}
		})
	}
}

func rename(files fstest.MapFS, from, to, oldPath, newPath string) {
	for _, f := range files {
		f.Data = bytes.ReplaceAll(f.Data, []byte(from), []byte(to))
	}
	files[newPath] = files[oldPath]
	delete(files, oldPath)
}

func TestCheckRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, reader := sitelint.Check(t.Context(), small(), &sitelint.Options{Readers: []string{"sse-brige"}})
	_, host := sitelint.Check(t.Context(), small(), &sitelint.Options{Hosts: []string{"geocities"}})
	_, entries := sitelint.Check(t.Context(), small(), &sitelint.Options{MaxEntries: 1})
	_, late := sitelint.Check(ended, small(), nil)
	_, missing := sitelint.CheckDir(t.Context(), "testdata/nothing", nil)
	_, web := sitelint.CheckURL(t.Context(), "http://127.0.0.1:1/", &sitelint.Options{Hosts: []string{"s3"}})
	_, dead := sitelint.CheckURL(t.Context(), "http://127.0.0.1:1/", nil)
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"reader":  {reader, `unknown reader "sse-brige": did you mean "sse-bridge"?`},
		"host":    {host, `unknown host "geocities": there are`},
		"entries": {entries, "more than 1 files"},
		"late":    {late, "context canceled"},
		"missing": {missing, "check site: "},
		"web":     {web, "a web host does not list its files"},
		"dead":    {dead, "cannot be reached"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %s", name, tt.err, tt.want)
		}
	}
}
