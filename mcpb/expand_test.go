package mcpb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// expandCase is a test case: a configuration and options in JSON.
type expandCase struct {
	config  string // mcp_config
	options string // user_config
	values  map[string]any
	opts    mcpb.ExpandOptions // Dir, Home and Platform have defaults
	command string             // as expected; "" for "node"
	args    []string
	env     map[string]string
	warns   string // part of a warning; "" for none at all
	fails   string // part of the error
}

func expand(t *testing.T, tt *expandCase) (*mcpb.Launch, error) {
	t.Helper()
	m, err := mcpb.ParseManifest(fmt.Appendf(nil,
		`{"manifest_version":"0.3","name":"n","version":"1.0.0","description":"d","author":{"name":"a"},
		"server":{"type":"node","entry_point":"i.js","mcp_config":%s},"user_config":{%s}}`, tt.config, tt.options))
	if err != nil {
		t.Fatal(err)
	}
	opts := tt.opts
	opts.Values = tt.values
	if opts.Dir == "" {
		opts.Dir = "/b"
	}
	if opts.Home == "" {
		opts.Home = "/home/u"
	}
	if opts.Platform == "" {
		opts.Platform = "linux"
	}
	if opts.Dir == "/b" {
		opts.NoFiles = true
	}
	return mcpb.Expand(m, &opts)
}

func option(key, rest string) string {
	return fmt.Sprintf(`%q: {"title": "T", "description": "d", %s}`, key, rest)
}

