package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/serve"
)

const (
	issuerURL = "https://id.example.com/tenant"
	audience  = "https://mcp.example.com/mcp"
)

// issuer is an authorization server without a network.
type issuer struct {
	mu      sync.Mutex
	keys    []jose.JSONWebKey // as published
	fetches map[string]int
	answer  func(w http.ResponseWriter, r *http.Request) bool // replaces the usual answer; nil: never
}

func newIssuer(keys ...jose.JSONWebKey) *issuer {
	return &issuer{keys: keys, fetches: make(map[string]int)}
}

func (i *issuer) publish(keys ...jose.JSONWebKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

func (i *issuer) fetched(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches[path]
}

func (i *issuer) fail(answer func(http.ResponseWriter, *http.Request) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.fetches[r.URL.Path]++
	answer, keys := i.answer, i.keys
	i.mu.Unlock()
	switch {
	case answer != nil && answer(w, r):
	case r.URL.Path == "/keys":
		var set jose.JSONWebKeySet
		for _, k := range keys {
			set.Keys = append(set.Keys, k.Public())
		}
		_ = json.NewEncoder(w).Encode(set)
	case r.URL.Path == "/.well-known/openid-configuration/tenant":
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": issuerURL, "jwks_uri": "https://id.example.com/keys"})
	default:
		http.NotFound(w, r)
	}
}

// RoundTrip makes the issuer a transport that respects the context of a request.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	done := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		i.ServeHTTP(w, r)
		got := w.Result()
		got.Request = r
		done <- got
	}()
	select {
	case got := <-done:
		return got, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func (i *issuer) verifier(t *testing.T, change func(*serve.JWTOptions)) *serve.JWT {
	t.Helper()
	o := serve.JWTOptions{Issuer: issuerURL, Audience: []string{audience}, JWKSURL: "https://id.example.com/keys",
		Client: &http.Client{Transport: i}}
	if change != nil {
		change(&o)
	}
	v, err := serve.NewJWT(&o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ecKey(t *testing.T, id string) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: id}
}

func rsaKey(t *testing.T, id string, bits int) jose.JSONWebKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Skip(err) // this Go version does not generate weak keys
	}
	return jose.JSONWebKey{Key: key, KeyID: id}
}

func edKey(t *testing.T, id string) jose.JSONWebKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: id}
}

type claimSet map[string]any

