package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCrawlKeepsPages guards a published site against a host that fails when it is crawled again: the pages
// stay as they are, and the exit code says so. The user may decide otherwise.
func TestCrawlKeepsPages(t *testing.T) {
	var failing atomic.Bool
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/docs/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<main><h1>Manual</h1><p>See <a href="use">use</a>.</p></main>`)
		case r.URL.Path != "/docs/use":
			http.NotFound(w, r)
		case failing.Load():
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<main><h1>Use</h1><p>Words about the house.</p></main>`)
		}
	}))
	defer host.Close()
	list := filepath.Join(t.TempDir(), "site")
	build := func(args ...string) (code int, stderr string) {
		t.Helper()
		args = append([]string{"site", "build", "--crawl", host.URL + "/docs/", "-o", list, "--layout", "standard"}, args...)
		cmd := slipwayCommand(t, args...)
		cmd.Stderr = nil // CombinedOutput sets it
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode(), string(out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return 0, string(out)
	}
	page := func() bool {
		found := false
		for _, name := range filesBelow(t, list) {
			found = found || strings.Contains(name, "/resources/") && strings.HasSuffix(name, "/use.json")
		}
		return found
	}
	if code, out := build(); code != 0 || !page() {
		t.Fatalf("exit code %d, page %t:\n%s", code, page(), out)
	}
	failing.Store(true)
	code, out := build()
	const missing = "/docs/use: error: the page is missing: the host answers with status 502"
	if code != exitNo || !page() || !strings.Contains(out, missing) || !strings.Contains(out, "nothing was written") {
		t.Errorf("exit code %d, page %t:\n%s", code, page(), out)
	}
	if code, out := build("--lenient"); code != 0 || page() {
		t.Errorf("--lenient: exit code %d, page %t:\n%s", code, page(), out)
	}
}

// filesBelow returns the paths of the files in a folder.
func filesBelow(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
