package chaos

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/bench/process"
)

// server is one upstream server of slipway: a child process of slipway, or a process at a
// URL, which the test starts and restarts.
type server struct {
	name    string
	command []string // the command line
	journal string
	addr    string // empty for a child

	mu      sync.Mutex
	process *process.Process // at addr
}

func servers(program, dir string) []*server {
	var all []*server
	for _, library := range []string{"gosdk", "mcpgo"} {
		for _, kind := range []string{"stdio", "http"} {
			name := library + "-" + kind
			all = append(all, &server{name: name, command: []string{program, library, kind},
				journal: filepath.Join(dir, name+".journal")})
		}
	}
	return all
}

func (s *server) isChild() bool { return s.command[2] == "stdio" }

// prepare starts the server unless slipway starts it.
func (s *server) prepare(ctx context.Context) error {
	s.command = append(s.command, s.journal)
	if s.isChild() {
		return nil
	}
	addr, err := process.FreeAddr()
	if err != nil {
		return err
	}
	s.addr, s.command[2] = addr, addr
	return s.start(ctx)
}

func (s *server) start(ctx context.Context) error {
	p, err := process.Start(context.WithoutCancel(ctx), s.command, nil)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.process = p
	s.mu.Unlock()
	if err := p.WaitListening(s.addr); err != nil {
		return p.Explain(err)
	}
	return nil
}

// stop stops a process that the test started.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
}

// definition returns the entry of the server in the definitions file.
func (s *server) definition() map[string]any {
	d := map[string]any{"hangTimeoutMs": hangTimeout.Milliseconds()}
	if s.isChild() {
		d["command"], d["args"] = s.command[0], s.command[1:]
	} else {
		d["url"], d["transport"] = "http://"+s.addr+"/mcp", "http"
	}
	return d
}

// pid returns the process of the server, or 0 while it is being replaced.
func (s *server) pid(f *front) int {
	if !s.isChild() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.process == nil {
			return 0
		}
		return s.process.PID()
	}
	pids, err := f.children()
	if err != nil {
		return 0
	}
	for _, pid := range pids {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && slices.Contains(strings.Split(string(line), "\x00"), s.journal) {
			return pid
		}
	}
	return 0
}

// countDuplicates returns the number of duplicate calls in the journals.
func (c *chaos) countDuplicates() (int, error) {
	twice := 0
	for _, s := range c.servers {
		text, err := os.ReadFile(s.journal)
		if err != nil {
			return 0, err
		}
		lines := strings.Fields(string(text))
		distinct := make(map[string]bool, len(lines))
		for _, line := range lines {
			distinct[line] = true
		}
		twice += len(lines) - len(distinct)
	}
	return twice, nil
}
