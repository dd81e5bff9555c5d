package interop_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSignIn signs users in at an oidc-provider that registers no clients: mcp-remote is the client,
// Chromium the browser, and the official suite tests the authorization server.
func TestSignIn(t *testing.T) {
	tools := nodeTools(t)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tools.node(), filepath.Join("node", "signin.mjs"), slipway, findChromium(t),
		filepath.Join("..", "examples", "http-reference"), dir)
	cmd.Env = append(os.Environ(), "SLIPWAY_STORE_KEY=file:"+filepath.Join(dir, "key"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range []string{
		"mcp-remote signed in, called tools and refreshed", "groups of the provider reach the policy",
		"another browser was refused", "conformance authorization: 2 of 2",
	} {
		if !bytes.Contains(out, []byte(step)) {
			t.Errorf("output %s, want %q", out, step)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"event":"sign_in","what":"signed_in"`, "#alice"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("audit log %s, want %s", text, want)
		}
	}
}
