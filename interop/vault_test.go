package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVault serves a server with the login of each caller: two oidc-providers, two users in
// Chromium, and clients of the TypeScript SDK. The audit log of the server shows who called.
func TestVault(t *testing.T) {
	// It waits for tokens to expire.
	dir := playSignIn(t, "vault.mjs", 3*patience,
		"another user refused",
		"address in the error",
		"tokens refreshed",
	)
	text, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		var entry struct {
			Principal string
			Name      string
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Name == "get_status" {
			calls[entry.Principal[strings.LastIndex(entry.Principal, "#")+1:]]++
		}
	}
	if len(calls) != 2 || calls["up-alice"] < 10 || calls["up-bob"] < 10 {
		t.Errorf("calls by user = %v, want about as many of up-alice and of up-bob\n%s", calls, text[:min(len(text), 2000)])
	}
}
