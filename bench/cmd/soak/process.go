package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-mcp/slipway/bench/system"
)

// server is a running server process.
type server struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr bytes.Buffer // read after the process has exited
	ended  bool

	mcp, inside string // addresses

	asking http.Client // one connection, so that the server always has exactly one
}

// patience is the time limit for operations that should only take a moment.
const patience = 20 * time.Second

// start starts the server. The caller must end or kill it; it is killed when ctx ends.
func start(ctx context.Context, binary string, args ...string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, binary, args...)}
	s.cmd.Stderr = &s.stderr
	system.OwnGroup(s.cmd)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	var at struct{ MCP, Inside string }
	if err := s.line(&at); err != nil {
		s.kill()
		return nil, s.explain(err)
	}
	s.mcp, s.inside = at.MCP, at.Inside
	s.asking.Transport = &http.Transport{MaxConnsPerHost: 1}
	return s, nil
}

// line reads one line of JSON from the server.
func (s *server) line(v any) error {
	text, err := s.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the server says nothing: %w", err)
	}
	return json.Unmarshal(text, v)
}

// kill kills the server unless it has exited.
func (s *server) kill() {
	if !s.ended {
		s.ended = true
		_ = s.cmd.Cancel() // it may have exited by itself
		_ = s.cmd.Wait()
	}
}

// end signals the server to stop and waits for it.
func (s *server) end() error {
	_, err := s.finish(s.signal())
	return err
}

func (s *server) signal() error { return s.cmd.Process.Signal(syscall.SIGTERM) }

// finish waits for the exit of a server that has been signaled, and returns the calls it
// has run.
func (s *server) finish(told error) (ran []int, err error) {
	if told != nil {
		return nil, told
	}
	var last struct{ Ran []int }
	if err := s.line(&last); err != nil {
		return nil, s.explain(err)
	}
	s.ended = true
	if err := s.cmd.Wait(); err != nil {
		return nil, s.explain(err)
	}
	return last.Ran, nil
}

// explain adds the server's stderr to err.
func (s *server) explain(err error) error {
	s.kill()
	if said := strings.TrimSpace(s.stderr.String()); said != "" {
		return fmt.Errorf("%w; the server says: %.2000s", err, said)
	}
	return err
}

// reading contains the figures of a server at one moment.
type reading struct {
	rss, heap, stacks       int64 // bytes
	goroutines, descriptors int
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
	var state struct{ Goroutines, Heap, Stacks int64 }
	if err := json.Unmarshal(body, &state); err != nil {
		return r, err
	}
	r.goroutines, r.heap, r.stacks = int(state.Goroutines), state.Heap, state.Stacks
	pid := s.cmd.Process.Pid
	if r.descriptors, err = system.Descriptors(pid); err != nil {
		return r, err
	}
	kb, err := system.ResidentKB(pid)
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

// rest waits until the numbers of goroutines and descriptors are stable, and reads the
// figures.
func (s *server) rest(ctx context.Context) (reading, error) {
	last, err := s.read(ctx, false)
	for still := 0; err == nil && still < 3; {
		time.Sleep(50 * time.Millisecond)
		var now reading
		now, err = s.read(ctx, false)
		still++
		if now.goroutines != last.goroutines || now.descriptors != last.descriptors {
			still = 0
		}
		last = now
	}
	if err != nil {
		return last, err
	}
	return s.read(ctx, true)
}

// settle waits until there are no more goroutines and descriptors than in were, for at
// most mayTake, and reads the figures. nudge, if not nil, makes the server notice
// changes.
func (s *server) settle(ctx context.Context, were reading, mayTake time.Duration, nudge func() error) (reading, error) {
	deadline := time.Now().Add(mayTake)
	for {
		now, err := s.read(ctx, false)
		if err != nil {
			return now, err
		}
		if now.goroutines <= were.goroutines && now.descriptors <= were.descriptors || time.Now().After(deadline) {
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

// profile writes profiles of the server's heap and goroutines if requested.
func (k *soak) profile(ctx context.Context, s *server, name string) error {
	if k.profiles == "" {
		return nil
	}
	for _, kind := range []string{"heap", "goroutine"} {
		body, err := s.ask(ctx, "/profile/"+kind)
		if err == nil {
			err = errors.Join(os.MkdirAll(k.profiles, 0o755),
				os.WriteFile(filepath.Join(k.profiles, name+"."+kind+".pprof"), body, 0o644))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
