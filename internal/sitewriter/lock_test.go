package sitewriter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
)

// Of two writes to a folder at once, the second is refused, and nothing remains of either lock.
func TestOneWriteAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	begun, end := make(chan struct{}), make(chan struct{})
	slow := site(named("a", "one"))
	slow.Answers = func(yield func(*sitewriter.Answer, error) bool) {
		close(begun)
		<-end
		yield(named("a", "one"), nil)
	}
	done := make(chan error)
	go func() {
		_, err := sitewriter.Write(t.Context(), slow, sitewriter.Dir(dir), nil)
		done <- err
	}()
	<-begun
	_, err := sitewriter.Write(t.Context(), site(named("a", "two")), sitewriter.Dir(dir), nil)
	var busy *sitewriter.BusyError
	if !errors.As(err, &busy) || busy.Path != dir || !strings.Contains(err.Error(), "another build is writing "+dir) {
		t.Errorf("second write: %v", err)
	}
	if _, err := sitewriter.Write(t.Context(), site(named("a", "two")), sitewriter.Dir(dir),
		&sitewriter.Options{DryRun: true}); err != nil {
		t.Errorf("dry run: %v", err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".staticmcp", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("lock after the write: %v", err)
	}
	if _, err := sitewriter.Write(t.Context(), site(named("a", "two")), sitewriter.Dir(dir), nil); err != nil {
		t.Errorf("next write: %v", err)
	}
}

// The lock file of a process that was killed holds nothing, and a refused write leaves a folder as it was.
func TestLockLeftBehind(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, ".staticmcp", "lock")
	if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	killed, err := fsutil.TryLock(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Unlock(); err != nil { // as the system does
		t.Fatal(err)
	}
	if _, err := sitewriter.Write(t.Context(), site(named("a", "one")), sitewriter.Dir(dir), nil); err != nil {
		t.Error(err)
	}

	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "mcp.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = sitewriter.Write(t.Context(), site(named("a", "one")), sitewriter.Dir(foreign), nil)
	if !errors.As(err, new(*sitewriter.ForeignError)) {
		t.Errorf("foreign folder: %v", err)
	}
	if left, err := os.ReadDir(foreign); err != nil || len(left) != 1 {
		t.Errorf("foreign folder after the write: %v, %v", left, err)
	}
}
