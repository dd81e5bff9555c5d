package fix

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
)

// The claims of the JSON Web Token in the workloads with jwt and policy, which a server must verify.
const (
	Issuer   = "https://id.bench.example"
	Audience = "https://mcp.bench.example/mcp"
)

// signer derives the key from a constant, since the server and the clients are separate
// processes. No other server trusts the key.
func signer() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
}

// JWT returns a token of [Issuer] that is valid until the year 2100.
func JWT() string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"EdDSA","kid":"bench","typ":"at+jwt"}`)) + "." +
		encode(fmt.Appendf(nil,
			`{"iss":%q,"aud":%q,"sub":"bench","client_id":"bench","iat":1700000000,"exp":4102444800,`+
				`"scope":"tools:read tools:call"}`,
			Issuer, Audience))
	return signed + "." + encode(ed25519.Sign(signer(), []byte(signed)))
}

// JWKS returns the keys that verify [JWT].
func JWKS() []byte {
	public := signer().Public().(ed25519.PublicKey)
	return fmt.Appendf(nil, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"bench","alg":"EdDSA","use":"sig","x":%q}]}`,
		base64.RawURLEncoding.EncodeToString(public))
}