func TestExpand(t *testing.T) {
	node := func(rest string) string { return `{"command": "node"` + rest + `}` }
	str, dirs := option("k", `"type": "string"`), option("d", `"type": "directory", "multiple": true`)
	two := map[string]any{"d": []string{"/x", "/y"}}
	tests := map[string]expandCase{
		"variables": {
			config: node(`, "args": ["${__dirname}${/}a${pathSeparator}b", "${HOME}", "${DESKTOP}:${DOCUMENTS}:${DOWNLOADS}"]`),
			args:   []string{"/b/a/b", "/home/u", "/home/u/Desktop:/home/u/Documents:/home/u/Downloads"}},
		"folders given": {
			config: node(`, "args": ["${DESKTOP}", "${DOCUMENTS}"]`),
			opts:   mcpb.ExpandOptions{Desktop: "/d", Documents: "/o"},
			args:   []string{"/d", "/o"}},
		"override merges field by field": {
			config: `{"command": "node", "args": ["a"], "env": {"A": "1", "B": "2"},
"platform_overrides": {"linux": {"env": {"B": "3"}}}}`,
			args: []string{"a"}, env: map[string]string{"A": "1", "B": "3"}},
		"override as the reference does": {
			config: `{"command": "node", "env": {"A": "1"}, "platform_overrides": {"linux": {"env": {"B": "3"}}}}`,
			opts:   mcpb.ExpandOptions{Reference: true},
			env:    map[string]string{"B": "3"}},
		"override of another platform": {
			config: `{"command": "node", "platform_overrides": {"darwin": {"command": "deno"}}}`},
		"an empty list replaces": {
			config: `{"command": "node", "args": ["a"], "platform_overrides": {"linux": {"args": [], "command": ""}}}`},
		"an option that is not given": {
			config:  node(`, "args": ["${user_config.k}", "b"], "env": {"K": "${user_config.k}"}`),
			options: str,
			args:    []string{"b"},
		},
		"and a flag in front of it": {
			config:  node(`, "args": ["--k", "${user_config.k}"]`),
			options: str,
			args:    []string{"--k"},
			warns:   "--k stays without one",
		},
		"and inside a text": {
			config:  node(`, "args": ["--k=${user_config.k}"]`),
			options: str,
			args:    []string{"--k="},
			warns:   "replaced with nothing",
		},
		"an empty string is not given": {
			config:  node(`, "args": ["${user_config.k}"]`),
			options: str,
			values:  map[string]any{"k": ""},
		},
		"an empty list is not given": {
			config:  node(`, "args": ["${user_config.d}"]`),
			options: dirs,
			values:  map[string]any{"d": []string{"", ""}},
		},
		"several become arguments": {
			config:  node(`, "args": ["a", "${user_config.d}", "b"]`),
			options: dirs,
			values:  two,
			args:    []string{"a", "/x", "/y", "b"},
		},
		"several in env are joined": {
			config:  node(`, "env": {"D": "${user_config.d}"}`),
			options: dirs,
			values:  two,
			env:     map[string]string{"D": "/x:/y"},
		},
		"and with another separator": {
			config:  node(`, "env": {"D": "${user_config.d}"}`),
			options: dirs,
			values:  two,
			opts:    mcpb.ExpandOptions{ListSeparator: ","},
			env:     map[string]string{"D": "/x,/y"},
		},
		"and on Windows": {
			config:  node(`, "args": ["--d=${user_config.d}"]`),
			options: dirs,
			values:  two,
			opts:    mcpb.ExpandOptions{Platform: "win32"},
			args:    []string{"--d=/x;/y"},
		},
		"several from JSON": {
			config:  node(`, "args": ["${user_config.d}"]`),
			options: dirs,
			values:  map[string]any{"d": []any{"/x"}},
			args:    []string{"/x"},
		},
		"a value never expands": {
			config:  node(`, "args": ["${user_config.k}"]`),
			options: str,
			values:  map[string]any{"k": "${HOME}${user_config.k}"},
			args:    []string{"${HOME}${user_config.k}"},
		},
		"a value with dollars": {
			config:  node(`, "args": ["<${user_config.k}>"]`),
			options: str,
			values:  map[string]any{"k": "$& $$ $1 \\"},
			args:    []string{"<$& $$ $1 \\>"},
		},
		"a key with a dot": {
			config:  node(`, "args": ["${user_config.a.b}", "${user_config.aXb}"]`),
			options: option("a.b", `"type": "string"`),
			values:  map[string]any{"a.b": "v"},
			args:    []string{"v", "${user_config.aXb}"},
			warns:   `no option "aXb"`,
		},
		"an unknown variable": {
			config: node(`, "args": ["${PORT}"]`),
			args:   []string{"${PORT}"},
			warns:  "unknown variable ${PORT}",
		},
		"a brace that is not closed": {config: node(`, "args": ["${HOME"]`), args: []string{"${HOME"}},
		"a default expands": {
			config:  node(`, "args": ["${user_config.k}"]`),
			options: option("k", `"type": "string", "default": "${HOME}/x${user_config.k}"`),
			args:    []string{"/home/u/x${user_config.k}"},
		},
		"a default list expands": {
			config:  node(`, "args": ["${user_config.d}"]`),
			options: option("d", `"type": "directory", "multiple": true, "default": ["${HOME}/Desktop", "${DOCUMENTS}"]`),
			args:    []string{"/home/u/Desktop", "/home/u/Documents"},
		},
		"a default satisfies required": {
			config:  node(`, "args": ["${user_config.k}"]`),
			options: option("k", `"type": "string", "required": true, "default": "v"`),
			args:    []string{"v"},
		},
		"the value wins": {
			config:  node(`, "args": ["${user_config.k}"]`),
			options: option("k", `"type": "string", "default": "v"`),
			values:  map[string]any{"k": "w"},
			args:    []string{"w"},
		},
		"false and 0 are values": {
			config: node(`, "args": ["${user_config.b}", "${user_config.n}"]`),
			options: option("b", `"type": "boolean", "required": true`) + "," +
				option("n", `"type": "number", "required": true`),
			values: map[string]any{"b": false, "n": 0},
			args:   []string{"false", "0"},
		},
		"numbers as JavaScript has it": {
			config:  node(`, "args": ["${user_config.n}"]`),
			options: option("n", `"type": "number"`),
			values:  map[string]any{"n": 1e21},
			args:    []string{"1e+21"},
		},
		"small numbers, too": {
			config:  node(`, "args": ["${user_config.n}"]`),
			options: option("n", `"type": "number"`),
			values:  map[string]any{"n": "0.0000001"},
			args:    []string{"1e-7"},
		},
		"typed text": {
			config:  node(`, "args": ["${user_config.b}", "${user_config.n}"]`),
			options: option("b", `"type": "boolean"`) + "," + option("n", `"type": "number"`),
			values:  map[string]any{"b": "true", "n": " 2.50"},
			args:    []string{"true", "2.5"},
		},
		"a command in the bundle": {config: `{"command": "${__dirname}/bin/x"}`, command: "/b/bin/x"},
		"a command relative to it": {
			config:  `{"command": "bin/x", "args": ["server/config.json"]}`,
			command: "/b/bin/x",
			args:    []string{"server/config.json"},
		},
		"a command on Windows": {
			config:  `{"command": "${__dirname}/bin/x"}`,
			opts:    mcpb.ExpandOptions{Platform: "win32", Dir: `C:\b`, NoFiles: true},
			command: `C:\b\bin\x.exe`,
		},
		"a script on Windows": {
			config:  `{"command": "bin/x.cmd"}`,
			opts:    mcpb.ExpandOptions{Platform: "win32", Dir: `C:\b`, NoFiles: true},
			command: `C:\b\bin\x.cmd`,
		},
		"a command of the system": {config: `{"command": "/usr/bin/x"}`, command: "/usr/bin/x"},
		"required": {
			config:  node(""),
			options: option("k", `"type": "string", "required": true`),
			fails:   `option "k" (T) is required`,
		},
		"all faults at once": {
			config:  node(""),
			options: option("k", `"type": "string", "required": true`),
			values:  map[string]any{"kk": 1},
			fails:   `no option "kk"; option "k"`,
		},
		"a wrong type": {
			config:  node(""),
			options: option("n", `"type": "number"`),
			values:  map[string]any{"n": "many"},
			fails:   "is a string, and must be a number",
		},
		"too small": {
			config:  node(""),
			options: option("n", `"type": "number", "min": 1`),
			values:  map[string]any{"n": 0.5},
			fails:   "is 0.5, less than the minimum 1",
		},
		"too great": {
			config:  node(""),
			options: option("n", `"type": "number", "max": 9`),
			values:  map[string]any{"n": 10},
			fails:   "is 10, more than the maximum 9",
		},
		"several for one": {
			config:  node(""),
			options: str,
			values:  map[string]any{"k": []string{"a", "b"}},
			fails:   "is a list, and the option takes one value",
		},
		"no number at all": {
			config:  node(""),
			options: option("n", `"type": "number", "min": 1, "max": 9`),
			values:  map[string]any{"n": "NaN"},
			fails:   "is a string, and must be a number",
		},
		"an endless one": {
			config:  node(""),
			options: option("n", `"type": "number"`),
			values:  map[string]any{"n": "Infinity"},
			fails:   "is a string, and must be a number",
		},
		"a list as the command": {
			config:  `{"command": "${user_config.d}"}`,
			options: dirs,
			values:  two,
			fails:   `option "d" has several values, and the command is one program`,
		},
		"an object": {
			config:  node(""),
			options: str,
			values:  map[string]any{"k": map[string]any{"a": 1.0}},
			fails:   "is a list or an object of others, and must be a string",
		},
		"a list of objects": {
			config:  node(""),
			options: dirs,
			values:  map[string]any{"d": []any{map[string]any{}}},
			fails:   "is a list or an object of others, and must be the path of a directory",
		},
		"a command that leads out": {config: `{"command": "${__dirname}/../x"}`, fails: "points outside the bundle"},
		"a relative one":           {config: `{"command": "bin/../../x"}`, fails: "points outside the bundle"},
		"no command":               {config: `{"command": ""}`, fails: "the command is empty"},
		"a command that is not there": {
			config: `{"command": "bin/x"}`,
			opts:   mcpb.ExpandOptions{Dir: t.TempDir()},
			fails:  "bin/x is not in the bundle",
		},
		"a folder of the bundle, not": {
			config: node(""),
			opts:   mcpb.ExpandOptions{Dir: "relative"},
			fails:  "must be an absolute path",
		},
		"a directory that is not there": {
			config:  node(""),
			options: dirs,
			values:  map[string]any{"d": "/nowhere/at/all"},
			opts:    mcpb.ExpandOptions{Dir: t.TempDir()},
			fails:   "/nowhere/at/all, which does not exist",
		},
		"a default that is not there": {
			config:  node(`, "args": ["${user_config.d}"]`),
			options: option("d", `"type": "directory", "default": "/nowhere"`),
			opts:    mcpb.ExpandOptions{Dir: t.TempDir()},
			args:    []string{"/nowhere"},
			warns:   "the default /nowhere does not exist",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := expand(t, &tt)
			if tt.fails != "" {
				var e *mcpb.ExpandError
				if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("got %v, want %q", err, tt.fails)
				}
				ruletest.Record(e.Findings...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []any{tt.command, slices.Clip(tt.args), tt.env}
			if tt.command == "" {
				want[0] = "node"
			}
			if tt.env == nil {
				want[2] = map[string]string{}
			}
			if diff := cmp.Diff([]any{l.Command, l.Args, l.Env}, want); diff != "" {
				t.Error(diff)
			}
			warned := ""
			for _, w := range ruletest.Record(l.Warnings...) {
				warned += w.Message + "\n"
			}
			if (warned == "") != (tt.warns == "") || !strings.Contains(warned, tt.warns) {
				t.Errorf("warned %q, want %q", warned, tt.warns)
			}
		})
	}
}

