package registry_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

// definitions parses a file whose servers have no faults.
func definitions(t *testing.T, text string) *stax.Merged {
	t.Helper()
	doc, report := stax.Parse("mcp.yaml", []byte(text), nil)
	merged := stax.Merge(doc)
	report.Add(ruletest.Findings(merged.Check())...)
	if !report.OK(false) {
		t.Fatalf("%v", ruletest.Findings(report))
	}
	return merged
}

// schema validates documents against the registry's schema. The schema is not part of
// this repository; scripts/registry provides it.
func schema(t *testing.T) func(text []byte) error {
	t.Helper()
	name := os.Getenv("SLIPWAY_REGISTRY_SCHEMA")
	if name == "" {
		return func([]byte) error { return nil }
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if s.ID != registry.SchemaURL {
		t.Fatalf("the schema is %s, and we write %s", s.ID, registry.SchemaURL)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(text []byte) error {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
		return resolved.Validate(v)
	}
}

// TestSchemaIsOne verifies that the schema, if available, rejects an invalid document.
func TestSchemaIsOne(t *testing.T) {
	valid := schema(t)
	if os.Getenv("SLIPWAY_REGISTRY_SCHEMA") == "" {
		t.Skip("scripts/registry brings the schema along")
	}
	for _, text := range []string{
		`{}`,
		`{"name": "x", "description": "d", "version": "1"}`,
		`{"name": "a/b", "description": "d", "version": "1", "packages": [{"registryType": "npm", "identifier": "x", ` +
			`"transport": {"type": "tcp"}}]}`,
	} {
		if valid([]byte(text)) == nil {
			t.Errorf("the schema takes %s", text)
		}
	}
}

const ref = `
    registryRef: {package: io.github.me/w, version: 1.2.3}
    description: Tells the weather
`

// TestRoundTrip verifies that a definition is unchanged after it is written as a
// server.json and read again.
func TestRoundTrip(t *testing.T) {
	valid := schema(t)
	tests := map[string]string{
		"npm": "    command: npx\n    args: [-y, '@me/w@1.2.3']",
		"npm with arguments": "    command: npx\n    args: [-y, --prefer-offline=true, 'w@1.2.3', serve, --port=1, " +
			"--port, '2', -v, 'a b', '{x}']",
		"bun":       "    command: bunx\n    args: ['w@1.2.3', --stdio]",
		"pypi":      "    command: uvx\n    args: ['w@1.2.3', serve]\n    env: {B: '2', A: '{HOME}'}",
		"pypi from": "    command: uvx\n    args: [--from, 'w==1.2.3', w-mcp, serve]",
		"nuget":     "    command: dnx\n    args: ['W.M@1.2.3', --yes, --, mcp, start]",
		"dotnet":    "    command: dotnet\n    args: [tool, exec, 'W.M@1.2.3', --yes]",
		"image":     "    command: docker\n    args: [run, -i, --rm, 'ghcr.io/me/w:1.2.3']",
		"image with all": "    command: podman\n    args: [run, -i, --rm, -e, A, -e, TOKEN_W, -v, '/a:/b', " +
			"'--mount=type=bind,src=/x', -e, 'C=1', 'ghcr.io:5000/me/w@sha256:" + strings.Repeat("ab", 32) +
			"', --deep]\n    env: {A: x}\n    secrets: [TOKEN_W]",
		"secrets": "    command: npx\n    args: [-y, 'w@1.2.3']\n    secrets: [W_KEY, W_OTHER, W_THIRD]\n  " +
			"  env: {LOG: debug}",
		"bundle": "    command: slipway\n    args: [bundle, run, /state/x.mcpb, --sha256, " +
			strings.Repeat("ab", 32) + "]\n    metadata: {source: 'https://example.com/x.mcpb'}",
		"remote": "    url: https://mcp.example.com/w\n    transport: http\n    headers: {X-Team: a, X-Braces: '{b}'}",
		"events": "    url: https://mcp.example.com/w/sse\n    transport: sse",
		"bearer": "    url: https://mcp.example.com/w\n    transport: http\n    secrets: [W_KEY]",
		"bound":  "    url: https://mcp.example.com/w\n    transport: http\n    secrets: [W_KEY, W_OTHER]",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			text = "servers:\n  w:\n" + text + ref +
				"secrets:\n  - {key: W_KEY, description: The key}\n  - {key: W_OTHER, required: false}\n  - {key: W_THIRD, " +
				"exposeAs: {env: THIRD}}\n  - key: TOKEN_W\n"
			if name == "bound" {
				text += "bindings: {w: {X-Key: '{W_KEY}', X-Other: 'Token {W_OTHER}'}}\n"
			}
			m := definitions(t, text)
			doc, report, err := registry.Export(m, []string{"w"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := ruletest.Findings(report); len(got) > 0 {
				t.Errorf("lost: %v", got)
			}
			written, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			if err := valid(written); err != nil {
				t.Errorf("%v\n%s", err, written)
			}
			read, err := registry.Parse(written)
			if err != nil {
				t.Fatal(err)
			}
			entry, err := read.Entry(nil)
			if err != nil {
				t.Fatal(err)
			}
			got, want := *entry.Server(), *m.Config.Server("w")
			if name == "bundle" { // its local path is unknown until it is downloaded
				if entry.Bundle.URL != want.Metadata["source"] || entry.Bundle.SHA256 != want.Args[4] {
					t.Errorf("the bundle is %+v", entry.Bundle)
				}
				want.Command, want.Args, want.Metadata = "", nil, nil
				got.RegistryRef.Digest = ""
			}
			if strings.Contains(text, "@sha256") {
				got.RegistryRef.Digest = ""
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(m.Config.Bindings, entry.Config.Bindings); diff != "" {
				t.Errorf("bindings (-want +got)\n%s", diff)
			}
			for _, d := range entry.Config.Secrets {
				if diff := cmp.Diff(*m.Config.Declaration(d.Key), d); diff != "" {
					t.Errorf("secret (-want +got)\n%s", diff)
				}
			}
		})
	}
}

// TestExportLoses verifies that everything a server.json cannot represent is reported.
func TestExportLoses(t *testing.T) {
	tests := map[string]struct{ server, want string }{
		"folder": {"command: npx\n    args: [-y, w@1]\n    cwd: /x", "does not support cwd"},
		"tools": {
			"command: npx\n    args: [-y, w@1]\n    enabledTools: [a]\n    disabledTools: [b]",
			"does not support enabledTools|does not support disabledTools",
		},
		"timeout": {"command: npx\n    args: [-y, w@1]\n    connectTimeoutMs: 1",
			"does not support connectTimeoutMs"},
		"call timeout": {"command: npx\n    args: [-y, w@1]\n    callTimeoutMs: 1", "does not support callTimeoutMs"},
		"hang timeout": {"command: npx\n    args: [-y, w@1]\n    hangTimeoutMs: 1", "does not support hangTimeoutMs"},
		"ping timeout": {"command: npx\n    args: [-y, w@1]\n    pingTimeoutMs: 1", "does not support pingTimeoutMs"},
		"disabled":     {"command: npx\n    args: [-y, w@1]\n    enabled: false", "a server that is disabled"},
		"unknown members": {
			"command: npx\n    args: [-y, w@1]\n    x-mine: 1\n    metadata: {team: a}",
			`the metadata "team"|does not support "x-mine"`,
		},
		"latest":   {"command: npx\n    args: [-y, w@latest]", `"latest" is not`},
		"a range":  {"command: npx\n    args: [-y, w@^1.0.0]", `"^1.0.0" is not`},
		"an image": {"command: docker\n    args: [run, -i, --rm, w]", "the image w is not one version"},
		"no variable": {"command: docker\n    args: [run, -i, --rm, 'w:1']\n    env: {A: b}",
			"not given the variable A"},
		"a file": {
			"command: npx\n    args: [-y, w@1]\n    secrets: [F]",
			"does not support the file in which the server gets F",
		},
		"unbound": {
			"url: https://x.example\n    transport: http\n    secrets: [F, K]",
			"the header for the secret F is not specified|the header for the secret K is not specified",
		},
		"a path": {"command: /opt/bin/npx\n    args: [-y, w@1]", "the path of npx is omitted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := definitions(t, "servers:\n  s:\n    "+test.server+"\nsecrets:\n  - {key: F, exposeAs: {file: F}}\n  - key: K\n")
			_, report, err := registry.Export(m, []string{"s"},
				&registry.ExportOptions{Name: "a/b", Description: "d", Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range ruletest.Findings(report) {
				got = append(got, f.Message)
				if f.Line == 0 || f.Rule.ID != "stax/not-exported" {
					t.Errorf("no place, or another rule: %+v", f)
				}
			}
			wants := strings.Split(test.want, "|")
			if len(got) != len(wants) {
				t.Fatalf("got %q", got)
			}
			for _, want := range wants {
				if !strings.Contains(strings.Join(got, "\n"), want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

// TestExportRefuses verifies that a document is only written if it starts the same
// program as the definition.
func TestExportRefuses(t *testing.T) {
	for name, server := range map[string]string{
		"another program": "command: node\n    args: [server.js]",
		"a script":        "command: ./npx.sh",
		"another binary":  "command: npx\n    args: [-y, -p, w, other]",
		"a repository":    "command: npx\n    args: [-y, 'github:me/w']",
		"a folder":        "command: npx\n    args: [-y, ./w]",
		"nothing":         "command: npx\n    args: [-y]",
		"uvx with":        "command: uvx\n    args: [--with, x, w]",
		"docker compose":  "command: docker\n    args: [compose, up]",
		"unknown flag":    "command: docker\n    args: [run, -i, --new-flag, w, w2]",
		"a terminal":      "command: docker\n    args: [run, -it, w]",
		"a local bundle":  "command: slipway\n    args: [bundle, run, x.mcpb]",
	} {
		t.Run(name, func(t *testing.T) {
			m := definitions(t, "servers:\n  s:\n    "+server+"\n")
			doc, report, err := registry.Export(m, []string{"s"},
				&registry.ExportOptions{Name: "a/b", Description: "d", Version: "1"})
			var unfit *registry.UnfitError
			if !errors.As(err, &unfit) || report.Count(1) == 0 && len(ruletest.Findings(report)) == 0 {
				t.Errorf("got %+v, %v, %v", doc, ruletest.Findings(report), err)
			}
		})
	}
}

func TestExportNeeds(t *testing.T) {
	m := definitions(t, "servers: {s: {command: npx, args: [-y, w]}}\n")
	whole := registry.ExportOptions{Name: "a/b", Description: "d", Version: "1"}
	for want, change := range map[string]func(o *registry.ExportOptions){
		"a name":        func(o *registry.ExportOptions) { o.Name = "" },
		"another name":  func(o *registry.ExportOptions) { o.Name = "weather" },
		"a version":     func(o *registry.ExportOptions) { o.Version = "" },
		"one version":   func(o *registry.ExportOptions) { o.Version = "^1.0" },
		"a description": func(o *registry.ExportOptions) { o.Description = "" },
		"at most 100":   func(o *registry.ExportOptions) { o.Title = strings.Repeat("x", 101) },
	} {
		o := whole
		change(&o)
		_, _, err := registry.Export(m, []string{"s"}, &o)
		var need *registry.NeedError
		if !errors.As(err, &need) || !strings.Contains(err.Error(), want) || need.Hint == "" {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	long := whole
	long.Description = strings.Repeat("é", 101)
	doc, report, err := registry.Export(m, []string{"s"}, &long)
	if err != nil || len([]rune(doc.Description)) != 100 || len(ruletest.Findings(report)) != 1 {
		t.Errorf("a long description: %+v, %v, %v", doc, report, err)
	}
}
