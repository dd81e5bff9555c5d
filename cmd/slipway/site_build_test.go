package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// brittle is an input that panics in its first builds, and counts the builds.
type brittle struct {
	path   string
	panics int
	built  int
}

func (b *brittle) Site(context.Context) (*sitebuild.Site, error) {
	if b.built++; b.built <= b.panics {
		var none []string
		_ = none[b.built]
	}
	return nil, errors.New("built")
}

func (b *brittle) Paths() []string { return []string{b.path} }

// TestWatchSurvivesPanics watches an input that panics when it is built. The panic is
// reported, and the next change is built.
func TestWatchSurvivesPanics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "input")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var stderr strings.Builder
		cmd := &cobra.Command{}
		cmd.SetContext(ctx)
		cmd.SetOut(io.Discard)
		cmd.SetErr(&stderr)
		input := &brittle{path: path, panics: 2}
		done := make(chan error, 1)
		go func() { done <- buildAndWatch(cmd, input, &writing{output: "out", quiet: true}, time.Second) }()
		time.Sleep(500 * time.Millisecond)
		for i := range 2 { // between two checks, as a check during a write finds another size
			if err := os.WriteFile(path, []byte(strings.Repeat("x", i+1)), 0o644); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if input.built != 3 {
			t.Errorf("built %d times, want 3", input.built)
		}
		if got := strings.Count(stderr.String(), "build out: internal error: runtime error: index out of range"); got != 2 {
			t.Errorf("%d panics are reported, want 2, in\n%s", got, stderr.String())
		}
	})
}
