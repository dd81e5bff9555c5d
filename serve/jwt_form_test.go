package serve_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/serve"
)

// spare returns text in base64url with unused bits set.
func spare(text string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	encoded := base64.RawURLEncoding.EncodeToString([]byte(text))
	last := strings.IndexByte(alphabet, encoded[len(encoded)-1])
	return encoded[:len(encoded)-1] + alphabet[last+1:last+2]
}

// A token has a single form: every other encoding of its bytes is refused, even one
// signed with the issuer's key.
func TestJWTInAnotherForm(t *testing.T) {
	key := edKey(t, "one")
	plain := base64.RawURLEncoding.EncodeToString
	header := fmt.Sprintf(`{"alg":"EdDSA","kid":%q} `, key.KeyID)
	for len(header)%3 != 1 {
		header += " "
	}
	expiry := time.Now().Add(time.Hour).Unix()
	payload := fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":"ann","exp":%d}`, issuerURL, audience, expiry)
	for len(payload)%3 != 1 {
		payload += " "
	}
	signed := func(header, payload string) (text, signature string) {
		text = header + "." + payload
		return text + ".", string(ed25519.Sign(key.Key.(ed25519.PrivateKey), []byte(text)))
	}
	text, signature := signed(plain([]byte(header)), plain([]byte(payload)))
	good := text + plain([]byte(signature))
	spareHeader, headerSignature := signed(spare(header), plain([]byte(payload)))
	sparePayload, payloadSignature := signed(plain([]byte(header)), spare(payload))
	standard := text + strings.NewReplacer("-", "+", "_", "/").Replace(plain([]byte(signature)))
	verifier := newIssuer(key).verifier(t, nil)
	for _, breaks := range []string{"\n", "\r", "\r\n"} { // only by a program: an HTTP header cannot contain them
		if _, err := verifier.Verify(t.Context(), good+breaks); err == nil {
			t.Errorf("a token with %q behind it is valid", breaks)
		}
	}
	h := serve.NewHandler(tools{}, &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{verifier}}})
	for _, c := range []struct {
		name, token string
		status      int
	}{
		{"canonical", good, 200},
		{"spare bits in the header", spareHeader + plain([]byte(headerSignature)), 401},
		{"spare bits in the payload", sparePayload + plain([]byte(payloadSignature)), 401},
		{"spare bits in the signature", text + spare(signature), 401},
		{"padding", good + "==", 401},
		{"a line break", text + "\n" + plain([]byte(signature)), 400},
		{"a carriage return", strings.Replace(good, ".", "\r.", 1), 400},
		{"no signature", text, 401},
		{"a fourth part", good + ".", 401},
		{"canonical, again", good, 200},
	} {
		got := exchange(h, "POST", "/mcp", toolCall("look"), "Authorization", "Bearer "+c.token)
		if got.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, got.Code, c.status, got.Body)
		}
	}
	if standard != good {
		if got := exchange(h, "POST", "/mcp", toolCall("look"), "Authorization", "Bearer "+standard); got.Code != 401 {
			t.Errorf("the alphabet of plain base64: status %d", got.Code)
		}
	}
}
