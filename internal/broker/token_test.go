package broker_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
)

// TestCodes exchanges codes in other ways than their client does.
func TestCodes(t *testing.T) {
	w := start(t, nil)
	id := w.register(redirect)
	stranger := w.register(redirect)
	code := func() string {
		t.Helper()
		return w.browser("alice").signIn(w.request(id)).Get("code")
	}
	for name, form := range map[string]url.Values{
		"another client":      exchange(stranger, code()),
		"another redirect":    exchange(id, code(), "redirect_uri", "http://127.0.0.1:8888/callback"),
		"no redirect":         exchange(id, code(), "redirect_uri", ""),
		"another verifier":    exchange(id, code(), "code_verifier", strings.Repeat("x", 43)),
		"no verifier":         exchange(id, code(), "code_verifier", ""),
		"short verifier":      exchange(id, code(), "code_verifier", "abc"),
		"challenge":           exchange(id, code(), "code_verifier", challengeOf(verifier)),
		"another resource":    exchange(id, code(), "resource", w.base+"/mcp/support"),
		"unknown code":        exchange(id, "x"),
		"no code":             exchange(id, ""),
		"unknown client":      exchange("mcp-x", code()),
		"secret":              exchange(id, code(), "client_secret", "x"),
		"another grant":       exchange(id, code(), "grant_type", "password"),
		"client credentials":  exchange(id, code(), "grant_type", "client_credentials"),
		"huge":                exchange(id, code(), "padding", strings.Repeat("x", 20_000)),
		"a refresh as a code": exchange(id, w.form(broker.TokenPath, exchange(id, code())).Refresh),
	} {
		t.Run(name, func(t *testing.T) {
			if a := w.form(broker.TokenPath, form); a.Status < 400 || a.Error == "" || a.Access != "" {
				t.Errorf("%+v", a)
			}
			if form.Get("client_id") != id || form.Has("client_secret") || form.Has("padding") ||
				form.Get("grant_type") != "authorization_code" {
				return
			}
			// A code is used up by its first use.
			if a := w.form(broker.TokenPath, exchange(id, form.Get("code"))); a.Access != "" {
				t.Errorf("again: %+v", a)
			}
		})
	}
	t.Run("late", func(t *testing.T) {
		late := code()
		w.pass(61 * time.Second)
		if a := w.form(broker.TokenPath, exchange(id, late)); a.Error != "invalid_grant" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("twice", func(t *testing.T) {
		stolen := code()
		first := w.form(broker.TokenPath, exchange(id, stolen))
		if a := w.form(broker.TokenPath, exchange(id, stolen)); a.Error != "invalid_grant" {
			t.Errorf("%+v", a)
		}
		if w.active(first.Access) || w.refresh(id, first.Refresh).Access != "" || !w.happened(broker.CodeUsed) {
			t.Error("the session goes on")
		}
	})
	t.Run("at once", func(t *testing.T) {
		once := code()
		var wg sync.WaitGroup
		answers := make(chan *answer, 8)
		for range 8 {
			wg.Go(func() { answers <- w.form(broker.TokenPath, exchange(id, once)) })
		}
		wg.Wait()
		close(answers)
		n := 0
		for a := range answers {
			if a.Access != "" {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%d sessions for one code", n)
		}
	})
	t.Run("parameters in the address", func(t *testing.T) {
		if a := w.form(broker.TokenPath+"?client_id="+id, exchange(id, code())); a.Error != "invalid_request" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("repeated parameter", func(t *testing.T) {
		form := exchange(id, code())
		form.Add("client_id", id)
		if a := w.form(broker.TokenPath, form); a.Error != "invalid_request" {
			t.Errorf("%+v", a)
		}
	})
}

// TestRefresh rotates refresh tokens.
func TestRefresh(t *testing.T) {
	t.Run("grace", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		second := w.refresh(id, first.Refresh)
		w.pass(20 * time.Second)
		again := w.refresh(id, first.Refresh) // the answer was lost
		if again.Refresh == "" || again.Refresh != second.Refresh || w.provider.Count("refresh_token") != 1 {
			t.Errorf("%+v, want the successor %+v", again, second)
		}
		if third := w.refresh(id, second.Refresh); third.Status != http.StatusOK {
			t.Errorf("%+v", third)
		}
	})
	t.Run("reuse after the grace", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		second := w.refresh(id, first.Refresh)
		w.pass(31 * time.Second)
		if a := w.refresh(id, first.Refresh); a.Error != "invalid_grant" || !w.happened(broker.Reused) {
			t.Errorf("%+v", a)
		}
		if a := w.refresh(id, second.Refresh); a.Error != "invalid_grant" || w.active(second.Access) {
			t.Errorf("the session goes on: %+v", a)
		}
	})
	t.Run("reuse of an old one", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		second := w.refresh(id, first.Refresh)
		third := w.refresh(id, second.Refresh)
		if a := w.refresh(id, first.Refresh); a.Error != "invalid_grant" || w.active(third.Access) {
			t.Errorf("%+v", a)
		}
	})
	t.Run("at once", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		var wg sync.WaitGroup
		answers := make(chan *answer, 8)
		for range 8 {
			wg.Go(func() { answers <- w.refresh(id, first.Refresh) })
		}
		wg.Wait()
		close(answers)
		next := map[string]bool{}
		for a := range answers {
			next[a.Refresh] = true
		}
		if len(next) != 1 || next[""] || w.provider.Count("refresh_token") != 1 {
			t.Errorf("successors %v, %d refreshes at the provider", slices.Collect(maps.Keys(next)),
				w.provider.Count("refresh_token"))
		}
	})
	t.Run("another client", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		stranger := w.register(redirect)
		if a := w.refresh(stranger, first.Refresh); a.Error != "invalid_grant" {
			t.Errorf("%+v", a)
		}
		if a := w.refresh(id, first.Refresh); a.Status != http.StatusOK {
			t.Errorf("a stranger ended the session: %+v", a)
		}
	})
	t.Run("forged", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		parts := strings.Split(first.Refresh, ".")
		for _, forged := range []string{
			parts[0] + ".2." + parts[2], parts[0] + ".1.", "", "x", "..", first.Refresh + ".",
		} {
			if a := w.refresh(id, forged); a.Error != "invalid_grant" {
				t.Errorf("%q: %+v", forged, a)
			}
		}
	})
	t.Run("user gone", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		w.provider.Revoke("alice")
		a := w.refresh(id, first.Refresh)
		if a.Error != "invalid_grant" || w.active(first.Access) || !w.happened(broker.Ended) {
			t.Errorf("%+v", a)
		}
	})
	t.Run("user no longer permitted", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		w.deny("alice")
		if a := w.refresh(id, first.Refresh); a.Error != "invalid_grant" || w.active(first.Access) {
			t.Errorf("%+v", a)
		}
	})
	t.Run("provider down", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		w.provider.Close()
		if a := w.refresh(id, first.Refresh); a.Status != http.StatusServiceUnavailable || !w.active(first.Access) {
			t.Errorf("%+v", a)
		}
	})
	t.Run("unused", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		w.pass(31 * 24 * time.Hour)
		if a := w.refresh(id, first.Refresh); a.Error != "invalid_grant" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("another resource", func(t *testing.T) {
		w := start(t, nil)
		id, first := w.session("alice")
		a := w.form(broker.TokenPath, url.Values{
			"grant_type":    {"refresh_token"},
			"client_id":     {id},
			"refresh_token": {first.Refresh},
			"resource":      {w.base + "/mcp/support"},
		})
		if a.Error != "invalid_target" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("short life at the provider", func(t *testing.T) {
		w := start(t, nil)
		w.provider.SetLife(60 * time.Second)
		if _, first := w.session("alice"); first.ExpiresIn != 60 {
			t.Errorf("expires_in %d, want that of the provider", first.ExpiresIn)
		}
	})
}

// TestRestart uses tokens and a registration of a broker that has stopped.
func TestRestart(t *testing.T) {
	w := start(t, nil)
	id, first := w.session("alice")
	w.broker = w.open(nil) // the requests before have ended
	before, err := w.broker.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a := w.refresh(id, first.Refresh); a.Status != http.StatusOK {
		t.Errorf("%+v", a)
	}
	if !w.active(first.Access) {
		t.Error("the session has ended")
	}
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(before, &set); err != nil || len(set.Keys) != 1 || set.Keys[0]["d"] != "" {
		t.Errorf("keys %s", before)
	}
	// A new signing key is published before it is used; the old one stays as long as its tokens.
	w.pass(90*24*time.Hour + time.Second)
	count := func() int {
		text, err := w.broker.Keys(t.Context())
		if err != nil || json.Unmarshal(text, &set) != nil {
			t.Fatal(err)
		}
		return len(set.Keys)
	}
	if n := count(); n != 2 {
		t.Errorf("%d keys after the rotation, want 2", n)
	}
	w.pass(91 * 24 * time.Hour)
	if n := count(); n != 2 {
		t.Errorf("%d keys after two rotations, want 2", n)
	}
}

// TestSessionsAreBounded signs one user in many times.
func TestSessionsAreBounded(t *testing.T) {
	w := start(t, nil)
	_, bob := w.session("bob")
	var first *answer
	for i := range broker.MaxSessionsPerCaller + 3 {
		w.pass(time.Second)
		_, tokens := w.session("alice")
		if i == 0 {
			first = tokens
		}
	}
	all, err := w.broker.Sessions()
	if err != nil || len(all) != broker.MaxSessionsPerCaller+1 {
		t.Fatalf("%d sessions, %v", len(all), err)
	}
	if w.active(first.Access) || !w.active(bob.Access) {
		t.Error("the wrong session was ended")
	}
	ended, err := w.broker.End(t.Context(), w.provider.Issuer+"#alice")
	if err != nil || ended != broker.MaxSessionsPerCaller || !w.active(bob.Access) {
		t.Errorf("ended %d, %v", ended, err)
	}
}

// TestRevoke revokes tokens of others.
func TestRevoke(t *testing.T) {
	w := start(t, nil)
	id, tokens := w.session("alice")
	stranger := w.register(redirect)
	revoke := func(client, token string) *answer {
		return w.form(broker.RevokePath, url.Values{
			"client_id": {client},
			"token":     {token},
		})
	}
	if a := revoke(stranger, tokens.Refresh); a.Error != "invalid_grant" || !w.active(tokens.Access) {
		t.Errorf("%+v", a)
	}
	if a := revoke("mcp-x", tokens.Refresh); a.Error != "invalid_client" || !w.active(tokens.Access) {
		t.Errorf("%+v", a)
	}
	if a := revoke(id, "unknown"); a.Status != http.StatusOK || !w.active(tokens.Access) {
		t.Errorf("%+v", a)
	}
	if a := revoke(id, tokens.Access); a.Status != http.StatusOK || w.active(tokens.Access) {
		t.Errorf("%+v", a)
	}
}

// TestRevokedAtProvider ends sessions in each way, and counts the revocations at the provider.
func TestRevokedAtProvider(t *testing.T) {
	ends := map[string]func(w *world, id string, tokens *answer){
		"by the client": func(w *world, id string, tokens *answer) {
			w.form(broker.RevokePath, url.Values{
				"client_id": {id},
				"token":     {tokens.Refresh},
			})
		},
		"by an operator": func(w *world, _ string, _ *answer) {
			if n, err := w.broker.End(w.t.Context(), w.provider.Issuer+"#alice"); n != 1 || err != nil {
				w.t.Errorf("End = %d, %v, want 1", n, err)
			}
		},
		"by reuse": func(w *world, id string, tokens *answer) {
			w.refresh(id, tokens.Refresh)
			w.pass(time.Minute)
			w.refresh(id, tokens.Refresh)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			id, tokens := w.session("alice")
			end(w, id, tokens)
			if err := w.broker.Close(); err != nil {
				t.Fatal(err)
			}
			if w.active(tokens.Access) || w.provider.Count("revoke") == 0 || !w.happened(broker.ProviderRevoked) {
				t.Errorf("active %t, %d revocations, events %v", w.active(tokens.Access), w.provider.Count("revoke"), w.events)
			}
		})
	}
	t.Run("many of one caller", func(t *testing.T) {
		w := start(t, nil)
		id := w.register(redirect)
		browser := w.browser("alice")
		const sessions = 20
		for range sessions {
			code := browser.signIn(w.request(id)).Get("code")
			if tokens := w.form(broker.TokenPath, exchange(id, code)); tokens.Status != http.StatusOK {
				t.Fatalf("tokens: %+v", tokens)
			}
		}
		if n, err := w.broker.End(t.Context(), w.provider.Issuer+"#alice"); n != sessions || err != nil {
			t.Errorf("End = %d, %v, want %d", n, err, sessions)
		}
		if err := w.broker.Close(); err != nil {
			t.Fatal(err)
		}
		if w.happened(broker.ProviderNotRevoked) || w.provider.Count("revoke") < sessions {
			t.Errorf("%d revocations of %d sessions, events %v", w.provider.Count("revoke"), sessions, w.events)
		}
	})
	t.Run("a provider that is down", func(t *testing.T) {
		w := start(t, nil)
		id, tokens := w.session("alice")
		w.provider.Break(authtest.RevokeDown)
		ends["by the client"](w, id, tokens)
		if w.active(tokens.Access) {
			t.Error("the session lives on")
		}
		if err := w.broker.Close(); err != nil {
			t.Fatal(err)
		}
		if !w.happened(broker.ProviderNotRevoked) || w.happened(broker.ProviderRevoked) {
			t.Errorf("events %v", w.events)
		}
	})
}
