package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// Tokens of the tests. None of them may ever appear in a log.
const (
	readerToken    = "reader-4f9c1d2e7b8a"
	adminToken     = "admin-0c55f1a9d3e2b7"
	powerlessToken = "powerless-77aa88bb"
	unknownToken   = "unknown-1234567890ab"
)

func testTokens(t *testing.T) *serve.Tokens {
	t.Helper()
	hash := sha256.Sum256([]byte(adminToken))
	tokens, err := serve.NewTokens(
		serve.Token{Name: "reader", Token: readerToken, Scopes: []string{"read"}},
		serve.Token{Name: "admin", Token: "sha256:" + hex.EncodeToString(hash[:]), Scopes: []string{"all"}},
		serve.Token{Name: "powerless", Token: powerlessToken},
	)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// tools is a Source whose tools report their caller.
type tools struct{ mcp.Unimplemented }

func (tools) Catalog(context.Context) (*mcp.Catalog, error) { return toolsCatalog, nil }

// toolsCatalog is always the same, as that of a source that does not change is.
var toolsCatalog = &mcp.Catalog{
	Server:    mcp.Implementation{Name: "harbour", Version: "1.2.3", Title: "Harbour"},
	Tools:     []mcp.Tool{{Name: "look"}, {Name: "sink"}},
	Resources: []mcp.Resource{{URI: "x://1", Name: "one"}},
}

func (tools) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	name := "no principal"
	if p := mcp.PrincipalFrom(ctx); p != nil {
		name = p.Name
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(p.Name + " by " + name)}}, nil
}

func (tools) FileHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "file") })
}

