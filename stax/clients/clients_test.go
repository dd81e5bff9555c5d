package clients_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

var update = flag.Bool("update", false, "rewrite the golden files, and the tables in docs/reference/definitions.md")

const everything = `
servers:
  local:
    command: npx
    args: [-y, "@scope/server", "a b", "it's", "C:\\temp \"x\""]
    env: {MODE: fast, HOME_DIR: HOME}
    cwd: /workspace
    secrets: [GITHUB_TOKEN, RENAMED, FILED]
    description: Everything at once
    connectTimeoutMs: 2500
    callTimeoutMs: 120000
    hangTimeoutMs: 30000
    pingTimeoutMs: 5000
  http:
    url: https://mcp.example.com/mcp?a=1&b=2
    transport: http
    headers: {x-team: platform}
    secrets: [API_TOKEN]
  sse:
    url: https://mcp.example.com/sse
    transport: sse
  bound:
    url: https://mcp.example.com/bound
    transport: http
    secrets: [API_TOKEN, TENANT]
  tools:
    command: tools
    enabledTools: [one, two]
    disabledTools: [three]
  expands:
    command: sh
    args: ["${HOME}", "$USER", "{env:HOME}", "{file:/etc/passwd}", "${env:HOME}", "${{ secrets.X }}"]
  two words, métrique:
    command: x
  off:
    command: x
    enabled: false
secrets:
  - GITHUB_TOKEN
  - {key: RENAMED, exposeAs: {env: OTHER}}
  - {key: FILED, exposeAs: {file: CERT_FILE}}
  - API_TOKEN
  - TENANT
bindings:
  bound: {X-Api-Key: "{API_TOKEN}", X-Tenant: "tenant {TENANT}"}
`

func merged(t testing.TB) *stax.Merged { return definitions(t, everything) }

func definitions(t testing.TB, text string) *stax.Merged {
	t.Helper()
	d, report := stax.Parse("mcp.yaml", []byte(text), nil)
	if !report.OK(false) {
		t.Fatal(ruletest.Findings(report))
	}
	return stax.Merge(d)
}

