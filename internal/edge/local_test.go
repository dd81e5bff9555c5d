package edge

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// startNode starts an endpoint for Node.js on a loopback address, and returns the address.
func startNode(t *testing.T, o *Options) string {
	t.Helper()
	node := os.Getenv(nodeVariable)
	if node == "" {
		t.Skip("scripts/edge names the runtimes")
	}
	o.Host = "node"
	o.Project = t.TempDir()
	if _, err := Write(o); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Glob(filepath.Join(o.Project, "mcp*.mjs"))
	if err != nil || len(modules) != 1 {
		t.Fatalf("modules %q, error %v", modules, err)
	}
	cmd := exec.CommandContext(t.Context(), node, modules[0], "0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

const emptySite = `{"serverInfo":{"name":"s","version":"1"},"capabilities":{}}`

// TestLocalOrigin guards an endpoint on loopback, and the pages beside it, against web pages of other origins, which
// could read documentation that is not public yet.
func TestLocalOrigin(t *testing.T) {
	published := t.TempDir()
	if err := os.Mkdir(filepath.Join(published, "mcp"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"mcp/mcp.json": emptySite, "index.html": "<p>secret"} {
		if err := os.WriteFile(filepath.Join(published, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := startNode(t, &Options{Published: published, Site: "mcp"})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	page := "http://" + u.Host + "/"
	for _, c := range []struct {
		origin string
		status int
	}{
		{"", 200},
		{"http://localhost:3000", 200},
		{"http://[::1]:3000", 200},
		{"https://127.0.0.1", 200},
		{"http://" + u.Host, 200},
		{"https://evil.example", 403},
		{"http://localhost.evil.example", 403},
		{"http://localhost@evil.example", 403},
		{"file://localhost", 403},
		{"null", 403},
	} {
		post := httptest.NewRequest(http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		post.Header.Set("Content-Type", "application/json")
		get := httptest.NewRequest(http.MethodGet, page, nil)
		for _, r := range []*http.Request{post, get} {
			r.RequestURI = ""
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != c.status || c.status == 403 && !strings.Contains(string(body), "is not allowed here") {
				t.Errorf("%s from origin %q: %d %s, want %d", r.Method, c.origin, resp.StatusCode, body, c.status)
			}
		}
	}
}

// TestPublicHosts checks a server that a proxy makes public: it has only the names of the variable HOSTS, and any page
// may read it.
func TestPublicHosts(t *testing.T) {
	published := t.TempDir()
	if err := os.WriteFile(filepath.Join(published, "index.html"), []byte("<p>public"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOSTS", "docs.example.com, Example.com")
	address := startNode(t, &Options{Published: published, Site: "mcp"})
	for host, status := range map[string]int{
		"docs.example.com": 200, "EXAMPLE.com:443": 200, "127.0.0.1:8080": 403, "evil.example": 403,
	} {
		post, err := http.NewRequest(http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		post.Host = host
		post.Header.Set("Content-Type", "application/json")
		post.Header.Set("Origin", "https://elsewhere.example")
		resp, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("host %q: %d, want %d", host, resp.StatusCode, status)
		}
	}
}

// TestHiddenFiles guards what is in a project that publishes its own folder: hidden files other than those of a site
// are not served.
func TestHiddenFiles(t *testing.T) {
	published := t.TempDir()
	files := map[string]int{
		".env": 404, ".git/config": 404, "docs/.env": 404, ".staticmcp/.env": 404, ".well-known.d/a": 404, ".html": 404,
		"mcp/.staticmcp/search/index.json": 200, ".well-known/ai-catalog.json": 200, "a.b/c.txt": 200,
	}
	for name := range files {
		file := filepath.Join(published, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := strings.TrimSuffix(startNode(t, &Options{Published: published, Site: "mcp"}), "/mcp")
	files["%2eenv"] = 404
	files["%2Egit/config"] = 404
	files["docs%2f.env"] = 404
	files[".git/"] = 404
	files[""] = 404
	for name, status := range files {
		resp, err := http.Get(address + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("/%s: %d, want %d", name, resp.StatusCode, status)
		}
	}
}

// TestFileWithoutLength guards the memory of an endpoint whose site has a file without a length: it was read whole.
func TestFileWithoutLength(t *testing.T) {
	var sent atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := make([]byte, 1<<20)
		for range 200 {
			n, err := w.Write(piece)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer site.Close()
	address := startNode(t, &Options{URL: site.URL + "/"})
	list := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	resp, err := http.Post(address, "application/json", list)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(body), `"error"`) {
		t.Errorf("answer %d %s", resp.StatusCode, body)
	}
	if n := sent.Load(); n > 100<<20 {
		t.Errorf("%d bytes of one file were read", n)
	}
}
