package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/process"
	"github.com/slipway-mcp/slipway/bench/system"
)

// front is the slipway process that the clients connect to.
type front struct {
	*process.Process
	addr string
	log  *os.File

	mu   sync.Mutex
	seen map[int]bool // all child processes ever seen
}

// start starts the servers at URLs, and slipway as the gateway to all servers.
func (c *chaos) start(ctx context.Context) error {
	c.servers = servers(c.upstream, c.dir)
	definitions := map[string]any{}
	for _, s := range c.servers {
		if err := s.prepare(ctx); err != nil {
			return err
		}
		definitions[s.name] = s.definition()
	}
	text, err := json.Marshal(map[string]any{"specVersion": "1.0.0", "servers": definitions})
	if err != nil {
		return err
	}
	path := filepath.Join(c.dir, "servers.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	f := &front{seen: make(map[int]bool)}
	if f.addr, err = process.FreeAddr(); err != nil {
		return err
	}
	if f.log, err = os.Create(c.log); err != nil {
		return err
	}
	f.Process = process.New(ctx, []string{c.slipway, "serve", "--addr", f.addr, "--prefix", "always", path},
		[]string{"SLIPWAY_STATE_DIR=" + filepath.Join(c.dir, "state")})
	f.Stderr = f.log
	if err := f.Begin(); err != nil {
		return errors.Join(err, f.log.Close())
	}
	c.front = f
	return f.waitReady(ctx, len(c.servers))
}

// stopAll stops all running processes.
func (c *chaos) stopAll() {
	if c.front != nil {
		c.front.Stop()
		_ = c.front.log.Close()
	}
	for _, s := range c.servers {
		s.stop()
	}
}

func (f *front) url() string { return "http://" + f.addr + "/mcp" }

// waitReady returns when all upstream servers are up.
func (f *front) waitReady(ctx context.Context, servers int) error {
	deadline := time.Now().Add(settleWithin)
	for {
		m, err := f.metrics(ctx)
		if err == nil && int(m["slipway_server_up"]) == servers {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("not all servers are up: %v of %d: %w", m["slipway_server_up"], servers, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// reading is slipway's resource usage at one moment.
type reading struct {
	sessions, streams, inFlight       int
	children, goroutines, descriptors int
	memoryKB                          int64
}

func (f *front) read(ctx context.Context) (r reading, err error) {
	m, err := f.metrics(ctx)
	if err != nil {
		return r, err
	}
	r.sessions, r.streams = int(m["mcp_server_sessions"]), int(m["mcp_server_streams"])
	r.inFlight, r.goroutines = int(m["slipway_server_requests_in_flight"]), int(m["go_goroutines"])
	children, err := f.children()
	if err != nil {
		return r, err
	}
	r.children = len(children)
	if r.descriptors, err = system.Descriptors(f.PID()); err != nil {
		return r, err
	}
	r.memoryKB, err = system.OwnMemoryKB(f.PID())
	return r, err
}

// settle waits for a limited time until usage has returned to before or, if before is
// nil, is stable. It returns the last reading.
func (f *front) settle(ctx context.Context, before *reading) (reading, error) {
	deadline := time.Now().Add(settleWithin)
	last, err := f.read(ctx)
	for still := 0; err == nil && still < 10 && time.Now().Before(deadline); {
		time.Sleep(200 * time.Millisecond)
		var now reading
		now, err = f.read(ctx)
		still++
		if !now.settled(last, before) {
			still = 0
		}
		last = now
	}
	return last, err
}

// settled reports whether r does not exceed before or, if before is nil, last. The number
// of children must be equal.
func (r reading) settled(last reading, before *reading) bool {
	if before == nil {
		before = &last
	}
	return r.sessions <= before.sessions && r.streams <= before.streams && r.inFlight <= before.inFlight &&
		r.children == before.children && r.goroutines <= before.goroutines && r.descriptors <= before.descriptors
}

// children returns the child processes of slipway, and records them.
func (f *front) children() ([]int, error) {
	pids, err := system.Children(f.PID())
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range pids {
		f.seen[pid] = true
	}
	return pids, err
}

// metrics returns the sums of all metrics by name.
func (f *front) metrics(ctx context.Context) (map[string]float64, error) {
	ctx, stop := context.WithTimeout(ctx, settleWithin)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.addr+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	req.Close = true // an idle connection would be counted
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics: %s", resp.Status)
	}
	sums := make(map[string]float64)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err == nil && !strings.HasPrefix(line, "#") {
			sums[line[:strings.IndexAny(line, "{ ")]] += value
		}
	}
	return sums, lines.Err()
}

// TestSettled checks that each kind of leak is detected.
func TestSettled(t *testing.T) {
	before := reading{sessions: 1, streams: 1, inFlight: 1, children: 2, goroutines: 30, descriptors: 20}
	if !before.settled(before, &before) {
		t.Error("the same figures are not settled")
	}
	for name, change := range map[string]func(*reading){
		"a session":         func(r *reading) { r.sessions++ },
		"a stream":          func(r *reading) { r.streams++ },
		"a request":         func(r *reading) { r.inFlight++ },
		"a child":           func(r *reading) { r.children++ },
		"a missing child":   func(r *reading) { r.children-- },
		"a goroutine":       func(r *reading) { r.goroutines++ },
		"a file descriptor": func(r *reading) { r.descriptors++ },
	} {
		after := before
		change(&after)
		if after.settled(before, &before) {
			t.Errorf("%s is not noticed", name)
		}
	}
}
