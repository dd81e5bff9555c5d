package interop_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// referenceSite returns the first example of the README.
func referenceSite(t *testing.T) (site, mistakes) {
	t.Helper()
	s := readSite(t, filepath.Join("..", "examples", "http-reference"))
	return s, mistakes{
		tool:      "get_status",
		wrongType: object{"code": "teapot"},
		missing:   object{},
		unknown:   object{"code": 404, "colour": "red"},
		unheld:    object{"code": 599},
		prompt:    "explain_status",
	}
}

// TestReferenceSite reads the whole example site with every client.
func TestReferenceSite(t *testing.T) {
	s, wrong := referenceSite(t)
	to := serve(t, s.dir)
	withEveryClient(t, to, func(t *testing.T, c client, version string) {
		checkSite(t, c, version, s, wrong)
		t.Run("facts", func(t *testing.T) { checkFacts(t, c) })
	})
}

// checkFacts asks a few questions and compares the answers with RFC 9110, so that a site
// with the right structure and the wrong text fails.
func checkFacts(t *testing.T, c client) {
	for _, ask := range []struct {
		tool string
		args object
		want string
	}{
		{"get_status", object{"code": 404}, "Not Found"},
		{"get_status", object{"code": 200}, "OK"},
		{"find_header", object{"name": "Content-Type"}, "media type"},
		{"compare_methods", object{"a": "GET", "b": "POST"}, "safe"},
	} {
		got, err := c.call(limited(t), ask.tool, ask.args)
		if err != nil {
			t.Errorf("%s(%v): %v", ask.tool, ask.args, err)
			continue
		}
		content := objects(got["content"])
		if len(content) == 0 {
			t.Errorf("%s(%v): no content", ask.tool, ask.args)
			continue
		}
		if said, _ := content[0]["text"].(string); !strings.Contains(strings.ToLower(said), strings.ToLower(ask.want)) {
			t.Errorf("%s(%v) = %q, want it to speak of %q", ask.tool, ask.args, said, ask.want)
		}
	}
}

// TestGeneratedSite reads the whole generated site with every client.
func TestGeneratedSite(t *testing.T) {
	s, wrong := writeSite(t)
	to := serve(t, s.dir)
	withEveryClient(t, to, func(t *testing.T, c client, version string) {
		checkSite(t, c, version, s, wrong)
		t.Run("pages", func(t *testing.T) { checkPages(t, c) })
		t.Run("completion", func(t *testing.T) { checkCompletion(t, c) })
	})
}

// checkPages verifies that the long list has several pages; otherwise, following cursors
// would not have been tested.
func checkPages(t *testing.T, c client) {
	if _, pages := listAll(t, c, "resources"); pages < 2 {
		t.Errorf("%d resources came in %d page, want several", manyResources, pages)
	}
}

func checkCompletion(t *testing.T, c client) {
	if c.version() > v2024 {
		if _, declared := c.capabilities()["completions"]; !declared {
			t.Error("the site has prompts with known arguments, and no completions capability")
		}
	}
	for _, ask := range []struct {
		name     string
		about    reference
		argument string
		value    string
		want     []any
	}{
		{"of a prompt", reference{prompt: "translate"}, "language", "f", []any{"finnish", "french"}},
		{"of a prompt, whole", reference{prompt: "translate"}, "language", "german", []any{"german"}},
		{"of a prompt, nothing", reference{prompt: "translate"}, "language", "zulu", []any{}},
		{"of a template", reference{template: "list://item/{number}"}, "number", "123", []any{
			"1230", "1231", "1232", "1233", "1234", "1235", "1236", "1237", "1238", "1239"}},
	} {
		got, err := c.complete(limited(t), ask.about, ask.argument, ask.value)
		if err != nil {
			t.Errorf("completion %s: %v", ask.name, err)
			continue
		}
		completion, _ := got["completion"].(object)
		values, _ := completion["values"].([]any)
		if values == nil {
			values = []any{}
		}
		same(t, "completion "+ask.name, values, ask.want)
	}
	_, err := c.complete(limited(t), reference{prompt: "no_such_prompt"}, "language", "f")
	wantCode(t, c, "completion of an unknown prompt", err, -32602)
}
