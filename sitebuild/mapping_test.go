package sitebuild_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func inputs() map[string]string {
	return map[string]string{
		"data/countries.csv": "code;name;continent\nfr;France;Europe\nde;Germany;Europe\njp;Japan;Asia\ncn;China;Asia\n",
		"api.yaml": "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths: {/x: {get: {operationId: " +
			"getX, tags: [t], responses: {}}, put: {operationId: putX, responses: {}}}}\n",
		"lib/lib.go":    "// Package lib is small.\npackage lib\n\n// F does it.\nfunc F() {}\n",
		"lib/go.mod":    "module example.org/lib\n",
		"docs/index.md": "# Welcome\n\nRead this.\n",
	}
}

const whole = `name: everything
title: All of it
version: 2.0
instructions: Ask.
output: public/mcp
host: github-pages
collisions: error
inputs:
  - table: data/countries.csv
    name: lands
    delimiter: ";"
    key: name
    columns: [name, code]
    find: []
    resourceRows: 0
    tools:
      get_land: {name: land, title: A land, description: What there is to know.}
      list_lands: false
  - openapi: api.yaml
    prefix: api_
    tags: [t]
  - go: lib
    resources: false
  - docs: docs
`

func open(t *testing.T, dir string) (*sitebuild.Site, *staticmcp.Site, error) {
	t.Helper()
	path, ok := sitebuild.FindMapping(dir)
	if !ok {
		t.Fatal("the file is not found")
	}
	in, err := sitebuild.OpenMapping(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := sitetest.Open(t, in, nil)
	if err != nil {
		return nil, nil, err
	}
	return b.From, b.Site, nil
}

func TestWhole(t *testing.T) {
	files := inputs()
	files[sitebuild.MappingName] = whole
	dir := sitetest.Folder(t, files)
	from, site, err := open(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := from.Server; s.Name != "everything" ||
		s.Title != "All of it" ||
		s.Version != "2.0" ||
		from.Instructions != "Ask." {
		t.Errorf("server %+v, %q", s, from.Instructions)
	}
	var names []string
	for _, tool := range from.Tools {
		names = append(names, tool.Name)
	}
	for _, name := range []string{
		"land", "api_list_operations", "api_get_operation", "list_packages", "get_symbol",
		"get_page",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("no tool %s in %v", name, names)
		}
	}
	for _, name := range []string{"get_land", "list_lands", "list_operations", "find_lands_by_continent", "land_by_code"} {
		if slices.Contains(names, name) {
			t.Errorf("there is a tool %s in %v", name, names)
		}
	}
	for _, c := range [][3]string{
		{"land", `{"name":"France"}`, `{\"name\":\"France\",\"code\":\"fr\"}`},
		{"api_get_operation", `{"operation_id":"getX"}`, "GET /x"},
		{"get_symbol", `{"import_path":"example.org/lib","symbol":"F"}`, "F does it."},
	} {
		result, err := site.CallTool(t.Context(), &mcp.CallToolParams{Name: c[0], Arguments: json.RawMessage(c[1])})
		raw, _ := json.Marshal(result)
		if err != nil || !strings.Contains(string(raw), c[2]) {
			t.Errorf("%s %s: %s %v, want %s", c[0], c[1], raw, err, c[2])
		}
	}
	cat, err := site.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cat.Resources {
		if strings.HasPrefix(r.URI, "godoc:") || r.URI == "table://lands/France" {
			t.Errorf("there is %s", r.URI)
		}
	}
	if tool := cat.Tool("land"); tool.Title != "A land" || tool.Description != "What there is to know." {
		t.Errorf("%q %q", tool.Title, tool.Description)
	}
}

func TestSettings(t *testing.T) {
	files := inputs()
	files[sitebuild.MappingName] = whole
	dir := sitetest.Folder(t, files)
	in, err := sitebuild.OpenMapping(filepath.Join(dir, sitebuild.MappingName))
	if err != nil {
		t.Fatal(err)
	}
	got, err := in.Settings()
	if err != nil {
		t.Fatal(err)
	}
	want := &sitebuild.MappingSettings{
		Output:     filepath.Join(dir, "public", "mcp"),
		Host:       sitebuild.GitHubPages,
		Collisions: "error",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if paths := in.Paths(); !slices.Contains(paths, filepath.Join(dir, "data", "countries.csv")) ||
		!slices.Contains(paths, filepath.Join(dir, sitebuild.MappingName)) {
		t.Errorf("paths %v", paths)
	}
}

func TestDefaults(t *testing.T) {
	files := inputs()
	files[sitebuild.MappingName] = "inputs: [{table: data/countries.csv}, {openapi: api.yaml}]\n"
	dir := sitetest.Folder(t, files)
	from, _, err := open(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if from.Server.Name != filepath.Base(dir) ||
		!strings.Contains(from.Instructions, "get_country") ||
		!strings.Contains(from.Instructions, "list_operations") {
		t.Errorf("%+v %s", from.Server, from.Instructions)
	}
}

// Versions of a second input have places of their own.
func TestVariants(t *testing.T) {
	files := map[string]string{
		sitebuild.MappingName: "inputs:\n- {docs: a, prefix: a_, resources: false, versions: false, languages: true}\n" +
			"- {docs: b, prefix: b_, resources: false, versions: [{name: '2.0', folder: new}, old]}\n",
	}
	for _, folder := range []string{"a/v1", "a/v2", "b/new", "b/old"} {
		files[folder+"/fruit.md"] = "# Fruit\n\nApples of " + strings.ReplaceAll(folder, "/", " ") + ".\n"
	}
	from, site, err := open(t, sitetest.Folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"b_search", `{"query":"apples"}`, "Apples of b new"},
		{"b_search", `{"query":"apples","version":"old"}`, "Apples of b old"},
		{"b_get_page", `{"path":"fruit","version":"old"}`, "Apples of b old"},
		{"a_get_page", `{"path":"v1/fruit"}`, "Apples of a v1"},
		{"a_search", `{"query":"apples"}`, "2 pages match"},
	} {
		result, err := site.CallTool(t.Context(), &mcp.CallToolParams{Name: c[0], Arguments: json.RawMessage(c[1])})
		raw, _ := json.Marshal(result)
		if err != nil || !strings.Contains(string(raw), c[2]) {
			t.Errorf("%s %s: %s %v, want %s", c[0], c[1], raw, err, c[2])
		}
	}
	lists := 0
	for a, err := range from.Answers {
		if err == nil && strings.HasPrefix(a.Path, "llms") && strings.HasSuffix(a.Path, ".txt") {
			lists++
		}
	}
	if lists != 2 { // llms.txt and llms-full.txt of the first input
		t.Errorf("%d files for llms.txt", lists)
	}
}

// TestTwoOfAKind: two inputs of one kind do not share a search index.
func TestTwoOfAKind(t *testing.T) {
	files := map[string]string{
		sitebuild.MappingName: "inputs:\n- {docs: a, prefix: a_, resources: false}\n- {docs: b, prefix: b_, " +
			"resources: false}\n",
	}
	for _, page := range []string{"one", "two", "three"} {
		files["a/"+page+".md"] = "# " + page + "\n\nApples are red.\n"
		files["b/"+page+".md"] = "# " + page + "\n\nBananas are yellow.\n"
	}
	_, site, err := open(t, sitetest.Folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	for tool, query := range map[string]string{"a_search": "red apples", "b_search": "yellow bananas"} {
		result, err := site.CallTool(t.Context(), &mcp.CallToolParams{
			Name:      tool,
			Arguments: json.RawMessage(`{"query":"` + query + `"}`),
		})
		raw, _ := json.Marshal(result)
		if err != nil || !strings.Contains(string(raw), "3 pages match") {
			t.Errorf("%s: %s %v", tool, raw, err)
		}
	}
}

// TestRenamedTexts: every text that mentions a tool uses the name that the tool has in the site.
func TestRenamedTexts(t *testing.T) {
	files := map[string]string{
		sitebuild.MappingName: "inputs:\n- {docs: a, prefix: a_, partBytes: 1000, tools: {get_nav: {name: contents}}}\n",
		"a/long.md":           "# Long\n\n" + strings.Repeat("## Part\n\nMany words about it.\n\n", 200),
	}
	for i := range 120 {
		files[fmt.Sprintf("a/group%d/page%d.md", i%40, i)] = fmt.Sprintf("# Page %d\n\nText.\n", i)
	}
	from, site, err := open(t, sitetest.Folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := json.Marshal(from.Tools)
	if err != nil {
		t.Fatal(err)
	}
	texts := from.Instructions + string(definitions)
	for a, err := range from.Answers {
		if err != nil {
			t.Fatal(err)
		}
		texts += string(a.Result)
	}
	found, err := site.CallTool(t.Context(), &mcp.CallToolParams{
		Name:      "a_search",
		Arguments: json.RawMessage(`{"query":"words"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	texts += found.Content[0].Text
	own := regexp.MustCompile(`\b(list_pages|get_page|get_section|get_nav)\b|Find pages with search`)
	if place := own.FindStringIndex(texts); place != nil {
		t.Errorf("a text has the name of a renamed tool: %.150s", texts[max(0, place[0]-100):])
	}
	for _, want := range []string{
		"The next: a_list_pages with page=2", "a_get_page with part=2", "Sections for a_get_section:",
		"a_get_section (path and heading) or a_get_page (path)", "contents with group", "use a_get_section.",
	} {
		if !strings.Contains(texts, want) {
			t.Errorf("no text says %q", want)
		}
	}
}

func TestFaults(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"syntax": {"inputs: [\n", []string{"1:1: error: did not find expected node content [mapping/syntax]"}},
		"unknown": {
			"nmae: x\ninputs:\n  - table: data/countries.csv\n    kye: x\n",
			[]string{
				`1:1: error: nmae: unknown member, did you mean "name"? (accepted: name, title, version, description, website, ` +
					`instructions, output, siteRoot, siteURL, webFiles, host, collisions, layout, compact, ` +
					`precompress, inputs) [mapping/schema]`,
				"4:5: error: inputs[0].kye: unknown member, did you mean \"key\"?",
			},
		},
		"type": {
			"name: [x]\ninputs:\n- table: data/countries.csv\n  tables: {a b: {pageRows: x}}\n",
			[]string{
				"1:1: error: name: must be a string (got an array) [mapping/schema]",
				`4:18: error: inputs[0].tables["a b"].pageRows: must be an integer (got "x") [mapping/schema]`,
			},
		},
		"no input": {"name: x\n", []string{"1:1: error: inputs: required [mapping/schema]"}},
		"no kind": {
			"inputs:\n  - key: x\n",
			[]string{"2:5: error: the input has no type: it needs one of data, docs, go, openapi, table " +
				"[mapping/kind]"},
		},
		"two": {
			"inputs:\n  - table: data/countries.csv\n    go: lib\n",
			[]string{"2:5: error: an input is either go or table; write two inputs [mapping/kind]"},
		},
		"other's": {
			"inputs:\n  - go: lib\n    key: x\n",
			[]string{`3:5: error: "key" is a setting of table, but this is go [mapping/member]`},
		},
		"path": {
			"inputs:\n  - table: nothing.csv\n",
			[]string{"2:12: error: nothing.csv: no such file or folder [mapping/path]"},
		},
		"delimiter": {
			"inputs:\n  - table: data/countries.csv\n    delimiter: ';;'\n",
			[]string{`3:16: error: ";;" is not one character, nor "tab" [mapping/delimiter]`},
		},
		"templates": {
			"inputs:\n  - data: data\n    templates: nothing\n",
			[]string{"3:16: error: nothing: no such file or folder [mapping/path]"},
		},
		"expression": {
			"inputs:\n  - data: data\n    answers:\n    - tool: x\n      arguments: [{name: a, values: lands}]\n",
			[]string{`5:29: error: answers[0].arguments[0].values: template: [0].arguments[0].values:1: function ` +
				`"lands" not defined [mapping/answers]`},
		},
		"column": {
			"inputs:\n  - data: data\n    answers:\n    - tool: x\n      description: '{{column \"nane\" countries}}'\n",
			[]string{`5:7: error: answers[0].description: template: [0].description:1:2: executing "[0].description" ` +
				`at <column "nane" countries>: error calling column: no column "nane" [mapping/answers]`},
		},
		"list": {
			"inputs:\n  - data: data\n    answers:\n    - tool: x\n      arguments: [{name: a, values: 1}]\n",
			[]string{"5:29: error: inputs[0].answers[0].arguments[0].values: must be a string (got 1) [mapping/schema]"},
		},
		"address": {
			"inputs:\n  - openapi: https://example.org/a.yaml\n",
			[]string{"2:14: error: https://example.org/a.yaml is an address; download it first [mapping/path]"},
		},
		"base URL without a scheme": {
			"inputs:\n  - docs: docs\n    baseURL: docs.example.com\n",
			[]string{`3:14: error: baseURL: "docs.example.com" is not a web address: it does not begin with https:// or ` +
				`http:// [mapping/url]`},
		},
		"base URL with a port and no scheme": {
			"inputs:\n  - docs: docs\n    baseURL: localhost:8080/docs\n",
			[]string{`3:14: error: baseURL: "localhost:8080/docs" is not a web address`},
		},
		"base URL of FTP": {
			"inputs:\n  - docs: docs\n    baseURL: ftp://docs.example.com/\n",
			[]string{`3:14: error: baseURL: "ftp://docs.example.com/" has the scheme ftp; want https or http [mapping/url]`},
		},
		"base URL with a fragment, and that of a version": {
			"inputs:\n  - docs: docs\n    baseURL: 'https://docs.example.com/#a'\n    " +
				"versions: [{name: '1', baseURL: 'https:///x'}]\n",
			[]string{
				`3:14: error: baseURL: "https://docs.example.com/#a" has a fragment, and pages are below its path [mapping/url]`,
				`4:37: error: baseURL: "https:///x" has no host [mapping/url]`,
			},
		},
		"base URL of a list of pages": {
			"inputs:\n  - docs: https://example.com/llms.txt\n    baseURL: 'https://a:b@example.com/?x'\n",
			[]string{`3:14: error: baseURL: the address has a user name or password, which every page would show [mapping/url]`},
		},
		"tool": {
			"inputs:\n  - table: data/countries.csv\n    tools: {get_contry: false}\n",
			[]string{`3:13: error: the input has no tool "get_contry"; did you mean "get_country"? [mapping/tool]`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := inputs()
			files[sitebuild.MappingName] = test.text
			dir := sitetest.Folder(t, files)
			_, _, err := open(t, dir)
			var invalid *sitebuild.MappingError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v", err)
			}
			ruletest.Record(invalid.Findings...)
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Errorf("got %q", lines)
			}
			for i, line := range lines[:min(len(lines), len(test.want))] {
				if got := strings.TrimPrefix(line,
					filepath.Join(dir, sitebuild.MappingName)+":"); !strings.HasPrefix(got, test.want[i]) {
					t.Errorf("got  %s\nwant %s", got, test.want[i])
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	dir := sitetest.Folder(t, map[string]string{
		"a/" + sitebuild.MappingName: "",
		"b/shop.site.yaml":           "",
		"b/other.yaml":               "",
	})
	for path, want := range map[string]bool{
		"a":                          true,
		"a/" + sitebuild.MappingName: true,
		"b":                          false,
		"b/shop.site.yaml":           true,
		"b/other.yaml":               false,
		"c":                          false,
	} {
		if _, ok := sitebuild.FindMapping(filepath.Join(dir, path)); ok != want {
			t.Errorf("Find(%s) = %v", path, ok)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add(whole)
	f.Add("inputs: [{docs: docs}]")
	f.Add(`{"inputs":[{"table":"data/countries.csv","tables":{"x":{}}}]}`)
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		if strings.Contains(text, "/") || strings.Contains(text, "..") {
			return // leads outside the folder
		}
		files := map[string]string{"c.csv": "a,b\n1,2\n", sitebuild.MappingName: text}
		in, err := sitebuild.OpenMapping(filepath.Join(sitetest.Folder(t, files), sitebuild.MappingName))
		if err != nil {
			t.Fatal(err)
		}
		site, err := in.Site(context.Background())
		if err != nil {
			return
		}
		_, _ = sitebuild.Write(context.Background(), site, sitebuild.NewMemory(), &sitebuild.Options{Lenient: true})
	})
}