func goodClaims(change claimSet) claimSet {
	c := claimSet{"iss": issuerURL, "aud": audience, "sub": "ann", "scope": "read write",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(c, change)
	for name, value := range c {
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

func signed(t *testing.T, alg jose.SignatureAlgorithm, key any, c claimSet) string {
	t.Helper()
	return signedAs(t, alg, key, c, "at+jwt")
}

// signedAs is signed with a typ; "" means none.
func signedAs(t *testing.T, alg jose.SignatureAlgorithm, key any, c claimSet, typ jose.ContentType) string {
	t.Helper()
	o := &jose.SignerOptions{}
	if typ != "" {
		o.WithType(typ)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	object, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestJWT(t *testing.T) {
	ec, ed, rs := ecKey(t, "ec"), edKey(t, "ed"), rsaKey(t, "rs", 2048)
	fixed := ecKey(t, "fixed")
	fixed.Algorithm = "ES384"
	encryption := ecKey(t, "enc")
	encryption.Use = "enc"
	stranger := ecKey(t, "ec")
	strangerElsewhere := ecKey(t, "elsewhere")
	i := newIssuer(ec, ed, rs, fixed, encryption)
	v := i.verifier(t, func(o *serve.JWTOptions) { o.Pause = 1 }) // an unknown key is looked up each time
	public, err := json.Marshal(rs.Public())
	if err != nil {
		t.Fatal(err)
	}
	unsigned := "eyJhbGciOiJub25lIn0." + strings.Split(signed(t, jose.ES256, ec, goodClaims(nil)), ".")[1] + "."
	now := time.Now()
	tests := []struct {
		name, token string
		ok          bool
	}{
		{"ES256", signed(t, jose.ES256, ec, goodClaims(nil)), true},
		{"EdDSA", signed(t, jose.EdDSA, ed, goodClaims(nil)), true},
		{"RS256", signed(t, jose.RS256, rs, goodClaims(nil)), true},
		{"PS512", signed(t, jose.PS512, rs, goodClaims(nil)), true},
		{"no kid", signed(t, jose.ES256, ec.Key, goodClaims(nil)), true},
		{"several audiences", signed(t, jose.ES256, ec, goodClaims(claimSet{"aud": []string{"x", audience}})), true},
		{
			"expired within the leeway",
			signed(t, jose.ES256, ec, goodClaims(claimSet{"exp": now.Add(-20 * time.Second).Unix()})),
			true,
		},

		{"alg none", unsigned, false},
		{"HS256 with the public key", signed(t, jose.HS256, public, goodClaims(nil)), false},
		{"signed by a stranger, with our kid", signed(t, jose.ES256, stranger, goodClaims(nil)), false},
		{"signed by a stranger", signed(t, jose.ES256, strangerElsewhere, goodClaims(nil)), false},
		{"the alg is not the key's", signed(t, jose.ES256, fixed, goodClaims(nil)), false},
		{"a key for encryption", signed(t, jose.ES256, encryption, goodClaims(nil)), false},
		{"kid of another key", signed(t, jose.ES256, jose.JSONWebKey{Key: ec.Key, KeyID: "rs"}, goodClaims(nil)), false},
		{
			"changed",
			signed(t, jose.ES256, ec, goodClaims(nil))[:40] + "A" + signed(t, jose.ES256, ec, goodClaims(nil))[41:],
			false,
		},
		{"not a JWT", "abc.def.ghi", false},
		{"opaque", unknownToken, false},
		{"another issuer", signed(t, jose.ES256, ec, goodClaims(claimSet{"iss": "https://id.example.com"})), false},
		{"no issuer", signed(t, jose.ES256, ec, goodClaims(claimSet{"iss": nil})), false},
		{"another audience", signed(t, jose.ES256, ec, goodClaims(claimSet{"aud": "https://mcp.example.com"})), false},
		{"no audience", signed(t, jose.ES256, ec, goodClaims(claimSet{"aud": nil})), false},
		{"expired", signed(t, jose.ES256, ec, goodClaims(claimSet{"exp": now.Add(-time.Minute).Unix()})), false},
		{"never expires", signed(t, jose.ES256, ec, goodClaims(claimSet{"exp": nil})), false},
		{"not yet", signed(t, jose.ES256, ec, goodClaims(claimSet{"nbf": now.Add(time.Minute).Unix()})), false},
		{"no subject", signed(t, jose.ES256, ec, goodClaims(claimSet{"sub": nil})), false},
		{"only a client", signed(t, jose.ES256, ec, goodClaims(claimSet{"sub": nil, "client_id": "cron"})), false},
		{"a name without end", signed(t, jose.ES256, ec, goodClaims(claimSet{"sub": strings.Repeat("x", 600)})), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // the second time it may be cached
				p, err := v.Verify(t.Context(), tt.token)
				switch {
				case !tt.ok && !errors.Is(err, serve.ErrToken):
					t.Fatalf("Verify = %+v, %v, want ErrToken", p, err)
				case tt.ok && err != nil:
					t.Fatalf("Verify: %v", err)
				case tt.ok && p.Name != issuerURL+"#ann":
					t.Errorf("Name = %q", p.Name)
				case tt.ok && strings.Join(p.Scopes, " ") != "read write":
					t.Errorf("Scopes = %q", p.Scopes)
				case err != nil && strings.Contains(err.Error(), tt.token):
					t.Errorf("the error holds the token: %v", err)
				}
			}
		})
	}
}

func TestJWTScopesAndNames(t *testing.T) {
	ec := ecKey(t, "ec")
	v := newIssuer(ec).verifier(t, nil)
	for name, tt := range map[string]struct {
		claims       claimSet
		holder, want string
	}{
		"string":       {nil, "ann", "read,write"},
		"array":        {claimSet{"scope": []string{"read", "write"}}, "ann", "read,write"},
		"scope tab":    {claimSet{"scope": "x\tread"}, "ann", "x\tread"},
		"scp string":   {claimSet{"scope": nil, "scp": "read"}, "ann", "read"},
		"scp array":    {claimSet{"scope": nil, "scp": []string{"read"}}, "ann", "read"},
		"none":         {claimSet{"scope": nil}, "ann", ""},
		"nonsense":     {claimSet{"scope": 7}, "ann", ""},
		"both of them": {claimSet{"client_id": "cron"}, "ann", "read,write"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := v.Verify(t.Context(), signed(t, jose.ES256, ec, goodClaims(tt.claims)))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.Scopes, ","); got != tt.want || p.Name != issuerURL+"#"+tt.holder {
				t.Errorf("principal = %+v, want %s with %s", p, tt.holder, tt.want)
			}
		})
	}
}

func TestJWKSRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := ecKey(t, "first"), ecKey(t, "second")
		i := newIssuer(first)
		v := i.verifier(t, nil)
		verify := func(when string, key jose.JSONWebKey, want error) {
			t.Helper()
			_, err := v.Verify(t.Context(),
				signed(t, jose.ES256, key, goodClaims(claimSet{"exp": time.Now().Add(30 * 24 * time.Hour).Unix()})))
			if !errors.Is(err, want) {
				t.Errorf("%s: Verify = %v, want %v", when, err, want)
			}
		}
		fetches := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := i.fetched("/keys"); got != want {
				t.Errorf("%s: %d fetches, want %d", when, got, want)
			}
		}
		verify("at first", first, nil)
		verify("again", first, nil)
		fetches("at first", 1)

		i.publish(first, second)
		began := time.Now()
		verify("a new key within the pause", second, nil)
		fetches("within the pause", 2)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("a new key waited %v, want the pause of 1s", waited)
		}
		verify("a known key", first, nil)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("a known key waited, too: %v", waited)
		}

		token := signed(t, jose.ES256, first, goodClaims(nil))
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Error(err)
		}
		i.publish(second)
		time.Sleep(16 * time.Minute)
		verify("old keys are used while new ones come", first, nil)
		fetches("in the background", 3)
		time.Sleep(10 * time.Second)
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, serve.ErrToken) {
			t.Errorf("a remembered token of a key that was withdrawn: %v, want ErrToken", err)
		}
		verify("the key that stays", second, nil)
	})
}

