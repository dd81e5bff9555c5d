package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/serve"
)

// introspector answers questions about tokens (RFC 7662) without a network.
type introspector struct {
	t *testing.T

	mu     sync.Mutex
	tokens map[string]any // the answers; others are not active
	asked  int
	delay  time.Duration
	status int // if not 0, of all answers
}

func (i *introspector) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked++
	delay, status := i.delay, i.status
	i.mu.Unlock()
	time.Sleep(delay)
	user, secret, _ := r.BasicAuth()
	authenticated := user == "gate+way" && secret == "s%3Acret"
	if r.Method != http.MethodPost || r.URL.String() != issuerURL+"/introspect" || !authenticated {
		i.t.Errorf("%s %s as %q, %q", r.Method, r.URL, user, secret)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	i.mu.Lock()
	defer i.mu.Unlock()
	answer, ok := i.tokens[form.Get("token")]
	switch {
	case status != 0:
		w.Header().Set("Location", "https://evil.example/")
		w.WriteHeader(status)
	case ok:
		_ = json.NewEncoder(w).Encode(answer)
	default:
		_, _ = io.WriteString(w, `{"active":false}`)
	}
	return w.Result(), nil
}

func (i *introspector) set(token string, answer any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tokens[token] = answer
}

func (i *introspector) questions() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

func (i *introspector) verifier(change func(*serve.IntrospectionOptions)) *serve.Introspection {
	i.t.Helper()
	o := &serve.IntrospectionOptions{
		Issuer: issuerURL, URL: issuerURL + "/introspect", ClientID: "gate way", Audience: []string{audience},
		Secret: func(context.Context) (string, error) { return "s:cret\n", nil },
		Claims: serve.ClaimOptions{Groups: []string{"realm.groups"}},
		Client: &http.Client{Transport: i},
	}
	if change != nil {
		change(o)
	}
	v, err := serve.NewIntrospection(o)
	if err != nil {
		i.t.Fatal(err)
	}
	return v
}

// activeAnswer is about a valid token, changed as by goodClaims.
func activeAnswer(change claimSet) claimSet {
	c := goodClaims(change)
	if _, given := change["active"]; !given {
		c["active"] = true
	}
	return c
}

// TestIntrospection verifies opaque tokens by what the issuer says of them.
func TestIntrospection(t *testing.T) {
	i := &introspector{t: t, tokens: map[string]any{}}
	v := i.verifier(nil)
	i.set("good", activeAnswer(claimSet{"client_id": "c", "realm": map[string]any{"groups": []string{"dev"}}}))
	p, err := v.Verify(t.Context(), "good")
	if err != nil || p.Name != issuerURL+"#ann" || p.Client != "c" || strings.Join(p.Groups, " ") != "dev" ||
		strings.Join(p.Scopes, " ") != "read write" || p.Expires.IsZero() {
		t.Errorf("Verify = %+v, %v", p, err)
	}
	i.set("no-exp", activeAnswer(claimSet{"exp": nil, "iss": nil}))
	if p, err := v.Verify(t.Context(), "no-exp"); err != nil || !p.Expires.IsZero() || p.Issuer != issuerURL {
		t.Errorf("without exp and iss: %+v, %v", p, err)
	}
	for name, change := range map[string]claimSet{
		"not active":      {"active": false},
		"another issuer":  {"iss": "https://other.example"},
		"audience":        {"aud": "https://other.example/mcp"},
		"no audience":     {"aud": nil},
		"no subject":      {"sub": nil, "client_id": "c"},
		"expired":         {"exp": time.Now().Add(-time.Minute).Unix()},
		"not yet valid":   {"nbf": time.Now().Add(time.Minute).Unix()},
		"bound to a key":  {"cnf": map[string]string{"jkt": "x"}},
		"a DPoP token":    {"token_type": "DPoP"},
		"of another type": {"token_type": "mac"},
	} {
		i.set(name, activeAnswer(change))
		if p, err := v.Verify(t.Context(), name); !errors.Is(err, serve.ErrToken) || p != nil {
			t.Errorf("%s: Verify = %+v, %v, want ErrToken", name, p, err)
		}
	}
	lenient := i.verifier(func(o *serve.IntrospectionOptions) {
		o.Claims.AllowNoAudience = true
		o.Claims.AllowNoSubject = true
	})
	for _, name := range []string{"no audience", "no subject"} {
		if _, err := lenient.Verify(t.Context(), name); err != nil {
			t.Errorf("%s, allowed: %v", name, err)
		}
	}
	for name, answer := range map[string]any{
		"text": "x", "no active": claimSet{"sub": "ann"}, "not boolean": claimSet{"active": "true"},
	} {
		i.set(name, answer)
		if _, err := v.Verify(t.Context(), name); err == nil || errors.Is(err, serve.ErrToken) {
			t.Errorf("%s: Verify = %v, want an error that is not ErrToken", name, err)
		}
	}

	// A token that names another issuer is not shown to this one.
	before := i.questions()
	foreign := signed(t, jose.ES256, ecKey(t, "k"), goodClaims(claimSet{"iss": "https://other.example"}))
	if _, err := v.Verify(t.Context(), foreign); !errors.Is(err, serve.ErrToken) || i.questions() != before {
		t.Errorf("a token of another issuer: %v, after %d questions", err, i.questions()-before)
	}
}

