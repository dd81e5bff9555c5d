package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

func TestSourceOverStdio(t *testing.T) {
	race.SkipSlow(t)
	for _, v := range versions() {
		t.Run(v.String(), func(t *testing.T) {
			mcptest.TestSource(t, func(t *testing.T) mcp.Source {
				return open(t, command(t, "server"), &client.Options{Version: v})
			}, suiteOptions())
		})
	}
}

// versions returns all versions, or one of each era under the slow race detector.
func versions() []mcp.Version {
	if race.Enabled {
		return []mcp.Version{mcp.Version20260728, mcp.Version20251125}
	}
	return mcp.Versions()
}

func suiteOptions() *mcptest.Options {
	return &mcptest.Options{
		SkipTools: []string{"exit", "exit_safely", "ask", "sample", "block", "junk", "big", "roots", "visit"},
		Calls: []mcptest.Call{
			{Tool: "echo", Args: `{"text":"a\u00e9"}`, Want: `"text":"a\u00e9"`},
			{Tool: "block", Blocks: true},
			{Tool: "fails", Want: `it failed`, WantError: true},
		},
		Reads: []mcptest.Read{
			{URI: "world://seven", Want: `"text":"seven"`},
			{URI: "other://seven", WantError: true},
		},
		Prompts: []mcptest.Prompt{{Name: "greet", Args: map[string]string{"name": "Ann"}, Want: `Hello, Ann`}},
		Completions: []mcptest.Completion{{
			Params: mcp.CompleteParams{Prompt: "greet", Argument: "name", Value: "A"},
			Want:   []string{"A1"},
		}},
	}
}

func TestBytesPassThrough(t *testing.T) {
	src := open(t, command(t, "server"), nil)
	cat, err := src.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(cat.Tool("echo").Raw), string(worldCatalog.Tool("echo").Raw); got != want {
		t.Errorf("the definition of echo is\n%s\nwant\n%s", got, want)
	}
	r, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: object(`{"text":"\u0041\/"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Raw.Bytes()), `{"content":[{"type":"text","text":"\u0041\/"}],`+
		`"x-unknown":[1e400]}`; got != want {
		t.Errorf("the result is %s, want %s", got, want)
	}
	if len(cat.Tools) != len(worldCatalog.Tools) ||
		cat.Instructions != worldCatalog.Instructions ||
		cat.Server.Version != "1.2.3" {
		t.Errorf("the catalog has %d tools, instructions %q, server %v", len(cat.Tools), cat.Instructions, cat.Server)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("LIVE_TEST_SECRET", "s3cret")
	t.Setenv("LC_LIVE", "yes")
	for _, tt := range []struct {
		name, variable, want string
		inherit              []string
	}{
		{"not inherited", "LIVE_TEST_SECRET", "", nil},
		{"pattern of the default", "LC_LIVE", "yes", nil},
		{"given", "GIVEN", "1", nil},
		{"named", "LIVE_TEST_SECRET", "s3cret", []string{"LIVE_*"}},
		{"nothing", "LC_LIVE", "", []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := command(t, "server")
			c.Env = append(c.Env, "GIVEN=0", "GIVEN=1")
			c.Inherit = tt.inherit
			src := open(t, c, nil)
			if got := mustCall(t, src, "env", `{"text":"`+tt.variable+`"}`); got != tt.want {
				t.Errorf("%s = %q, want %q", tt.variable, got, tt.want)
			}
		})
	}
}

func TestCommandErrors(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := command(t, "broken", "--token=hunter22")
	secret.Redact = []string{"hunter22", "left-pad"}
	huge := command(t, "script", `initialize {"jsonrpc":"2.0","id":ID,"result":{"x":"`+strings.Repeat("y", 5000)+`"}}`)
	huge.MaxMessage = 4000
	nowhere := command(t, "server")
	nowhere.Dir = filepath.Join(dir, "missing")
	for _, tt := range []struct {
		name    string
		command *client.Command
		want    []string
		not     string
	}{
		{
			"no program",
			&client.Command{Path: "no-such-program-here"},
			[]string{`program "no-such-program-here" not found on the PATH`},
			"",
		},
		{"no file", &client.Command{Path: "./no-such"}, []string{`program "./no-such" not found`}, ""},
		{"folder", &client.Command{Path: dir}, []string{"is a folder"}, ""},
		{"not executable", &client.Command{Path: plain}, []string{"not executable"}, ""},
		{"no folder", nowhere, []string{"not a folder to run it in"}, ""},
		{"ends", command(t, "broken"), []string{"exit status 3", `cannot find module "left-pad"`}, ""},
		{"secrets", secret, []string{"[redacted]"}, "hunter22"},
		{"too long", huge, []string{"too long", "4000 bytes"}, ""},
		{
			"old stranger",
			command(t, "script", `initialize {"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"1999-01-01"}}`),
			[]string{`"1999-01-01"`},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src, err := client.Open(t.Context(), tt.command, nil)
			if err == nil {
				_ = src.Close()
				t.Fatal("Open succeeds, want an error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Open = %v, want %q in it", err, want)
				}
			}
			if tt.not != "" && strings.Contains(err.Error(), tt.not) {
				t.Errorf("Open = %v, which holds %q", err, tt.not)
			}
		})
	}
}

// TestStderrWithoutSecrets ensures that the stderr output of a child is passed on by
// lines with secrets redacted, including multi-line ones.
func TestStderrWithoutSecrets(t *testing.T) {
	var b strings.Builder
	c := command(t, "broken")
	c.Stderr, c.Redact = &b, []string{"unlikely", "-----BEGIN\n\"left-pad\"\n"}
	_, err := client.Open(t.Context(), c, nil)
	if got, want := b.String(), "cannot find module [redacted]\n"; got != want ||
		strings.Contains(err.Error(), "left-pad") {
		t.Errorf("stderr %q and error %v, want %q", got, err, want)
	}
}

func TestDiesInACall(t *testing.T) {
	src := open(t, command(t, "server"), nil)
	first := mustCall(t, src, "pid", "")
	_, err := call(t, src, "exit", "")
	if err == nil ||
		!strings.Contains(err.Error(), "exit status 7") ||
		!strings.Contains(err.Error(), "panic: out of cheese") {
		t.Errorf("the call in flight fails with %v, want the exit status and the last lines on stderr", err)
	}
	second := mustCall(t, src, "pid", "")
	if first == second {
		t.Errorf("the process is %s still", second)
	}
	if st := src.State(); st.Starts != 2 || st.Phase != client.Ready || !strings.Contains(st.Error, "exit status 7") {
		t.Errorf("State = %+v, want a second start and the reason", st)
	}
}

func TestRepeatsWhatDoesNoHarm(t *testing.T) {
	src := open(t, command(t, "server"), nil)
	marker := filepath.Join(t.TempDir(), "marker")
	if got := mustCall(t, src, "exit_safely", `{"text":"`+marker+`"}`); got != "done" {
		t.Errorf("exit_safely = %q, want the answer of the second process", got)
	}
}

func TestStopsWhatIgnoresTheEnd(t *testing.T) {
	t.Parallel()
	c := command(t, "deaf")
	c.StopTimeout = 50_000_000
	_, err := client.Open(t.Context(), c, &client.Options{Timeouts: client.Timeouts{Start: 500_000_000}})
	if err == nil ||
		!strings.Contains(err.Error(), "not ready after 500ms") ||
		!strings.Contains(err.Error(), "Ok to proceed?") {
		t.Errorf("Open = %v, want a timeout and what the program asks", err)
	}
}