// TestRandomKeysCostOneFetchPerPause sends tokens with keys that the issuer does not have, while
// it rotates its keys: the tokens cost one fetch a pause, and do not keep the new key out.
func TestRandomKeysCostOneFetchPerPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh, random := ecKey(t, "old"), ecKey(t, "fresh"), ecKey(t, "")
		i := newIssuer(old)
		v := i.verifier(t, nil)
		long := goodClaims(claimSet{"exp": time.Now().Add(time.Hour).Unix()})
		token := func(key jose.JSONWebKey) string { return signed(t, jose.ES256, key, long) }
		if _, err := v.Verify(t.Context(), token(old)); err != nil {
			t.Fatal(err)
		}
		const seconds, each = 10, 40
		var attackers sync.WaitGroup
		for range seconds {
			for range each {
				random.KeyID = rand.Text()
				forged := token(random)
				attackers.Go(func() {
					if _, err := v.Verify(t.Context(), forged); !errors.Is(err, serve.ErrToken) {
						t.Errorf("a random key: %v, want ErrToken", err)
					}
				})
			}
			time.Sleep(time.Second)
		}
		i.publish(old, fresh)
		if _, err := v.Verify(t.Context(), token(fresh)); err != nil {
			t.Errorf("a new key among random ones: %v", err)
		}
		attackers.Wait()
		// The first fetch, one a second, and the last one of those that still waited.
		if n := i.fetched("/keys"); n < 2 || n > seconds+2 {
			t.Errorf("%d random keys cost %d fetches in %d seconds, want one a second", seconds*each, n, seconds)
		}

		// More tokens than may wait are asked to come back, and tokens with known keys are not.
		for n := range 300 {
			random.KeyID = rand.Text()
			forged := token(random)
			attackers.Go(func() {
				_, err := v.Verify(t.Context(), forged)
				if want := n < 256; err == nil || want != errors.Is(err, serve.ErrToken) {
					t.Errorf("token %d of 300: %v, want ErrToken: %t", n, err, want)
				}
			})
			synctest.Wait()
		}
		began := time.Now()
		if _, err := v.Verify(t.Context(), token(old)); err != nil || time.Since(began) != 0 {
			t.Errorf("a known key: %v after %v, want at once", err, time.Since(began))
		}
		attackers.Wait()
	})
}

