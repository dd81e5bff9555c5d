package serve_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/serve"
)

// TestIssuerCheck verifies that a server fetches the keys of an issuer when it starts, without waiting for them,
// and logs one warning if it does not get them.
func TestIssuerCheck(t *testing.T) {
	key := ecKey(t, "a")
	token := signed(t, jose.ES256, key, goodClaims(nil))
	document := func(text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(text))
			return true
		}
	}
	asked, hanging := make(chan struct{}, 1), make(chan struct{})
	for _, tt := range []struct {
		name, url string
		answer    func(http.ResponseWriter, *http.Request) bool
		warning   string // "" for none
		fetched   []string
	}{
		{
			name: "available", url: issuerURL, answer: func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/keys" {
					select {
					case asked <- struct{}{}:
					default:
					}
				}
				return false
			},
			fetched: []string{"/keys"},
		},
		{
			name: "no metadata", url: "https://id.example.com", answer: func(w http.ResponseWriter, r *http.Request) bool {
				http.NotFound(w, r)
				return true
			},
			warning: "find the keys of issuer https://id.example.com: ",
			fetched: []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"},
		},
		{
			name: "another issuer", url: issuerURL, answer: document(`{"issuer":"https://id.example.com"}`),
			warning: "not the metadata of issuer https://id.example.com/tenant",
			fetched: []string{"/.well-known/oauth-authorization-server/tenant"},
		},
		{name: "hanging", url: issuerURL, answer: func(http.ResponseWriter, *http.Request) bool { <-hanging; return true }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := newIssuer(key)
			i.fail(tt.answer)
			v := i.verifier(t, func(o *serve.JWTOptions) {
				o.Issuer = tt.url
				o.JWKSURL = ""
			})
			var log bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{v}}}
			text := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})
			o.Logger = slog.New(warned{text, cancel})
			o.Observer.Started = func(*serve.Info) {
				if tt.name == "available" {
					select {
					case <-asked: // without a token
					case <-ctx.Done():
						t.Error("the server has not fetched the keys")
					}
				}
				if tt.warning == "" {
					cancel()
				}
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if err := serve.Serve(ctx, ln, company{}, o); err != nil {
				t.Error(err)
			}
			if tt.warning == "" && log.Len() > 0 || !strings.Contains(log.String(), tt.warning) {
				t.Errorf("the log has %q, want %q", &log, tt.warning)
			}
			for _, path := range tt.fetched {
				if n := i.fetched(path); n != 1 {
					t.Errorf("%s was fetched %d times, want once", path, n)
				}
			}
			i.fail(nil)
			if _, err := v.Verify(t.Context(), token); err != nil && tt.url == issuerURL {
				t.Errorf("the first token once the issuer answers: %v", err)
			}
		})
	}
	close(hanging)
}
