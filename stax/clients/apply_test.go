package clients_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// desk is a temporary home, project and state folder.
type desk struct {
	t     *testing.T
	dir   string
	place clients.Place
}

func newDesk(t *testing.T) *desk {
	dir := t.TempDir()
	return &desk{t, dir, clients.Place{OS: "linux", Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "project"),
		LookupEnv: func(string) (string, bool) { return "", false }}}
}

func (d *desk) write(name, text string) string {
	d.t.Helper()
	name = filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		d.t.Fatal(err)
	}
	return name
}

func (d *desk) read(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

func (d *desk) state() *clients.State {
	d.t.Helper()
	l, err := clients.OpenState(filepath.Join(d.dir, "state"))
	if err != nil {
		d.t.Fatal(err)
	}
	return l
}

// apply writes definitions to clients and returns "action server" for each step.
func (d *desk) apply(definitionsText string, replace bool, ids ...string) []string {
	d.t.Helper()
	opts := &clients.PlanOptions{
		Place:   d.place,
		Replace: replace,
		Options: clients.Options{Sources: []string{"/defs.yaml"}},
	}
	for _, id := range ids {
		c, _ := clients.ByID(id)
		opts.Clients = append(opts.Clients, *c)
	}
	plan, _, err := clients.NewPlan(definitions(d.t, definitionsText), d.state(), opts)
	if err != nil {
		d.t.Fatal(err)
	}
	var steps []string
	for _, f := range plan.Files {
		if f.Problem != "" {
			steps = append(steps, "problem "+f.Client)
		}
		for _, s := range f.Steps {
			steps = append(steps, fmt.Sprintf("%s %s", s.Action, s.Server))
		}
	}
	if err := plan.Apply(); err != nil {
		d.t.Fatal(err)
	}
	return steps
}

func (d *desk) remove(servers ...string) int {
	d.t.Helper()
	r := d.state().Remove(&clients.Selection{Servers: servers})
	if err := r.Apply(); err != nil {
		d.t.Fatal(err)
	}
	return r.Conflicts()
}

const (
	two = "servers:\n  a: {command: x, secrets: [TOKEN]}\n  b: {url: 'https://x.example', transport: http}\n"
	one = "servers:\n  a: {command: y, secrets: [TOKEN]}\n  b: {url: 'https://x.example', transport: http, " +
		"enabled: false}\n"
)

func TestApplyAndRemove(t *testing.T) {
	originals := map[string]struct{ id, path, text string }{
		"claude-code": {
			"claude-code",
			"project/.mcp.json",
			"{\r\n\t\"mcpServers\": {\r\n\t\t\"mine\": {\"command\": \"m\", \"n\": 9007199254740993}\r\n\t}\r\n}",
		},
		"vscode": {
			"vscode",
			"project/.vscode/mcp.json",
			"\ufeff// mine\n{\n  \"servers\": {}, // none\n  \"inputs\": [],\n}\n",
		},
		"zed": {"zed", "project/.zed/settings.json", "// Zed\n{ \"theme\": \"x\" }\n"},
		"codex": {
			"codex",
			"project/.codex/config.toml",
			"# mine\nmodel = \"o\" # last\n\n[mcp_servers.mine]\ncommand = 'm'\n",
		},
		"continue": {
			"continue",
			"project/.continue/mcpServers/slipway.yaml",
			"name: mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n  # one\n  - name: mine\n    command: m\n",
		},
		"librechat": {
			"librechat",
			"project/librechat.yaml",
			"version: 1.2.1 # x\n\nmcpServers:\n    mine:\n        command: m\n        args: []\n\nlast: true\n",
		},
	}
	for name, o := range originals {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			path := d.write(o.path, o.text)
			if diff := cmp.Diff([]string{"create a", "create b"}, d.apply(two, false, o.id)); diff != "" {
				t.Error(diff)
			}
			after := d.read(o.path)
			if diff := cmp.Diff([]string{"unchanged a", "unchanged b"}, d.apply(two, false, o.id)); diff != "" ||
				d.read(o.path) != after {
				t.Errorf("the second run: %s\n%s", diff, d.read(o.path))
			}
			if drift := d.state().Drift(&clients.Selection{}); drift != nil {
				t.Errorf("drift: %v", drift)
			}
			if diff := cmp.Diff([]string{"update a", "remove b"}, d.apply(one, false, o.id)); diff != "" {
				t.Error(diff)
			}
			if text := d.read(o.path); !strings.Contains(text, "mine") && name != "zed" && name != "vscode" ||
				strings.Contains(text, "x.example") {
				t.Errorf("after the change:\n%s", text)
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if n := d.remove(); n != 0 || d.read(o.path) != o.text {
				t.Errorf("%d conflicts; the original is not restored: %s", n, cmp.Diff(o.text, d.read(o.path)))
			}
			if left := d.state().Paths(); len(left) != 0 {
				t.Errorf("the state has %v", left)
			}
		})
	}
}

