package open_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/ws"
)

// TestMain lets the test binary act as the server that a command starts.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SLIPWAY_OPEN_TEST_SITE"); dir != "" {
		os.Exit(serveSite(dir))
	}
	os.Exit(m.Run())
}

func serveSite(dir string) int {
	server, err := siteServer(dir)
	if err == nil {
		err = server.ServeStdio(context.Background(), os.Stdin, os.Stdout, nil)
	}
	if err != nil {
		return 1
	}
	return 0
}

func siteServer(dir string) (*mcpserver.Server, error) {
	site, err := staticmcp.OpenDir(context.Background(), dir, nil)
	if err != nil {
		return nil, err
	}
	return mcpserver.New(site, nil), nil
}

func TestOpenLive(t *testing.T) {
	dir := tree(t, map[string]string{"mcp.json": manifest, "tools/t.json": `{"content":[]}`})
	server, err := siteServer(dir)
	if err != nil {
		t.Fatal(err)
	}
	token := ""
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			w.Header().Set("WWW-Authenticate", "Bearer realm=\"desk\", scope=\"read\\x1b[2J\"")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		server.HTTPHandler(nil).ServeHTTP(w, r)
	}))
	mux.Handle("/sse/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // for any path
			w.Header().Set("Content-Type", "Text/Event-Stream; charset=utf-8; charset=utf-8")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		server.HTTPHandler(nil).ServeHTTP(w, r)
	}))
	mux.Handle("/ws", ws.NewHandler(server, nil))
	web := httptest.NewServer(mux)
	defer web.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLIPWAY_OPEN_TEST_SITE", dir)
	for _, tt := range []struct{ name, arg string }{
		{"URL", web.URL + "/mcp"},
		{"URL that must be a server", "live:" + web.URL + "/mcp"},
		{"URL where every GET is a stream", web.URL + "/sse/"},
		{"WebSocket", strings.Replace(web.URL, "http", "ws", 1) + "/ws"},
		{"command", open.Command([]string{self})},
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
	token = "s3cret"
	for _, tt := range []struct {
		name, arg string
		opts      *open.LiveOptions
		kind      open.Kind
		why, hint string
	}{
		{"without its token", web.URL + "/mcp", nil, open.Remote, `WWW-Authenticate: Bearer realm="desk", scope="read`,
			"MCP_CLIENT_TOKEN"},
		{"no server and no site", web.URL + "/none", nil, open.Remote, "there is no mcp.json", ""},
		{
			"no such command",
			open.Command([]string{"no-such-program"}),
			nil,
			open.Unreadable,
			`program "no-such-program" not found`,
			"",
		},
		{"no command", "exec:[]", nil, open.Unreadable, "not a JSON array of strings", "after --"},
		{
			"variable kept out",
			open.Command([]string{self, "-test.run=^$"}),
			&open.LiveOptions{KeepOut: []string{"SLIPWAY_OPEN_*"}},
			open.Remote,
			"cannot be started",
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := open.Open(t.Context(), tt.arg, &open.Options{Live: tt.opts})
			var e *open.Error
			if !errors.As(err, &e) ||
				e.Kind != tt.kind ||
				!strings.Contains(e.Error(), tt.why) ||
				!strings.Contains(e.Hint, tt.hint) {
				t.Errorf("Open = %v (%+v), want kind %d with %q and the hint %q", err, e, tt.kind, tt.why, tt.hint)
			}
		})
	}
	src, err := open.Open(t.Context(), web.URL+"/mcp",
		&open.Options{Live: &open.LiveOptions{Header: http.Header{"Authorization": {"Bearer s3cret"}}}})
	if err != nil {
		t.Fatal(err)
	}
	_ = src.(io.Closer).Close()
}

func TestNameOfLive(t *testing.T) {
	for arg, want := range map[string]string{
		"http://localhost:8080/mcp":                                                                    "localhost",
		"live:https://example.com/servers/weather":                                                     "weather",
		open.Command([]string{"/usr/bin/weather-server"}):                                              "weather-server",
		open.Command([]string{"npx", "-y", "@modelcontextprotocol/server-everything@1.2"}):             "server-everything",
		open.Command([]string{"node", "dist/index.js", "--port", "3"}):                                 "index",
		open.Command([]string{"docker", "run", "--rm", "weather"}):                                     "weather",
		open.Command([]string{"docker", "run", "--name", "x", "-e", "KEY", "--pull=never", "weather"}): "weather",
		open.Command([]string{"npx", "--key", "sk-0a1b2c3d", "weather"}):                               "weather",
		open.Command([]string{"npx", "--key", "sk-0a1b2c3d"}):                                          "npx",
		open.Command([]string{"node", "--inspect", "weather.js"}):                                      "weather",
		open.Command([]string{"python3", "-m", "weather"}):                                             "weather",
	} {
		if got := open.Argument(arg).Name(); got != want {
			t.Errorf("Name(%q) = %q, want %q", arg, got, want)
		}
	}
}

// TestTitle keeps potential secrets out of the name that clients see.
func TestTitle(t *testing.T) {
	for arg, want := range map[string]string{
		"https://mcp.example.com/s/0a1b2c3d4e5f/mcp":                                      "mcp-example-com",
		"live:https://example.com/0a1b2c3d4e5f?key=x":                                     "example-com",
		"wss://user:word@example.com:8443/0a1b2c3d4e5f":                                   "example-com",
		open.Command([]string{"sh", "-c", "export KEY=0a1b; exec /usr/bin/0a1b2c3d4e5f"}): "sh",
		open.Command([]string{"env", "KEY=0a1b2c3d4e5f", "weather"}):                      "env",
		open.Command([]string{"npx", "--key", "0a1b2c3d4e5f", "weather"}):                 "weather",
		open.Command([]string{"uvx", "--token", "0a1b2c3d4e5f"}):                          "uvx",
		open.Command([]string{"npx", "-y", "@scope/server-everything@1.2"}):               "server-everything",
		"sites/docs.zip": "docs",
	} {
		if got := open.Argument(arg).PublicName(); got != want {
			t.Errorf("Title(%q) = %q, want %q", arg, got, want)
		}
	}
}
