package mcpb

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The shim of a version manager can leave a process that keeps the pipe open.
func TestVersionOfWrapper(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the wrapper is a shell script")
	}
	name := filepath.Join(t.TempDir(), "node")
	if err := os.WriteFile(name, []byte("#!/bin/sh\nsleep 20 &\necho v22.1.0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	version, err := readVersion(t.Context(), name, "--version")
	if took := time.Since(started); err != nil || version != "22.1.0" || took > 15*time.Second {
		t.Errorf("readVersion = %q, %v after %v, want 22.1.0 without waiting for the other process", version, err, took)
	}
}
