package data_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/data"
)

var files = map[string]string{
	"data/countries.csv": "code,name,continent\njp,Japan,Asia\nfr,France,Europe\nis,Iceland,Europe\n",
	"data/rivers.yaml":   "- {name: Loire, in: fr, km: 1006}\n- {name: Seine, in: fr, note: 'Through Paris. And on.'}\n",
	"data/notes/fr.md":   "# France\n\nWine.\n",
	"data/pixel.bin":     "\x00\x01",
	"templates/name.txt": "{{.name}}{{/* no line break */ -}}\n",
}

func build(t *testing.T, files map[string]string, answers ...data.Item) (*sitetest.Built, error) {
	t.Helper()
	dir := sitetest.Folder(t, files)
	o := &data.Options{Templates: filepath.Join(dir, "templates"), Answers: answers}
	in, err := data.New(filepath.Join(dir, "data"), o)
	if err != nil {
		t.Fatal(err)
	}
	return sitetest.Open(t, in, nil)
}

func TestFunctions(t *testing.T) {
	for text, want := range map[string]string{
		`{{join ", " (column "name" (sort "name" countries))}}`:              "France, Iceland, Japan",
		`{{range where "continent" "Europe" countries}}{{.code}} {{end}}`:    "fr is ",
		`{{range where "km" 1006 rivers}}{{.name}}{{end}}`:                   "Loire",
		`{{range sort "km" rivers}}{{.km}} {{end}}`:                          " 1006 ",
		`{{sentence (index rivers 1).note}} {{sentence "In HTTP/1.1. Ok."}}`: "Through Paris. In HTTP/1.1.",
		`{{sentence "E.g. this. That."}} {{lower "ÄB"}}`:                     "E.g. this. äb",
		`{{match "^# (.*)" (read "notes/fr.md")}} {{match "x" "y"}}`:         "France ",
		`{{match "[a-z]+" "AbcD"}} {{replace "(b)(c)" "$2$1" "abcd"}}`:       "bc acbd",
		`{{template "name.txt" index countries 0}}`:                          "Japan",
		`{{if eq (index rivers 0).km 1006}}the same{{end}}`:                  "the same",
	} {
		b, err := build(t, files, data.Item{Tool: "f", Description: "f", Answers: []data.Answer{{Text: text}}})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := b.Call("f", "{}").Text; got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestTools(t *testing.T) {
	loops := []map[string]string{{"c": "countries"}, {"r": `where "in" .c.code rivers`}}
	b, err := build(t, files,
		data.Item{
			Tool: "river", Description: "{{len rivers}} rivers",
			Arguments: []data.Argument{
				{Name: "country", Values: `column "code" countries`, Schema: mcp.Schema{Type: "string"}},
				{Name: "n", Schema: mcp.Schema{Type: "integer"}, Optional: true},
			},
			Answers: []data.Answer{
				{Each: loops, With: map[string]string{"country": "{{.c.code}}", "n": "{{len .r.name}}{{len .r.note}}"},
					Text: "{{.r.name}}"},
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Call("river", `{"country":"fr","n":50}`).Text; got != "Loire" {
		t.Errorf("got %q", got)
	}
	tool := b.From.Tools[0]
	want := `{"type":"object","properties":{"country":{"type":"string","enum":["jp","fr","is"]},"n":{"type":"integer"}},` +
		`"required":["country"],"additionalProperties":false}`
	if d := diff.Diff(want, string(tool.InputSchema)); d != "" || tool.Description != "2 rivers" {
		t.Errorf("%s %s", tool.Description, d)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	b, err := build(t, files,
		data.Item{
			Resource: "land:{{.c.code}}", Name: "{{.c.name}}", MIMEType: "text/plain", Text: "in {{.c.continent}}",
			Each: []map[string]string{{"c": `sort "name" countries`}},
		},
		data.Item{Template: "land:{code}", Name: "Land", Description: "A land"},
		data.Item{
			Prompt: "visit", Description: "Visit",
			Arguments: []data.Argument{{Name: "land"}},
			Answers: []data.Answer{{
				Each: []map[string]string{{"c": "countries"}},
				With: map[string]string{"land": "{{.c.name}}"},
				Messages: []data.Message{
					{Text: "Go to {{.c.name}}"}, {Resource: "land:{{.c.code}}", Text: "in {{.c.continent}}",
						Role: "assistant"},
				},
			}},
		})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r, err := range b.From.Resources {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.URI+" "+r.Name)
	}
	if d := diff.Diff([]string{"land:fr France", "land:is Iceland", "land:jp Japan"}, names); d != "" {
		t.Error(d)
	}
	contents, err := b.Site.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "land:is"})
	if raw, _ := mcp.Marshal(contents); err != nil || !strings.Contains(string(raw), "in Europe") {
		t.Errorf("%s %v", raw, err)
	}
	prompt, err := b.Site.GetPrompt(t.Context(),
		&mcp.GetPromptParams{Name: "visit", Arguments: map[string]string{"land": "Japan"}})
	raw, _ := mcp.Marshal(prompt)
	for _, want := range []string{"Go to Japan", `"assistant"`, `"land:jp"`, "in Asia"} {
		if err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s %v, want %s", raw, err, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{{(index countries 0).capital}}`: `answers[0].answers[0].text: template: ` +
			`[0].answers[0].text:1:21: ` +
			`executing "[0].answers[0].text" at <(index countries 0).capital>: map has no entry for key "capital"`,
		`{{read "../templates/name.txt"}}`:              "path escapes from parent",
		`{{match "(" "x"}}`:                             "missing closing )",
		`{{range 20000}}{{printf "%1000s" "x"}}{{end}}`: "larger than 16777216 bytes",
		`{{end}}`: "unexpected {{end}}",
	} {
		dir := sitetest.Folder(t, files)
		in, err := data.New(filepath.Join(dir, "data"), &data.Options{
			Templates: filepath.Join(dir, "templates"),
			Answers:   []data.Item{{Tool: "f", Answers: []data.Answer{{Text: text}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		site, err := in.Site(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wrong *data.Error
		for _, err = range site.Answers {
		}
		if !errors.As(err, &wrong) || wrong.Path != "[0].answers[0].text" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestUnreadableData(t *testing.T) {
	for name, want := range map[string]string{
		"data/two words.csv": "by a name that is a word",
		"data/countries.yml": "once in the folder",
		"data/join.json":     `a function called "join"`,
		"data/bad.csv":       "wrong number of fields",
		"data/bad.yaml":      "line 2",
		"templates/bad.txt":  "unclosed action",
	} {
		text := map[string]string{"data/bad.csv": "a,b\n1\n", "data/join.json": "{}"}[name]
		text = cmp.Or(text, "a: b\n[{{\n")
		all := map[string]string{name: text}
		for name, text := range files {
			all[name] = text
		}
		if _, err := build(t, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if _, err := data.New(filepath.Join(t.TempDir(), "none"), &data.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestFile(t *testing.T) {
	dir := sitetest.Folder(t, files)
	in, err := data.New(filepath.Join(dir, "data"), &data.Options{
		Answers: []data.Item{{Resource: "pixel:1", Name: "Pixel", MIMEType: "image/x", File: "pixel.bin"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	site, err := in.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for a, err := range site.Answers {
		if err != nil || string(a.Result) != `{"uri":"pixel:1","mimeType":"image/x","blob":"AAE="}` {
			t.Errorf("%s %v", a.Result, err)
		}
	}
	if got := in.Paths(); len(got) != 1 || got[0] != filepath.Join(dir, "data") {
		t.Errorf("paths %v", got)
	}
}
