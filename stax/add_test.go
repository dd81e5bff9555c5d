package stax_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/stax"
)

// weather is the definition to add.
func weather(optional bool) *stax.Config {
	required := !optional
	return &stax.Config{
		Servers: []stax.Server{{Name: "weather", Command: "npx", Args: []string{"-y", "w@1"}, Secrets: []string{"W_KEY"},
			RegistryRef: &stax.RegistryRef{Package: "io.github.me/w", Version: "1"}}},
		Secrets: []stax.Declaration{{Key: "W_KEY", Required: &required}},
	}
}

func TestAdd(t *testing.T) {
	tests := map[string]struct{ name, old, want string }{
		"a new file": {
			"mcp.yaml",
			"",
			"servers:\n  weather:\n    command: npx\n    args:\n      - \"-y\"\n      - \"w@1\"\n    secrets:\n      - " +
				"W_KEY\n    registryRef:\n      package: io.github.me/w\n      version: \"1\"\nsecrets:\n  - key: W_KEY\n    " +
				"required: true\n",
		},
		"yaml": {"mcp.yml", "# mine\nservers:\n    a: {command: x} # a\n\n# behind\nsecrets: [OTHER] # all\n",
			"# mine\nservers:\n    a: {command: x} # a\n    weather:\n      command: npx\n      args:\n        - " +
				"\"-y\"\n        - \"w@1\"\n      secrets:\n        - W_KEY\n      registryRef:\n        package: " +
				"io.github.me/w\n        version: \"1\"\n\n# behind\nsecrets: [OTHER, " +
				"{\"key\":\"W_KEY\",\"required\":true}] # all\n"},
		"jsonc": {"mcp.jsonc", "{\r\n\t// mine\r\n\t\"servers\": {\r\n\t\t\"a\": {\"command\": \"x\"}, // a\r\n\t},\r\n}\r\n",
			"{\r\n\t// mine\r\n\t\"servers\": {\r\n\t\t\"a\": {\"command\": \"x\"}, // a\r\n\t\t\"weather\": " +
				"{\r\n\t\t\t\"command\": \"npx\",\r\n\t\t\t\"args\": [\"-y\", \"w@1\"],\r\n\t\t\t\"secrets\": " +
				"[\"W_KEY\"],\r\n\t\t\t\"registryRef\": {\r\n\t\t\t\t\"package\": \"io.github.me/w\",\r\n\t\t\t\t\"version\": " +
				"\"1\"\r\n\t\t\t}\r\n\t\t},\r\n\t},\r\n\t\"secrets\": [{\r\n\t\t\"key\": \"W_KEY\",\r\n\t\t\"required\": " +
				"true\r\n\t}],\r\n}\r\n"},
		"toml": {"mcp.toml", "# mine\n[servers.a]\ncommand = 'x'\n\n[[secrets]]\nkey = 'OTHER'\n",
			"# mine\n[servers.a]\ncommand = 'x'\n\n[[secrets]]\nkey = 'OTHER'\n\n[servers.weather]\ncommand = " +
				"\"npx\"\nargs = [\"-y\", \"w@1\"]\nsecrets = [\"W_KEY\"]\nregistryRef = { package = \"io.github.me/w\", " +
				"version = \"1\" }\n\n[[secrets]]\nkey = \"W_KEY\"\nrequired = true\n"},
		"declared already": {"mcp.json", "{\"servers\": {}, \"secrets\": [{\"key\": \"W_KEY\", \"kind\": \"token\"}]}",
			"{\"servers\": {\n  \"weather\": {\n    \"command\": \"npx\",\n    \"args\": [\"-y\", \"w@1\"],\n    " +
				"\"secrets\": [\"W_KEY\"],\n    \"registryRef\": {\n      \"package\": \"io.github.me/w\",\n      \"version\": " +
				"\"1\"\n    }\n  }\n}, \"secrets\": [{\"key\": \"W_KEY\", \"kind\": \"token\"}]}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := stax.Add(test.name, []byte(test.old), weather(false), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got.Text)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again, err := stax.Add(test.name, got.Text, weather(false), nil)
			if err != nil || string(again.Text) != string(got.Text) {
				t.Errorf("a second time: %v\n%s", err, again.Text)
			}
			other := weather(false)
			other.Servers[0].Args = []string{"-y", "w@2"}
			var exists *stax.ExistsError
			if _, err := stax.Add(test.name, got.Text, other, nil); !errors.As(err, &exists) || exists.Server != "weather" {
				t.Errorf("another definition: %v, want an ExistsError", err)
			}
			again, err = stax.Add(test.name, got.Text, weather(false), &stax.AddOptions{Replace: true})
			if err != nil || string(again.Text) != string(got.Text) {
				t.Errorf("in its own place: %v\n%s", err, again.Text)
			}
		})
	}
}

// TestAddDeclaredElsewhere verifies that no declaration is added to a file whose secrets
// are declared elsewhere: the first declaration would turn all its other secrets into
// undeclared ones.
func TestAddDeclaredElsewhere(t *testing.T) {
	old := `{"servers": {"a": {"command": "x", "secrets": ["OTHER", "W_KEY"]}}}`
	got, err := stax.Add("x.json", []byte(old), weather(true), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Undeclared) != 1 || got.Undeclared[0].Key != "W_KEY" || strings.Contains(string(got.Text), `"key"`) {
		t.Errorf("undeclared %v in\n%s", got.Undeclared, got.Text)
	}
	doc, _ := stax.Parse("x.json", got.Text, nil)
	if s := doc.Config.Server("weather"); len(s.Secrets) != 0 {
		t.Errorf("an optional secret is required now: %v", s.Secrets)
	}
	if len(got.Shared) != 1 || got.Shared[0] != "W_KEY" {
		t.Errorf("shared %v", got.Shared)
	}
}

