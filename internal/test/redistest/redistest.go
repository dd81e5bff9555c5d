// Package redistest runs a real Redis server for tests.
package redistest

import (
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/freeaddr"
)

// Start starts the redis-server of this machine without data, and returns its address once it
// accepts connections. It stops with the test, which is skipped if the program is missing.
func Start(t testing.TB) (addr string) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	addr = freeaddr.On(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return addr
		}
		if time.Now().After(end) {
			t.Fatal("redis-server does not answer")
		}
	}
}