func TestCreatedFileGoes(t *testing.T) {
	d := newDesk(t)
	d.apply(two, false, "cursor")
	if text := d.read("project/.cursor/mcp.json"); !strings.Contains(text, `"TOKEN": "${env:TOKEN}"`) {
		t.Error(text)
	}
	d.write("project/.zed/other", "")
	d.apply(two, false, "zed")
	d.remove()
	for name, there := range map[string]bool{
		"project/.cursor":            false,
		"project":                    true,
		"project/.zed":               true,
		"project/.zed/settings.json": false,
	} {
		if _, err := os.Stat(filepath.Join(d.dir, name)); (err == nil) != there {
			t.Errorf("%s: %v, want it there: %v", name, err, there)
		}
	}
}

func TestConflicts(t *testing.T) {
	d := newDesk(t)
	const foreign = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"other\"}\n  }\n}\n"
	d.write("project/.mcp.json", foreign)
	if diff := cmp.Diff([]string{"conflict a", "create b"}, d.apply(two, false, "claude-code")); diff != "" {
		t.Error(diff)
	}
	if text := d.read("project/.mcp.json"); !strings.Contains(text, `"a": {"command": "other"}`) {
		t.Errorf("a foreign entry is changed:\n%s", text)
	}
	if diff := cmp.Diff([]string{"update a", "unchanged b"}, d.apply(two, true, "claude-code")); diff != "" {
		t.Error(diff)
	}
	changed := strings.Replace(d.read("project/.mcp.json"), `"command": "x"`, `"command": "z", "more": 1`, 1)
	d.write("project/.mcp.json", changed)
	drift := d.state().Drift(&clients.Selection{})
	if len(drift) != 1 ||
		drift[0].Server != "a" ||
		drift[0].Change != "changed" ||
		strings.Join(drift[0].Fields, " ") != "command more" {
		t.Errorf("drift: %+v", drift)
	}
	if diff := cmp.Diff([]string{"conflict a", "unchanged b"}, d.apply(two, false, "claude-code")); diff != "" {
		t.Error(diff)
	}
	if n := d.remove(); n != 1 {
		t.Errorf("%d conflicts, want 1", n)
	}
	if text := d.read("project/.mcp.json"); !strings.Contains(text, `"more": 1`) || strings.Contains(text, `"b"`) {
		t.Errorf("after the removal:\n%s", text)
	}
}

func TestSharedFile(t *testing.T) {
	d := newDesk(t)
	d.write("project/.mcp.json", "{}\n")
	if diff := cmp.Diff([]string{"create a", "create b", "unchanged a", "unchanged b"}, d.apply(two, false)); diff != "" {
		t.Errorf("Claude Code and Copilot: %s", diff)
	}
}

func TestMalformedFilesStay(t *testing.T) {
	d := newDesk(t)
	for id, file := range map[string][2]string{
		"claude-code": {"project/.mcp.json", "{ // a comment\n}"},
		"codex":       {"project/.codex/config.toml", "a = "},
		"librechat":   {"project/librechat.yaml", "mcpServers: &x {a: {b: 1}}"},
	} {
		d.write(file[0], file[1])
		if got := d.apply(two, false, id); got[0] != "problem "+id || d.read(file[0]) != file[1] {
			t.Errorf("%s: %v, %q", id, got, d.read(file[0]))
		}
	}
}

func TestSymbolicLinkStays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	d := newDesk(t)
	real := d.write("project/real.json", "{}\n")
	link := filepath.Join(d.dir, "project", ".mcp.json")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	d.apply(two, false, "claude-code")
	if info, err := os.Lstat(link); err != nil ||
		info.Mode()&os.ModeSymlink == 0 ||
		!strings.Contains(d.read("project/real.json"), `"a"`) {
		t.Errorf("the link is %v, %v", info, err)
	}
}

