package edge

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPort guards the servers for Node.js and Deno with a port that they cannot use: one line says why, without a
// stack trace, and the exit code is 1.
func TestPort(t *testing.T) {
	taken, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, inUse, _ := net.SplitHostPort(taken.Addr().String())
	tests := []struct {
		host, name, variable string
		args                 []string
		want                 string
	}{
		{"node", "no number", "PORT=abc", nil, `the port "abc" is not a number from 0 to 65535`},
		{"node", "argument", "", []string{"80 80"}, `the port "80 80" is not a number from 0 to 65535`},
		{"node", "too large", "PORT=65536", nil, `the port "65536" is not a number from 0 to 65535`},
		{"node", "empty", "PORT=", nil, `the port "" is not a number from 0 to 65535`},
		{"node", "in use", "PORT=" + inUse, nil, "cannot listen on port " + inUse + " of 127.0.0.1: the port is in use"},
		{"node", "no address", "ADDRESS=192.0.2.1", []string{"0"}, "cannot listen on port 0 of 192.0.2.1: "},
		{"deno", "no number", "", []string{"abc"}, `the port "abc" is not a number from 0 to 65535`},
		{"deno", "too large", "", []string{"65536"}, `the port "65536" is not a number from 0 to 65535`},
		{"deno", "in use", "", []string{inUse}, "cannot listen on port " + inUse + " of 0.0.0.0: the port is in use"},
	}
	commands := map[string][]string{
		"node": {os.Getenv(nodeVariable)},
		"deno": {os.Getenv(denoVariable), "run", "--no-remote", "--no-prompt", "--allow-net", "--allow-read"},
	}
	for _, tt := range tests {
		t.Run(tt.host+", "+tt.name, func(t *testing.T) {
			command := commands[tt.host]
			if command[0] == "" {
				t.Skip("scripts/edge names the runtimes")
			}
			project := t.TempDir()
			o := &Options{
				Host:      tt.host,
				Published: filepath.Join(project, "public"),
				Site:      "mcp",
			}
			if _, err := Write(o); err != nil {
				t.Fatal(err)
			}
			modules, err := filepath.Glob(filepath.Join(project, "mcp*"))
			if err != nil || len(modules) != 1 {
				t.Fatalf("modules %q, error %v", modules, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a server that starts does not exit
			defer cancel()
			cmd := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], modules, tt.args)...)
			cmd.Env = append(os.Environ(), tt.variable)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			err = cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("%v, want exit code 1", err)
			}
			got := strings.TrimSuffix(stderr.String(), "\n")
			if !strings.HasPrefix(got, "mcp-server: "+tt.want) || strings.Contains(got, "\n") {
				t.Errorf("stderr %q, want the line %q", got, tt.want)
			}
		})
	}
}