func TestExpandPaths(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "run"), nil, 0o755),
		os.Mkdir(filepath.Join(work, "data"), 0o755), os.WriteFile(filepath.Join(work, "f"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	tt := expandCase{config: `{"command": "./run", "args": ["${user_config.d}", "${user_config.f}"]}`,
		options: option("d", `"type": "directory"`) + "," + option("f", `"type": "file"`),
		values:  map[string]any{"d": "data", "f": "f"},
		opts:    mcpb.ExpandOptions{Dir: dir, WorkDir: work, Platform: mcpb.ThisPlatform()}}
	l, err := expand(t, &tt)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{
		filepath.Join(work, "data"),
		filepath.Join(work, "f"),
	}; !slices.Equal(l.Args, want) || l.Command != filepath.Join(dir, "run") || l.Dir != dir {
		t.Errorf("got %q %q in %q, want %q", l.Command, l.Args, l.Dir, want)
	}
	tt.values = map[string]any{"d": "f", "f": "data"}
	if _, err := expand(t, &tt); err == nil ||
		!strings.Contains(err.Error(), "is not a directory; ") ||
		!strings.Contains(err.Error(), "is a directory, not a file") {
		t.Errorf("a file for a directory: %v", err)
	}
}

func TestExpandPlatform(t *testing.T) {
	m, err := mcpb.ParseManifest(
		[]byte(`{"manifest_version":"0.4","name":"n","version":"1.0.0","description":"d","author":{"name":"a"},
		"server":{"type":"uv","entry_point":"src/server.py"},"compatibility":{"platforms":["darwin"]},
		"user_config":{"k":{"type":"string","title":"T","description":"d","required":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = mcpb.Expand(m, &mcpb.ExpandOptions{Dir: "/b", Platform: "linux"})
	var e *mcpb.ExpandError
	if !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "for darwin, and this is linux") ||
		!slices.Equal(e.Missing(), []string{"k"}) {
		t.Fatalf("got %v", err)
	}
	ruletest.Record(e.Findings...)
	l, err := mcpb.Expand(m, &mcpb.ExpandOptions{
		Dir:         "/b",
		Platform:    "linux",
		AnyPlatform: true,
		Values:      map[string]any{"k": "v"},
	})
	if err != nil ||
		l.Command != "uv" ||
		!slices.Equal(l.Args, []string{"run", "--directory", "/b", "src/server.py"}) ||
		len(l.Warnings) != 1 {
		t.Errorf("got %v, %v", l, err)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	tt := expandCase{
		config: `{"command": "node", "args": ["--key=${user_config.k}", "${user_config.k}", "a b"],
"env": {"KEY": "Bearer ${user_config.k}", "N": "1"}}`,
		options: option("k", `"type": "string", "sensitive": true`), values: map[string]any{"k": "hunter2!"}}
	l, err := expand(t, &tt)
	if err != nil {
		t.Fatal(err)
	}
	if l.Args[1] != "hunter2!" || l.Env["KEY"] != "Bearer hunter2!" || !l.HasSecrets() {
		t.Errorf("the server gets %q %q", l.Args, l.Env)
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "launch", l)
	shown := map[string]string{
		"String": l.String(),
		"JSON":   string(text),
		"log":    log.String(),
		"%v":     fmt.Sprint(*l),
		"%+v":    fmt.Sprintf("%+v", l),
		"%#v":    fmt.Sprintf("%#v", *l),
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if strings.Contains(shown[name], "hunter2") || !strings.Contains(shown[name], "--key="+mcpb.Redacted) {
			t.Errorf("%s shows %s", name, shown[name])
		}
	}
	if want := `KEY='Bearer [redacted]' N=1 node '--key=[redacted]' '[redacted]' 'a b'`; l.String() != want {
		t.Errorf("got %s, want %s", l, want)
	}
	want := `{"command":"node","args":["--key=[redacted]","[redacted]","a b"],` +
		`"env":{"KEY":"Bearer [redacted]","N":"1"},"dir":"/b"}`
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if got := l.Redact("wrong key hunter2! given"); got != "wrong key [redacted] given" {
		t.Errorf("Redact: %s", got)
	}
	if env := l.Environ([]string{"N=0"}); !slices.Equal(env, []string{"N=0", "KEY=Bearer hunter2!", "N=1"}) {
		t.Errorf("Environ: %q", env)
	}
	tt.values = map[string]any{"k": []string{"hunter2!", "hunter3!"}}
	if _, err := expand(t, &tt); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("an error with a secret in it: %v", err)
	}
}
