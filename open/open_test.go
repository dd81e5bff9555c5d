package open_test

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/open"
)

const manifest = `{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1.0.0"},
"capabilities":{"resources":[],"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}}`

// tree writes files and returns the folder that contains them.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func zipOf(t *testing.T, dir, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	dir := tree(t, map[string]string{"site/mcp.json": manifest, "site/tools/t.json": `{"content":[]}`})
	zipOf(t, filepath.Join(dir, "site"), filepath.Join(dir, "packed.ZIP"))
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	for _, tt := range []struct{ name, arg string }{
		{"folder", filepath.Join(dir, "site")},
		{"folder with a slash", filepath.Join(dir, "site") + "/"},
		{"zip", filepath.Join(dir, "packed.ZIP")},
		{"URL", web.URL + "/site"},
		{"URL with a slash", web.URL + "/site/"},
		{"URL of the manifest", web.URL + "/site/mcp.json"},
		{"URL that must be a site", "site:" + web.URL + "/site"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src, err := open.Open(t.Context(), tt.arg, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer src.(io.Closer).Close()
			cat, err := src.Catalog(t.Context())
			if err != nil || cat.Tool("t") == nil {
				t.Errorf("Catalog = %+v, %v, want the tool t", cat, err)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := tree(t, map[string]string{
		"site/mcp.json": manifest,
		"site.zip":      "not a zip",
		"bad/mcp.json":  "{",
		"project/a":     "", "project/b": "", "project/c": "", "project/d": "", "project/e": "", "project/f": "",
		"project/out/site/mcp.json":   manifest,
		"deep/1/2/3/mcp.json":         manifest,
		"npm/node_modules/x/mcp.json": manifest,
		"hidden/.git/mcp.json":        manifest,
		"bundle.mcpb":                 "",
		"servers.yaml":                "",
		"readme.txt":                  "",
		"server.py":                   "print(1)",
		"server.mjs":                  "import { x } from \"server\"",
		"mine.mjs":                    "export default defineMcp(3 +)",
		"plain.mjs":                   "export default {servers: {a: 3 +}}",
	})
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	const reads = "slipway help sources"
	tests := []struct {
		name, arg string
		kind      open.Kind
		why, hint string
	}{
		{"nothing", "", open.Unreadable, "empty", "name a folder"},
		{"mistyped", "sites", open.Unreadable, "no such file or folder", "did you mean site?"},
		{"mistyped further down", "project/out/sit", open.Unreadable, "no such", "did you mean project/out/site?"},
		{"folder on the way missing", "no/where/site", open.Unreadable, "no such", "there is no folder no"},
		{"host without a scheme", "docs.example.com", open.Unreadable, "no such", "did you mean https://docs.example.com?"},
		{"below a file", "readme.txt/site", open.Unreadable, "not a directory", ""},
		{"empty folder", "empty", open.Unreadable, "the folder is empty", reads},
		{"site further down", "project", open.Unreadable, "only a, b, c, d, e and 2 more", "did you mean project/out/site?"},
		{"site too far down", "deep", open.Unreadable, "only 1/", reads},
		{"site of a dependency", "npm", open.Unreadable, "only node_modules/", reads},
		{"hidden site", "hidden", open.Unreadable, "only .git/", reads},
		{"broken manifest", "bad", open.Unreadable, "mcp.json: not JSON", ""},
		{"broken zip", "site.zip", open.Unreadable, "open site.zip: zip: not a valid zip file", ""},
		{"manifest itself", "site/mcp.json", open.Unreadable, "a site is a folder", "name the folder: site"},
		{"bundle", "bundle.mcpb", open.Unreadable, "broken archive", ""},
		{
			"definitions",
			"servers.yaml",
			open.Unreadable,
			"no definitions of servers that can be used",
			"slipway config check servers.yaml",
		},
		{"other file", "readme.txt", open.Unreadable, "a file of this kind", reads},
		{"script", "server.py", open.Unreadable, "a file of this kind", "slipway ls -- python3 server.py"},
		{"script in JavaScript", "server.mjs", open.Unreadable, "no definitions", "slipway ls -- node server.mjs"},
		{"script of definitions", "mine.mjs", open.Unreadable, "no definitions", "slipway config check mine.mjs"},
		{"script of an object", "plain.mjs", open.Unreadable, "no definitions", "slipway config check plain.mjs"},
		{"name of a program", "go", open.Unreadable, "no such file or folder", "slipway ls -- go ..."},
		{"other scheme", "ftp://127.0.0.1/", open.Unreadable, "not http, https, ws or wss", reads},
		{"forced path", "site:site", open.Unreadable, "not an http or https URL", "needs no prefix"},
		{"no host", "http:///x", open.Unreadable, "not a URL with a host", ""},
		{"no manifest on the web", web.URL + "/project", open.Remote, "project: there is no mcp.json", ""},
		{"broken manifest on the web", web.URL + "/bad", open.Remote, "mcp.json: not JSON", ""},
		{"no server", gone.URL, open.Remote, "connection refused", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open.Open(t.Context(), tt.arg, nil)
			var e *open.Error
			if !errors.As(err, &e) {
				t.Fatalf("Open(%q) = %v, want an *open.Error", tt.arg, err)
			}
			if e.Kind != tt.kind || !strings.Contains(e.Error(), tt.why) {
				t.Errorf("Open(%q) = kind %d, %q, want kind %d with %q", tt.arg, e.Kind, e, tt.kind, tt.why)
			}
			if !strings.Contains(e.Hint, tt.hint) || (tt.hint == "") != (e.Hint == "") {
				t.Errorf("Open(%q): hint %q, want %q", tt.arg, e.Hint, tt.hint)
			}
		})
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open.Open(ctx, web.URL, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Open under a context that has ended = %v, want context.Canceled", err)
	}
}

func TestName(t *testing.T) {
	t.Chdir(tree(t, map[string]string{"My Site/mcp.json": "{}"}))
	for _, tt := range []struct{ arg, want string }{
		{"docs", "docs"},
		{"build/docs/", "docs"},
		{"../HTTP reference.zip", "http-reference"},
		{"v1.2.Zip", "v1-2"},
		{"https://example.com/a/docs/", "docs"},
		{"https://example.com/docs/mcp.json", "docs"},
		{"site:https://example.com", "example-com"},
		{"http://127.0.0.1:8080/", "127-0-0-1"},
		{"東京", "source"},
	} {
		if got := open.Argument(tt.arg).Name(); got != tt.want {
			t.Errorf("Name(%q) = %q, want %q", tt.arg, got, tt.want)
		}
	}
	t.Chdir("My Site")
	if got := open.Argument(".").Name(); got != "my-site" {
		t.Errorf("Name(.) = %q, want the name of the folder", got)
	}
}
