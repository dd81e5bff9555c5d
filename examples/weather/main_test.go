package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/router"
)

func open(t *testing.T) mcp.Source { return newServer(t) }

func newServer(t *testing.T) *router.Router {
	t.Helper()
	r, err := server()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSize: a whole server fits on two screens, which is the point of the example.
func TestSize(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			n++
		}
	}
	if n >= 80 {
		t.Errorf("main.go has %d lines that are not blank, want fewer than 80", n)
	}
}

func TestContract(t *testing.T) { mcptest.TestSource(t, open, examples()) }

// TestGolden shows in a review how a change affects clients.
func TestGolden(t *testing.T) {
	e := examples()
	e.Reads = e.Reads[:3] // without the dashboard, which is a file already
	mcptest.Golden(t, newServer(t), "testdata/golden", &mcptest.GoldenOptions{
		Calls: e.Calls, Reads: e.Reads, Prompts: e.Prompts, Completions: e.Completions,
	})
}

func examples() *mcptest.Options {
	return &mcptest.Options{
		Calls: []mcptest.Call{
			{Tool: "get_weather", Args: `{"city":"Oslo"}`, Want: `{"city":"Oslo","temperature":6,"unit":"celsius"}`},
			{Tool: "get_weather", Args: `{"city":"Lyon","unit":"fahrenheit"}`, Want: "66° fahrenheit in Lyon"},
			{Tool: "get_weather", Args: `{"city":"Atlantis"}`, Want: "no weather station", WantError: true},
			{Tool: "get_weather", Args: `{"city":"Oslo","unit":"kelvin"}`, Want: "celsius", WantError: true},
			{Tool: "warmest_city", Want: "Lisbon"},
		},
		Reads: []mcptest.Read{
			{URI: "weather://stations", Want: `Lisbon\nLondon\nLyon\nOslo`},
			{URI: "weather://Oslo/outlook", Want: "[6,7,4]"},
			{URI: "weather://Atlantis/outlook", WantError: true},
			{URI: "ui://weather/dashboard", Want: "globalThis.McpApp"},
		},
		Prompts: []mcptest.Prompt{
			{Name: "plan_journey", Args: map[string]string{"city": "Lyon"}, Want: "Plan 3 days in Lyon"},
			{Name: "plan_journey", Args: map[string]string{"city": "Lyon", "days": "0"}, Want: "days", WantError: true},
		},
		Completions: []mcptest.Completion{
			{Params: mcp.CompleteParams{Prompt: "plan_journey", Argument: "city", Value: "l"},
				Want: []string{"Lisbon", "London", "Lyon"}},
		},
	}
}

func TestEveryVersion(t *testing.T) {
	for _, v := range mcp.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			c := mcptest.Connect(t, newServer(t), v, nil)
			got := map[string]any{
				"tools": len(c.Tools()), "resources": len(c.Resources()), "templates": len(c.Templates()),
				"prompts": len(c.Prompts()),
				"call":    c.CallTool("get_weather", map[string]string{"city": "London"}).Content[0].Text,
				"read":    c.ReadResource("weather://Lyon/outlook").Contents[0].Text,
				"prompt":  c.GetPrompt("plan_journey", map[string]string{"city": "Oslo", "days": "2"}).Messages[0].Content.Text,
				"app":     c.ReadResource("ui://weather/dashboard").Contents[0].MIMEType,
			}
			want := map[string]any{
				"tools": 2, "resources": 2, "templates": 1, "prompts": 1,
				"call":   "14° celsius in London",
				"read":   "[19,20,17]",
				"prompt": "Plan 2 days in Oslo, with the weather in mind.",
				"app":    apps.MIMEType,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	c := mcptest.Connect(t, newServer(t), mcp.LatestVersion, nil)
	tests := map[string]mcp.CompleteParams{
		"prompt":   {Prompt: "plan_journey", Argument: "city", Value: "lo"},
		"template": {URITemplate: "weather://{city}/outlook", Argument: "city", Value: "lo"},
	}
	for name, p := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{"London"}, c.Complete(p).Values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAppIsWhole: the document needs nothing else, because it is all that a host
// receives.
func TestAppIsWhole(t *testing.T) {
	c := mcptest.Connect(t, newServer(t), mcp.LatestVersion, nil)
	html := c.ReadResource("ui://weather/dashboard").Contents[0].Text
	if !strings.HasPrefix(html, "<!doctype html>") || !strings.Contains(html, apps.JS()) || strings.Contains(html, "{{") {
		t.Errorf("the document is not the page with the script in it: %.200q", html)
	}
	ui, err := apps.ToolUIOf(&c.Tools()[0])
	if err != nil || ui == nil || ui.ResourceURI != "ui://weather/dashboard" {
		t.Errorf("the tool's user interface = %+v, %v", ui, err)
	}
}

// TestDashboard opens the dashboard in Chromium and presses its button.
func TestDashboard(t *testing.T) {
	src := open(t)
	app := mcptest.RenderApp(t, src, "get_weather", map[string]any{"city": "Oslo"})
	app.WaitText("Oslo")
	app.Click("#again")
	called := app.WaitMessage("tools/call")
	if !strings.Contains(string(called.Message), `"get_weather"`) {
		t.Errorf("the button sent %s, want a call of get_weather", called.Message)
	}
	if blocked := app.Violations(); len(blocked) > 0 {
		t.Errorf("blocked: %+v", blocked)
	}
}

// build compiles the program as its users do.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "weather.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"warmest_city","_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func TestProgram(t *testing.T) {
	program := build(t)
	t.Run("check", func(t *testing.T) {
		out, err := exec.CommandContext(t.Context(), program, "-check").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "0 errors, 0 warnings") {
			t.Errorf("-check: %v\n%s", err, out)
		}
	})
	t.Run("stdio", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Stdin = strings.NewReader(call + "\n")
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"text":"Lisbon"`) {
			t.Errorf("answer = %s, %v; want Lisbon", out, err)
		}
	})
	t.Run("http", func(t *testing.T) { overHTTP(t, program) })
}

// overHTTP also stops the server, which must exit with code 0.
func overHTTP(t *testing.T, program string) {
	cmd := exec.CommandContext(t.Context(), program, "-http", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var endpoint string
	for endpoint == "" && lines.Scan() {
		if after, found := strings.CutPrefix(strings.TrimSpace(lines.Text()), "MCP endpoint"); found {
			endpoint = strings.TrimSpace(after)
		}
	}
	if got := post(t.Context(), endpoint); !strings.Contains(got, `"text":"Lisbon"`) {
		t.Errorf("answer = %s, want Lisbon", got)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until it has exited
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("told to end: %v, want exit code 0", err)
	}
}

func post(ctx context.Context, endpoint string) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(call))
	if err != nil {
		return err.Error()
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "warmest_city",
	} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
