package stax_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

// TestImports verifies what a script on disk may import: files of its project, and
// nothing else, not even through a symbolic link.
func TestImports(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret.json":            `{"command": "x"}`,
		"project/package.json":   `{}`,
		"project/lib/hosts.json": `{"api": "https://example.com/mcp"}`,
		"project/lib/npx.ts": `import hosts from "./hosts.json"; export const npx = (name: string) => ({ ` +
			`command: "npx", args: [name] }); export { hosts };`,
		"project/deploy/mcp.ts": `import { npx, hosts } from "../lib/npx"; export default { servers: { a: ` +
			`npx("a"), b: { url: hosts.api, transport: "http" } } };`,
		"project/deploy/outside.ts":  `import s from "../../secret.json"; export default { servers: { s } };`,
		"project/deploy/linked.ts":   `import s from "./link.json"; export default { servers: { s } };`,
		"alone/mcp.ts":               `import s from "../secret.json"; export default { servers: { s } };`,
		"alone/faulty.ts":            `import { s } from "./broken"; export default { servers: { s } };`,
		"alone/broken.ts":            "\nexport const s = { command: process.env.X };",
		"project/deploy/unknown.ts":  `import s from "./server.json"; export default { servers: { s } };`,
		"project/deploy/server.json": `{"command": "x", "comand": "y"}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret.json"), filepath.Join(dir, "project/deploy/link.json")); err != nil {
		t.Logf("no symbolic links: %v", err)
	}
	doc, report, err := stax.ReadFile(filepath.Join(dir, "project/deploy/mcp.ts"))
	if err != nil || !report.OK(false) || len(doc.Config.Servers) != 2 ||
		doc.Config.Servers[1].URL != "https://example.com/mcp" {
		t.Fatalf("got %+v, %v, %v", doc.Config, ruletest.Findings(report), err)
	}
	want := []string{filepath.Join(dir, "project/lib/npx.ts"), filepath.Join(dir, "project/lib/hosts.json")}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real == dir && !slices.Equal(doc.Imports, want) {
		t.Errorf("the imports are %q, want %q", doc.Imports, want)
	}
	for name, want := range map[string]string{
		"project/deploy/outside.ts": `outside.ts:1:15: error: cannot import "../../secret.json": the file is outside ` +
			`the project`,
		"project/deploy/linked.ts":  `linked.ts:1:15: error: cannot import "./link.json": the file does not exist`,
		"alone/mcp.ts":              `mcp.ts:1:15: error: cannot import "../secret.json": the file is outside the project`,
		"alone/faulty.ts":           `faulty.ts:1:19: error: broken.ts:2:29: process is not declared`,
		"project/deploy/unknown.ts": `unknown.ts:1:15: `,
	} {
		_, report, err := stax.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || len(ruletest.Findings(report)) == 0 {
			t.Errorf("%s: %v, and no findings", name, err)
			continue
		}
		if got := ruletest.Findings(report)[0].String(); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "alone/mcp.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if _, report := stax.Parse("mcp.ts", text, nil); report.OK(false) {
		t.Error("a script without a folder imports files")
	}
}