// TestIntrospectionRemembers: one question per token and half a minute, also if many requests
// have it at once. A token that is revoked is refused after that, and an outage is not an
// answer.
func TestIntrospectionRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &introspector{t: t, tokens: map[string]any{}, delay: time.Second}
		v := i.verifier(nil)
		i.set("good", activeAnswer(nil))
		var all sync.WaitGroup
		for range 300 {
			all.Go(func() {
				if _, err := v.Verify(t.Context(), "good"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		time.Sleep(28 * time.Second)
		if _, err := v.Verify(t.Context(), "good"); err != nil || i.questions() != 1 {
			t.Errorf("%d questions, %v; want one", i.questions(), err)
		}
		i.set("good", claimSet{"active": false})
		time.Sleep(2 * time.Second)
		if _, err := v.Verify(t.Context(), "good"); !errors.Is(err, serve.ErrToken) {
			t.Errorf("revoked: %v, want ErrToken", err)
		}
		i.set("short", activeAnswer(claimSet{"exp": time.Now().Add(3 * time.Second).Unix()}))
		if _, err := v.Verify(t.Context(), "short"); err != nil {
			t.Error(err)
		}
		i.set("short", claimSet{"active": false})
		time.Sleep(3 * time.Second)
		if _, err := v.Verify(t.Context(), "short"); !errors.Is(err, serve.ErrToken) {
			t.Errorf("expired: %v, want ErrToken", err)
		}
		for _, status := range []int{http.StatusInternalServerError, http.StatusUnauthorized, http.StatusFound} {
			i.mu.Lock()
			i.status = status
			i.mu.Unlock()
			if _, err := v.Verify(t.Context(), "new"); err == nil || errors.Is(err, serve.ErrToken) {
				t.Errorf("status %d: %v, want an error that is not ErrToken", status, err)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestIntrospectionIsBounded sends invented tokens from one address: others are still verified.
// A token for /mcp does not open another endpoint.
func TestIntrospectionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &introspector{t: t, tokens: map[string]any{}, delay: time.Second}
		o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{i.verifier(nil)}}}
		o.SourceNames = []string{"harbour"}
		o.Endpoints = []serve.Endpoint{{Name: "part", Items: []string{"harbour"}}}
		h := serve.NewHandler(tools{}, o)
		i.set("good", activeAnswer(nil))
		var attackers sync.WaitGroup
		counts := make(chan int, 256)
		for n := range 256 {
			attackers.Go(func() {
				counts <- from(h, "192.0.2.66:1", toolCall("look"), "Authorization", "Bearer random-"+strings.Repeat("x", n)).Code
			})
		}
		synctest.Wait()
		if got := from(h, "192.0.2.1:1", toolCall("look"), "Authorization", "Bearer good").Code; got != http.StatusOK {
			t.Errorf("another client: status %d, want 200", got)
		}
		attackers.Wait()
		close(counts)
		codes := map[int]int{}
		for code := range counts {
			codes[code]++
		}
		if codes[http.StatusUnauthorized] != 32 || codes[http.StatusServiceUnavailable] != 224 {
			t.Errorf("invented tokens: %v, want 32 with 401 and 224 with 503", codes)
		}
		if w := exchange(h, "POST", "/mcp/part", list, "Authorization", "Bearer good"); w.Code != http.StatusUnauthorized {
			t.Errorf("at another endpoint: status %d, want 401", w.Code)
		}
		i.set("part", activeAnswer(claimSet{"aud": audience + "/part"}))
		if w := exchange(h, "POST", "/mcp/part", list, "Authorization", "Bearer part"); w.Code != http.StatusOK {
			t.Errorf("at its endpoint: status %d, want 200", w.Code)
		}
	})
}