func toolCall(tool string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`
}

func modernCall(tool string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// exchange sends body to path and returns the response. header are keys and values.
func exchange(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := exchangeRequest(method, path, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func exchangeRequest(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func testAuth(t *testing.T) *serve.Auth {
	return &serve.Auth{
		Verifiers:            []serve.Verifier{testTokens(t)},
		Scopes:               []string{"read"},
		ToolScopes:           map[string][]string{"sink": {"sink", "read"}},
		Implies:              map[string][]string{"all": {"write"}, "write": {"read", "sink", "all"}},
		AuthorizationServers: []string{"https://id.example.com"},
	}
}

func TestAuthChallenges(t *testing.T) {
	const metadata = `resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"`
	const missing = `Bearer scope="read", ` + metadata
	const invalid = `Bearer error="invalid_token", error_description="the token is not valid", scope="read", ` +
		metadata
	const lacking = `Bearer error="insufficient_scope", error_description="the token lacks a scope", scope="read", ` +
		metadata
	const lackingTool = `Bearer error="insufficient_scope", error_description="the token lacks a scope that the ` +
		`tool needs", scope="read sink", ` +
		metadata
	badRequest := func(why string) string {
		return `Bearer error="invalid_request", error_description="` + why + `", ` + metadata
	}
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	modern := func(token, tool string) []string {
		return append(bearer(token), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
	}
	tests := []struct {
		name, method, path, body string
		header                   []string
		status                   int
		challenge, want          string
	}{
		{"no token", "POST", "/mcp", toolCall("look"), nil, 401, missing, "a bearer token is required"},
		{"another scheme", "POST", "/mcp", toolCall("look"), []string{"Authorization", "Basic YTpi"}, 401, missing, ""},
		{"unknown token", "POST", "/mcp", toolCall("look"), bearer(unknownToken), 401, invalid, ""},
		{"a part of a token", "POST", "/mcp", toolCall("look"), bearer(readerToken[:16]), 401, invalid, ""},
		{"the hash for the token", "POST", "/mcp", toolCall("look"), bearer("sha256" + strings.Repeat("0", 64)), 401,
			invalid, ""},
		{"without the scope", "POST", "/mcp", toolCall("look"), bearer(powerlessToken), 403, lacking, ""},
		{"empty token", "POST", "/mcp", toolCall("look"), bearer(""), 400, badRequest("malformed bearer token"), ""},
		{"token of two words", "POST", "/mcp", toolCall("look"), bearer("a b"), 400,
			badRequest("malformed bearer token"),
			""},
		{"token with a quote", "POST", "/mcp", toolCall("look"), bearer(`a"b`), 400,
			badRequest("malformed bearer token"),
			""},
		{"token without end", "POST", "/mcp", toolCall("look"), bearer(strings.Repeat("a", 20_000)), 400,
			badRequest("malformed bearer token"), ""},
		{"two tokens", "POST", "/mcp", toolCall("look"), append(bearer(readerToken), bearer(adminToken)...), 400,
			badRequest("more than one Authorization header"), ""},
		{"token in the query", "POST", "/mcp?access_token=" + readerToken, toolCall("look"), nil, 400,
			badRequest("send the token in the Authorization header: addresses are logged"), ""},
		{"fine", "POST", "/mcp", toolCall("look"), bearer(readerToken), 200, "", "look by reader"},
		{"the scheme in lower case", "POST", "/mcp", toolCall("look"), []string{"Authorization", "bearer " +
			readerToken},
			200, "", "look by reader"},
		{"a hashed token", "POST", "/mcp", toolCall("look"), bearer(adminToken), 200, "", "look by admin"},
		{"tool without its scope", "POST", "/mcp", toolCall("sink"), bearer(readerToken), 403, lackingTool,
			`"id":1,"error":{"code":-31006`},
		{"tool with its scope, implied", "POST", "/mcp", toolCall("sink"), bearer(adminToken), 200, "",
			"sink by admin"},
		{"2026-07-28, no token", "POST", "/mcp", modernCall("look"), modern("x", "look")[2:], 401, missing, ""},
		{"2026-07-28, fine", "POST", "/mcp", modernCall("look"), modern(readerToken, "look"), 200, "",
			"look by reader"},
		{"2026-07-28, tool without its scope", "POST", "/mcp", modernCall("sink"), modern(readerToken, "sink"), 403,
			lackingTool, "-31006"},
		{"2026-07-28, tool with its scope", "POST", "/mcp", modernCall("sink"), modern(adminToken, "sink"), 200, "",
			"sink by admin"},
		{"a tool that is not there", "POST", "/mcp", toolCall("float"), bearer(readerToken), 200, "", "-32602"},
		{"lists show all tools", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, bearer(readerToken),
			200, "", `"sink"`},
		{"GET", "GET", "/mcp", "", nil, 401, missing, ""},
		{"DELETE", "DELETE", "/mcp", "", nil, 401, missing, ""},
		{"files", "GET", "/mcp.json", "", nil, 401, missing, ""},
		{"files that may hold any answer, without the scope of a tool", "GET", "/mcp.json", "", bearer(readerToken),
			403,
			lackingTool, "-31006"},
		{"files, with the scopes of all tools", "GET", "/mcp.json", "", bearer(adminToken), 200, "", "file"},
		{"metrics", "GET", "/metrics", "", nil, 401, missing, ""},
		{"metrics, with a token", "GET", "/metrics", "", bearer(readerToken), 200, "", "slipway_build_info"},
		{"preflight", "OPTIONS", "/mcp", "",
			[]string{"Origin", "http://localhost:1", "Access-Control-Request-Method", "POST"}, 204, "", ""},
		{"a foreign page is refused first", "POST", "/mcp", "", []string{"Origin", "https://evil.example.com"}, 403, "",
			"Origin"},
		{"health", "GET", "/healthz", "", nil, 200, "", "ok"},
		{"live", "GET", "/livez", "", nil, 200, "", "ok"},
		{"ready", "GET", "/readyz", "", nil, 200, "", "ok"},
		{"landing page", "GET", "/", "", nil, 200, "", "harbour"},
		{"well-known", "GET", "/.well-known/oauth-protected-resource", "", nil, 200, "", "id.example.com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := exchange(serve.NewHandler(tools{}, &serve.Options{Auth: testAuth(t)}),
				tt.method, tt.path, tt.body, tt.header...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("answer = %d %s, want %d with %q", w.Code, w.Body, tt.status, tt.want)
			}
			if got := w.Header().Get("WWW-Authenticate"); got != tt.challenge {
				t.Errorf("WWW-Authenticate = %s\nwant %s", got, tt.challenge)
			}
			if w.Code >= 400 && w.Code != 403 && !json.Valid(w.Body.Bytes()) {
				t.Errorf("not JSON: %s", w.Body)
			}
		})
	}
}

func TestAuthComesBeforeTheBody(t *testing.T) {
	h := serve.NewHandler(tools{}, &serve.Options{Auth: testAuth(t)})
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", failingReader{t})
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("status %d, want 401", w.Code)
	}
}

type failingReader struct{ t *testing.T }

func (r failingReader) Read([]byte) (int, error) {
	r.t.Error("the body was read")
	return 0, io.EOF
}

func TestAuthOfABatchIsInBand(t *testing.T) {
	h := serve.NewHandler(tools{}, &serve.Options{Auth: testAuth(t)})
	w := exchange(h, "POST", "/mcp", "["+toolCall("look")+","+toolCall("sink")+"]",
		"Authorization", "Bearer "+readerToken, "MCP-Protocol-Version", "2025-03-26")
	if got := w.Body.String(); w.Code != 200 ||
		!strings.Contains(got, "look by reader") ||
		!strings.Contains(got, "-31006") {
		t.Errorf("answer = %d %s, want one result and one error", w.Code, got)
	}
}

