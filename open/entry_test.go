package open_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
)

// packed returns a bundle with two options.
func packed(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	z := zip.NewWriter(&text)
	for name, content := range map[string]string{
		"manifest.json": `{"manifest_version": "0.3", "name": "greeter", "version": "2.0.0", "description": "Greets", ` +
			`"author": {"name": "A"},
			"server": {"type": "binary", "entry_point": "run", "mcp_config": {"command": "${__dirname}/run", "args": []}},
			"user_config": {"api_key": {"type": "string", "title": "Key", "description": "The key", "sensitive": true, ` +
			`"required": true},
			"place": {"type": "string", "title": "Place", "description": "Where", "required": true},
			"units": {"type": "string", "title": "Units", "description": "Which", "default": "metric"}}}`,
		"run": "#!/bin/sh\n",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// hosted returns a web host with entries to add.
func hosted(t *testing.T, bundle []byte) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	document := func(bundleURL, sum string) string {
		return fmt.Sprintf(`{"name": "com.example/greeter", "description": "Greets people", "version": "2.0.0", "packages": [
			{"registryType": "mcpb", "identifier": %q, "fileSha256": %q, "transport": {"type": "stdio"}, `+
			`"environmentVariables": [{"name": "MCP_BUNDLE_API_KEY", "isSecret": true, "isRequired": true}]}]}`, bundleURL,
			sum)
	}
	serve := func(path, kind, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, text)
		})
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(bundle))
	serve("/x.mcpb", "application/zip", string(bundle))
	serve("/page", "text/html", "<html></html>")
	serve("/server.json", "application/json", document(web.URL+"/x.mcpb", sum))
	serve("/other.json", "application/json", document(web.URL+"/x.mcpb", strings.Repeat("0", 64)))
	serve("/intern.json", "application/json", document("http://10.0.0.1/x.mcpb", sum))
	serve("/file.json", "application/json", document("file:///etc/passwd", sum))
	serve("/v0/servers/com.example%2Fgreeter/versions/latest",
		"application/json", `{"server": `+document(web.URL+"/x.mcpb", sum)+`, "_meta": {}}`)
	mux.Handle("/away", http.RedirectHandler("http://169.254.169.254/server.json", http.StatusFound))
	mux.Handle("/moved", http.RedirectHandler(web.URL+"/x.mcpb", http.StatusFound))
	mux.HandleFunc("/locked", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.Handle("/mcp", server.New(mcp.Unimplemented{}, nil).HTTPHandler(nil))
	return web
}

