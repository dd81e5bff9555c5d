package stax_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/stax"
)

func TestRemove(t *testing.T) {
	tests := map[string]struct{ name, old, want string }{
		"yaml with comments": {"mcp.yaml", `# mine
servers:
  # the first
  a:
    command: x   # odd
    secrets: [A, SHARED]
  weather:
    url: https://w.example
    transport: http
    secrets: [W_KEY, SHARED]
  b: {command: y}
bindings:
  weather:
    X-Key: "{W_KEY}"
    X-Shared: "{SHARED}"
tools:
  weather:
    x: {name: y}
secrets:
  - key: A # first
  - key: W_KEY
    description: d
  - key: SHARED
`, `# mine
servers:
  # the first
  a:
    command: x   # odd
    secrets: [A, SHARED]
  b: {command: y}
secrets:
  - key: A # first
  - key: SHARED
`},
		"the last of a yaml": {"mcp.yaml", "servers:\n  weather:\n    command: x\n    secrets: [K]\nsecrets:\n  - key: K\n",
			"servers: {}\n"},
		"json": {"mcp.json", `{"servers": {"a": {"command": "x"}, "weather": {"command": "y", "secrets": ["K"]}}, ` +
			`"secrets": [{"key": "O"}, {"key": "K"}]}`,
			`{"servers": {"a": {"command": "x"}}, "secrets": [{"key": "O"}, {"key": "K"}]}`},
		"toml": {"mcp.toml", "# mine\n[servers.a]\ncommand = 'x'\n\n[servers.weather]\ncommand = 'y'\n",
			"# mine\n[servers.a]\ncommand = 'x'\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := stax.Remove(test.name, []byte(test.old), "weather")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if _, err := stax.Remove(test.name, got, "weather"); !errors.Is(err, stax.ErrNoServer) {
				t.Errorf("a second time: %v, want ErrNoServer", err)
			}
		})
	}
}

// TestRemoveUndoesAdd verifies that a file is as before after a server is added and removed.
func TestRemoveUndoesAdd(t *testing.T) {
	for name, old := range map[string]string{
		"mcp.yaml":  "# mine\nservers:\n  a: {command: x} # a\n",
		"mcp.jsonc": "{\n  // mine\n  \"servers\": {\n    \"a\": {\"command\": \"x\"}, // a\n  },\n}\n",
		"mcp.toml":  "# mine\n[servers.a]\ncommand = 'x'\n",
	} {
		c := weather(false)
		c.Servers[0].Secrets = nil
		c.Secrets = nil
		added, err := stax.Add(name, []byte(old), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := stax.Remove(name, added.Text, "weather")
		if err != nil || string(got) != old {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(old, string(got)))
		}
	}
}

func TestRemoveRefuses(t *testing.T) {
	if _, err := stax.Remove("mcp.ts", nil, "a"); !errors.Is(err, stax.ErrScript) {
		t.Errorf("a script: %v", err)
	}
	for name, text := range map[string]string{
		"mcp.yaml": "servers: &all {a: {command: x}}\nother: *all\n",
		"mcp.json": `{"servers": `,
		"mcp.txt":  "",
	} {
		if got, err := stax.Remove(name, []byte(text), "a"); err == nil {
			t.Errorf("%s: %q, want an error", name, got)
		}
	}
}
