package clients_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax/clients"
)

func TestLauncherOfAnOddName(t *testing.T) {
	zed, _ := clients.ByID("zed")
	opts := &clients.Options{Via: clients.Launcher, Sources: []string{"/m.yaml"}, Flags: []string{"--secrets-from", "env"}}
	entries, _ := clients.Translate(zed, definitions(t, "servers:\n  --version: {command: x}\n"), opts)
	want := `{"command":"slipway","args":["config","run","--secrets-from","env","--","/m.yaml","--version"]}`
	if got := string(entries[0].Value.AppendJSON(nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLauncherThatIsMissing(t *testing.T) {
	d := newDesk(t)
	d.place.OS = ""
	zed, _ := clients.ByID("zed")
	plan := func(via clients.Via, program string) (said string) {
		opts := &clients.PlanOptions{
			Place:   d.place,
			Clients: []clients.Client{*zed},
			Options: clients.Options{Via: via, Program: program},
		}
		_, report, err := clients.NewPlan(definitions(t, "servers:\n  a: {command: sh}\n"), d.state(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ruletest.Findings(report) {
			if f.Rule.ID == "stax/command-not-found" && f.Line > 0 {
				said += f.Message
			}
		}
		return said
	}
	missing := filepath.Join(d.dir, "none")
	if said := plan(clients.Launcher, missing); !strings.Contains(said, "launcher") {
		t.Errorf("it says %q", said)
	}
	if said := plan(clients.Direct, missing) + plan(clients.Auto, missing); strings.Contains(said, "launcher") {
		t.Errorf("without one it says %q", said)
	}
}

// Each client's reference syntaxes are detected where the client would expand them, and
// nowhere else.
func TestWouldExpand(t *testing.T) {
	tests := map[string]struct {
		client, os, server string
		want               bool
	}{
		"claude code":           {"claude-code", "", "{command: x, args: ['${HOME}']}", true},
		"claude code, default":  {"claude-code", "", "{command: x, args: ['${HOME:-x}']}", true},
		"claude code, a dollar": {"claude-code", "", "{command: x, args: ['$HOME']}", false},
		"codex":                 {"codex", "", "{command: x, args: ['${HOME}', '$HOME', '{env:HOME}']}", false},
		"claude desktop":        {"claude-desktop", "", "{command: x, args: ['${HOME}']}", false},
		"cursor":                {"cursor", "", "{command: x, cwd: '${workspaceFolder}'}", true},
		"vs code":               {"vscode", "", "{command: '${userHome}/x'}", true},
		"copilot":               {"copilot-cli", "", "{command: x, args: ['$HOME']}", true},
		"copilot, a name":       {"copilot-cli", "", "{command: x, env: {MODE: HOME}}", true},
		"copilot, an argument":  {"copilot-cli", "", "{command: x, args: [HOME]}", false},
		"gemini":                {"gemini-cli", "linux", "{command: x, args: ['%HOME%']}", false},
		"gemini on windows":     {"gemini-cli", "windows", "{command: x, args: ['%HOME%']}", true},
		"opencode":              {"opencode", "", "{command: x, args: ['{file:/etc/passwd}']}", true},
		"opencode, a header": {
			"opencode",
			"",
			"{url: 'https://x.example', transport: http, headers: {x-a: '{env:A}'}}",
			true,
		},
		"opencode, braces": {"opencode", "", "{command: x, args: ['${HOME}', '{a: 1}']}", false},
		"continue":         {"continue", "", "{command: x, args: ['${{ secrets.X }}']}", true},
		"continue, braces": {"continue", "", "{command: x, args: ['${HOME}']}", false},
		"windsurf":         {"windsurf", "", "{command: x, env: {A: '${file:/etc/passwd}'}}", true},
		"librechat, a url": {"librechat", "", "{url: 'https://x.example/${A}', transport: http}", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := clients.ByID(test.client)
			_, report := clients.Translate(c, definitions(t, "servers:\n  s: "+test.server+"\n"), &clients.Options{OS: test.os})
			if got := expands(report); got != test.want {
				t.Errorf("got %v: %v", got, ruletest.Findings(report))
			}
		})
	}
	c, _ := clients.ByID("opencode")
	if _, report := clients.Translate(c, definitions(t, "servers:\n  '{env:HOME}': {command: x}\n"),
		nil); !expands(report) {
		t.Error("OpenCode replaces references in names, too")
	}
}

func expands(report *check.Report) bool {
	for _, f := range ruletest.Findings(report) {
		if f.Rule.ID == "stax/would-expand" {
			return true
		}
	}
	return false
}

func TestLauncherIsGivenSecrets(t *testing.T) {
	m := definitions(t, "servers:\n  a: {command: x, secrets: [T, OPT]}\nsecrets: [T, {key: OPT, required: false}]\n")
	tests := map[string]struct {
		client string
		flags  []string
		want   string
	}{
		"by the client":      {"codex", nil, `"env_vars":["T","OPT"]`},
		"those that must be": {"goose", nil, `"env_keys":["T"]`},
		"from the keychain":  {"codex", []string{"--secrets-from", "keychain"}, ``},
		"from somewhere":     {"goose", []string{"--secrets", "x", "--secrets-from", "file:/x"}, ``},
		"by the client as well": {
			"codex",
			[]string{"--secrets-from", "keychain", "--secrets-from", "env"},
			`"env_vars":["T","OPT"]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := clients.ByID(test.client)
			entries, report := clients.Translate(c, m, &clients.Options{Via: clients.Launcher, Flags: test.flags})
			got := string(entries[0].Value.AppendJSON(nil))
			if !strings.Contains(got, test.want) ||
				test.want == "" && (strings.Contains(got, `"T"`) || len(entries[0].Variables) > 0) {
				t.Errorf("got %s", got)
			}
			if n := report.Count(check.Warning); n > 0 {
				t.Errorf("%v", ruletest.Findings(report))
			}
		})
	}
}

// Clients that share a file agree on how servers are reached; otherwise each run would
// undo the previous one.
func TestSharedFileThroughTheLauncher(t *testing.T) {
	d := newDesk(t)
	d.write("project/.mcp.json", "{}\n")
	m := definitions(t, "servers:\n  a: {command: x, cwd: /tmp}\n  b: {command: x}\n")
	for _, want := range []clients.Action{clients.Create, clients.Unchanged} {
		opts := &clients.PlanOptions{
			Place:   d.place,
			Options: clients.Options{Via: clients.Auto, Sources: []string{"/m.yaml"}},
		}
		plan, _, err := clients.NewPlan(m, d.state(), opts)
		if err != nil || len(plan.Files) != 2 {
			t.Fatal(err, len(plan.Files))
		}
		for i, f := range plan.Files {
			for _, s := range f.Steps {
				if expected := []clients.Action{want, clients.Unchanged}[i]; s.Action != expected ||
					(s.Server == "a") != (s.Why != "") {
					t.Errorf("%s, %s: %s %q, want %s", f.Client, s.Server, s.Action, s.Why, expected)
				}
			}
		}
		if err := plan.Apply(); err != nil {
			t.Fatal(err)
		}
	}
}
