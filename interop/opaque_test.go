package interop_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOpaqueTokens serves with an oidc-provider whose tokens only the provider can read: slipway logs
// users in with Chromium, and the gateway asks the provider about each token.
func TestOpaqueTokens(t *testing.T) {
	tools := nodeTools(t)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tools.node(), filepath.Join("node", "opaque.mjs"), slipway, findChromium(t),
		filepath.Join("..", "examples", "http-reference"), dir)
	cmd.Env = append(os.Environ(), "SLIPWAY_STORE_KEY=file:"+filepath.Join(dir, "key"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range []string{
		"the provider told the gateway who they are", "unknown, revoked, foreign and narrow tokens were refused",
		"a gateway with a wrong secret", "logged out",
	} {
		if !bytes.Contains(out, []byte(step)) {
			t.Errorf("output %s, want %q", out, step)
		}
	}
}