// TestRandomKeysOfOneAddress sends tokens with keys that the issuer does not have from one
// client, while it rotates its keys. Behind a trusted proxy, other clients still wait for the new
// key.
func TestRandomKeysOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh, random := ecKey(t, "old"), ecKey(t, "fresh"), ecKey(t, "")
		i := newIssuer(old)
		o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{i.verifier(t, nil)}}}
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		h := serve.NewHandler(tools{}, o)
		status := func(client string, key jose.JSONWebKey) int {
			return from(h, "10.0.0.1:1", toolCall("look"), "X-Forwarded-For", client,
				"Authorization", "Bearer "+signed(t, jose.ES256, key, goodClaims(nil))).Code
		}

		// All clients may wait for the first keys.
		var first sync.WaitGroup
		for range 40 {
			first.Go(func() {
				if got := status("192.0.2.1", old); got != http.StatusOK {
					t.Errorf("before there are keys: status %d, want 200", got)
				}
			})
		}
		first.Wait()

		const all, most = 256, 32
		var got sync.Map
		var attackers sync.WaitGroup
		for n := range all {
			random.KeyID = rand.Text()
			key := random
			attackers.Go(func() {
				got.Store(n, status("192.0.2.66", key))
			})
		}
		synctest.Wait()
		i.publish(old, fresh)
		if got := status("192.0.2.1", fresh); got != http.StatusOK {
			t.Errorf("another client with a new key: status %d, want 200", got)
		}
		attackers.Wait()
		counts := map[int]int{}
		for _, code := range got.Range {
			counts[code.(int)]++
		}
		if counts[http.StatusUnauthorized] != most || counts[http.StatusServiceUnavailable] != all-most {
			t.Errorf("%d random keys of one client: %v, want %d that waited for 401, and 503 for others", all, counts, most)
		}
		// Their places are free again.
		if got := status("192.0.2.66", random); got != http.StatusUnauthorized {
			t.Errorf("a random key later: status %d, want 401", got)
		}
	})
}

// TestKeyThatChangesDuringAFetch rotates the keys after an issuer has read them for a fetch, and
// before a token with the new key arrives, which waits for that fetch.
func TestKeyThatChangesDuringAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh, random := ecKey(t, "old"), ecKey(t, "fresh"), ecKey(t, "random")
		i := newIssuer(old)
		v := i.verifier(t, nil)
		i.fail(func(w http.ResponseWriter, _ *http.Request) bool {
			i.fail(nil)
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{old.Public()}})
			time.Sleep(2 * time.Second)
			return true
		})
		go func() { _, _ = v.Verify(t.Context(), signed(t, jose.ES256, random, goodClaims(nil))) }()
		synctest.Wait()
		i.publish(fresh)
		if _, err := v.Verify(t.Context(), signed(t, jose.ES256, fresh, goodClaims(nil))); err != nil {
			t.Errorf("a new key during a fetch: %v", err)
		}
	})
}

// TestRotationWithoutKeyIDs rotates the keys of an issuer that does not name them.
func TestRotationWithoutKeyIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := ecKey(t, ""), ecKey(t, "")
		i := newIssuer(first)
		v := i.verifier(t, nil)
		for n, key := range []jose.JSONWebKey{first, second} {
			i.publish(key)
			if _, err := v.Verify(t.Context(), signed(t, jose.ES256, key, goodClaims(nil))); err != nil {
				t.Errorf("key %d: %v", n, err)
			}
		}
		if _, err := v.Verify(t.Context(), signed(t, jose.ES256, first, goodClaims(nil))); !errors.Is(err, serve.ErrToken) {
			t.Errorf("the withdrawn key: %v, want ErrToken", err)
		}
	})
}

func TestJWKSOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := ecKey(t, "key")
		i := newIssuer(key)
		v := i.verifier(t, nil)
		token := signed(t, jose.ES256, key, goodClaims(claimSet{"exp": time.Now().Add(30 * 24 * time.Hour).Unix()}))
		i.fail(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true })
		for range 50 {
			if _, err := v.Verify(t.Context(), token); err == nil || errors.Is(err, serve.ErrToken) {
				t.Fatalf("without keys: Verify = %v, want an error that is not ErrToken", err)
			}
		}
		time.Sleep(9 * time.Second)
		if _, err := v.Verify(t.Context(), token); err == nil {
			t.Error("without keys: Verify succeeded")
		}
		if n := i.fetched("/keys"); n != 1 {
			t.Errorf("%d fetches, want 1 within ten pauses after a failure", n)
		}
		i.fail(nil)
		time.Sleep(time.Second)
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Fatalf("after the outage: %v", err)
		}
		i.fail(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true })
		time.Sleep(12 * time.Hour)
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Errorf("twelve hours into an outage: %v, want the old keys to do", err)
		}
		time.Sleep(13 * time.Hour)
		if _, err := v.Verify(t.Context(), token); err == nil || errors.Is(err, serve.ErrToken) {
			t.Errorf("a day into an outage: %v, want an error that is not ErrToken", err)
		}
		synctest.Wait()
	})
}

func TestJWKSThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := ecKey(t, "key")
		i := newIssuer(key)
		v := i.verifier(t, nil)
		token := signed(t, jose.ES256, key, goodClaims(claimSet{"exp": time.Now().Add(24 * time.Hour).Unix()}))
		slow := func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
		i.fail(slow)
		begin := time.Now()
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, serve.ErrToken) {
			t.Errorf("Verify = %v, want that time is up", err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("it took %v, want the timeout of 5s", took)
		}
		i.fail(nil)
		time.Sleep(10 * time.Second)
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		// While there are keys, no request waits for new ones.
		i.fail(slow)
		time.Sleep(16 * time.Minute)
		begin = time.Now()
		if _, err := v.Verify(t.Context(), token); err != nil || time.Since(begin) != 0 {
			t.Errorf("Verify = %v after %v, want at once", err, time.Since(begin))
		}
		// A client that uses an unknown key and disconnects does not wait for the fetch.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if _, err := v.Verify(ctx,
			signed(t, jose.ES256, ecKey(t, "x"), goodClaims(nil))); err == nil || time.Since(begin) > time.Second {
			t.Errorf("Verify = %v after %v", err, time.Since(begin))
		}
		time.Sleep(time.Minute) // until the fetches end
	})
}

func TestJWKSThatMakesNoSense(t *testing.T) {
	key := ecKey(t, "key")
	weak := rsaKey(t, "weak", 1024)
	text := func(s string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { _, _ = io.WriteString(w, s); return true }
	}
	private, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{
		Key:   []byte("a shared secret that is long enough"),
		KeyID: "key",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	good, err := json.Marshal(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	weakPublic, err := json.Marshal(weak.Public())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request) bool
		ok     bool
	}{
		{"beside keys of unknown kinds", text(`{"keys":[{"kty":"NEW","kid":"n"},7,` + string(good) + `]}`), true},
		{"larger than the limit", text(`{"keys":[` + string(good) + `],"x":"` + strings.Repeat("x", 1<<20) + `"}`), false},
		{"not JSON", text("<html>"), false},
		{"no keys", text(`{"keys":[]}`), false},
		{"too many keys", text(`{"keys":[` + strings.Repeat(string(good)+",", 100) + string(good) + `]}`), false},
		{"private keys", text(string(private)), false},
		{"secret keys", text(string(secret)), false},
		{"a weak key", text(`{"keys":[` + string(weakPublic) + `]}`), false},
		{"another host", func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Host == "elsewhere.example.com" {
				_, _ = io.WriteString(w, `{"keys":[`+string(good)+`]}`)
			} else {
				http.Redirect(w, r, "https://elsewhere.example.com/keys", http.StatusFound)
			}
			return true
		}, false},
		{"not found", func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i := newIssuer()
			i.fail(tt.answer)
			_, err := i.verifier(t, nil).Verify(t.Context(), signed(t, jose.ES256, key, goodClaims(nil)))
			if tt.ok != (err == nil) || errors.Is(err, serve.ErrToken) {
				t.Errorf("Verify = %v, want ok: %v", err, tt.ok)
			}
		})
	}
}

