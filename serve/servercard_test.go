package serve_test

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

func TestServerCard(t *testing.T) {
	opts := &serve.Options{PublicURL: "https://mcp.example.com"}
	const remotes = `"remotes":[{"type":"streamable-http","url":"https://mcp.example.com/mcp",` +
		`"supportedProtocolVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`
	const card = `{"$schema":"https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",` +
		`"name":"com.example.mcp/harbour","version":"1.2.3","description":"The MCP server harbour","title":"Harbour",` +
		remotes
	tests := []struct {
		name, path, contentType, want string
		opts                          *serve.Options
	}{
		{"card", "/mcp/server-card", "application/mcp-server-card+json", card + `}]}`, opts},
		{"card of a server with tokens of its own", "/mcp/server-card", "application/mcp-server-card+json",
			card +
				`,"headers":[{"name":"Authorization","description":"Bearer and a token that was given to you",` +
				`"isRequired":true,"isSecret":true}]}]}`,
			&serve.Options{PublicURL: opts.PublicURL, Auth: &serve.Auth{}}},
		{"card of a server with an authorization server", "/mcp/server-card",
			"application/mcp-server-card+json", card + `}]}`,
			&serve.Options{PublicURL: opts.PublicURL, Auth: testAuth(t)}},
		{"catalog", "/.well-known/ai-catalog.json", "application/ai-catalog+json",
			`{"specVersion":"1.0","entries":[{"identifier":"urn:air:mcp.example.com:mcp:harbour",` +
				`"type":"application/mcp-server-card+json","url":"https://mcp.example.com/mcp/server-card"}]}`,
			opts},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := serve.NewHandler(tools{}, tt.opts)
			w := exchange(h, "GET", tt.path, "", "Origin", "https://any.example.com", "Accept", tt.contentType)
			if diff := cmp.Diff(tt.want, w.Body.String()); diff != "" || w.Code != 200 {
				t.Errorf("answer = %d (-want +got):\n%s", w.Code, diff)
			}
			header := w.Header()
			for name, want := range map[string]string{
				"Content-Type": tt.contentType, "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=3600",
				"Access-Control-Expose-Headers": "ETag",
			} {
				if got := header.Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			tag := header.Get("ETag")
			for condition, status := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304,
				`"x"`: 200} {
				if w := exchange(h, "GET", tt.path, "", "If-None-Match",
					condition); w.Code != status || status == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") !=
					tag) {
					t.Errorf("If-None-Match: %s = %d with %d bytes, want %d", condition, w.Code, w.Body.Len(), status)
				}
			}
			if w := exchange(h, "OPTIONS", tt.path, "", "Origin",
				"https://any.example.com"); w.Code != 204 || w.Header().Get("Access-Control-Allow-Methods") != "GET" {
				t.Errorf("preflight = %d %v", w.Code, w.Header())
			}
			if w := exchange(h, "POST", tt.path, ""); w.Code != 405 {
				t.Errorf("POST = %d, want 405", w.Code)
			}
		})
	}
	t.Run("none without a public address", func(t *testing.T) {
		h := serve.NewHandler(newSource(), nil)
		for _, path := range []string{"/mcp/server-card", "/.well-known/ai-catalog.json"} {
			if w := exchange(h, "GET", path, ""); w.Code != 404 {
				t.Errorf("%s = %d, want 404", path, w.Code)
			}
		}
	})
}

// The rules of the schema of server cards.
func TestServerCardFitsItsSchema(t *testing.T) {
	name := regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	long := strings.Repeat("ä", 300)
	for _, tt := range []struct{ server, public, want string }{
		{"harbour", "https://mcp.example.com", "com.example.mcp/harbour"},
		{"com.acme/tides", "https://mcp.example.com", "com.acme/tides"},
		{"a/b/c", "https://mcp.example.com", "com.example.mcp/a-b-c"},
		{"Port of Call", "https://mcp.example.com:8443", "com.example.mcp/Port-of-Call"},
		{"港", "http://localhost:8080", "localhost/server"},
		{"x", "http://127.0.0.1:8080", "127.0.0.1/x"},
		{"x", "http://[::1]:8080", "--1/x"},
		{strings.Repeat("n", 300), "https://e.com", "com.e/" + strings.Repeat("n", 100)},
	} {
		src := catalogOf{catalog: &mcp.Catalog{Server: mcp.Implementation{
			Name:        tt.server,
			Version:     long,
			Title:       long,
			Description: long,
		}}}
		w := exchange(serve.NewHandler(src, &serve.Options{PublicURL: tt.public}), "GET", "/mcp/server-card", "")
		var card struct{ Name, Version, Title, Description string }
		if err := json.Unmarshal(w.Body.Bytes(), &card); err != nil {
			t.Fatalf("%q: %v: %s", tt.server, err, w.Body)
		}
		if card.Name != tt.want || !name.MatchString(card.Name) || len(card.Name) > 200 {
			t.Errorf("name of %q at %s = %q, want %q", tt.server, tt.public, card.Name, tt.want)
		}
		if n := utf8.RuneCountInString; n(card.Version) > 255 || n(card.Title) != 100 || n(card.Description) != 100 {
			t.Errorf("%d, %d and %d characters, want at most 255, 100, 100", n(card.Version), n(card.Title),
				n(card.Description))
		}
	}
}

func TestPublicHostIsAllowed(t *testing.T) {
	named := func(h *serve.Handler, host string) int {
		r := exchangeRequest("POST", "/mcp", list)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	h := serve.NewHandler(tools{}, &serve.Options{PublicURL: "https://mcp.example.com"})
	for host, status := range map[string]int{"mcp.example.com": 200, "localhost": 200, "evil.example.com": 403} {
		if got := named(h, host); got != status {
			t.Errorf("Host %s = %d, want %d", host, got, status)
		}
	}
}
