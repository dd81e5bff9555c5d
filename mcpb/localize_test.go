package mcpb_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcpb"
)

func TestFallbacks(t *testing.T) {
	available := []string{"de", "es-ES", "es-MX", "pt-BR", "zh-Hans", "zh-Hant-TW"}
	tests := map[string]struct {
		locale, own string
		want        string
	}{
		"itself":                   {"pt-BR", "en-US", "pt-BR"},
		"in other letters":         {"PT-br", "en-US", "pt-BR"},
		"without the region":       {"de-AT", "en-US", "de"},
		"other regions":            {"es-UY", "en-US", "es-ES es-MX"},
		"the manifest is as good":  {"es-UY", "es-AR", ""},
		"the manifest itself":      {"en-US", "en-US", ""},
		"not into another writing": {"zh-Hant-HK", "en", "zh-Hant-TW"},
		"the writing":              {"zh-Hans-SG", "en", "zh-Hans"},
		"nothing":                  {"fr", "en-US", ""},
		"no language":              {"", "en-US", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(mcpb.Fallbacks(tt.locale, tt.own, available), " "); got != tt.want {
				t.Errorf("Fallbacks(%q, %q) = %q, want %q", tt.locale, tt.own, got, tt.want)
			}
		})
	}
}

func TestLocalized(t *testing.T) {
	m, err := mcpb.ParseManifest(
		[]byte(
			`{"manifest_version":"0.3","name":"n","version":"1.0.0","description":"d","author":{"name":"a"},"keywords":["k"],
		"server":{"type":"node","entry_point":"i.js","mcp_config":{"command":"node"}},
"localization":{"resources":"l/${LOCALE}/m.json"},
		"tools":[{"name":"t","description":"x"},{"name":"u","description":"y"}],"prompts":[{"name":"p","text":"z"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{
		"l/es-ES/m.json": {
			Data: []byte(
				`{"description":"D","display_name":"N","tools":[{"name":"t","description":"X"},{"name":"v","description":"V"}],
"prompts":[{"name":"p","text":"Z"}]}`),
		},
		"l/es-MX/m.json": {Data: []byte(`{"description":"D2","author":{"name":"A"},"keywords":["K"]}`)},
		"l/pt/m.json":    {Data: []byte(`{`)},
		"l/readme.md":    {},
		"l/fr/other":     {},
	}
	if got := m.Locales(fsys); !slices.Equal(got, []string{"es-ES", "es-MX", "pt"}) {
		t.Errorf("Locales = %q", got)
	}
	got, used := m.Localized(fsys, "es-UY")
	if !slices.Equal(used, []string{"es-ES", "es-MX"}) {
		t.Errorf("used %q", used)
	}
	want := *m
	want.DisplayName, want.Description, want.Author.Name, want.Keywords = "N", "D", "A", []string{"K"}
	want.Tools = []mcpb.Tool{{Name: "t", Description: "X"}, {Name: "u", Description: "y"}}
	want.Prompts = []mcpb.Prompt{{Name: "p", Text: "Z"}}
	if diff := cmp.Diff(got, &want, cmp.AllowUnexported(mcpb.Manifest{})); diff != "" {
		t.Error(diff)
	}
	if m.Description != "d" || m.Tools[0].Description != "x" {
		t.Error("the manifest itself was changed")
	}
	if got, used := m.Localized(fsys, "pt-BR"); used != nil || got.Description != "d" {
		t.Errorf("a broken translation: %q, %q", got.Description, used)
	}
}