func TestJWTFindsTheKeysOfTheIssuer(t *testing.T) {
	key := ecKey(t, "key")
	discovering := func(o *serve.JWTOptions) { o.JWKSURL = "" }
	t.Run("by metadata", func(t *testing.T) {
		i := newIssuer(key)
		v := i.verifier(t, discovering)
		for range 2 {
			if _, err := v.Verify(t.Context(), signed(t, jose.ES256, key, goodClaims(nil))); err != nil {
				t.Fatal(err)
			}
		}
		if i.fetched("/.well-known/oauth-authorization-server/tenant") != 1 ||
			i.fetched("/.well-known/openid-configuration/tenant") != 1 ||
			i.fetched("/keys") != 1 {
			t.Errorf("fetches = %v", i.fetches)
		}
	})
	for name, metadata := range map[string]string{
		"of another issuer": `{"issuer":"https://evil.example.com","jwks_uri":"https://id.example.com/keys"}`,
		"without https":     `{"issuer":"` + issuerURL + `","jwks_uri":"http://id.example.com/keys"}`,
		"without keys":      `{"issuer":"` + issuerURL + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(key)
			i.fail(func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, ".well-known") {
					_, _ = io.WriteString(w, metadata)
					return true
				}
				return false
			})
			if _, err := i.verifier(t, discovering).Verify(t.Context(),
				signed(t, jose.ES256, key, goodClaims(nil))); err == nil || errors.Is(err, serve.ErrToken) {
				t.Errorf("Verify = %v, want that the keys cannot be found", err)
			}
			if i.fetched("/keys") != 0 {
				t.Error("the keys were fetched nevertheless")
			}
		})
	}
}

func TestJWTOptionsWithoutSense(t *testing.T) {
	good := serve.JWTOptions{Issuer: issuerURL, Audience: []string{audience}}
	for name, change := range map[string]func(*serve.JWTOptions){
		"no issuer":         func(o *serve.JWTOptions) { o.Issuer = "" },
		"http issuer":       func(o *serve.JWTOptions) { o.Issuer = "http://id.example.com" },
		"no audience":       func(o *serve.JWTOptions) { o.Audience = nil },
		"empty audience":    func(o *serve.JWTOptions) { o.Audience = []string{""} },
		"http keys":         func(o *serve.JWTOptions) { o.JWKSURL = "http://id.example.com/keys" },
		"shared secrets":    func(o *serve.JWTOptions) { o.Algorithms = []string{"HS256"} },
		"none":              func(o *serve.JWTOptions) { o.Algorithms = []string{"none"} },
		"address of a user": func(o *serve.JWTOptions) { o.Issuer = "https://u:p@id.example.com" },
	} {
		o := good
		change(&o)
		if _, err := serve.NewJWT(&o); err == nil {
			t.Errorf("%s: NewJWT succeeds, want an error", name)
		}
	}
	for name, change := range map[string]func(*serve.JWTOptions){
		"loopback": func(o *serve.JWTOptions) { o.Issuer, o.JWKSURL = "http://127.0.0.1:9000", "http://localhost:9000/keys" },
		"one alg":  func(o *serve.JWTOptions) { o.Algorithms = []string{"ES256"} },
	} {
		o := good
		change(&o)
		if _, err := serve.NewJWT(&o); err != nil {
			t.Errorf("%s: NewJWT: %v", name, err)
		}
	}
	ec, rs := ecKey(t, "ec"), rsaKey(t, "rs", 2048)
	v := newIssuer(ec, rs).verifier(t, func(o *serve.JWTOptions) { o.Algorithms = []string{"ES256"} })
	if _, err := v.Verify(t.Context(), signed(t, jose.RS256, rs, goodClaims(nil))); !errors.Is(err, serve.ErrToken) {
		t.Errorf("an algorithm that is not in the list: %v", err)
	}
}

func TestManyWhoComeAtOnceFetchOnce(t *testing.T) {
	key := ecKey(t, "key")
	i := newIssuer(key)
	var waiting atomic.Int64
	release := make(chan struct{})
	i.fail(func(http.ResponseWriter, *http.Request) bool { <-release; return false })
	v := i.verifier(t, nil)
	token := signed(t, jose.ES256, key, goodClaims(nil))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			waiting.Add(1)
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
	close(release)
	all.Wait()
	if n := i.fetched("/keys"); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
}
