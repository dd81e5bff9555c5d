package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/process"
	"github.com/slipway-mcp/slipway/bench/system"
)

// server is a running server process. The caller must stop it.
type server struct {
	*process.Process
	out         *bufio.Reader
	mcp, inside string      // addresses
	asking      http.Client // one connection, so that the server always has exactly one
}

// patience is the time limit for operations that should only take a moment.
const patience = 20 * time.Second

// start starts the server, which is killed when ctx ends.
func start(ctx context.Context, binary string, args ...string) (*server, error) {
	p, err := process.StartOnPipes(ctx, slices.Concat([]string{binary}, args), nil)
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s := &server{Process: p, out: bufio.NewReader(p.Out)}
	s.asking.Transport = &http.Transport{MaxConnsPerHost: 1}
	var at struct{ MCP, Inside string }
	if err := s.readLine(&at); err != nil {
		s.Stop()
		return nil, s.Explain(err)
	}
	s.mcp, s.inside = at.MCP, at.Inside
	return s, nil
}

// readLine reads one line of JSON from the server.
func (s *server) readLine(v any) error {
	text, err := s.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no output from the server: %w", err)
	}
	return json.Unmarshal(text, v)
}

// terminate signals the server to stop, waits for its exit, and returns the calls it has
// run.
func (s *server) terminate() ([]int, error) {
	var last struct{ Ran []int }
	err := s.Terminate()
	if err == nil {
		err = s.readLine(&last)
	}
	if err == nil {
		err = s.AwaitExit(patience)
	}
	return last.Ran, s.Explain(err)
}

// reading contains the figures of a server at one moment.
type reading struct {
	Heap, Stacks, rss       int64 // bytes
	Goroutines, descriptors int
}

// read reads the figures. If free is set, the server first returns unused memory to the
// system.
func (s *server) read(ctx context.Context, free bool) (r reading, err error) {
	path := "/state"
	if free {
		path += "?free"
	}
	body, err := s.ask(ctx, path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, err
	}
	if r.descriptors, err = system.Descriptors(s.PID()); err != nil {
		return r, err
	}
	kb, err := system.ResidentKB(s.PID())
	r.rss = kb * 1024
	return r, err
}

func (s *server) ask(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.inside+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.asking.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// settle waits until the numbers of goroutines and descriptors are stable, and reads the
// figures.
func (s *server) settle(ctx context.Context) (reading, error) {
	last, err := s.read(ctx, false)
	for still := 0; err == nil && still < 3; {
		time.Sleep(50 * time.Millisecond)
		var now reading
		now, err = s.read(ctx, false)
		still++
		if now.Goroutines != last.Goroutines || now.descriptors != last.descriptors {
			still = 0
		}
		last = now
	}
	if err != nil {
		return last, err
	}
	return s.read(ctx, true)
}

// awaitRelease waits until there are no more goroutines and descriptors than before, for
// a limited time, and reads the figures. nudge, if not nil, makes the server notice
// changes.
func (s *server) awaitRelease(
	ctx context.Context, before reading, within time.Duration, nudge func() error,
) (reading, error) {
	deadline := time.Now().Add(within)
	for {
		now, err := s.read(ctx, false)
		if err != nil {
			return now, err
		}
		if now.Goroutines <= before.Goroutines && now.descriptors <= before.descriptors || time.Now().After(deadline) {
			return s.read(ctx, true)
		}
		if nudge != nil {
			if err := nudge(); err != nil {
				return now, err
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// change makes the server notify all clients of a change of the tool list and of
// resources.
func (s *server) change(uris int) error {
	c, err := dial(s.mcp)
	if err != nil {
		return err
	}
	defer c.Close()
	return expect(c, callRequest("", 1, "change", fmt.Sprintf(`{"message":"done","uris":%d}`, uris)), `"done"`)
}

// profile writes profiles of the server's heap and goroutines.
func (k *soak) profile(ctx context.Context, s *server, name string) error {
	if err := os.MkdirAll(k.profiles, 0o755); err != nil {
		return err
	}
	for _, kind := range []string{"heap", "goroutine"} {
		body, err := s.ask(ctx, "/profile/"+kind)
		if err != nil {
			return err
		}
		file := filepath.Join(k.profiles, name+"."+kind+".pprof")
		if err := os.WriteFile(file, body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func TestStartExplains(t *testing.T) {
	script := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no room >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := start(t.Context(), script); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("start: %v, want what the server says", err)
	}
}
