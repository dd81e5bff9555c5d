package interop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Third-party servers frozen to sites, whose stored answers are then read and compared.

// TestFreezeEverything freezes the reference server of the specification's authors.
func TestFreezeEverything(t *testing.T) {
	tools := nodeTools(t)
	server := []string{"--", tools.node(), tools.module("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"}
	dir := filepath.Join(t.TempDir(), "site")
	calls := filepath.Join(t.TempDir(), "calls.jsonl")
	lines := `{"tool":"echo","arguments":{"message":"héllo"}}
{"tool":"get-sum","arguments":{"a":2,"b":3}}
{"prompt":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"1"}}
`
	if err := os.WriteFile(calls, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	// Some answers contain the time of day, to the second; the environment must not be
	// stored.
	options := []string{"--skip", "get-env", "--skip", "trigger-long-running-operation",
		"--skip", "get-resource-reference", "--replace", `\d+:\d\d:\d\d( [AP]M)?=>(time)`, "--calls", calls}
	// Its get-env returns the whole environment, so freezing it fails.
	t.Setenv("SLIPWAY_TEST_PASSWORD", "hunter2correcthorse")
	leaking := append([]string{"site", "freeze", "-o", dir, "--only", "get-env", "--env", "SLIPWAY_TEST_PASSWORD"},
		server...)
	_, err := run(t, leaking...)
	if err == nil || strings.Contains(err.Error(), "hunter2") ||
		!strings.Contains(err.Error(), "SLIPWAY_TEST_PASSWORD (environment)") {
		t.Errorf("freezing get-env: %v", err)
	}
	mustRun(t, append(append([]string{"site", "freeze", "-o", dir}, options...), server...)...)
	for _, name := range []string{
		"tools/echo/hello.json", "tools/get-sum/2/3.json", "tools/get-annotated-message/error/true.json",
		"tools/get-structured-content/new_york.json", "tools/get-tiny-image.json",
		"resources/resource/static/document/features_md.json", "prompts/args-prompt.json",
		"prompts/resource-prompt/text/1.json",
	} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if got := mustRun(t, "call", dir, "get-sum", "a=2", "b=3"); !strings.Contains(got, "is 5") {
		t.Errorf("get-sum = %q", got)
	}
	if got := mustRun(t, "prompt", dir, "args-prompt", "city=Oslo"); !strings.Contains(got, "Oslo") {
		t.Errorf("args-prompt = %q", got)
	}
	mustRun(t, "site", "check", dir)
	verify := append([]string{"site", "freeze", "-o", dir, "--verify"}, options[:len(options)-2]...)
	mustRun(t, append(verify, server...)...)
}

// TestFreezeApp freezes a server with a user interface, which must stay complete.
func TestFreezeApp(t *testing.T) {
	tools := nodeTools(t)
	server := []string{"--", tools.node(), tools.module("@modelcontextprotocol/server-budget-allocator/dist/index.js"),
		"--stdio"}
	dir := filepath.Join(t.TempDir(), "site")
	freeze := []string{"site", "freeze", "-o", dir, "--tool", "get-budget-data"}
	mustRun(t, append(freeze, server...)...)
	const page = "ui://budget-allocator/mcp-app.html"
	live := mustRun(t, append([]string{"read", page}, server...)...)
	if stored := mustRun(t, "read", dir, page); stored != live || !strings.Contains(stored, "<html") {
		t.Errorf("the page has %d bytes, and %d in the site", len(live), len(stored))
	}
	if got := mustRun(t, "ls", dir, "--json"); !strings.Contains(got, `"resourceUri": "`+page+`"`) {
		t.Errorf("the tool has lost its page: %s", got)
	}
	mustRun(t, append(append(freeze, "--verify"), server...)...)
}
