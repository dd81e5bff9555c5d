package data

import (
	"io"
	"strings"
	"testing"
	"text/template"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// values are what the texts below work on.
func values() map[string]any {
	return map[string]any{
		"name":  "Åland <b>",
		"n":     int64(7),
		"f":     1.5,
		"yes":   true,
		"empty": "",
		"none":  nil,
		"list":  []any{int64(3), int64(1), "x", nil, []any{"deep"}},
		"rows": []any{
			map[string]any{"id": int64(1), "name": "one"},
			map[string]any{"id": int64(2), "name": "two"},
		},
		"map": map[string]any{"b": int64(2), "a": map[string]any{"c": "d"}},
	}
}

// calls are functions of the kinds that templates have here.
func calls() map[string]any {
	return map[string]any{
		"upper":  strings.ToUpper,
		"repeat": strings.Repeat,
		"join":   join,
		"column": column,
		"all":    func() any { return []any{"p", "q"} },
	}
}

// texts are templates that text/template executes, or refuses, too.
var texts = []string{
	`plain`, `{{.name}} {{.n}} {{.f}} {{.yes}} {{.none}} {{.list}} {{.map.a.c}}`,
	`{{with .map}}{{.b}}{{else}}no{{end}}{{with .empty}}x{{else}}none{{end}}{{with .none}}x{{else with .n}}{{.}}{{end}}`,
	`{{if .empty}}a{{else if .yes}}b{{else}}c{{end}}{{if not .none}}d{{end}}`,
	`{{range .list}}[{{.}}]{{end}}{{range $i, $x := .list}}{{$i}}={{$x}};{{end}}{{range .empty}}x{{else}}none{{end}}`,
	`{{range $k, $v := .map}}{{$k}}:{{$v}} {{end}}{{range .none}}x{{else}}nothing{{end}}`,
	`{{range 3}}{{.}}{{end}}{{range $i := 4}}{{if eq $i 1}}{{continue}}{{end}}{{if eq $i 3}}{{break}}{{end}}{{$i}}{{end}}`,
	`{{$x := 1}}{{if true}}{{$x = 2}}{{$y := 3}}{{$y}}{{end}}{{$x}}{{$.name}}`,
	`{{$sum := ""}}{{range .rows}}{{$sum = print $sum .name}}{{end}}{{$sum}}`,
	`{{.name | upper | printf "%q %s" "a"}} {{repeat "ab" 3}} {{"x" | printf "%s%s" "y"}}`,
	`{{join ", " (column "name" .rows)}} {{all}} {{index all 1}} {{index .list 4 0}}` +
		` {{index .map "a" "c"}} {{index .map "z"}}`,
	`{{len .list}} {{len .name}} {{len .map}} {{slice .name 0 2}} {{slice .list 1 3}} {{slice .list 1}}`,
	`{{eq .n 7}} {{eq .n 1 2 7}} {{ne .name "x"}} {{lt .n 8}} {{ge .f 1.5}} {{le "a" "b"}} {{gt 2 1}} {{eq .none nil}}`,
	`{{and .yes .empty .n}} {{or .empty .none "z"}} {{and 1 0}} {{or 0 1}} {{not .yes}} {{and .none .x.y}}` +
		` {{or .yes .x.y}}`,
	`{{html .name}} {{js .name}} {{urlquery .name "&"}} {{print 1 2 "x"}} {{println .n}} {{printf "%v %d" .list .n}}`,
	`{{define "row"}}<{{.name}}>{{end}}{{range .rows}}{{template "row" .}}{{end}}{{block "b" .n}}{{.}}{{end}}`,
	`{{- .n -}} x {{- /* comment */ -}} y`, `{{1}} {{1.5}} {{'a'}} {{0x10}} {{1e3}} {{true}} {{"q"}}` +
		` {{` + "`raw`" + `}} {{-3}} {{1_000}}`,
	`{{(index .rows 0).name}} {{(index .rows 1).id}} {{(.map).b}}`,
	`{{range $i, $r := .rows}}{{range $j, $s := $.rows}}{{$i}}{{$j}}{{$r.name}}{{$s.id}} {{end}}{{end}}`,
	`{{.missing}}`, `{{.name.x}}`, `{{.none.x}}`, `{{index .list 9}}`, `{{index .list "a"}}`, `{{len .n}}`, `{{upper .n}}`,
	`{{repeat "a" "b"}}`, `{{repeat "a"}}`, `{{.n 1}}`, `{{eq .n "7"}}`, `{{lt .none 1}}`, `{{template "nowhere"}}`,
	`{{range .n}}{{.}}{{end}}`, `{{range .yes}}{{end}}`, `{{nil}}`, `{{slice .list 3 1}}`, `{{slice .n 1}}`,
	`{{call .name}}`,
	`{{99999999999999999999}}`, `{{1i}}`, `{{eq .list .list}}`, `{{index .none 1}}`, `{{range $a, $b := 3}}{{end}}`,
	`{{not}}`,
	`{{with $z := .n}}{{$z}}{{end}}`, `{{if $z := .n}}{{$z}}{{end}}`, `{{range .f}}{{end}}`, `{{repeat "a" -1}}`, `{{.}}`,
}

// ours and theirs execute a template of the same name and text.
func ours(text string) (string, error) {
	ts := newTemplates(calls())
	if err := ts.parse("t", text); err != nil {
		return "", err
	}
	var out strings.Builder
	err := ts.execute(&out, "t", values())
	return out.String(), err
}

func theirs(text string) (string, error) {
	t, err := template.New("t").Option("missingkey=error").Funcs(calls()).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, values())
	return out.String(), err
}

// Templates mean what they mean to text/template.
func TestAsTextTemplate(t *testing.T) {
	for _, text := range texts {
		compareWith(t, text)
	}
}

func FuzzAsTextTemplate(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		// Output that grows with a number or a width in the text is another test's subject.
		if strings.Count(text, "range") <= 2 && !strings.ContainsAny(text, "%56789") {
			compareWith(t, text)
		}
	})
}

func compareWith(t *testing.T, text string) {
	t.Helper()
	want, theirErr := theirs(text)
	got, err := ours(text)
	if (err == nil) != (theirErr == nil) {
		t.Errorf("%s: the error is %v, that of text/template %v", text, err, theirErr)
	} else if err == nil && got != want {
		t.Errorf("%s:\ngot  %q\nwant %q", text, got, want)
	}
}

// Templates that call themselves end with an error.
func TestEndlessTemplates(t *testing.T) {
	ts := newTemplates(nil)
	if err := ts.parse("t", `{{template "t" .}}`); err != nil {
		t.Fatal(err)
	}
	if err := ts.execute(io.Discard, "t", nil); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("the error is %v", err)
	}
}
