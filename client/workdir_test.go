package client

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPWD ensures that PWD is absolute, as POSIX wants it, also for a relative folder.
func TestPWD(t *testing.T) {
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(parent)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := (&Command{Path: program, Dir: "work"}).command()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := lookup(cmd.Env, "PWD"); got != filepath.Join(here, "work") {
		t.Errorf("PWD = %q, want %q", got, filepath.Join(here, "work"))
	}
}
