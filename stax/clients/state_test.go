package clients_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/slipway-mcp/slipway/stax/clients"
)

const changedTwo = "servers:\n  a: {command: z, secrets: [TOKEN]}\n  b: {url: 'https://x.example', transport: http}\n"

// Changes by other programs between two of ours are kept when our entries are removed.
func TestRemoveKeepsWhatCameBetween(t *testing.T) {
	tests := map[string]struct{ id, path, before, from, to, want string }{
		"json": {"claude-code", "project/.mcp.json", "{\n  \"mcpServers\": {}\n}\n",
			"\"mcpServers\": {", "\"theme\": 1,\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"m\"},",
			"{\n  \"theme\": 1,\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"m\"}\n  }\n}\n"},
		"no holder before": {
			"claude-code",
			"project/.mcp.json",
			"{\n  \"state\": 1\n}\n",
			"\"state\": 1",
			"\"state\": 2",
			"{\n  \"state\": 2\n}\n",
		},
		"no file before": {
			"claude-code",
			"project/.mcp.json",
			"",
			"\"mcpServers\": {",
			"\"theme\": 1,\n  \"mcpServers\": {",
			"{\n  \"theme\": 1\n}\n",
		},
		"toml": {"codex", "project/.codex/config.toml", "model = 'o'\n", "'o'", "'p' # mine", "model = 'p' # mine\n"},
		"yaml": {
			"librechat",
			"project/librechat.yaml",
			"version: 1\n",
			"version: 1",
			"version: 2 # mine",
			"version: 2 # mine\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if test.before != "" {
				d.write(test.path, test.before)
			}
			d.apply(two, false, test.id)
			d.write(test.path, strings.Replace(d.read(test.path), test.from, test.to, 1))
			if diff := cmp.Diff([]string{"update a", "unchanged b"}, d.apply(changedTwo, false, test.id)); diff != "" {
				t.Error(diff)
			}
			if n := d.remove("a"); n != 0 {
				t.Errorf("%d conflicts", n)
			}
			d.remove()
			if diff := cmp.Diff(test.want, d.read(test.path)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if left := d.state().Paths(); len(left) != 0 {
				t.Errorf("the state has %v", left)
			}
		})
	}
}

