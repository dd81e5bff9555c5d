// Package redistest runs a real Redis server for tests.
package redistest

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strings"
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

// Command sends a command, as one line, and returns the first line of the answer without its end.
func Command(t testing.TB, addr, command string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = fmt.Fprintf(c, "%s\r\n", command)
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSuffix(answer, "\r\n")
}
