package interop_test

import (
	"archive/zip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestStaticHost serves the example site from plain static hosts without MCP support, and
// reads all of it through slipway with every client.
func TestStaticHost(t *testing.T) {
	s, wrong := referenceSite(t)
	for _, host := range []struct {
		name  string
		serve func(root, name string, w http.ResponseWriter, r *http.Request)
	}{
		{"plain", servePlain},
		{"front page for misses", serveFallback},
	} {
		t.Run(host.name, func(t *testing.T) {
			at := startHost(t, s.dir, host.serve)
			to := serve(t, at)
			withClients(t, to, []string{v0618, v0728}, func(t *testing.T, c client, version string) {
				checkSite(t, c, version, s, wrong)
			})
		})
	}
}

// startHost serves dir under /site/ and returns that URL. Any request for another path
// fails the test.
func startHost(
	t *testing.T,
	dir string,
	answer func(root, name string, w http.ResponseWriter, r *http.Request),
) string {
	t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, inside := strings.CutPrefix(r.URL.Path, "/site/")
		if !inside {
			t.Errorf("the host was asked for %s, outside of the site", r.URL)
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		answer(dir, name, w, r)
	}))
	t.Cleanup(host.Close)
	return host.URL + "/site/"
}

// servePlain serves files, answers 404 for anything else, and lists no folder.
func servePlain(root, name string, w http.ResponseWriter, r *http.Request) {
	if file := hostedFile(root, name); file != "" {
		http.ServeFile(w, r, file)
		return
	}
	http.NotFound(w, r)
}

// serveFallback answers requests for missing files with the front page and status 200, as
// hosts for single-page applications do.
func serveFallback(root, name string, w http.ResponseWriter, r *http.Request) {
	if file := hostedFile(root, name); file != "" {
		http.ServeFile(w, r, file)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html><title>HTTP reference</title><p>Welcome to the front page."))
}

// hostedFile returns the path of a regular file of the site, or "".
func hostedFile(root, name string) string {
	if !fs.ValidPath(path.Clean(name)) {
		return ""
	}
	file := filepath.Join(root, filepath.FromSlash(name))
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return file
}

// TestPackedSite reads the example site from a zip file.
func TestPackedSite(t *testing.T) {
	s, wrong := referenceSite(t)
	packed := filepath.Join(t.TempDir(), "site.zip")
	file, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for _, err := range []error{archive.AddFS(os.DirFS(s.dir)), archive.Close(), file.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	to := serve(t, packed)
	withClients(t, to, []string{v1125, v0728}, func(t *testing.T, c client, version string) {
		checkSite(t, c, version, s, wrong)
	})
}
