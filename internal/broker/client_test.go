package broker_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestRegistration registers clients.
func TestRegistration(t *testing.T) {
	w := start(t, nil)
	for name, test := range map[string]struct{ body, code string }{
		"no redirect": {`{"client_name":"x"}`, "invalid_redirect_uri"},
		"many redirects": {
			`{"redirect_uris":[` + strings.Repeat(`"http://127.0.0.1/",`, 20) + `"http://127.0.0.1/"]}`,
			"invalid_redirect_uri",
		},
		"long redirect": {
			`{"redirect_uris":["http://127.0.0.1/` + strings.Repeat("x", 600) + `"]}`,
			"invalid_redirect_uri",
		},
		"javascript":       {`{"redirect_uris":["javascript:alert(1)"]}`, "invalid_redirect_uri"},
		"data":             {`{"redirect_uris":["data:text/html,x"]}`, "invalid_redirect_uri"},
		"file":             {`{"redirect_uris":["file:///etc/passwd"]}`, "invalid_redirect_uri"},
		"other host":       {`{"redirect_uris":["https://evil.example/cb"]}`, "invalid_redirect_uri"},
		"http":             {`{"redirect_uris":["http://app.example.com/cb"]}`, "invalid_redirect_uri"},
		"other path":       {`{"redirect_uris":["https://other.example.com/cb2"]}`, "invalid_redirect_uri"},
		"a host that ends": {`{"redirect_uris":["https://evil.app.example.com/cb"]}`, "invalid_redirect_uri"},
		"other scheme":     {`{"redirect_uris":["vscode://x"]}`, "invalid_redirect_uri"},
		"fragment":         {`{"redirect_uris":["http://127.0.0.1/#x"]}`, "invalid_redirect_uri"},
		"user":             {`{"redirect_uris":["http://127.0.0.1@evil.example/"]}`, "invalid_redirect_uri"},
		"backslash":        {`{"redirect_uris":["http://127.0.0.1\\@evil.example/"]}`, "invalid_redirect_uri"},
		"line break":       {`{"redirect_uris":["http://127.0.0.1/\r\nX: y"]}`, "invalid_redirect_uri"},
		"no JSON":          {`x`, "invalid_client_metadata"},
		"huge":             {`{"client_name":"` + strings.Repeat("x", 20_000) + `"}`, "invalid_client_metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			if a := w.post(broker.RegisterPath, "application/json", test.body); a.Error != test.code || a.ID != "" {
				t.Errorf("%+v, want %s", a, test.code)
			}
		})
	}
	// Redirects of other editions of a client are left out.
	a := w.post(broker.RegisterPath, "application/json",
		`{"redirect_uris":["https://vscode.dev/redirect","http://127.0.0.1:33418/","https://app.example.com/cb"]}`)
	if a.Status != http.StatusCreated || len(a.Redirects) != 2 {
		t.Errorf("%+v", a)
	}
	// What the operator no longer allows is not allowed to registered clients either.
	w.broker = w.open(func(o *broker.Options) { o.Redirects = nil })
	q := w.request(a.ID, "redirect_uri", "https://app.example.com/cb")
	if p := w.visit(q); p.status != http.StatusBadRequest {
		t.Errorf("%d %s", p.status, p.text)
	}
	for _, invalid := range []string{"javascript:", "http://app.example.com", "https:", "cursor://x", "data:", "x", ""} {
		o := &broker.Options{Redirects: []string{invalid}}
		o.Issuer = w.base
		o.Store = w.store
		o.Provider = w.broker.Provider()
		o.Resources = func() []broker.Resource { return nil }
		o.User = func(*identity.User) (*mcp.Principal, error) { return nil, nil }
		o.Render = func(http.ResponseWriter, int, *broker.Page) {}
		if _, err := broker.New(o); err == nil {
			t.Errorf("redirect %q is allowed", invalid)
		}
	}
}

// TestClientDocument uses a client whose ID is the address of its document.
func TestClientDocument(t *testing.T) {
	w := start(t, nil)
	const id = "https://client.example.com/mcp.json"
	fetched := 0
	broker.SetDocuments(w.broker, func(_ context.Context, asked string) (*identity.ClientDocument, error) {
		fetched++
		if asked != id {
			return nil, errors.New("no such document")
		}
		return &identity.ClientDocument{
			ID:           id,
			Name:         "Example",
			RedirectURIs: []string{"http://127.0.0.1/callback", "https://evil.example/cb"},
		}, nil
	})
	shown := w.visit(w.request(id))
	if !strings.Contains(shown.text, `"ClientHost":"client.example.com"`) {
		t.Errorf("page %s", shown.text)
	}
	code := w.browser("alice").signIn(w.request(id)).Get("code")
	tokens := w.form(broker.TokenPath, exchange(id, code))
	if tokens.Status != http.StatusOK || claimsOf(t, tokens.Access)["client_id"] != id {
		t.Errorf("%+v", tokens)
	}
	if fetched != 1 {
		t.Errorf("fetched %d times", fetched)
	}
	for _, other := range []string{
		"https://evil.example/x", "https://client.example.com", "http://client.example.com/mcp.json",
	} {
		p := w.visit(w.request(other))
		if p.formIn() != "" || p.client != nil {
			t.Errorf("%s: %s", other, p.text)
		}
	}
	q := w.request(id, "redirect_uri", "https://evil.example/cb")
	if p := w.visit(q); p.formIn() != "" || p.client != nil {
		t.Errorf("a redirect that is not allowed: %s", p.text)
	}
}
