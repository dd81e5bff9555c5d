package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/authtest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// protect starts a site that requires a login. It returns definitions of that and of another site.
func protect(t *testing.T) (s *authtest.Server, definitions string) {
	t.Helper()
	site, err := staticmcp.OpenDir(t.Context(), "../../examples/http-reference", nil)
	if err != nil {
		t.Fatal(err)
	}
	s = authtest.Start(mcpserver.New(site, nil).HTTPHandler(nil))
	t.Cleanup(s.Close)
	definitions = filepath.Join(t.TempDir(), "mcp.yaml")
	text := `{servers: {docs: {url: "` + s.URL + `", transport: http},
  local: {command: slipway, args: [serve, --stdio, "` + absolute(t, "../../examples/http-reference") + `"]}}}`
	if err := os.WriteFile(definitions, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, definitions
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestServeOffersLogin ensures that serve on a terminal offers a login before it serves, both for a URL and
// for one server of several, and that it then serves what requires it. Without the login, the
// server of a URL is an error, and the other servers of definitions are served.
func TestServeOffersLogin(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		several      bool
		want         string
	}{
		{"a URL", "y", false, ": 6 tools"},
		{"a URL, declined", "n", false, "hint: slipway login http"},
		{"definitions", "y", true, ": 12 tools"},
		{"definitions, declined", "n", true, ": 6 tools"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, source := protect(t)
			if !tt.several {
				source = s.URL
			}
			env := []string{"BROWSER=browser", "SLIPWAY_STATE_DIR=" + t.TempDir()}
			args := []string{"serve", source, "--addr", "127.0.0.1:0", "--prefix", "always"}
			if tt.several && tt.answer == "y" {
				args = append(args, "--settle", "1m") // however busy the machine is
			}
			r := startOnTerminal(t, env, args...)
			r.sees("it requires a login (scope read)")
			r.types("Log in now? [Y/n] ", tt.answer+"\n")
			if tt.answer == "y" {
				r.sees("logged in to " + s.URL)
			}
			r.sees(tt.want)
			if tt.answer == "n" && !tt.several {
				r.exits(exitRemote)
				return
			}
			r.sees("Ctrl-C stops it.")
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
			if text := r.exits(0); strings.Count(text, "Log in now?") != 1 {
				t.Errorf("the login was not offered once:\n%s", text)
			}
		})
	}
}

// TestListOffersLogin ensures that ls on a terminal offers the login of one server of several.
func TestListOffersLogin(t *testing.T) {
	_, definitions := protect(t)
	env := []string{"BROWSER=browser", "SLIPWAY_STATE_DIR=" + t.TempDir()}
	r := startOnTerminal(t, env, "ls", definitions, "--tools")
	r.types("Log in now? [Y/n] ", "n\n")
	if text := r.exits(0); !strings.Contains(text, "local") || strings.Contains(text, "docs_") {
		t.Errorf("declined:\n%s", text)
	}
	r = startOnTerminal(t, env, "ls", definitions, "--tools")
	r.types("Log in now? [Y/n] ", "y\n")
	r.sees("logged in to ")
	if text := r.exits(0); !strings.Contains(text, "docs") || strings.Count(text, "Log in now?") != 1 {
		t.Errorf("accepted:\n%s", text)
	}
}

// TestListOffersEveryLogin ensures that ls offers the login of each server if none can be used without one.
func TestListOffersEveryLogin(t *testing.T) {
	a, definitions := protect(t)
	b, _ := protect(t)
	text := `{servers: {one: {url: "` + a.URL + `", transport: http}, two: {url: "` + b.URL + `", transport: http}}}`
	if err := os.WriteFile(definitions, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startOnTerminal(t, []string{"BROWSER=browser", "SLIPWAY_STATE_DIR=" + t.TempDir()}, "ls", definitions, "--tools")
	for range 2 {
		r.types("Log in now? [Y/n] ", "y\n")
		r.sees("logged in to ")
	}
	if text := r.exits(0); !strings.Contains(text, "one_") || !strings.Contains(text, "two_") {
		t.Errorf("not all tools are listed:\n%s", text)
	}
}