// A replaced entry is restored even if the rest of the file changed.
func TestRemoveBringsBackWhatWasTakenOver(t *testing.T) {
	d := newDesk(t)
	d.write("project/.mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"other\"\n    }\n  }\n}\n")
	d.apply(two, true, "claude-code")
	d.write("project/.mcp.json", strings.Replace(d.read("project/.mcp.json"), "{\n", "{\n  \"state\": 1,\n", 1))
	if n := d.remove(); n != 0 {
		t.Errorf("%d conflicts", n)
	}
	want := "{\n  \"state\": 1,\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"other\"\n    }\n  }\n}\n"
	if diff := cmp.Diff(want, d.read("project/.mcp.json")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Programs that rewrite their file may reorder its members.
func TestOrderIsNoChange(t *testing.T) {
	d := newDesk(t)
	d.write("project/.codex/config.toml", "")
	d.apply(two, false, "codex")
	d.write("project/.codex/config.toml",
		"[mcp_servers.b]\nurl = 'https://x.example'\n\n[mcp_servers.a]\nenv_vars = [\"TOKEN\"]\ncommand = 'x'\n")
	if drift := d.state().Drift(&clients.Selection{}); drift != nil {
		t.Errorf("drift: %+v", drift)
	}
	if diff := cmp.Diff([]string{"unchanged a", "unchanged b"}, d.apply(two, false, "codex")); diff != "" {
		t.Error(diff)
	}
}

// Entries belong to the definitions files that last defined them.
func TestSourcesFollow(t *testing.T) {
	d := newDesk(t)
	c, _ := clients.ByID("cursor")
	apply := func(text string, sources ...string) (steps []string) {
		plan, _, err := clients.NewPlan(definitions(t, text), d.state(),
			&clients.PlanOptions{Place: d.place, Clients: []clients.Client{*c}, Options: clients.Options{Sources: sources}})
		if err != nil || plan.Apply() != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Files[0].Steps {
			steps = append(steps, fmt.Sprintf("%s %s", s.Action, s.Server))
		}
		return steps
	}
	apply(two, "/a")
	apply(two, "/a", "/b")
	if diff := cmp.Diff([]string{"unchanged b", "remove a"},
		apply("servers:\n  b: {url: 'https://x.example', transport: http}\n", "/a", "/b")); diff != "" {
		t.Error(diff)
	}
}

func TestReadOnlyFilesStay(t *testing.T) {
	d := newDesk(t)
	path := d.write("project/.mcp.json", "{}\n")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if got := d.apply(two, false, "claude-code"); len(got) != 1 ||
		got[0] != "problem claude-code" ||
		d.read("project/.mcp.json") != "{}\n" {
		t.Errorf("%v, %q", got, d.read("project/.mcp.json"))
	}
}

// A held lock is waited for; the lock file of a killed process is ignored.
func TestLock(t *testing.T) {
	d := newDesk(t)
	lock := d.write("state/lock", "left behind")
	d.apply(two, false, "cursor")

	unlock, err := lockedfile.MutexAt(lock).Lock()
	if err != nil {
		t.Fatal(err)
	}
	c, _ := clients.ByID("cursor")
	plan, _, err := clients.NewPlan(definitions(t, changedTwo), d.state(),
		&clients.PlanOptions{
			Place:   d.place,
			Clients: []clients.Client{*c},
			Options: clients.Options{Sources: []string{"/defs.yaml"}},
		})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- plan.Apply() }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	if strings.Contains(d.read("project/.cursor/mcp.json"), `"z"`) {
		t.Error("it wrote while another had the lock")
	}
	unlock()
	if err := <-done; err != nil || !strings.Contains(d.read("project/.cursor/mcp.json"), `"z"`) {
		t.Errorf("after the other: %v\n%s", err, d.read("project/.cursor/mcp.json"))
	}
}

// A killed process leaves either the old or the new file, and a state that can determine
// which: no entry of ours is mistaken for a foreign one afterwards.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("SLIPWAY_TEST_KILLED"); dir != "" {
		applyForever(t, dir)
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("a file that is replaced cannot be read at the same time")
	}
	d := newDesk(t)
	const path, original = "project/.mcp.json", "{\n  \"state\": 1\n}\n"
	d.write(path, original)
	for i := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
		cmd.Env = append(os.Environ(), "SLIPWAY_TEST_KILLED="+d.dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for range 1 + i*4 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()

		if text := d.read(path); text != original && !strings.HasSuffix(text, "\n}\n") {
			t.Fatalf("half a file: %q", text)
		}
		for _, step := range d.apply(two, false, "claude-code") {
			if strings.HasPrefix(step, "conflict") {
				t.Fatalf("what was written is not known: %s\n%s", step, d.read("state/clients.json"))
			}
		}
		if n := d.remove(); n != 0 || d.read(path) != original {
			t.Fatalf("%d conflicts; %q", n, d.read(path))
		}
		if left, _ := filepath.Glob(filepath.Join(d.dir, "project", ".*.tmp-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// applyForever applies and removes until it is killed, and prints each step.
func applyForever(t *testing.T, dir string) {
	d := &desk{t, dir, clients.Place{OS: "linux", Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "project")}}
	for {
		d.apply(two, false, "claude-code")
		fmt.Println("applied")
		d.apply(changedTwo, false, "claude-code")
		fmt.Println("changed")
		d.remove()
		fmt.Println("removed")
	}
}

// A process that was killed between writing the file and the state has made its change,
// even if the client has changed the rest of the file since.
func TestSettled(t *testing.T) {
	for _, after := range []string{"", "  \"state\": 2,\n"} {
		d := newDesk(t)
		d.write("project/.mcp.json", "{}\n")
		d.apply(two, false, "claude-code")
		written := d.read("project/.mcp.json")
		state := d.read("state/clients.json")
		// Simulate a missing last step.
		head, rest, _ := strings.Cut(state, `": {`+"\n      \"client\"")
		body, tail, _ := strings.Cut(rest, "\n    }\n  },\n")
		d.write("state/clients.json",
			head+`": {"client": "claude-code", "scope": "project", "after": "", "servers": {}, "next": {"client"`+body+
				"}}\n  },\n"+tail)
		d.write("project/.mcp.json", strings.Replace(written, "{\n", "{\n"+after, 1))
		d.write("project/..mcp.json.tmp-123", "half")
		if drift := d.state().Drift(&clients.Selection{}); drift != nil {
			t.Errorf("drift: %+v", drift)
		}
		if diff := cmp.Diff([]string{"update a", "unchanged b"}, d.apply(changedTwo, false, "claude-code")); diff != "" {
			t.Error(diff)
		}
		if left, _ := filepath.Glob(filepath.Join(d.dir, "project", "*.tmp-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		d.remove()
		if text := d.read("project/.mcp.json"); strings.Contains(text, `"a"`) ||
			strings.Contains(text, "state") != (after != "") {
			t.Errorf("after the removal: %q", text)
		}
	}
}

// No secret in a file is shown, regardless of its syntax.
func TestDiffShowsNoValues(t *testing.T) {
	files := map[string][3]string{
		"argument": {
			"claude-code",
			"project/.mcp.json",
			"{\"mcpServers\": {\n  \"z\": {\"command\": \"m\", \"args\": [\"--api-key\", \"hunter2222\", \"--header\", " +
				"\"Authorization: Bearer hunter2222\"]}\n}}\n",
		},
		"own line": {
			"claude-code",
			"project/.mcp.json",
			"{\"mcpServers\": {\n  \"z\": {\"env\": {\"DB_PASSWORD\":\n  \"hunter2222\"}}\n}}\n",
		},
		"inline": {
			"codex",
			"project/.codex/config.toml",
			"[mcp_servers.z]\ncommand = 'm'\nenv = { API_KEY = \"hunter2222\" }\n",
		},
		"multiline": {
			"codex",
			"project/.codex/config.toml",
			"[mcp_servers.z]\ncommand = 'm'\nenv.PRIVATE_KEY = \"\"\"\nhunter2222\n\"\"\"\n",
		},
		"block": {
			"librechat",
			"project/librechat.yaml",
			"mcpServers:\n  z:\n    env:\n      API_KEY: >-\n        hunter2222\n",
		},
	}
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.write(f[1], f[2])
			c, _ := clients.ByID(f[0])
			plan, _, err := clients.NewPlan(definitions(t, two), d.state(),
				&clients.PlanOptions{Place: d.place, Clients: []clients.Client{*c}})
			if err != nil || plan.Files[0].Problem != "" {
				t.Fatal(err, plan.Files[0].Problem)
			}
			if text := plan.Files[0].Diff; strings.Contains(text, "hunter2222") || !strings.Contains(text, "[redacted]") {
				t.Errorf("the difference:\n%s", text)
			}
		})
	}
}

// A project has one identity, regardless of the path used to open it.
func TestProjectByALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	d := newDesk(t)
	d.write("project/x", "")
	d.apply(two, false, "cursor")
	link := filepath.Join(d.dir, "link")
	if err := os.Symlink(d.place.Dir, link); err != nil {
		t.Fatal(err)
	}
	d.place.Dir = link
	if diff := cmp.Diff([]string{"update a", "unchanged b"}, d.apply(changedTwo, false, "cursor")); diff != "" {
		t.Error(diff)
	}
	if paths := d.state().Paths(); len(paths) != 1 {
		t.Errorf("the state has %v", paths)
	}
}

// A project file cannot send control characters to the terminal.
func TestDiffHasNoControlCharacters(t *testing.T) {
	d := newDesk(t)
	d.write("project/.vscode/mcp.json", "{\r\n  // \x1b[2J\u009b1A\x07 here\r\n}\r\n")
	c, _ := clients.ByID("vscode")
	plan, _, err := clients.NewPlan(definitions(t, two), d.state(),
		&clients.PlanOptions{Place: d.place, Clients: []clients.Client{*c}})
	if err != nil {
		t.Fatal(err)
	}
	if text := plan.Files[0].Diff; strings.ContainsAny(text, "\x1b\x07\u009b") || !strings.Contains(text, "here\r\n") {
		t.Errorf("%q", text)
	}
}

func TestDriftOfAFileThatCannotBeRead(t *testing.T) {
	d := newDesk(t)
	d.apply(two, false, "cursor")
	d.write("project/.cursor/mcp.json", "{")
	drift := d.state().Drift(&clients.Selection{})
	if len(drift) != 1 || drift[0].Change != "unreadable" || !strings.Contains(drift[0].Why, "1:2") {
		t.Errorf("got %+v", drift)
	}
}
