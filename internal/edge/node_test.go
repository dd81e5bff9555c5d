package edge

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNodePort guards the server for Node.js with a port that it cannot use: one line says why, without a
// stack trace, and the exit code is 1.
func TestNodePort(t *testing.T) {
	node := os.Getenv(nodeVariable)
	if node == "" {
		t.Skip("scripts/edge names the runtimes")
	}
	project := t.TempDir()
	if _, err := Write(&Options{
		Host:      "node",
		Published: filepath.Join(project, "public"),
		Site:      "mcp",
	}); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, inUse, _ := net.SplitHostPort(taken.Addr().String())
	tests := []struct {
		name, variable string
		args           []string
		want           string
	}{
		{"no number", "PORT=abc", nil, `mcp-server: the port "abc" is not a number from 0 to 65535`},
		{"argument", "", []string{"80 80"}, `mcp-server: the port "80 80" is not a number from 0 to 65535`},
		{"too large", "PORT=65536", nil, `mcp-server: the port "65536" is not a number from 0 to 65535`},
		{"empty", "PORT=", nil, `mcp-server: the port "" is not a number from 0 to 65535`},
		{"in use", "PORT=" + inUse, nil, "mcp-server: cannot listen on port " + inUse + " of 127.0.0.1: the port is in use"},
		{"no address", "ADDRESS=192.0.2.1", []string{"0"}, "mcp-server: cannot listen on port 0 of 192.0.2.1: "},
	}
	for _, tt := range tests {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a server that starts does not exit
		defer cancel()
		cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(project, "mcp-server.mjs")}, tt.args...)...)
		cmd.Env = append(os.Environ(), tt.variable)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: %v, want exit code 1", tt.name, err)
		}
		got := strings.TrimSuffix(stderr.String(), "\n")
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: stderr %q, want the line %q", tt.name, got, tt.want)
		}
	}
}
