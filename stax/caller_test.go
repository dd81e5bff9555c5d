package stax_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/router"
	"github.com/slipway-mcp/slipway/stax"
)

// TestRulesOfCallers violates the rules about what a server gets of its callers.
func TestRulesOfCallers(t *testing.T) {
	const audience = `"audience": "https://x.example/mcp"`
	for members, rule := range map[string]string{
		`"auth": {"kind": "forward"}`:                                                      "stax/auth",
		`"auth": {"kind": "forward", ` + audience + `, "scopes": ["a"]}`:                   "stax/auth",
		`"auth": {"kind": "forward", ` + audience + `, "by": "user"}`:                      "stax/auth",
		`"auth": {"kind": "forward", ` + audience + `}, "headers": {"authorization": "x"}`: "stax/auth",
		`"callerHeaders": {"Authorization": "subject"}`:                                    "stax/caller-header",
		`"callerHeaders": {"connection": "subject"}`:                                       "stax/caller-header",
		`"callerHeaders": {"Transfer-Encoding": "subject"}`:                                "stax/caller-header",
		`"callerHeaders": {"mcp-session-id": "subject"}`:                                   "stax/caller-header",
		`"callerHeaders": {"X-Forwarded-For": "subject"}`:                                  "stax/caller-header",
		`"callerHeaders": {"Cookie": "subject"}`:                                           "stax/caller-header",
		`"callerHeaders": {"X_User": "subject"}`:                                           "stax/caller-header",
		`"callerHeaders": {"X User": "subject"}`:                                           "stax/caller-header",
		`"callerHeaders": {"X-User": " "}`:                                                 "stax/caller-header",
		`"callerHeaders": {"X-Team": "groups"}, "headers": {"x-team": "p"}`:                "stax/caller-header",
		`"callerHeaders": {"X-Key": "name"}, "auth": ` +
			`{"kind": "header", "header": "x-key", "value": "{K}"}`: "stax/caller-header",
	} {
		_, report := stax.Parse("x.json", []byte(
			`{"servers": {"s": {"url": "https://x.example/mcp", "transport": "http", `+members+`}}}`), nil)
		found := ruletest.Findings(report)
		if len(found) == 0 || found[0].Rule.ID != rule {
			t.Errorf("%s: findings %v, want one of %s", members, found, rule)
		}
	}
	for url, rule := range map[string]string{
		"http://x.example/mcp":           "stax/auth",
		"http://127.evil.example/mcp":    "stax/auth",
		"http://127.0.0.1:1/mcp":         "",
		"https://x.example/mcp":          "",
		"http://localhost.evil.test/mcp": "stax/auth",
	} {
		_, report := stax.Parse("x.json", []byte(`{"servers": {"s": {"url": "`+url+`", "transport": "http", `+
			`"auth": {"kind": "forward", `+audience+`}, "callerHeaders": {"X-User": "subject"}}}}`), nil)
		got := ""
		for _, f := range ruletest.Findings(report) {
			if f.Rule.ID == "stax/auth" {
				got = f.Rule.ID
			}
		}
		if got != rule {
			t.Errorf("a token for %s: findings %v, want %q", url, ruletest.Findings(report), rule)
		}
	}
	var many []string
	for n := range 17 {
		many = append(many, fmt.Sprintf(`"X-%d": "subject"`, n))
	}
	_, report := stax.Parse("x.json", []byte(`{"servers": {"s": {"url": "https://x.example/mcp", "transport": "http", `+
		`"callerHeaders": {`+strings.Join(many, ", ")+`}}}}`), nil)
	if found := ruletest.Findings(report); len(found) != 1 || found[0].Rule.ID != "stax/caller-header" {
		t.Errorf("17 headers: findings %v", found)
	}
}

// seenHeaders are the headers of the requests to a server.
type seenHeaders struct {
	mu  sync.Mutex
	all []http.Header
}

func (s *seenHeaders) add(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r.Header.Clone())
}

