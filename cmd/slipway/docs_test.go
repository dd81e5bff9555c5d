package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/doc"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/registrytest"
)

// TestPages runs the terminal sessions on the pages of the repository in a folder with
// the examples, and compares the output. With -update it writes the output into the pages
// instead.
func TestPages(t *testing.T) {
	if race.Enabled {
		t.Skip("commands start slowly with the race detector, and these run one at a time")
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := doc.Load(os.DirFS(repository))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "examples"), os.DirFS(filepath.Join(repository, "examples"))); err != nil {
		t.Fatal(err)
	}
	for name, head := range machineCode {
		if err := os.WriteFile(filepath.Join(folder, name), append([]byte(head), make([]byte, 64)...), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	ran := 0
	for _, p := range pages {
		sessions, _ := doc.Sessions(p)           // its own test reports problems
		if len(sessions) == 0 || p.IsJourney() { // scripts/journeys runs those
			continue
		}
		ran++
		t.Run(p.Path, func(t *testing.T) {
			livesIn(t)
			checkPage(t, repository, p, sessions)
		})
	}
	if ran == 0 {
		t.Error("no page shows a terminal")
	}
}

// livesIn gives a page a home folder with three clients, which keeps its writes out of the
// real one, and a registry with two servers.
func livesIn(t *testing.T) {
	t.Setenv("SLIPWAY_STATE_DIR", t.TempDir())
	home := t.TempDir()
	for _, name := range []string{".claude", ".codex", ".cursor"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "vim")
	weather, err := os.ReadFile("examples/definitions/server.json")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(&registrytest.Registry{
		Entries: []registrytest.Entry{{Server: weather}, {Server: []byte(`{"name": "com.example/tides", "version": "2.1.0",
			"description": "Tides of 4,000 ports",
			"remotes": [{"type": "streamable-http", "url": "https://tides.example.com/mcp", "headers": [
				{"name": "Authorization", "value": "Bearer {TIDES_TOKEN}", "variables": {"TIDES_TOKEN":
					{"isSecret": true, "isRequired": true, "description": "A token of your account"}}}]}]}`)}},
		Fail: func(err error) { t.Error(err) },
	})
	t.Cleanup(web.Close)
	t.Setenv(registryVariable, web.URL)
}

// machineCode is the start of an executable for each system. The pages pack these files,
// because building a real slipway for three systems takes minutes.
var machineCode = map[string]string{
	"slipway-linux":  "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\x3e\x00",
	"slipway-darwin": "\xcf\xfa\xed\xfe\x07\x00\x00\x01",
	"slipway.exe":    "MZ" + strings.Repeat("\x00", 58) + "\x40\x00\x00\x00PE\x00\x00\x64\x86",
}

func checkPage(t *testing.T, repository string, p doc.Page, sessions []doc.Session) {
	printed := make(map[int][]string) // by the line of the step
	for _, s := range sessions {
		code := 0
		for _, step := range s.Steps {
			var got []string
			if step.Args[0] == "echo" {
				got = []string{strconv.Itoa(code)}
			} else {
				got, code = terminal(t, step.Args[1:])
			}
			printed[step.Line] = got
			if step.Matches(got) {
				printed[step.Line] = step.Output
			} else if !*update {
				t.Errorf("%s:%d: %s (-page +terminal):\n%s", p.Path, step.Line, strings.Join(step.Args, " "),
					cmp.Diff(step.Output, got))
			}
		}
	}
	if !*update {
		return
	}
	lines := doc.Rewrite(p, func(s doc.Step) []string { return printed[s.Line] })
	if slices.Equal(lines, p.Lines) {
		return
	}
	if err := os.WriteFile(filepath.Join(repository, filepath.FromSlash(p.Path)), []byte(strings.Join(lines, "\n")),
		0o644); err != nil {
		t.Fatal(err)
	}
}

// terminal runs a command and returns the lines that a terminal would show, of stdout and
// stderr together, and the exit code.
func terminal(t *testing.T, args []string) (lines []string, code int) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(&out)
	cmd, err := root.ExecuteContextC(t.Context())
	code = reportAs(&out, err, jsonErrors(cmd, args))
	text := strings.TrimSuffix(out.String(), "\n")
	if text == "" {
		return nil, code
	}
	return strings.Split(text, "\n"), code
}
