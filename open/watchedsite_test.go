package open

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
)

// flaky is an input that panics on the second build, either in Site or while its answers
// are read.
type flaky struct {
	path   string
	late   bool
	builds atomic.Int32
}

func (f *flaky) Paths() []string { return []string{f.path} }

func (f *flaky) Site(context.Context) (*sitebuild.Site, error) {
	var none []int
	n := int(f.builds.Add(1))
	if n == 2 && !f.late {
		_ = none[n]
	}
	return &sitebuild.Site{
		Server: mcp.Implementation{Name: "flaky", Version: "1.0.0"},
		Tools:  []mcp.Tool{{Name: "get_it", Description: "It.", InputSchema: []byte(`{"type":"object"}`)}},
		Answers: func(yield func(*sitebuild.Answer, error) bool) {
			if n == 2 {
				_ = none[n]
			}
			yield(sitebuild.Text("get_it", nil, strings.Repeat("again ", n)), nil)
		},
	}, nil
}

// TestRebuildPanic: after a rebuild that panics, the previous site stays, the failure is
// reported, and the next change is built.
func TestRebuildPanic(t *testing.T) {
	for _, late := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "input")
		change := func(text string) {
			// Rename the file atomically, or the watcher could see an empty one first.
			if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
				t.Fatal(err)
			}
		}
		change("1")
		var log bytes.Buffer
		outcomes := make(chan error, 10)
		b := &builder{
			arg: "docs", input: &flaky{path: path, late: late}, memory: sitebuild.NewMemory(),
			log: slog.New(slog.NewTextHandler(&log, nil)), rebuilt: func(_ string, err error) { outcomes <- err },
		}
		b.seen = fsutil.Snapshot(b.input.Paths()...)
		if err := b.build(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.watch(ctx, time.Millisecond)
		}()
		answer := func() string {
			text, err := b.memory.ReadFile("tools/get_it.json")
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		change("22")
		var panicked *barrier.PanicError
		if err := <-outcomes; !errors.As(err, &panicked) {
			t.Errorf("late=%v: outcome %v, want a panic", late, err)
		}
		if got := answer(); !strings.Contains(got, `"again "`) {
			t.Errorf("late=%v: after the panic: %s", late, got)
		}
		change("333")
		if err := <-outcomes; err != nil {
			t.Errorf("late=%v: the next change: %v", late, err)
		}
		if got := answer(); !strings.Contains(got, `"again again again "`) {
			t.Errorf("late=%v: after the next change: %s", late, got)
		}
		stop()
		<-ended
		if text := log.String(); !strings.Contains(text,
			`level=ERROR msg="site rebuild failed, keeping the previous site" source=docs`) ||
			!strings.Contains(text, "index out of range") || !strings.Contains(text, "watchedsite_test.go") {
			t.Errorf("late=%v: log: %s", late, text)
		}
	}
}

// imperfect is a site with a finding.
type imperfect struct{ steady }

func (*imperfect) Site(context.Context) (*sitebuild.Site, error) {
	return &sitebuild.Site{
		Server:   mcp.Implementation{Name: "imperfect", Version: "1.0.0"},
		Findings: []check.Finding{{Severity: check.Warning, Message: "no such page"}},
	}, nil
}

// TestBuildFindings verifies that all builds with findings log the same message.
func TestBuildFindings(t *testing.T) {
	var log bytes.Buffer
	b := &builder{
		arg: "my docs", input: &imperfect{}, memory: sitebuild.NewMemory(),
		log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if err := b.build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const want = `level=WARN msg="site built despite errors or warnings" source="my docs" found="1 warning" ` +
		`hint="slipway site build 'my docs' -o DIR --dry-run lists them"`
	if !strings.Contains(log.String(), want) {
		t.Errorf("log: %s, want %s", &log, want)
	}
}

// TestAnnouncedChange: a change is noticed without polling, also in a folder that is new.
func TestAnnouncedChange(t *testing.T) {
	dir := t.TempDir()
	probe, err := newNotifier([]string{dir})
	if err != nil {
		t.Skip("the system announces no changes:", err)
	}
	probe.close()
	write := func(name string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	outcomes := make(chan error, 10)
	b := &builder{
		arg: "docs", input: &steady{dir}, memory: sitebuild.NewMemory(), log: slog.New(slog.DiscardHandler),
		rebuilt: func(_ string, err error) { outcomes <- err },
	}
	write("page.md")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.watch(ctx, time.Hour)
	}()
	// The first check finds page.md, as nothing was seen before.
	for _, name := range []string{"", "page2.md", "new/folder/page.md", "new/folder/page2.md"} {
		if name != "" {
			write(name)
		}
		if err := <-outcomes; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	stop()
	<-ended
}

// steady is an input that is always the same site.
type steady struct{ path string }

func (s *steady) Paths() []string { return []string{s.path} }

func (s *steady) Site(context.Context) (*sitebuild.Site, error) {
	return &sitebuild.Site{Server: mcp.Implementation{Name: "steady"}}, nil
}
