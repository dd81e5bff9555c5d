package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// starting is a company whose catalog changes while it is served.
type starting struct {
	company

	mu      sync.Mutex
	cat     *mcp.Catalog
	changed func(mcp.Change)
}

func (s *starting) Catalog(context.Context) (*mcp.Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cat, nil
}

func (s *starting) Watch(changed func(mcp.Change)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = changed
		return func() {}
	}
	first := s.changed
	s.changed = func(c mcp.Change) {
		first(c)
		changed(c)
	}
	return func() {}
}

func (s *starting) set(cat *mcp.Catalog) {
	s.mu.Lock()
	s.cat = cat
	changed := s.changed
	s.mu.Unlock()
	changed(mcp.Change{Tools: true})
}

// TestNamesLater verifies warnings about names that match nothing: also for a server that starts after the policy
// was read, and after the policy was read again, but only once for each name.
func TestNamesLater(t *testing.T) {
	const rule = `forbid (principal, action, resource == Tool::"tickets/rnu");`
	path := filepath.Join(t.TempDir(), "p.cedar")
	write := func(rules string) {
		if err := os.WriteFile(path, []byte("permit (principal, action, resource);\n"+rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(rule)
	quota, err := serve.ParseQuota("tikets/*=1/day")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		known := companyCatalog("a tickets").Copy()
		known.Growing = true
		before := known.Copy()
		before.Sources = append([]mcp.JoinedSource{}, before.Sources...)
		before.Sources[1].Unknown = true
		src := &starting{cat: before}
		var log bytes.Buffer
		o := &serve.Options{}
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		o.Limits.Quotas = []serve.Quota{quota}
		if o.Policy, err = serve.OpenPolicy(path, &serve.PolicyOptions{Logger: o.Logger}); err != nil {
			t.Fatal(err)
		}
		in, client := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- serve.Stdio(t.Context(), src, in, io.Discard, o) }()
		count := func(step, text string, want int) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := strings.Count(log.String(), text); got != want {
				t.Errorf("%s: %d warnings with %s, want %d: %s", step, got, text, want, &log)
			}
		}
		count("before the server has started", "", 1) // strings.Count finds "" in the empty log once
		for range 2 {
			src.set(known)
			count("after its start", "names=tickets/rnu", 1)
			count("after its start", "pattern=tikets/*", 1)
		}
		write(rule + "\n" + `forbid (principal, action, resource in Server::"ab");`)
		initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
			`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
		call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a_run"}}` + "\n"
		if _, err := io.WriteString(client, initialize+call); err != nil {
			t.Fatal(err)
		}
		count("after a reload", "names=ab", 1)
		count("after a reload", "level=WARN", 3)
		_ = client.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestManyNames verifies that each of many names that match nothing is logged, and again after it has matched.
func TestManyNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.cedar")
	var rules strings.Builder
	rules.WriteString("permit (principal, action, resource);\n")
	rules.WriteString("forbid (principal, action, resource == Tool::\"tickets/held\");\n")
	for i := range 12 {
		fmt.Fprintf(&rules, "forbid (principal, action, resource == Tool::\"tickets/t%02d\");\n", i)
	}
	if err := os.WriteFile(path, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		without := companyCatalog("a tickets").Copy()
		without.Growing = true
		without.WithheldTools = map[string]string{"tickets_held": "not today", "a_hold": "not today", "zz": "no"}
		with := without.Copy()
		for _, name := range []string{"t00", "t11"} {
			with.Tools = append(with.Tools[:len(with.Tools):len(with.Tools)],
				mcp.Tool{Name: name, Origins: []mcp.Origin{{Source: "tickets", Name: name}}})
		}
		closed := without.Copy()
		closed.Sources = append([]mcp.JoinedSource{}, closed.Sources...)
		closed.Sources[1].Unknown = true
		src := &starting{cat: without}
		var log bytes.Buffer
		o := &serve.Options{}
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		var err error
		if o.Policy, err = serve.OpenPolicy(path, &serve.PolicyOptions{Logger: o.Logger}); err != nil {
			t.Fatal(err)
		}
		in, client := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- serve.Stdio(t.Context(), src, in, io.Discard, o) }()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		first := `count=12 names="tickets/t00, tickets/t01, tickets/t02, tickets/t03, tickets/t04, ` +
			`tickets/t05, tickets/t06, tickets/t07, tickets/t08, tickets/t09"`
		if got := log.String(); !strings.Contains(got, first) {
			t.Errorf("at the start: %q, want %s", got, first)
		}
		for _, step := range []struct {
			name string
			cat  *mcp.Catalog
			want string
		}{
			{"the same catalog", without, ""},
			{"a new catalog", without.Copy(), `count=2 names="tickets/t10, tickets/t11"`},
			{"another new catalog", without.Copy(), ""},
			{"two names match", with, ""},
			{"the server stops", closed, ""},
			{"they match no more", without, `count=2 names="tickets/t00, tickets/t11"`},
			{"the server stops again", closed, ""},
			{"it has the same tools", without, ""},
		} {
			log.Reset()
			src.set(step.cat)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := log.String(); !strings.Contains(got, step.want) || (got == "") != (step.want == "") {
				t.Errorf("%s: %q, want %q", step.name, got, step.want)
			}
		}
		_ = client.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// warned is a handler of log lines that ends a server after the first one.
type warned struct {
	slog.Handler
	stop func()
}

func (w warned) Handle(ctx context.Context, r slog.Record) error {
	w.stop()
	return w.Handler.Handle(ctx, r)
}

// TestNamesAtScale verifies that the work for a policy with many names does not grow with their number times that
// of the tools: neither the names that are compared nor the memory that a start allocates.
func TestNamesAtScale(t *testing.T) {
	const count = 4000
	compared, allocated := startWithNames(t, count)
	comparedTwice, allocatedTwice := startWithNames(t, 2*count)
	if most := 2*compared + 2*count; compared < count || comparedTwice > most { // a binary search compares one more
		t.Errorf("%d names are compared for %d, and %d for %d: want at most %d",
			compared, count, comparedTwice, 2*count, most)
	}
	if allocatedTwice > 3*allocated {
		t.Errorf("%d bytes are allocated for %d names, and %d for %d", allocated, count, allocatedTwice, 2*count)
	}
}

// startWithNames starts a server with a policy that names count tools which do not exist, and with as many others
// that do. It returns how many names were compared and how many bytes allocated.
func startWithNames(t *testing.T, count int) (compared int, allocated uint64) {
	path := filepath.Join(t.TempDir(), "p.cedar")
	var rules strings.Builder
	rules.WriteString("forbid (principal, action, resource) when { resource in [")
	cat := companyCatalog("a tickets").Copy()
	cat.WithheldTools = make(map[string]string)
	for i := range count {
		fmt.Fprintf(&rules, "Tool::\"tickets/wrong%d\", ", i)
		name := fmt.Sprintf("right%d", i)
		cat.Tools = append(cat.Tools, mcp.Tool{Name: name, Origins: []mcp.Origin{{Source: "tickets", Name: name}}})
		cat.WithheldTools["other"+name] = "x"
	}
	rules.WriteString("Tool::\"tickets/run\"] };\n")
	if err := os.WriteFile(path, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := &serve.Options{}
	o.Logger = slog.New(warned{slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn}), cancel})
	var err error
	if o.Policy, err = serve.OpenPolicy(path, nil); err != nil {
		t.Fatal(err)
	}
	names := serve.CountNames(o)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := serve.Serve(ctx, ln, &starting{cat: cat}, o); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return names(), after.TotalAlloc - before.TotalAlloc
}
