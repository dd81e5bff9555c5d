package serve_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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
