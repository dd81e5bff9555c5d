package interop_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestSignIn signs users in at an oidc-provider that registers no clients: mcp-remote is the client,
// Chromium the browser, and the official suite tests the authorization server.
func TestSignIn(t *testing.T) {
	dir := playSignIn(t, "signin.mjs", 3*patience,
		"mcp-remote signed in, called tools and refreshed",
		"groups of the provider reach the policy",
		"another browser was refused",
		"conformance authorization: 2 of 2",
	)
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

// playSignIn plays node/NAME with a provider and Chromium, and requires it to report all steps. It returns the folder
// that the script was given, with the key of the store and what the gateway wrote.
func playSignIn(t *testing.T, name string, limit time.Duration, steps ...string) (dir string) {
	t.Helper()
	tools := nodeTools(t)
	dir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, tools.node(), filepath.Join("node", name), slipway, findChromium(t),
		filepath.Join("..", "examples", "http-reference"), dir)
	cmd.Env = append(os.Environ(), "SLIPWAY_STORE_KEY=file:"+filepath.Join(dir, "key"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range steps {
		if !bytes.Contains(out, []byte(step)) {
			t.Errorf("output %s, want %q", out, step)
		}
	}
	return dir
}