// TestRender verifies the file of each client, and the reported losses, against
// testdata/golden.
func TestRender(t *testing.T) {
	m := definitions(t, everything)
	for _, c := range clients.All() {
		t.Run(c.ID, func(t *testing.T) {
			text, report, err := clients.Render(&c, m, &clients.Options{OS: "linux"})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			for _, f := range ruletest.Findings(report) {
				fmt.Fprintf(&b, "# %s %s: %s [%s]\n", f.Severity, f.Pointer, f.Message, f.Rule.ID)
				if f.Line == 0 || f.File != "mcp.yaml" {
					t.Errorf("no place: %+v", f)
				}
			}
			b.Write(text)
			golden(t, filepath.Join("testdata", "golden", c.ID+".txt"), b.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// C14 and C19: a disabled server is in no file. C20: names are kept. C21: losses are
// reported. Files cannot contain secrets: only their names are known here.
func TestC14C19C20C21(t *testing.T) {
	m := definitions(t, everything)
	for _, c := range clients.All() {
		entries, report := clients.Translate(&c, m, nil)
		for _, e := range entries {
			if e.Name == "off" && e.LeftOut == "" {
				t.Errorf("%s gets a disabled server", c.ID)
			}
			if m.Config.Server(e.Name) == nil {
				t.Errorf("%s gets another name: %q", c.ID, e.Name)
			}
			if e.LeftOut != "" && e.Name != "off" && !slices.ContainsFunc(ruletest.Findings(report), func(f check.Finding) bool {
				return f.Severity == check.Warning && strings.Contains(f.Message, fmt.Sprintf("%q", e.Name))
			}) {
				t.Errorf("%s leaves %q out without a word", c.ID, e.Name)
			}
		}
		lost := func(member string) bool {
			return slices.ContainsFunc(ruletest.Findings(report), func(f check.Finding) bool {
				return f.Rule.ID == "stax/lossy" && strings.HasSuffix(f.Pointer, "/"+member)
			})
		}
		supports := func(name string) bool { return name != "" && !slices.Contains(c.Ignores, name) }
		for member, place := range map[string]string{
			"cwd":           c.Stdio.Cwd,
			"enabledTools":  c.EnabledTools,
			"disabledTools": c.DisabledTools,
		} {
			if lost(member) == supports(place) {
				t.Errorf("%s: %s has the place %q, and is reported as lost: %v", c.ID, member, place, lost(member))
			}
		}
	}
}

func TestLauncher(t *testing.T) {
	m := definitions(t, everything)
	zed, _ := clients.ByID("zed")
	opts := &clients.Options{
		Via:     clients.Launcher,
		Program: "/bin/slipway",
		Sources: []string{"/etc/mcp.yaml"},
		Flags:   []string{"--secrets-from", "env"},
	}
	entries, _ := clients.Translate(zed, m, opts)
	want := `{"command":"/bin/slipway","args":["config","run","/etc/mcp.yaml","sse","--secrets-from","env"]}`
	if got := string(entries[2].Value.AppendJSON(nil)); got != want || !entries[2].Launched {
		t.Errorf("got %s, want %s", got, want)
	}
	opts.Via = clients.Auto
	entries, report := clients.Translate(zed, m, opts)
	for i, launched := range []bool{true, true, true, true, true, false} {
		if entries[i].Launched != launched {
			t.Errorf("%s: launched %v, want %v", entries[i].Name, entries[i].Launched, launched)
		}
	}
	if report.Count(check.Note) < 5 {
		t.Errorf("the launcher is not mentioned: %v", ruletest.Findings(report))
	}
	codex, _ := clients.ByID("codex")
	entries, _ = clients.Translate(codex, m, opts)
	if got := string(entries[0].Value.AppendJSON(nil)); !strings.Contains(got,
		`"env_vars":["GITHUB_TOKEN","RENAMED","FILED"]`) {
		t.Errorf("the launcher does not get the secrets: %s", got)
	}
}

func TestByID(t *testing.T) {
	if c, _ := clients.ByID("gemini"); c == nil || c.ID != "gemini-cli" {
		t.Errorf("gemini is %v", c)
	}
	if c, near := clients.ByID("claud-code"); c != nil || near != "claude-code" {
		t.Errorf("got %v, %q", c, near)
	}
}

func TestPath(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	env := map[string]string{
		"CODEX_HOME":        filepath.Join(home, "c"),
		"APPDATA":           filepath.Join(home, "Roaming"),
		"CLAUDE_CONFIG_DIR": "relative",
	}
	lookup := func(key string) (string, bool) { v, ok := env[key]; return v, ok }
	if err := os.WriteFile(filepath.Join(dir, "opencode.jsonc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(home,
		"Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		id, os string
		scope  clients.Scope
		want   string
	}{
		"where it was": {"cline", "darwin", clients.User, filepath.ToSlash(old)},
		"where it is":  {"cline", "linux", clients.User, home + "/.cline/data/settings/cline_mcp_settings.json"},
		"home":         {"cursor", "linux", clients.User, home + "/.cursor/mcp.json"},
		"variable":     {"codex", "darwin", clients.User, home + "/c/config.toml"},
		"fallback":     {"goose", "linux", clients.User, home + "/.config/goose/config.yaml"},
		"relative":     {"claude-code", "linux", clients.User, home + "/.claude.json"},
		"windows":      {"zed", "windows", clients.User, home + "/Roaming/Zed/settings.json"},
		"mac": {"vscode", "darwin", clients.User,
			home + "/Library/Application Support/Code/User/mcp.json"},
		"project":          {"vscode", "linux", clients.Project, dir + "/.vscode/mcp.json"},
		"the one there is": {"opencode", "linux", clients.Project, dir + "/opencode.jsonc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := clients.ByID(test.id)
			got, _, err := (&clients.Place{OS: test.os, Home: home, Dir: dir, LookupEnv: lookup}).Path(c, test.scope)
			if err != nil || filepath.ToSlash(got) != filepath.ToSlash(test.want) {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
	env["CLINE_MCP_SETTINGS_PATH"] = filepath.Join(home, "mine.json")
	cline, _ := clients.ByID("cline")
	if got, exists, err := (&clients.Place{OS: "darwin", Home: home, LookupEnv: lookup}).Path(cline,
		clients.User); err != nil ||
		exists ||
		got != env["CLINE_MCP_SETTINGS_PATH"] {
		t.Errorf("a path that is given: %s, %v, %v", got, exists, err)
	}
	c, _ := clients.ByID("claude-desktop")
	if _, _, err := (&clients.Place{}).Path(c, clients.Project); err == nil {
		t.Error("Claude Desktop has no project file")
	}
}

// TestTables verifies the page against the table of clients.
func TestTables(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "reference", "definitions.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	rows.WriteString(
		"| client | id | file for a user, on Linux | file for a project | verified by |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range clients.All() {
		fmt.Fprintf(&rows, "| [%s](../clients/%s.md) | `%s` | %s | %s | %s |\n",
			c.Name, c.ID, c.ID, code(c.Files.Linux), code(c.Files.Project), c.Checked)
	}
	want := between(string(text), "clients", rows.String())
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("the table in docs/reference/definitions.md is old; go test ./stax/clients -update writes it")
	}
}

func code(paths []string) string {
	if len(paths) == 0 {
		return "-"
	}
	return "`" + strings.Join(paths, "`, `") + "`"
}

func between(page, name, text string) string {
	head, rest, _ := strings.Cut(page, "<!-- "+name+" -->\n")
	_, tail, ok := strings.Cut(rest, "<!-- end of "+name+" -->")
	if !ok {
		return "no place for " + name
	}
	return head + "<!-- " + name + " -->\n" + text + "<!-- end of " + name + " -->" + tail
}

// TestOverridesAreLost: no client can override how tools are shown; the launcher does so
// for all of them.
func TestOverridesAreLost(t *testing.T) {
	m := definitions(t, "servers:\n  s: {command: x}\n  o: {command: y}\ntools:\n  s: {a: {name: b}}\n")
	for _, c := range clients.All() {
		for _, via := range []clients.Via{clients.Direct, clients.Launcher} {
			_, report := clients.Translate(&c, m, &clients.Options{OS: "linux", Via: via, Sources: []string{"mcp.yaml"}})
			lost := 0
			for _, f := range ruletest.Findings(report) {
				if f.Rule.ID == "stax/lossy" && strings.Contains(f.Message, "overrides") {
					lost++
				}
			}
			if want := map[clients.Via]int{clients.Direct: 1}[via]; lost != want {
				t.Errorf("%s, %v: %d findings, want %d: %v", c.ID, via, lost, want, ruletest.Findings(report))
			}
		}
	}
}
