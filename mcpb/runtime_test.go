package mcpb

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// system returns a machine with some programs and their versions, by name.
func system(goos string, programs map[string]string) *runtimes {
	return &runtimes{
		goos: goos,
		look: func(name string) (string, error) {
			if _, ok := programs[name]; ok {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		},
		version: func(_ context.Context, path string, args ...string) (string, error) {
			if v := programs[strings.TrimPrefix(path, "/bin/")]; v != "" {
				return v, nil
			}
			return "", errors.New("it does not say")
		},
	}
}

func TestRuntimes(t *testing.T) {
	wanted := map[string]string{"node": ">=18", "python": ">=3.10,<4"}
	tests := map[string]struct {
		machine *runtimes
		command string
		want    []string
		why     string // part of the error
	}{
		"node": {system("linux", map[string]string{"node": "20.1.0"}), "node", []string{"node"}, ""},
		"old node": {
			system("linux", map[string]string{"node": "16.0.0"}),
			"node",
			nil,
			"node: /bin/node is version 16.0.0, and the bundle needs >=18",
		},
		"no node": {system("linux", nil), "node", nil, `node: the bundle starts "node"`},
		"npx goes by node": {
			system("linux", map[string]string{"npx": "10.0.0", "node": "16.0.0"}),
			"npx",
			nil,
			"version 16.0.0",
		},
		"silent node":           {system("linux", map[string]string{"node": ""}), "node", []string{"node"}, ""},
		"python3 for python":    {system("linux", map[string]string{"python3": "3.12"}), "python", []string{"python3"}, ""},
		"python for python3":    {system("linux", map[string]string{"python": "3.12"}), "python3", []string{"python"}, ""},
		"old python":            {system("linux", map[string]string{"python": "2.7.18"}), "python3", nil, "version 2.7.18"},
		"py for python":         {system("windows", map[string]string{"py": "3.12"}), "python", []string{"py", "-3"}, ""},
		"no py on other system": {system("linux", map[string]string{"py": "3.12"}), "python", nil, "python: "},
		"uv has no stand-in": {
			system("linux", map[string]string{"python3": "3.12"}),
			"uv",
			nil,
			`uv: the bundle starts "uv"`,
		},
		"another program": {system("linux", nil), "deno", nil, `deno: the bundle starts "deno"`},
		"a file":          {system("linux", nil), "/b/server/run", []string{"/b/server/run"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.machine.find(t.Context(), test.command, wanted)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			var missing *RuntimeError
			switch {
			case test.why == "" && err != nil:
				t.Error(err)
			case test.why != "" && (!errors.As(err, &missing) || !strings.Contains(err.Error(), test.why) || missing.Hint == ""):
				t.Errorf("got error %v, want %q in it", err, test.why)
			}
		})
	}
}
