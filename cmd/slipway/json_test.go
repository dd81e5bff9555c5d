package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// withoutJSON are the commands that have no --json, with the reason.
var withoutJSON = map[string]string{
	"slipway bundle init":   "writes a file, and prints messages",
	"slipway bundle run":    "a server over stdin and stdout",
	"slipway completion":    "prints a script",
	"slipway config run":    "a server over stdin and stdout",
	"slipway inspect":       "serves a page until it is stopped",
	"slipway man":           "writes files",
	"slipway policy schema": "prints a Cedar schema",
	"slipway record":        "a server over stdin and stdout",
}

// jsonCommands are command lines with --json, in this order, in a folder of their own. EX is
// the folder of examples.
const jsonCommands = `
version --json
where --json
cluster rotate-key --cluster redis://127.0.0.1:1/0 --json
cluster revoke-approvals ann --cluster redis://127.0.0.1:1/0 --json
ls EX/http-reference --json
call EX/http-reference get_status code=404 --json
complete EX/http-reference explain_status code=4 --json
prompt EX/http-reference explain_status code=404 --json
read EX/http-reference http://status/404 --json
replay EX/recordings/http.mcplog EX/http-reference --json
test EX/calls/http.calls.json EX/http-reference --json
check EX/http-reference --json
doctor EX/http-reference --json
lock EX/http-reference -o a.lock --json
lock verify EX/http-reference --lock a.lock --json
lock diff EX/http-reference --lock a.lock --json
lock approve EX/http-reference --lock a.lock --json
ps --json
serve EX/http-reference --print-config --json
add npm:server --client cursor --yes --json
remove server --dry-run --json
config add EX/definitions/server.json --dry-run --json
config apply --client cursor --scope user --dry-run --json
config check EX/definitions/mcp.yaml --json
config clients --json
config diff --json
config export registry EX/definitions/publish.yaml weather --name io.github.you/weather --json
config import claude-code --file EX/definitions/client.json --json
config merge EX/definitions/mcp.yaml --json
config remove --dry-run --json
config render codex EX/definitions/mcp.yaml --json
config secrets EX/definitions/mcp.yaml --json
bundle validate EX/clock-bundle --json
bundle info EX/clock-bundle --json
bundle pack EX/clock-bundle a.mcpb --json
bundle sign a.mcpb --self-signed --keys keys --json
bundle verify a.mcpb --json
bundle unsign a.mcpb --json
bundle clean a.mcpb --json
bundle test a.mcpb --json
bundle unpack a.mcpb unpacked --json
bundle cache list --json
bundle cache prune --json
site build EX/http-reference-source -o built --json
site check EX/http-reference --json
site diff EX/http-reference EX/http-reference --json
site freeze EX/http-reference -o frozen --dry-run --json
site endpoint http://127.0.0.1:1/ --host node --json
site init EX/handbook --dry-run --json
site eval EX/handbook EX/handbook/questions.tsv --json
policy check EX/policy/policy.cedar --json
policy test EX/policy/policy.cedar EX/policy/cases.yaml --json
policy explain EX/policy/policy.cedar github/create_issue --user ann --group engineering --json
policy who EX/policy/policy.cedar github/create_issue --json
policy replay EX/policy/policy.cedar audit.jsonl --json
login --list --json
logout http://localhost:1 --json
search word --registry http://127.0.0.1:1 --json
`

// runJSON runs a command line like main. With an error, stderr ends with it.
func runJSON(args []string) (stdout, stderr string, code int) {
	var out, messages bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(&messages)
	root.SetIn(new(bytes.Buffer))
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(context.Background())
	code = reportAs(&messages, err, jsonErrors(cmd, args))
	return out.String(), messages.String(), code
}

// TestJSONOutput runs every command with --json: the result is JSON, and so is an error.
func TestJSONOutput(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	const audited = `{"time":"2026-03-01T00:00:01Z","event":"request","method":"tools/call","name":"create_issue",` +
		`"item":"github/create_issue","principal":"ann","groups":["engineering"],"outcome":"ok"}` + "\n"
	if err := os.WriteFile("audit.jsonl", []byte(audited), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "SLIPWAY_STATE_DIR",
		"USERPROFILE", "APPDATA", "LOCALAPPDATA",
	} {
		t.Setenv(name, t.TempDir())
	}
	ran := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(jsonCommands)) {
		args := strings.Fields(strings.ReplaceAll(line, "EX/", filepath.ToSlash(examples)+"/"))
		cmd, _, err := newRoot().Find(args)
		if err != nil {
			t.Fatal(err)
		}
		ran[cmd.CommandPath()] = true
		stdout, stderr, code := runJSON(args)
		if code > 1 {
			mustEndWithError(t, args, stderr)
			if cmd.Name() != "search" && cmd.Name() != "endpoint" &&
				cmd.Name() != "rotate-key" && cmd.Name() != "revoke-approvals" { // no host answers
				t.Errorf("slipway %s exits with %d", strings.Join(args, " "), code)
			}
		} else if !json.Valid([]byte(stdout)) {
			t.Errorf("slipway %s: stdout is not JSON:\n%s\n%s", strings.Join(args, " "), stdout, stderr)
		}
		bad := append(strings.Fields(cmd.CommandPath())[1:], "--json", "--bogus")
		stdout, stderr, _ = runJSON(bad)
		mustEndWithError(t, bad, stderr)
		if stdout != "" {
			t.Errorf("slipway %s prints %q", strings.Join(bad, " "), stdout)
		}
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("json") != nil && !ran[cmd.CommandPath()] {
			t.Errorf("jsonCommands has no line for %s", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
}

// mustEndWithError fails unless the last line of stderr is an error as JSON.
func mustEndWithError(t *testing.T, args []string, stderr string) {
	t.Helper()
	lines := slices.Collect(strings.Lines(stderr))
	var answer struct {
		Error struct {
			Message, Kind string
			Exit          int
		}
	}
	if len(lines) == 0 || json.Unmarshal([]byte(lines[len(lines)-1]), &answer) != nil || answer.Error.Message == "" {
		t.Errorf("slipway %s: stderr does not end with an error as JSON:\n%s", strings.Join(args, " "), stderr)
	}
}

// TestEveryCommandPrintsJSON ensures that every command that prints data has --json.
func TestEveryCommandPrintsJSON(t *testing.T) {
	found := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		has := cmd.Flags().Lookup("json") != nil
		isHelp := strings.HasPrefix(cmd.Use, "help") || cmd.RunE == nil || cmd.Run != nil
		isGroup := cmd.HasSubCommands() && len(strings.Fields(cmd.Use)) == 1
		if withoutJSON[path] != "" {
			found[path] = true
		}
		switch {
		case isHelp, isGroup:
		case has && withoutJSON[path] != "":
			t.Errorf("%s has --json, and is listed as a command without", path)
		case !has && withoutJSON[path] == "":
			t.Errorf("%s has no --json", path)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	for path := range withoutJSON {
		if !found[path] {
			t.Errorf("%s does not exist", path)
		}
	}
}