func TestSessionsBelongToTheirPrincipal(t *testing.T) {
	h := serve.NewHandler(tools{}, &serve.Options{Auth: testAuth(t)})
	id := exchange(h, "POST", "/mcp", initialize, "Authorization", "Bearer "+readerToken).Header().Get("Mcp-Session-Id")
	for token, status := range map[string]int{readerToken: 200, adminToken: 404} {
		if w := exchange(h, "POST", "/mcp", toolCall("look"), "Authorization",
			"Bearer "+token, "Mcp-Session-Id", id); w.Code != status {
			t.Errorf("the session of reader, used with another's token = %d, want %d", w.Code, status)
		}
	}
}

// away is a Verifier that cannot verify tokens at the moment.
type away struct{}

func (away) Verify(context.Context, string) (*mcp.Principal, error) {
	return nil, errors.New("dial tcp 10.0.0.7:443: connection refused")
}

func TestWhatCannotBeKnownIsNotInvalid(t *testing.T) {
	var log bytes.Buffer
	h := serve.NewHandler(tools{}, &serve.Options{
		Auth:   &serve.Auth{Verifiers: []serve.Verifier{away{}, testTokens(t)}},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if w := exchange(h, "POST", "/mcp", toolCall("look"), "Authorization", "Bearer "+readerToken); w.Code != 200 {
		t.Errorf("a token that another verifier knows = %d, want 200", w.Code)
	}
	w := exchange(h, "POST", "/mcp", toolCall("look"), "Authorization", "Bearer "+unknownToken)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "10.0.0.7") {
		t.Errorf("answer = %d %v %s, want 503 with Retry-After and without the reason", w.Code, w.Header(), w.Body)
	}
	if !strings.Contains(log.String(), "10.0.0.7") {
		t.Errorf("the log does not give the reason:\n%s", &log)
	}
}

func TestMetadataOfTheProtectedResource(t *testing.T) {
	tests := []struct {
		name string
		opts serve.Options
		want string
	}{
		{"as the client names the server", serve.Options{Auth: testAuth(t)},
			`{"resource":"http://localhost/mcp","resource_name":"harbour",` +
				`"authorization_servers":["https://id.example.com"],"scopes_supported":["read","sink"],` +
				`"bearer_methods_supported":["header"]}`},
		{"by its public address", serve.Options{Auth: testAuth(t), PublicURL: "https://mcp.example.com/"},
			`{"resource":"https://mcp.example.com/mcp","resource_name":"harbour",` +
				`"authorization_servers":["https://id.example.com"],"scopes_supported":["read","sink"],` +
				`"bearer_methods_supported":["header"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := serve.NewHandler(tools{}, &tt.opts)
			for _, path := range []string{"/.well-known/oauth-protected-resource",
				"/.well-known/oauth-protected-resource/mcp"} {
				w := exchange(h, "GET", path, "")
				if w.Body.String() != tt.want ||
					w.Header().Get("Content-Type") != "application/json" ||
					w.Header().Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%s = %d %v %s\nwant %s", path, w.Code, w.Header(), w.Body, tt.want)
				}
			}
		})
	}
	for name, opts := range map[string]*serve.Options{
		"no auth":                  {},
		"no authorization servers": {Auth: &serve.Auth{Verifiers: []serve.Verifier{testTokens(t)}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve.NewHandler(newSource(), opts)
			if w := exchange(h, "GET", "/.well-known/oauth-protected-resource", ""); w.Code == 200 {
				t.Errorf("answer = %d %s, want no metadata", w.Code, w.Body)
			}
			w := exchange(h, "POST", "/mcp", toolCall("look"))
			if strings.Contains(w.Header().Get("WWW-Authenticate"), "resource_metadata") {
				t.Errorf("the challenge points to metadata that is not there: %v", w.Header())
			}
		})
	}
}

func TestParseTokens(t *testing.T) {
	const lines = "# who token scopes\n\nci " + readerToken + " read write\r\n" + adminToken + "\n"
	want := []serve.Token{
		{Name: "ci", Token: readerToken, Scopes: []string{"read", "write"}},
		{Name: "token", Token: adminToken},
	}
	tests := []struct {
		name, text, err string
		want            []serve.Token
	}{
		{"lines", lines, "", want},
		{
			"JSON",
			`{"tokens":[{"name":"ci","token":"` + readerToken +
				`","scopes":["read","write"]},{"name":"token","token":"` +
				adminToken + `"}]}`,
			"",
			want,
		},
		{"nothing", "# nothing\n", "", nil},
		{"short token", "ci short", "line 1: the token is shorter than 16", nil},
		{"bad character", "\nci " + readerToken + "!", "line 2: a token consists of", nil},
		{"bad name", "c/i " + readerToken, "line 1: the name must", nil},
		{"bad hash", "ci sha256:12", "line 1: sha256:", nil},
		{"bad scope", "ci " + readerToken + ` re"ad`, "line 1: a scope", nil},
		{"unknown member", `{"tokens":[{"name":"ci","secret":"` + readerToken + `"}]}`, "want JSON like", nil},
		{"JSON with a short token", `{"tokens":[{"name":"ci","token":"x"}]}`, "tokens[0]", nil},
		{"half a file", `{"tokens":[{"name":"ci","token":"` + readerToken, "want JSON like", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := serve.ParseTokens([]byte(tt.text))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseTokens (-want +got):\n%s", diff)
			}
			switch {
			case (err != nil) != (tt.err != ""), err != nil && !strings.Contains(err.Error(), tt.err):
				t.Errorf("error = %v, want %q", err, tt.err)
			case err != nil && strings.Contains(err.Error(), readerToken):
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("ci " + readerToken + " read")
	f.Add(`{"tokens":[{"name":"ci","token":"` + readerToken + `"}]}`)
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		list, err := serve.ParseTokens([]byte(text))
		if err != nil || len(list) == 0 {
			return
		}
		if _, err := serve.NewTokens(list...); err != nil && len(list) <= 1000 {
			t.Errorf("NewTokens refuses what ParseTokens accepts: %v", err)
		}
	})
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestTokenFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if _, err := serve.OpenTokens(path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenTokens without a file: %v", err)
	}
	replace(t, path, "ci "+readerToken+"\n")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tokens, err := serve.OpenTokens(path, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		check := func(when, token string, want error) {
			t.Helper()
			if _, err := tokens.Verify(t.Context(), token); !errors.Is(err, want) {
				t.Errorf("%s: Verify = %v, want %v", when, err, want)
			}
		}
		check("at first", readerToken, nil)
		replace(t, path, "ci "+adminToken+"\n")
		check("at once", readerToken, nil)
		time.Sleep(time.Second) // on fake time
		check("the new one, a second later", adminToken, nil)
		check("the old one, a second later", readerToken, serve.ErrToken)

		replace(t, path, "ci x\n")
		time.Sleep(time.Second)
		check("behind a broken file", adminToken, nil)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		check("behind no file", adminToken, nil)
		replace(t, path, "ci "+powerlessToken+"\n")
		time.Sleep(time.Second)
		check("behind a good file", powerlessToken, nil)
		check("behind a good file", adminToken, serve.ErrToken)
		if got := log.String(); !strings.Contains(got, "tokens not reloaded") || !strings.Contains(got, "tokens reloaded") {
			t.Errorf("log:\n%s", got)
		}
		for _, token := range []string{readerToken, adminToken, powerlessToken} {
			if strings.Contains(log.String(), token) {
				t.Errorf("the log holds a token:\n%s", &log)
			}
		}
	})
}

// The time of a comparison must not reveal how much of a token is correct. A test cannot
// measure that reliably, so the source code is checked: all hashes are compared, in
// constant time, and nothing ends the loop early.
func TestTokensAreComparedInConstantTime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "tokens.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		loop, ok := n.(*ast.ForStmt)
		if !ok {
			return true
		}
		ast.Inspect(loop, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "ConstantTimeCompare" {
					compared++
				}
			case *ast.BranchStmt, *ast.ReturnStmt:
				t.Error("the loop that compares ends early")
			}
			return true
		})
		return true
	})
	if compared != 1 {
		t.Errorf("%d loops with subtle.ConstantTimeCompare, want 1", compared)
	}
}

func TestRunListensBeyondLoopbackWithAuth(t *testing.T) {
	// The address belongs to no machine, so nothing is exposed.
	err := serve.Run(t.Context(), newSource(), &serve.Options{Addr: "192.0.2.7:0", Auth: testAuth(t)})
	if err == nil || errors.Is(err, serve.ErrExposed) {
		t.Errorf("Run = %v, want what the system says to the address", err)
	}
}

func TestRunRefusesOptionsWithoutSense(t *testing.T) {
	for _, address := range []string{
		"mcp.example.com", "http://mcp.example.com", "https://mcp.example.com/mcp",
		"https://u:p@h", "https://h?x",
	} {
		err := serve.Run(t.Context(), newSource(), &serve.Options{Addr: "127.0.0.1:0", PublicURL: address})
		if err == nil || !strings.Contains(err.Error(), "public URL") {
			t.Errorf("Run with PublicURL %q = %v, want an error", address, err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = serve.Serve(t.Context(), ln, newSource(),
		&serve.Options{TLS: serve.TLSFiles{Cert: "no such file", Key: "none"}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Serve = %v, want that there is no such file", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is still open: %v", err)
	}
}