// values returns the different values of a header, "" for none.
func (s *seenHeaders) values(name string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := make(map[string]bool)
	for _, h := range s.all {
		got[strings.Join(h[name], "|")] = true
	}
	return got
}

// ofCaller returns the context of a request of a caller with a token.
func ofCaller(ctx context.Context, p *mcp.Principal, token string) context.Context {
	return context.WithValue(mcp.WithPrincipal(ctx, p), identity.CallerTokenKey{}, token)
}

// openForCallers opens a server with some members for callers with tokens.
func openForCallers(t *testing.T, address, members string) *stax.Opened {
	t.Helper()
	d, report := stax.Parse("x.json", []byte(
		fmt.Sprintf(`{"servers": {"s": {"url": %q, "transport": "http", %s}}}`, address, members)), nil)
	if !report.OK(false) {
		t.Fatal(ruletest.Findings(report))
	}
	r := &stax.Resolver{
		Shared: true,
		Tokens: true,
	}
	o, err := r.Open(t.Context(), stax.Merge(d), "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// hostileServer is an MCP server that can redirect to another origin.
func hostileServer(t *testing.T) (address string, seen *seenHeaders, redirect func(to string)) {
	t.Helper()
	seen = &seenHeaders{}
	r, err := router.New("s", "1", router.Tool("whoami", "", func(ctx context.Context, _ struct{}) (string, error) {
		h := mcp.RequestFrom(ctx).Header()
		return h.Get("Authorization") + " " + strings.Join(h["X-Groups"], "|"), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	elsewhere := ""
	inner := mcpserver.New(r, nil).HTTPHandler(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r)
		mu.Lock()
		to := elsewhere
		mu.Unlock()
		if to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp", seen, func(to string) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere = to
	}
}

const crmAudience = "https://crm.example/mcp"

// TestForwardToken sends the token of a caller to a server that is its audience, with each
// request, and no other token.
func TestForwardToken(t *testing.T) {
	address, seen, redirect := hostileServer(t)
	o := openForCallers(t, address, `"auth": {"kind": "forward", "audience": "`+crmAudience+`"}`)
	alice := &mcp.Principal{
		Name:     "id#alice",
		Issuer:   "https://id",
		Subject:  "alice",
		Audience: []string{"https://gateway/mcp", crmAudience},
		Expires:  time.Now().Add(time.Hour),
	}
	call := func(p *mcp.Principal, token string) string {
		ctx := ofCaller(t.Context(), p, token)
		if _, err := o.Catalog(ctx); err != nil {
			return err.Error()
		}
		result, err := o.CallTool(ctx, &mcp.CallToolParams{
			Name:      "whoami",
			Arguments: []byte("{}"),
		})
		if err != nil {
			return err.Error()
		}
		return string(result.Raw.Bytes())
	}
	if got := call(alice, "alice-1"); !strings.Contains(got, "Bearer alice-1") {
		t.Errorf("call = %s, want the token of the caller", got)
	}
	if got := call(alice, "alice-2"); !strings.Contains(got, "Bearer alice-2") {
		t.Errorf("call with the next token = %s", got)
	}
	bob := *alice
	bob.Name = "id#bob"
	bob.Subject = "bob"
	if got := call(&bob, "bob-1"); !strings.Contains(got, "Bearer bob-1") {
		t.Errorf("call of bob = %s", got)
	}
	for _, audience := range [][]string{nil, {"https://gateway/mcp"}, {crmAudience + "/"}, {"https://crm.example"}} {
		other := *alice
		other.Audience = audience
		if got := call(&other, "wrong"); !strings.Contains(got, "not for it") || !strings.Contains(got, crmAudience) {
			t.Errorf("call with a token for %q = %s, want a refusal that names the audience", audience, got)
		}
		cat, err := o.Catalog(ofCaller(t.Context(), &other, "wrong"))
		if err != nil || len(cat.Tools) > 0 || !strings.Contains(cat.Instructions, crmAudience) {
			t.Errorf("catalog with a token for %q = %+v, %v, want none with the reason", audience, cat, err)
		}
	}
	for value := range seen.values("Authorization") {
		if value != "Bearer alice-1" && value != "Bearer alice-2" && value != "Bearer bob-1" {
			t.Errorf("the server received %q", value)
		}
	}

	thief, stolen, _ := hostileServer(t)
	redirect(thief)
	call(alice, "alice-3")
	if got := stolen.values("Authorization"); len(got) != 1 || !got[""] {
		t.Errorf("after a redirect, another origin received %v, want requests without a token", got)
	}
}

// TestCallerHeaders describes callers to a server, and no more than that.
func TestCallerHeaders(t *testing.T) {
	address, seen, redirect := hostileServer(t)
	o := openForCallers(t, address, `"headers": {"X-Static": "1"}, "callerHeaders": {"X-User": "subject", `+
		`"X-Issuer": "issuer", "X-Groups": "groups", "X-Department": "department"}`)
	who := &mcp.Principal{
		Name:    "id#alice",
		Issuer:  "https://id",
		Subject: "alice",
		Groups:  []string{"admins", "Zoë's"},
		Claims:  map[string][]string{"other": {"secret-claim"}},
	}
	call := func(p *mcp.Principal) string {
		ctx := ofCaller(t.Context(), p, "t")
		_, _ = o.Catalog(ctx)
		result, err := o.CallTool(ctx, &mcp.CallToolParams{
			Name:      "whoami",
			Arguments: []byte("{}"),
		})
		if err != nil {
			return err.Error()
		}
		return string(result.Raw.Bytes())
	}
	if got := call(who); !strings.Contains(got, "admins, Zoë's") {
		t.Errorf("call = %s, want the groups", got)
	}
	for name, want := range map[string]string{
		"X-User": "alice", "X-Issuer": "https://id", "X-Groups": "admins, Zoë's", "X-Department": "", "X-Static": "1",
		"Authorization": "",
	} {
		if got := seen.values(name); len(got) != 1 || !got[want] {
			t.Errorf("the server received %s %v, want %q with every request", name, got, want)
		}
	}
	before := len(seen.values("X-Groups"))
	for _, group := range []string{"a,admins", "a\r\nX-User: root", "a\x00", " admins", "admins ", "", "a\u0085b", "\xff",
		strings.Repeat("a", 9000)} {
		bad := *who
		bad.Groups = []string{group}
		if got := call(&bad); !strings.Contains(got, "groups of the caller") {
			t.Errorf("call with the group %.20q = %s, want a refusal", group, got)
		}
	}
	if got := seen.values("X-Groups"); len(got) != before {
		t.Errorf("the server received groups %v", got)
	}
	if _, err := o.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"}); err == nil {
		t.Error("a call without a caller is not refused")
	}

	other, stolen, _ := hostileServer(t)
	redirect(other)
	call(who)
	for _, name := range []string{"X-User", "X-Issuer", "X-Groups", "X-Static", "Referer"} {
		if got := stolen.values(name); !maps.Equal(got, map[string]bool{"": true}) {
			t.Errorf("after a redirect, another origin received %s %v", name, got)
		}
	}
}

// TestCallersWithoutTokens refuses servers that need to know their callers where callers have no tokens.
func TestCallersWithoutTokens(t *testing.T) {
	d, report := stax.Parse("x.json", []byte(`{"servers": {"s": {"url": "https://x.example/mcp", "transport": "http", `+
		`"callerHeaders": {"X-User": "subject"}}}}`), nil)
	if !report.OK(false) {
		t.Fatal(ruletest.Findings(report))
	}
	r := &stax.Resolver{Shared: true}
	if _, err := r.Open(t.Context(), stax.Merge(d), "s", nil); err == nil ||
		!strings.Contains(err.Error(), "callers have none here") {
		t.Errorf("Open = %v, want ErrCallerToken", err)
	}
}
