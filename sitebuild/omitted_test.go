package sitebuild_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/sitebuild"
)

// TestOmittedTools omits one tool after the other, and each pair of neighbors: no text of the site may name a tool
// that the site lacks, because a model would call it.
func TestOmittedTools(t *testing.T) {
	files := inputs()
	files["docs/long.md"] = "# Long\n\n" + strings.Repeat("## Part\n\n"+strings.Repeat("Words of it. ", 200)+"\n\n", 20)
	var rows, paths, code strings.Builder
	for i := range 12 { // enough for a search tool
		fmt.Fprintf(&rows, "c%d;Country%d;%s\n", i, i, strings.Repeat("wine ", 60))
		fmt.Fprintf(&paths, "  /p%d: {get: {operationId: op%d, responses: {}}}\n", i, i)
		fmt.Fprintf(&code, "\n// F%d does it.\nfunc F%d() {}\n", i, i)
	}
	files["data/countries.csv"] = "code;name;about\n" + rows.String()
	files["api.yaml"] = "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths:\n" + paths.String() +
		"components: {schemas: {S: {type: string}}}\n"
	files["lib/lib.go"] = "// Package lib is small.\npackage lib\n" + code.String()
	for input, tools := range map[string][]string{
		"docs: docs":                {"search", "list_pages", "get_page", "get_section", "get_nav"},
		"openapi: api.yaml":         {"list_operations", "get_operation", "list_schemas", "get_schema", "search_operations"},
		"go: lib":                   {"list_packages", "get_package", "get_symbol", "find_symbols", "search_docs"},
		"table: data/countries.csv": {"get_country", "list_countries", "search_countries", "get_country_by_name"},
	} {
		for i := range tools {
			for _, omitted := range [][]string{{tools[i]}, {tools[i], tools[(i+1)%len(tools)]}} {
				text := siteText(t, files, input, omitted)
				for _, tool := range omitted {
					if at := regexp.MustCompile(`\b` + tool + `\b`).FindStringIndex(text); at != nil {
						t.Errorf("%s without %q: a text names %s: %s", input, omitted, tool,
							text[max(0, at[0]-60):min(len(text), at[1]+60)])
					}
				}
				if strings.Contains(text, "%s") {
					t.Errorf("%s without %q: a text has a gap", input, omitted)
				}
			}
		}
		if text := siteText(t, files, input, nil); !strings.Contains(text, tools[0]) {
			t.Errorf("%s: no text names %s", input, tools[0])
		}
	}
}

// TestPrefixedTools sets a prefix for inputs whose answers take several pages and parts: no text of the site may
// name a tool without it.
func TestPrefixedTools(t *testing.T) {
	files := inputs()
	var rows, paths, code strings.Builder
	for i := range 400 {
		fmt.Fprintf(&rows, "c%d;Country%d;%s\n", i, i, strings.Repeat("wine ", 60))
		fmt.Fprintf(&code, "\n// F%d does it.\nfunc F%d(%s int) {}\n", i, i, strings.Repeat("wine", 20))
	}
	for i := range 250 { // so few that the list has their summaries
		fmt.Fprintf(&paths, "  /p%d: {get: {operationId: op%d, summary: %s, responses: {}}}\n",
			i, i, strings.Repeat("Wine ", 20))
	}
	text := strings.Repeat("Words of it. ", 3000)
	files["data/countries.csv"] = "code;name;about\n" + rows.String()
	files["api.yaml"] = "openapi: 3.0.0\ninfo: {title: A, version: '1'}\npaths:\n" + paths.String() +
		"  /long: {get: {operationId: long, description: " + text + ", responses: {}}}\n" +
		"components: {schemas: {S: {type: string, description: " + text + "}}}\n"
	files["lib/lib.go"] = "// Package lib is large.\npackage lib\n" + code.String()
	for i := range 400 {
		files[fmt.Sprintf("lib/%s%d/p.go", strings.Repeat("long", 20), i)] =
			"// Package p is small.\npackage p\n\n// F does it.\nfunc F() {}\n"
	}
	for input, test := range map[string]struct{ tools, long []string }{
		"openapi: api.yaml": {
			[]string{"list_operations", "get_operation", "list_schemas", "get_schema", "search_operations"},
			[]string{"list_operations with page", "get_operation with part", "get_schema with part"},
		},
		"go: lib": {
			[]string{"list_packages", "get_package", "get_symbol", "find_symbols", "search_docs"},
			[]string{"list_packages with page", "get_package with part", "find_symbols with page"},
		},
		"table: data/countries.csv": {
			[]string{"get_country", "list_countries", "search_countries", "get_country_by_name"}, nil,
		},
	} {
		text := siteText(t, files, input+"\n    prefix: x_", nil)
		for _, tool := range test.tools {
			if at := regexp.MustCompile(`[^-\w]` + tool + `\b`).FindStringIndex(text); at != nil {
				t.Errorf("%s: a text names %s: %s", input, tool, text[max(0, at[0]-60):min(len(text), at[1]+60)])
			}
		}
		for _, long := range test.long {
			if next := "The next one: x_" + long + "=2."; !strings.Contains(text, next) {
				t.Errorf("%s: no text has %q", input, next)
			}
		}
	}
}

// siteText returns all files of the site of an input without some of its tools.
func siteText(t *testing.T, files map[string]string, input string, omitted []string) string {
	t.Helper()
	mapping := "name: x\ninputs:\n  - " + input + "\n"
	for i, tool := range omitted {
		if i == 0 {
			mapping += "    tools:\n"
		}
		mapping += fmt.Sprintf("      %s: false\n", tool)
	}
	files[sitebuild.MappingName] = mapping
	in, err := sitebuild.OpenMapping(filepath.Join(sitetest.Folder(t, files), sitebuild.MappingName))
	if err != nil {
		t.Fatal(err)
	}
	site, err := in.Site(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", mapping, err)
	}
	memory := sitewriter.NewMemory()
	if _, err := sitewriter.Write(t.Context(), site, memory, nil); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	err = fs.WalkDir(memory, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(memory, path)
		if strings.HasPrefix(path, ".staticmcp/") { // of the index, which has words of its own
			text = regexp.MustCompile(`"hint":"[^"]*"`).Find(text)
		}
		all.WriteString(strings.ReplaceAll(string(text), ".staticmcp/search", "") + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
