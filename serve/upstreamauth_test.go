package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// credentialHeaders are headers in which a caller may send something secret.
var credentialHeaders = []string{
	"Authorization", "Cookie", "Dpop", "Proxy-Authorization", "X-Api-Key", "X-Forwarded-Access-Token",
}

// TestCallerCredentialsStay serves an upstream server to callers with tokens. None of these may
// reach the upstream, and its refusal must not look like one of ours: clients would then
// refresh or drop a token that is valid.
func TestCallerCredentialsStay(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[string]bool) // what arrived in credentialHeaders
	var refusal atomic.Int32
	var requests atomic.Int32
	inner := mcpserver.New(tools{}, nil).HTTPHandler(nil)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		mu.Lock()
		for _, name := range credentialHeaders {
			for _, value := range r.Header[name] {
				seen[name+": "+value] = true
			}
		}
		mu.Unlock()
		if status := refusal.Load(); status != 0 {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", scope="upstream"`)
			w.WriteHeader(int(status))
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	src, err := client.Open(t.Context(), &client.Endpoint{
		URL:    upstream.URL + "/mcp",
		Header: http.Header{"Authorization": {"Bearer of-the-gateway"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	gateway := httptest.NewServer(serve.NewHandler(src, &serve.Options{
		Auth: &serve.Auth{Verifiers: []serve.Verifier{testTokens(t)}},
	}))
	t.Cleanup(gateway.Close)

	call := func(token string) (status int, challenge, body string) {
		t.Helper()
		text := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway.URL+"/mcp", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range credentialHeaders {
			r.Header.Set(name, "secret-of-the-caller")
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "look")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("WWW-Authenticate"), string(answer)
	}
	for _, token := range []string{readerToken, adminToken} {
		if status, _, body := call(token); status != http.StatusOK || !strings.Contains(body, "look by no principal") {
			t.Errorf("call = %d %s, want the result of the upstream", status, body)
		}
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		refusal.Store(int32(status))
		before := requests.Load()
		got, challenge, body := call(readerToken)
		if got == http.StatusUnauthorized || got == http.StatusForbidden || challenge != "" {
			t.Errorf("upstream answers %d: the caller gets %d with the challenge %q", status, got, challenge)
		}
		if !strings.Contains(body, `"error"`) && !strings.Contains(body, `"isError":true`) {
			t.Errorf("upstream answers %d: the caller gets %s, want an error", status, body)
		}
		if requests.Load() == before {
			t.Errorf("upstream answers %d: it was not asked", status)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for header := range seen {
		if header != "Authorization: Bearer of-the-gateway" {
			t.Errorf("the upstream received %q", header)
		}
	}
	if len(seen) == 0 {
		t.Error("the upstream received no credentials, want those of the gateway")
	}
}