func TestAddBindings(t *testing.T) {
	c := weather(false)
	c.Servers[0] = stax.Server{Name: "weather", URL: "https://x.example", Transport: stax.HTTP, Secrets: []string{"W_KEY"}}
	c.Bindings = []stax.Binding{{Server: "weather", Header: "X-Key", Template: "{W_KEY}"}}
	for name, old := range map[string]string{
		"x.yaml": "servers: {}\n",
		"x.json": `{"servers": {}}`,
		"x.toml": "specVersion = '1.0.0'\n",
	} {
		got, err := stax.Add(name, []byte(old), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		doc, _ := stax.Parse(name, got.Text, nil)
		if diff := cmp.Diff(c.Bindings, doc.Config.Bindings); diff != "" {
			t.Errorf("%s: %s", got.Text, diff)
		}
		// The replacement has no binding, so the old one must be removed too.
		again, err := stax.Add(name, got.Text, weather(false), &stax.AddOptions{Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		if doc, _ = stax.Parse(name, again.Text, nil); len(doc.Config.Bindings) > 0 {
			t.Errorf("still bound: %s", again.Text)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	for name, old := range map[string]string{
		"x.ts": "", "x.txt": "", "x": "",
		"broken.json": "{",
		"shape.yaml":  "servers: &a {b: {command: x}}\nx: *a\n",
		"faults.json": `{"servers": {"a": {"command": 1}}}`,
		"names.toml":  "[servers.a]\ncommand = 'x'\n[servers.a]\n", "closed.toml": "servers = [{command = 'x'}]\n",
	} {
		if got, err := stax.Add(name, []byte(old), weather(false), nil); err == nil {
			t.Errorf("%s became\n%s", name, got.Text)
		} else if (name == "x.ts") != errors.Is(err, stax.ErrScript) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mcp.yaml")
	if err := stax.WriteFile(name, nil, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := stax.WriteFile(name, []byte("a"), []byte("b")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if text, _ := os.ReadFile(name); err != nil ||
		string(text) != "b" ||
		runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("it reads %q, with mode %v: %v", text, info.Mode(), err)
	}
	for _, before := range []string{"a", ""} {
		if err := stax.WriteFile(name, []byte(before), []byte("c")); !errors.Is(err, stax.ErrChanged) {
			t.Errorf("over another text: %v, want ErrChanged", err)
		}
	}
	if err := stax.WriteFile(name+".gone", []byte("a"), []byte("c")); !errors.Is(err, stax.ErrChanged) {
		t.Errorf("in place of a file that has gone: %v, want ErrChanged", err)
	}
	if err := os.Chmod(name, 0o440); err != nil {
		t.Fatal(err)
	}
	err = stax.WriteFile(name, []byte("b"), []byte("c"))
	if text, _ := os.ReadFile(name); err == nil || !strings.Contains(err.Error(), "read-only") || string(text) != "b" {
		t.Errorf("to a read-only file: %v, and it reads %q", err, text)
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	link := filepath.Join(t.TempDir(), "mcp.yaml")
	if err := os.Symlink("none.yaml", link); err != nil {
		t.Fatal(err)
	}
	const want = "it is a link to none.yaml, which does not exist"
	if err := stax.WriteFile(link, nil, []byte("c")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("to a broken link: %v, want %q", err, want)
	}
}

func TestDiff(t *testing.T) {
	got := stax.Diff("x.yaml", []byte("a: 1\nb: 2\n"), []byte("a: 1\nb: 3\nTOKEN: abcdef-123\n"))
	if !strings.HasPrefix(got, "--- x.yaml\n+++ x.yaml\n@@") ||
		!strings.Contains(got, "\n-b: 2\n+b: 3\n") ||
		strings.Contains(got, "abcdef") {
		t.Errorf("got\n%s", got)
	}
	bound := "bindings:\n  a:\n    Authorization: \"{A_TOKEN}\"\n    X-Api-Key: 'Bearer {A_TOKEN}'\nb: 1\n"
	if got := stax.Diff("x.yaml", nil, []byte(bound)); !strings.HasSuffix(got,
		"\n+"+strings.ReplaceAll(strings.TrimSuffix(bound, "\n"), "\n", "\n+")+"\n") {
		t.Errorf("names of secrets are hidden:\n%s", got)
	}
	secret := "a:\n  Authorization: Bearer abcdef\n  TOKEN: \"sesame-12\"\n  B_TOKEN: {sesame-13}\nb: 1\n"
	if got := stax.Diff("x.yaml", nil, []byte(secret)); strings.Contains(got, "sesame") ||
		strings.Contains(got, "abcdef") ||
		strings.Count(got, "\n+") != 6 {
		t.Errorf("secrets are shown, or lines joined:\n%s", got)
	}
	if got := stax.Diff("x", []byte("a"), []byte("a")); got != "" {
		t.Errorf("no difference is %q", got)
	}
}