// A link in a project must not cause a write to a file of the user.
func TestLinkOutOfTheProject(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	d := newDesk(t)
	real := d.write("home/secret.json", "{}\n")
	d.write("project/x", "")
	for name, target := range map[string]string{
		".mcp.json": real,
		".cursor":   filepath.Dir(real),
		".vscode":   filepath.Join(d.dir, "none"),
	} {
		if err := os.Symlink(target, filepath.Join(d.dir, "project", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"claude-code", "cursor", "vscode"} {
		if got := d.apply(two, false, id); len(got) != 1 || got[0] != "problem "+id {
			t.Errorf("%s: %v, want a refusal", id, got)
		}
	}
	if d.read("home/secret.json") != "{}\n" {
		t.Error("the file of the user is changed")
	}
}

func TestWrittenMeanwhile(t *testing.T) {
	d := newDesk(t)
	d.write("project/.mcp.json", "{\"state\": 1}\n")
	c, _ := clients.ByID("claude-code")
	opts := &clients.PlanOptions{Place: d.place, Clients: []clients.Client{*c}}
	plan, _, err := clients.NewPlan(definitions(t, two), d.state(), opts)
	if err != nil {
		t.Fatal(err)
	}
	d.write("project/.mcp.json", "{\"state\": 2}\n")
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	if text := d.read("project/.mcp.json"); !strings.Contains(text, `"state": 2`) || !strings.Contains(text, `"a"`) {
		t.Errorf("the later state is lost:\n%s", text)
	}
}

func TestPlanTellsTheRest(t *testing.T) {
	d := newDesk(t)
	d.write("project/.mcp.json", "{\"mcpServers\": {\n  \"z\": {\"env\": {\n    \"API_KEY\": \"hunter2222\"\n  }}}}\n")
	c, _ := clients.ByID("claude-code")
	d.place.OS = runtime.GOOS
	plan, report, err := clients.NewPlan(definitions(t, two), d.state(),
		&clients.PlanOptions{Place: d.place, Clients: []clients.Client{*c}})
	if err != nil {
		t.Fatal(err)
	}
	f := plan.Files[0]
	if !strings.Contains(f.Diff, "+++ ") ||
		strings.Contains(f.Diff, "hunter2222") ||
		!strings.Contains(f.Diff, "[redacted]") {
		t.Errorf("the difference:\n%s", f.Diff)
	}
	if len(f.Todo) != 2 || !strings.Contains(f.Todo[0], "TOKEN") {
		t.Errorf("to do: %v", f.Todo)
	}
	if report.Count(check.Warning) != 1 || ruletest.Findings(report)[0].Rule.ID != "stax/command-not-found" {
		t.Errorf("C9: got %v", ruletest.Findings(report))
	}
}

// A file that cannot be written is reported, and does not keep the others from being
// written.
func TestApplyReportsEachFile(t *testing.T) {
	d := newDesk(t)
	opts := &clients.PlanOptions{Place: d.place}
	for _, id := range []string{"cursor", "codex"} {
		c, _ := clients.ByID(id)
		opts.Clients = append(opts.Clients, *c)
	}
	plan, _, err := clients.NewPlan(definitions(t, two), d.state(), opts)
	if err != nil || len(plan.Files) != 2 {
		t.Fatalf("%d files, %v", len(plan.Files), err)
	}
	bad := filepath.Dir(plan.Files[0].Path)
	if err := os.MkdirAll(filepath.Dir(bad), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, nil, 0o600); err != nil { // a file in place of the folder
		t.Fatal(err)
	}
	if err := plan.Apply(); err == nil || !strings.Contains(err.Error(), plan.Files[0].Path) {
		t.Errorf("the error is %v, want one that names %s", err, plan.Files[0].Path)
	}
	if plan.Files[0].Problem == "" || plan.Files[1].Problem != "" {
		t.Errorf("problems %q and %q, want only the first", plan.Files[0].Problem, plan.Files[1].Problem)
	}
	if _, err := os.Stat(plan.Files[1].Path); err != nil {
		t.Errorf("the second file was not written: %v", err)
	}
}

// TestApplyToAChangingFile verifies that a file which another program changes while the state records the
// intent to change it is not overwritten. Here that program is the state itself, whose index is a link to the
// file.
func TestApplyToAChangingFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	d := newDesk(t)
	name := d.write("home/.cursor/mcp.json", `{"version":1,"files":{}}`)
	if err := os.MkdirAll(filepath.Join(d.dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, filepath.Join(d.dir, "state", "clients.json")); err != nil {
		t.Fatal(err)
	}
	c, _ := clients.ByID("cursor")
	plan, _, err := clients.NewPlan(definitions(t, two), d.state(), &clients.PlanOptions{
		Place:   d.place,
		Scope:   clients.User,
		Clients: []clients.Client{*c},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(); err == nil || !strings.Contains(err.Error(), "changed in the meantime") {
		t.Errorf("got %v, want that the file was changed", err)
	}
	if text := d.read("home/.cursor/mcp.json"); strings.Contains(text, "mcpServers") || !strings.Contains(text, "files") {
		t.Errorf("it was overwritten: %s", text)
	}
}
