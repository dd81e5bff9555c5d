package main

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/redistest"
)

// TestEngineRefuses guards the hint of all commands that use an engine which does not accept the password.
func TestEngineRefuses(t *testing.T) {
	address := redistest.Start(t)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	engine := (&url.URL{
		Scheme: "redis",
		User:   url.User("unknown"),
		Host:   address,
		Path:   "/0",
	}).String()
	for _, args := range [][]string{{"cluster", "rotate-key"}, {"cluster", "revoke-approvals", "ann"}} {
		root := newRoot()
		root.SetArgs(append(args, "--cluster", engine, "--cluster-password-file", password))
		err := root.ExecuteContext(context.Background())
		if f := explain(err); err == nil || !strings.Contains(f.hint, "--cluster-password-file") {
			t.Errorf("%v: %v, hint %q", args, err, f.hint)
		}
	}
}
