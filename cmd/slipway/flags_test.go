package main

import (
	"net"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestAddress(t *testing.T) {
	tests := []struct{ typed, want string }{
		{"127.0.0.1:9000", "127.0.0.1:9000"},
		{"localhost:0", "localhost:0"},
		{"9000", "127.0.0.1:9000"},
		{"0", "127.0.0.1:0"},
		{":9000", ":9000"},
		{"localhost", "localhost:8080"},
		{"192.0.2.7", "192.0.2.7:8080"},
		{"::1", "[::1]:8080"},
		{"[::1]", "[::1]:8080"},
		{"[::1]:9000", "[::1]:9000"},
		{"", ""},
		{"127.0.0.1:", ""},
		{"127.0.0.1:http", ""},
		{"127.0.0.1:65536", ""},
		{"127.0.0.1:-1", ""},
		{"http://127.0.0.1:9000", ""},
	}
	for _, tt := range tests {
		got, err := address("--addr", tt.typed)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("address(%q) = %q, %v, want %q", tt.typed, got, err, tt.want)
		}
	}
}

// TestNumericFlags verifies that every flag of every command with a number or a time rejects values that
// have no meaning.
func TestNumericFlags(t *testing.T) {
	rejected := map[string][]string{
		"int":      {"-1", "one", "1x", "99999999999999999999"},
		"float64":  {"-1", "NaN", "Inf", "x"},
		"duration": {"-1s", "5", "x"},
	}
	counted := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, value := range rejected[f.Value.Type()] {
				counted++
				before := f.Value.String()
				if err := f.Value.Set(value); err == nil {
					t.Errorf("%s --%s %s is accepted", cmd.CommandPath(), f.Name, value)
				}
				if after := f.Value.String(); after != before {
					t.Errorf("%s --%s is %s after the invalid value %s, want %s", cmd.CommandPath(), f.Name, after, value, before)
				}
			}
		})
	}
	visit(newRoot())
	if counted < 100 {
		t.Errorf("only %d values were tried", counted)
	}
}

func TestNumericLimits(t *testing.T) {
	tests := []struct{ command, flag, value, want string }{
		{"site eval", "min-recall", "5", "want 0 to 1"},
		{"site eval", "min-recall", "1", ""},
		{"site eval", "min-recall", "0.85", ""},
		{"site freeze", "timeout", "0s", "want a time of more than 0, such as 10s or 5m"},
		{"site freeze", "concurrency", "0", "want at least 1"},
		{"site freeze", "retries", "0", ""},
		{"login", "callback-port", "65536", "want 0 to 65535"},
		{"serve", "rate-limit", "0", ""},
		{"serve", "request-timeout", "0", ""},
	}
	for _, tt := range tests {
		cmd, _, err := newRoot().Find(strings.Fields(tt.command))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := cmd.Flags().Lookup(tt.flag).Value.Set(tt.value); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("slipway %s --%s %s: error %q, want %q", tt.command, tt.flag, tt.value, got, tt.want)
		}
	}
}

func TestSize(t *testing.T) {
	tests := []struct {
		typed string
		want  int64
		shown string
	}{
		{"4194304", 4 << 20, "4MiB"},
		{"4MiB", 4 << 20, "4MiB"},
		{"4MB", 4 << 20, "4MiB"},
		{"4 m", 4 << 20, "4MiB"},
		{"512k", 512 << 10, "512KiB"},
		{"1GiB", 1 << 30, "1GiB"},
		{"1000", 1000, "1000"},
		{"1TiB", 0, ""},
		{"0", 0, ""},
		{"-1", 0, ""},
		{"", 0, ""},
		{"B", 0, ""},
		{"9999999GiB", 0, ""},
	}
	for _, tt := range tests {
		var s size
		err := s.Set(tt.typed)
		if int64(s) != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("Set(%q) = %d, %v, want %d", tt.typed, s, err, tt.want)
		}
		if err == nil && s.String() != tt.shown {
			t.Errorf("%q is shown as %q, want %q", tt.typed, s.String(), tt.shown)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want string // the address, or the error
	}{
		{"nothing", nil, nil, "127.0.0.1:8080"},
		{"address", map[string]string{"ADDR": "localhost:9000"}, nil, "localhost:9000"},
		{"port", map[string]string{"PORT": "9000"}, nil, "127.0.0.1:9000"},
		{"host and port", map[string]string{"ADDR": "localhost", "PORT": "9000"}, nil, "localhost:9000"},
		{"IPv6 host and port", map[string]string{"ADDR": "::1", "PORT": "9000"}, nil, "[::1]:9000"},
		{"the same port twice", map[string]string{"ADDR": "localhost:9000", "PORT": "9000"}, nil, "localhost:9000"},
		{"two ports", map[string]string{"ADDR": "localhost:9001", "PORT": "9000"}, nil, "MCP_SERVER_ADDR has port 9001"},
		{"the flag wins over both", map[string]string{"ADDR": "x", "PORT": "1"}, []string{"--addr", "127.0.0.1:7"},
			"127.0.0.1:7"},
		{"an empty variable is none", map[string]string{"ADDR": "", "PORT": ""}, nil, "127.0.0.1:8080"},
		{"no port", map[string]string{"PORT": "http"}, nil, `MCP_SERVER_PORT: "http" is not a port`},
		{"no switch", map[string]string{"STDIO": "maybe"}, nil, `MCP_SERVER_STDIO: "maybe"`},
		{"no duration", map[string]string{"DRAIN_TIMEOUT": "soon"}, nil, `MCP_SERVER_DRAIN_TIMEOUT: "soon"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flags := newServe().Flags()
			if err := flags.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			got := ""
			err := fromEnvironment(flags, func(name string) (string, bool) {
				value, ok := tt.env[strings.TrimPrefix(name, "MCP_SERVER_")]
				return value, ok
			})
			if err != nil {
				got = err.Error()
			} else {
				got = flags.Lookup("addr").Value.String()
			}
			if !strings.Contains(got, tt.want) || err == nil && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestTakenAdminAddr guards that the hint about an address in use names the flag that it was given with.
func TestTakenAdminAddr(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	root := newRoot()
	root.SetArgs([]string{
		"serve", "../../examples/http-reference", "--addr", "127.0.0.1:0", "--admin-addr", taken.Addr().String(),
	})
	f := explain(root.ExecuteContext(t.Context()))
	if !strings.HasPrefix(f.hint, "--admin-addr ") || f.code != exitInput {
		t.Errorf("code %d, %s, hint %q", f.code, f.text, f.hint)
	}
}
