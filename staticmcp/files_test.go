package staticmcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/slipway-mcp/slipway/staticmcp"
)

func TestFileHandler(t *testing.T) {
	files := webFiles()
	files["secret.txt"] = &fstest.MapFile{Data: []byte("secret")}
	files["tools/get/notes.md"] = &fstest.MapFile{Data: []byte("secret")}
	files["resources/a b?.json"] = &fstest.MapFile{Data: []byte(`{}`)}
	files["resources/broken.json"] = &fstest.MapFile{Data: []byte(`{`)}
	site, err := staticmcp.Open(t.Context(), files, &staticmcp.Options{MaxAge: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	h := site.FileHandler()
	request := func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("%s %s: Access-Control-Allow-Origin = %q", method, path, got)
		}
		return w
	}
	first := request("GET", "/resources/a.json")
	etag := first.Header().Get("ETag")
	if first.Code != 200 || first.Body.String() != string(files["resources/a.json"].Data) {
		t.Errorf("GET = %d %s, want the file", first.Code, first.Body)
	}
	for name, want := range map[string]string{
		"Content-Type":           "application/json",
		"Cache-Control":          "public, max-age=120",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := first.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if len(etag) != 34 || strings.HasPrefix(etag, "W/") {
		t.Errorf("ETag = %s, want a strong one", etag)
	}
	for _, tt := range []struct {
		name, method, path string
		header             []string
		code               int
		body               string
	}{
		{"again", "GET", "/resources/a.json", []string{"If-None-Match", etag}, 304, ""},
		{"one of several tags", "GET", "/resources/a.json", []string{"If-None-Match", `"x", W/` + etag}, 304, ""},
		{"another tag", "GET", "/resources/a.json", []string{"If-None-Match", `"x"`}, 200,
			string(files["resources/a.json"].Data)},
		{"head", "HEAD", "/resources/a.json", nil, 200, ""},
		{"manifest", "GET", "/mcp.json", nil, 200, webManifest},
		{"a strange name", "GET", "/resources/a%20b%3F.json", nil, 200, "{}"},
		{"not JSON inside", "GET", "/resources/broken.json", nil, 200, "{"},
		{"not there", "GET", "/resources/none.json", nil, 404, "not found\n"},
		{"a folder", "GET", "/resources/", nil, 404, "not found\n"},
		{"a folder without slash", "GET", "/tools/get", nil, 404, "not found\n"},
		{"the root", "GET", "/", nil, 404, "not found\n"},
		{"another file", "GET", "/secret.txt", nil, 404, "not found\n"},
		{"another kind of file", "GET", "/tools/get/notes.md", nil, 404, "not found\n"},
		{"upwards", "GET", "/resources/../secret.json", nil, 404, "not found\n"},
		{"upwards, escaped", "GET", "/resources/%2e%2e/secret.json", nil, 404, "not found\n"},
		{"preflight", "OPTIONS", "/mcp.json", nil, 204, ""},
		{"post", "POST", "/mcp.json", nil, 405, "only GET and HEAD\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := request(tt.method, tt.path, tt.header...)
			if w.Code != tt.code || w.Body.String() != tt.body {
				t.Errorf("%s %s = %d %q, want %d %q", tt.method, tt.path, w.Code, w.Body, tt.code, tt.body)
			}
		})
	}
}

// TestFileHandlerOfHost serves the files of a web host, including its failures.
func TestFileHandlerOfHost(t *testing.T) {
	host := newFakeHost(t, webFiles())
	site := openHost(t, host, &staticmcp.Options{
		Poll:       -1,
		Recheck:    -1,
		WebOptions: staticmcp.WebOptions{StaleIfError: -1},
	})
	get := func(path string) int {
		w := httptest.NewRecorder()
		site.FileHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	if got := get("/tools/get/a.json"); got != 200 {
		t.Errorf("GET = %d, want 200", got)
	}
	if got := get("/tools/get/none.json"); got != 404 {
		t.Errorf("GET = %d, want 404", got)
	}
	host.fail(500)
	if got := get("/tools/get/a.json"); got != 503 {
		t.Errorf("GET while the host is down = %d, want 503", got)
	}
	host.fail(401)
	if got := get("/tools/get/b.json"); got != 500 {
		t.Errorf("GET while the host refuses = %d, want 500", got)
	}
}
