package mcpb_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-mcp/slipway/mcpb"
)

const full = `{
  "manifest_version": "0.3", "name": "My Files", "display_name": "My files!", "version": "1.2.0",
  "description": "Finds files", "long_description": "*Finds* files",
  "author": {"name": "A", "email": "a@example.com", "url": "https://example.com"},
  "repository": {"type": "git", "url": "https://example.com/a.git"},
  "icon": "icon.png", "icons": [{"src": "i.png", "size": "16x16", "theme": "dark"}],
  "screenshots": ["s.png"],
  "localization": {"resources": "r/${locale}.json", "default_locale": "en"},
  "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {
    "command": "node", "args": ["${__dirname}/server/index.js", "${user_config.dirs}"],
"env": {"KEY": "${user_config.key}"},
    "platform_overrides": {"win32": {"args": []}}}},
  "tools": [{"name": "search", "description": "Search"}], "tools_generated": true,
  "prompts": [{"name": "p", "arguments": ["a"], "text": "Do ${arguments.a}"}],
  "keywords": ["k"], "license": "MIT", "privacy_policies": ["https://example.com/privacy"],
  "compatibility": {"claude_desktop": ">=1.0.0", "other": "^2", "platforms": ["linux"], "runtimes": {"node": ">=18"}},
  "user_config": {
    "key": {"type": "string", "title": "Key", "description": "d", "sensitive": true},
    "dirs": {"type": "directory", "title": "Dirs", "description": "d", "multiple": true, "default": ["${HOME}/a"]},
    "n": {"type": "number", "title": "N", "description": "d", "min": 1, "max": 9, "default": 5}},
  "_meta": {"com.example": {"a": [1]}}, "extra": {"kept": 1}
}`

func TestParseManifest(t *testing.T) {
	got, err := mcpb.ParseManifest([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	one, nine := 1.0, 9.0
	want := &mcpb.Manifest{
		SpecVersion: "0.3", Name: "My Files", DisplayName: "My files!", Version: "1.2.0",
		Description: "Finds files", LongDescription: "*Finds* files",
		Author:     mcpb.Author{Name: "A", Email: "a@example.com", URL: "https://example.com"},
		Repository: &mcpb.Repository{Type: "git", URL: "https://example.com/a.git"},
		Icon:       "icon.png", Icons: []mcpb.Icon{{Src: "i.png", Size: "16x16", Theme: "dark"}},
		Screenshots:  []string{"s.png"},
		Localization: &mcpb.Localization{Resources: "r/${locale}.json", DefaultLocale: "en"},
		Server: mcpb.Server{Type: "node", EntryPoint: "server/index.js", Config: &mcpb.Config{
			Command: "node", Args: []string{"${__dirname}/server/index.js", "${user_config.dirs}"},
			Env:       map[string]string{"KEY": "${user_config.key}"},
			Overrides: map[string]mcpb.Override{"win32": {Args: []string{}}}}},
		Tools: []mcpb.Tool{{Name: "search", Description: "Search"}}, ToolsGenerated: true,
		Prompts:  []mcpb.Prompt{{Name: "p", Arguments: []string{"a"}, Text: "Do ${arguments.a}"}},
		Keywords: []string{"k"}, License: "MIT", PrivacyPolicies: []string{"https://example.com/privacy"},
		Compatibility: &mcpb.Compatibility{Platforms: []string{"linux"}, Runtimes: map[string]string{"node": ">=18"},
			Clients: map[string]string{"claude_desktop": ">=1.0.0", "other": "^2"}},
		UserConfig: []mcpb.Option{
			{Key: "key", Type: "string", Title: "Key", Description: "d", Sensitive: true},
			{Key: "dirs", Type: "directory", Title: "Dirs", Description: "d", Multiple: true, Default: []string{"${HOME}/a"}},
			{Key: "n", Type: "number", Title: "N", Description: "d", Default: 5.0, Min: &one, Max: &nine},
		},
	}
	if diff := cmp.Diff(got, want, cmpopts.IgnoreUnexported(mcpb.Manifest{}),
		cmpopts.IgnoreFields(mcpb.Manifest{}, "Meta", "Unknown")); diff != "" {
		t.Error(diff)
	}
	if string(got.Meta["com.example"]) != `{"a": [1]}` ||
		string(got.Unknown["extra"]) != `{"kept": 1}` ||
		len(got.Unknown) != 1 {
		t.Errorf("_meta %s, unknown %s", got.Meta, got.Unknown)
	}
	if string(got.JSON()) != full || got.Title() != "My files!" || got.FileName() != "My-Files-1.2.0.mcpb" {
		t.Errorf("%q, %q", got.Title(), got.FileName())
	}
}

func TestParseManifestRefuses(t *testing.T) {
	small := func(old, new string) string {
		return strings.Replace(`{"manifest_version":"0.3","name":"n","version":"1","description":"d","author":{"name":"a"},`+
			`"server":{"type":"node","entry_point":"i.js","mcp_config":{"command":"node"}}}`, old, new, 1)
	}
	tests := map[string]struct {
		text string
		want string // part of the error; "" for none
	}{
		"small":           {small("", ""), ""},
		"byte order mark": {"\ufeff" + small("", ""), ""},
		"unknown field":   {small(`"name"`, `"nmae":1,"name"`), ""},
		"no JSON":         {small("{", "{{"), "line 1: not JSON"},
		"no object":       {`[]`, "must be an object and is a list"},
		"no version":      {small(`"manifest_version":"0.3",`, ""), `"manifest_version" is missing`},
		"other version":   {small("0.3", "9.9"), `unknown manifest version "9.9"`},
		"a number":        {small(`"0.3"`, `0.3`), `unknown manifest version 0.3`},
		"wrong type":      {small(`"1"`, `1`), `"version" must be a string and is a number`},
		"missing":         {small(`"entry_point":"i.js",`, ``), `"entry_point" is missing`},
		"several":         {`{"manifest_version":"0.3"}`, "and 2 more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := mcpb.ParseManifest([]byte(tt.text))
			if tt.want == "" {
				if err != nil || m.Name != "n" {
					t.Errorf("got %v, %v", m, err)
				}
				return
			}
			var e *mcpb.ManifestError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := mcpb.ReadManifest(fstest.MapFS{"manifest.json": {Data: make([]byte,
		mcpb.MaxManifest+1)}}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a manifest without end: %v", err)
	}
}

// TestLongNames verifies that a manifest cannot make its readers take memory for each value below
// a long name: 300 KB of text took a gigabyte.
func TestLongNames(t *testing.T) {
	var values []string
	for i := range 3000 {
		values = append(values, fmt.Sprintf(`"a%d":1`, i))
	}
	below := "{" + strings.Join(values, ",") + "}"
	for _, field := range []string{
		`"user_config":{"NAME":` + below + `}`,
		`"_meta":{"NAME":` + below + `}`,
		`"_meta":{"com.example":{"NAME":` + below + `}}`,
		`"extra":{"NAME":` + below + `}`,
	} {
		t.Run(strings.ReplaceAll(field[:25], below[:5], ""), func(t *testing.T) {
			long := strings.Replace(field, "NAME", strings.Repeat("n", 300_000), 1)
			text := []byte(strings.Replace(full, `"_meta": {"com.example": {"a": [1]}}, "extra": {"kept": 1}`, long, 1))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = mcpb.ParseManifest(text)
			_, _, err := mcpb.Check(fstest.MapFS{"manifest.json": {Data: text}}, nil)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
				t.Errorf("%d bytes of text took %d MiB", len(text), used>>20)
			}
		})
	}
}
