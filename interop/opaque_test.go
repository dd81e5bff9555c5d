package interop_test

import (
	"testing"
)

// TestOpaqueTokens serves with an oidc-provider whose tokens only the provider can read: slipway logs
// users in with Chromium, and the gateway asks the provider about each token.
func TestOpaqueTokens(t *testing.T) {
	playSignIn(t, "opaque.mjs", 2*patience,
		"the provider told the gateway who they are",
		"a user logged in on another device",
		"unknown, revoked, foreign and narrow tokens were refused",
		"a gateway with a wrong secret",
		"logged out",
	)
}