func TestEntryOfTheWeb(t *testing.T) {
	bundle := packed(t)
	web := hosted(t, bundle)
	sum := fmt.Sprintf("%x", sha256.Sum256(bundle))
	for _, tt := range []struct {
		path, name, pkg string
		secrets         string
	}{
		{"/x.mcpb", "greeter", "greeter", "GREETER_API_KEY"},
		{"/moved", "greeter", "greeter", "GREETER_API_KEY"},
		{"/server.json", "greeter", "com.example/greeter", "MCP_BUNDLE_API_KEY"},
		{"/v0/servers/com.example%2Fgreeter/versions/latest", "greeter", "com.example/greeter", "MCP_BUNDLE_API_KEY"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			dir := t.TempDir()
			a, err := open.Entry(t.Context(), web.URL+tt.path, &open.EntryOptions{BundleDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			s, kept := a.Server(), filepath.Join(dir, sum+".mcpb")
			if got := s.Command + " " + strings.Join(s.Args, " "); got != "slipway bundle run "+kept+" --sha256 "+sum {
				t.Errorf("it starts %s", got)
			}
			if s.Name != tt.name ||
				s.RegistryRef.Package != tt.pkg ||
				s.RegistryRef.Digest != "sha256:"+sum ||
				s.RegistryRef.Version != "2.0.0" ||
				strings.Join(s.Secrets, " ") != tt.secrets ||
				s.Env["MCP_BUNDLE_PLACE"] != "<place>" ||
				s.Env["MCP_BUNDLE_UNITS"] != "" ||
				!strings.HasPrefix(s.Metadata["source"], web.URL) {
				t.Errorf("got %+v from %v", s, s.RegistryRef)
			}
			if len(a.Todo) != 2 {
				t.Errorf("to do: %q", a.Todo)
			}
			if _, err := os.Stat(kept); err == nil {
				t.Error("it is kept without a request")
			}
			for range 2 { // an existing bundle is reused
				if err := a.Keep(); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := os.ReadFile(kept); err != nil || !bytes.Equal(text, bundle) {
				t.Errorf("another bundle was kept: %v", err)
			}
		})
	}
}

func TestEntryOfAServer(t *testing.T) {
	web := hosted(t, nil)
	a, err := open.Entry(t.Context(), web.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Server(); s.Name != "empty" || s.URL != web.URL+"/mcp" || s.Transport != stax.HTTP ||
		s.RegistryRef != nil || len(s.Secrets) > 0 {
		t.Errorf("got %+v", s)
	}
	a, err = open.Entry(t.Context(), web.URL+"/locked", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Server(); s.Name != "locked" || strings.Join(s.Secrets, " ") != "LOCKED_TOKEN" || len(a.Todo) != 1 {
		t.Errorf("got %+v, to do %q", s, a.Todo)
	}
}

// TestEntryOfASecretURL verifies that definitions, which others may read, do not get the secrets of a
// URL.
func TestEntryOfASecretURL(t *testing.T) {
	web := hosted(t, packed(t))
	private := strings.Replace(web.URL, "://", "://user:hunter2@", 1)
	for path, want := range map[string]string{
		"/x.mcpb":                              web.URL + "/x.mcpb",
		"/x.mcpb?v=2.0.0":                      web.URL + "/x.mcpb?v=2.0.0",
		"/x.mcpb?token=hunter2":                "",
		"/x.mcpb?sig=c2lnbmF0dXJlIG9mIGEgVVJM": "",
	} {
		a, err := open.Entry(t.Context(), private+path, &open.EntryOptions{BundleDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		text, err := json.Marshal(a.Config)
		if err != nil || strings.Contains(string(text), "hunter2") || a.Server().Metadata["source"] != want {
			t.Errorf("%s: %s, %v, want the source %q", path, text, err, want)
		}
	}
	var unfit *registry.UnfitError
	a, err := open.Entry(t.Context(), private+"/mcp", nil)
	if !errors.As(err, &unfit) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a server with a password: %+v, %v", a, err)
	}
	a, err = open.Entry(t.Context(), web.URL+"/mcp?api_key=sk-ant-api03-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4", nil)
	if err != nil || len(a.Findings) != 1 || strings.Contains(a.Findings[0].Message, "Zm9v") {
		t.Errorf("a server with a key: %+v, %v, want a warning without it", a, err)
	}
}

// TestEntryOfAnOldServer: a server of 2024-11-05 is recognized.
func TestEntryOfAnOldServer(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusUnauthorized) // enough to identify a server
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\n\nevent: endpoint\ndata: /message?x=1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer web.Close()
	a, err := open.Entry(t.Context(), web.URL+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Server(); s.Transport != stax.SSE {
		t.Errorf("got %+v", s)
	}
}

// TestEntryOfASilentStream: a server is identified even if its stream stays silent.
func TestEntryOfASilentStream(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer web.Close()
	a, err := open.Entry(t.Context(), web.URL+"/mcp",
		&open.EntryOptions{Live: &open.LiveOptions{
			Source: &client.Options{Timeouts: client.Timeouts{Start: 50 * time.Millisecond}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Server(); s.Transport != stax.HTTP {
		t.Errorf("got %+v", s)
	}
}

func TestEntryRefuses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	web := hosted(t, packed(t))
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.mcpb")
	if err := os.WriteFile(broken, []byte("PK\x03\x04"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		arg  string
		want any
	}{
		{web.URL + "/away", new(*client.BlockedError)},
		{web.URL + "/intern.json", new(*client.BlockedError)},
		{web.URL + "/other.json", new(*mcpb.DigestError)},
		{web.URL + "/file.json", new(*registry.UnfitError)},
		{web.URL + "/page", new(*open.Error)},
		{web.URL + "/none", new(*open.Error)},
		{"http://127.0.0.1:1/", new(*open.Error)},
		// A document from another machine must not lead to this one.
		{strings.Replace(web.URL, "127.0.0.1", "0.0.0.0", 1) + "/server.json", new(*client.BlockedError)},
		{broken, new(*mcpb.ArchiveError)},
		{dir, new(*open.Error)},
		{"entry_test.go", new(*open.Error)},
		{"none.json", new(*open.Error)},
	} {
		a, err := open.Entry(t.Context(), tt.arg, &open.EntryOptions{BundleDir: dir})
		if !errors.As(err, tt.want) {
			t.Errorf("Entry(%q) = %v, %v, want a %T", tt.arg, a, err, tt.want)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "slipway-download-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestDownloadLeftovers: the download of a killed process is removed; a folder of another
// kind is not.
func TestDownloadLeftovers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders in use are only known by their age here")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	left, other := filepath.Join(tmp, "slipway-download-123"), filepath.Join(tmp, "slipway-download-mine")
	long := time.Now().Add(-time.Hour)
	for _, dir := range []string{left, other} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chtimes(dir, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := open.Entry(t.Context(), hosted(t, packed(t)).URL+"/x.mcpb", &open.EntryOptions{BundleDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there still: %v", left, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}
