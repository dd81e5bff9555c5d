package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/serve"
)

func TestParseQuota(t *testing.T) {
	for text, want := range map[string]string{
		"github/*=100/day":   "{github/* 100 24h0m0s false}",
		"*=all:5/second":     "{* 5 1s true}",
		"a/b=2/concurrent":   "{a/b 2 0s false}",
		"github/*=0/day":     "",
		"github/*=100":       "",
		"=100/day":           "",
		"github/*=100/month": "",
		"x":                  "",
	} {
		q, err := serve.ParseQuota(text)
		if got := fmt.Sprint(q); want == "" && err == nil || want != "" && got != want {
			t.Errorf("ParseQuota(%q) = %v, %v, want %q", text, q, err, want)
		}
	}
}

// callTool calls a tool over HTTP and returns the response.
func callTool(h http.Handler, who, tool string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{},"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool)))
	r.Host = "localhost"
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
		"Mcp-Name": tool, "Authorization": "Bearer token-of-" + who + "-0000",
	} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve.NewHandler(company{servers: []string{"a", "b"}}, &serve.Options{
			Auth: companyTokens(t),
			Limits: serve.Limits{Quotas: []serve.Quota{
				{Pattern: "a/run", Calls: 2, Per: time.Minute},
				{Pattern: "*", Calls: 5, Per: time.Hour, Shared: true},
			}},
		})
		defer func() { _ = h.Shutdown(t.Context()) }()
		status := func(who, tool string) int { return callTool(h, who, tool).Code }
		first := callTool(h, "ann", "a_run")
		if got := first.Header()["Ratelimit"]; len(got) != 2 || got[0] != `"quota-1";r=1;t=60` {
			t.Errorf("RateLimit = %q", got)
		}
		if got := first.Header()["Ratelimit-Policy"]; len(got) != 2 || got[1] != `"quota-2";q=5;w=3600` {
			t.Errorf("RateLimit-Policy = %q", got)
		}
		if got := status("ann", "a_run"); got != 200 {
			t.Errorf("the second call: %d", got)
		}
		over := callTool(h, "ann", "a_run")
		if over.Code != http.StatusTooManyRequests || over.Header().Get("Retry-After") != "60" ||
			!strings.Contains(over.Body.String(), "quota of a/run") {
			t.Errorf("the third call: %d, Retry-After %s, %s", over.Code, over.Header().Get("Retry-After"), over.Body)
		}
		if got := status("bob", "a_run"); got != 200 {
			t.Errorf("another caller: %d", got)
		}
		if got := status("ann", "b_run"); got != 200 {
			t.Errorf("another server: %d", got)
		}
		time.Sleep(time.Minute)
		if got := status("ann", "a_run"); got != 200 {
			t.Errorf("in the next minute: %d", got)
		}
		if got := status("bob", "b_run"); got != http.StatusTooManyRequests {
			t.Errorf("beyond the shared quota: %d", got)
		}
	})
}
