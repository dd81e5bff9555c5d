// Package natstest runs real NATS servers for tests, built from their Go module at the version
// in interop/go.mod, so that a machine needs no installed server.
package natstest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/freeaddr"
)

// Server is a NATS server with JetStream, as a process.
type Server struct {
	// Addr is host:port for clients. It stays the same when the server starts again.
	Addr string

	program string
	args    []string
	env     []string // in addition to that of the test
	store   string
	log     bytes.Buffer
	cmd     *exec.Cmd
}

// Start starts a server with additional arguments. It stops with the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := newServer(t, args...)
	s.Run(t)
	return s
}

// StartCluster starts a NATS cluster of n servers.
func StartCluster(t testing.TB, n int) []*Server {
	t.Helper()
	routes := make([]string, n)
	for i := range routes {
		routes[i] = "nats://" + freeaddr.On(t)
	}
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = newServer(t, "--cluster_name", "test", "--server_name", fmt.Sprint("n", i),
			"--cluster", routes[i], "--routes", strings.Join(routes, ","))
		servers[i].Run(t)
	}
	return servers
}

// StartConfigured starts a server with a configuration file and additional variables, as NAME=VALUE.
// config returns the text of the file, which sets the address for clients and the folder of JetStream.
func StartConfigured(t testing.TB, config func(addr, store string) string, env ...string) *Server {
	t.Helper()
	s := newServer(t)
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(config(s.Addr, s.store)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{"--config", file}
	s.env = env
	s.Run(t)
	return s
}

// newServer returns a server that is not started. Its address stays the same after a restart.
func newServer(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{
		Addr:    freeaddr.On(t),
		program: program(t),
		store:   t.TempDir(),
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	s.args = append([]string{"--jetstream", "--store_dir", s.store, "--addr", "127.0.0.1", "--port", port}, args...)
	return s
}

// program builds the server, or returns the one in the build cache. As that takes most of a minute of CPU time on a new
// machine, tests with -short skip what needs a server.
func program(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: a NATS server would be built")
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", "-C", filepath.Join(moduleRoot(t), "interop"), "tool", "-n", "nats-server")
	cmd.Stderr = &stderr
	path, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(path))
	}
	message := fmt.Sprintf("the NATS server could not be built: %v\n%s", err, stderr.Bytes())
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// moduleRoot returns the folder above the current one that has the module's interop folder.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := os.Stat(filepath.Join(dir, "interop", "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("the folder of the repository was not found")
	return ""
}

// Run starts a server that does not run.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	s.cmd = exec.Command(s.program, s.args...)
	s.log.Reset()
	s.cmd.Stderr = &s.log
	s.cmd.Env = append(os.Environ(), s.env...)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := s.cmd
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", s.Addr); err == nil {
			_ = c.Close()
			return
		}
	}
	s.Kill()
	t.Fatalf("the NATS server does not listen:\n%s", s.log.Bytes())
}

// Kill kills the server at once.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Signal sends a signal to the server.
func (s *Server) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Empty deletes the data of a server that does not run.
func (s *Server) Empty(t testing.TB) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.store, "jetstream")); err != nil {
		t.Fatal(err)
	}
}
