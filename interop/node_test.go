package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toolsVariable names the folder in which scripts/interop installed Node and the npm
// packages.
const toolsVariable = "SLIPWAY_INTEROP_TOOLS"

// npmTools is that folder: bin/node and node_modules.
type npmTools string

// nodeTools returns the folder, or skips the test if the variable is not set.
func nodeTools(t *testing.T) npmTools {
	t.Helper()
	dir := os.Getenv(toolsVariable)
	if dir == "" {
		t.Skip("needs Node and npm packages: run scripts/interop, which installs them")
	}
	return npmTools(dir)
}

func (n npmTools) node() string { return filepath.Join(string(n), "bin", "node") }

// module returns the path of a file inside an installed package.
func (n npmTools) module(path string) string {
	return filepath.Join(string(n), "node_modules", filepath.FromSlash(path))
}

// A plan is the input of node/suite.mjs.
type plan struct {
	Client   string            `json:"client"`
	Mode     string            `json:"mode"`
	Version  string            `json:"version"`
	Endpoint string            `json:"endpoint,omitempty"`
	Command  []string          `json:"command,omitempty"`
	Env      map[string]string `json:"env"`
	Site     *planSite         `json:"site,omitempty"`
	Wrong    object            `json:"wrong"`

	// Completion has a ref, an argument and the expected values.
	Completion object `json:"completion"`
}

type planSite struct {
	Name      string            `json:"name"`
	Tools     []object          `json:"tools"`
	Resources []object          `json:"resources"`
	Templates []object          `json:"resourceTemplates"`
	Prompts   []object          `json:"prompts"`
	Contents  map[string]object `json:"contents"`
	Calls     []object          `json:"calls"`
	Messages  []object          `json:"messages"`
}

// plan converts the site for node/suite.mjs.
func (s site) plan() *planSite {
	return &planSite{
		Name: s.name, Tools: list(s.tools), Resources: list(s.resources), Templates: list(s.templates),
		Prompts: list(s.prompts), Contents: s.contents, Calls: planned(s.calls), Messages: planned(s.messages),
	}
}

// list makes a nil slice an empty JSON array.
func list(items []object) []object { return append([]object{}, items...) }

func planned(all []exchange) []object {
	out := []object{}
	for _, e := range all {
		out = append(out, object{"name": e.name, "args": e.args, "want": e.want})
	}
	return out
}

func (m mistakes) plan() object {
	return object{
		"tool": m.tool, "wrongType": m.wrongType, "missing": m.missing,
		"unknown": m.unknown, "unheld": m.unheld, "prompt": m.prompt,
	}
}

// A tsClient is one way of connecting with a TypeScript SDK.
type tsClient struct {
	name, client, mode, version string
}

func tsClients() []tsClient {
	return []tsClient{
		{"sdk-v1", "sdk-v1", "", v1125},
		{"sdk-v2-legacy", "sdk-v2", "legacy", v1125},
		{"sdk-v2-auto", "sdk-v2", "auto", v0728},
	}
}

// TestTypeScript reads the whole example site and the whole generated site with both
// generations of the TypeScript SDK.
func TestTypeScript(t *testing.T) {
	tools := nodeTools(t)
	for _, served := range []struct {
		name       string
		read       func(*testing.T) (site, mistakes)
		completion object
	}{
		{"reference", referenceSite, object{
			"ref":      object{"type": "ref/prompt", "name": "choose_method"},
			"argument": object{"name": "task", "value": "re"},
			"values":   []string{"read", "remove", "replace"},
		}},
		{"generated", writeSite, object{
			"ref":      object{"type": "ref/resource", "uri": "list://item/{number}"},
			"argument": object{"name": "number", "value": "249"},
			"values":   []string{"2490", "2491", "2492", "2493", "2494", "2495", "2496", "2497", "2498", "2499"},
		}},
	} {
		t.Run(served.name, func(t *testing.T) {
			s, wrong := served.read(t)
			to := serve(t, s.dir)
			withTypeScript(t, to, func(t *testing.T, p plan) {
				p.Site, p.Wrong, p.Completion = s.plan(), wrong.plan(), served.completion
				tools.carryOut(t, p)
			})
		})
	}
}

// TestTypeScriptCancel is TestCancel with the TypeScript SDKs.
func TestTypeScriptCancel(t *testing.T) {
	tools := nodeTools(t)
	host := startStuckHost(t)
	withTypeScript(t, serve(t, host.URL+"/"), func(t *testing.T, p plan) {
		tools.carryOut(t, p)
		await(t, host.dropped, "the host was not notified of the cancellation")
	})
}

// withTypeScript runs body for each TypeScript client and transport.
func withTypeScript(t *testing.T, to target, body func(*testing.T, plan)) {
	for _, ts := range tsClients() {
		for _, transport := range transports() {
			t.Run(ts.name+"/"+transport, func(t *testing.T) {
				p := plan{Client: ts.client, Mode: ts.mode, Version: ts.version}
				if transport == "http" {
					p.Endpoint = to.endpoint
				} else {
					p.Command, p.Env = tracedPlan(t, to.command())
				}
				body(t, p)
			})
		}
	}
}

func tracedPlan(t *testing.T, argv []string) ([]string, map[string]string) {
	command, entries := traced(t, argv)
	env := map[string]string{}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return command, env
}

// carryOut runs node/suite.mjs and reports each of its checks as a subtest.
func (n npmTools) carryOut(t *testing.T, p plan) { n.run(t, "suite.mjs", p) }

// run runs a script of the folder node with a plan, and reports each of its checks as a
// subtest.
func (n npmTools) run(t *testing.T, script string, plan any) {
	t.Helper()
	stdin, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.node(), filepath.Join("node", script))
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	checks := reportChecks(t, string(out))
	if err != nil || checks == 0 {
		t.Errorf("node/%s: %v after %d checks; stderr:\n%s", script, err, checks, &stderr)
	}
}

// A verdict is one check of node/suite.mjs.
type verdict struct {
	name string
	ok   bool
	why  strings.Builder
}

// reportChecks turns "ok NAME" and "not ok NAME" with its "# " lines into
// subtests, and returns how many there were.
func reportChecks(t *testing.T, out string) int {
	t.Helper()
	var all []*verdict
	for line := range strings.Lines(out) {
		if name, is := strings.CutPrefix(line, "ok "); is {
			all = append(all, &verdict{name: strings.TrimSpace(name), ok: true})
		} else if name, is := strings.CutPrefix(line, "not ok "); is {
			all = append(all, &verdict{name: strings.TrimSpace(name)})
		} else if why, is := strings.CutPrefix(line, "# "); is && len(all) > 0 {
			all[len(all)-1].why.WriteString(why)
		}
	}
	for _, v := range all {
		t.Run(v.name, func(t *testing.T) {
			if !v.ok {
				t.Error(v.why.String())
			}
		})
	}
	return len(all)
}
