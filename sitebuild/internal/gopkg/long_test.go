package gopkg_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/gopkg"
)

// TestLongAnswers reads a package with 2,000 functions and a module with 900 packages:
// every part is short, and together they are complete.
func TestLongAnswers(t *testing.T) {
	files := map[string]string{"go.mod": "module example.org/long\n"}
	var b strings.Builder
	b.WriteString("// Package long is long.\npackage long\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "\n// Func%d does what its number says.\nfunc Func%d(a, b, c string) error { return nil }\n", i, i)
	}
	files["long.go"] = b.String()
	for i := range 900 {
		files[fmt.Sprintf("sub/p%d/a.go", i)] = fmt.Sprintf(
			"// Package p%d is one of many packages.\npackage p%d\n\n// Same is in all of them.\nconst Same = 1\n",
			i, i)
	}
	in, err := gopkg.New(sitetest.Folder(t, files), nil)
	if err != nil {
		t.Fatal(err)
	}
	site, err := sitetest.Open(t, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		tool, arguments, number, item string
		count                         int
	}{
		{"list_packages", `{`, "page", "example.org/long/sub/p%d ", 900},
		{"get_package", `{"import_path":"example.org/long"`, "part", "func Func%d(", 2000},
		{"find_symbols", `{"name":"same"`, "page", "in package example.org/long/sub/p%d\n", 900},
	}
	for _, test := range tests {
		var all strings.Builder
		for n := 1; ; n++ {
			arguments := test.arguments + "}"
			if n > 1 {
				arguments = strings.Replace(fmt.Sprintf(`%s,%q:%d}`, test.arguments, test.number, n), "{,", "{", 1)
			}
			got := site.Call(test.tool, arguments)
			if got.IsError || len(got.Text) > 25_000 || len(got.Structured) > 55_000 {
				t.Fatalf("%s %s: %v, %d bytes of text, %d of structured content: %.200s",
					test.tool, arguments, got.IsError, len(got.Text), len(got.Structured), got.Text)
			}
			all.WriteString(got.Text)
			if !strings.Contains(got.Text, "The next one: ") {
				if n == 1 {
					t.Errorf("%s %s has one piece", test.tool, arguments)
				}
				break
			}
		}
		for i := range test.count {
			if !strings.Contains(all.String(), fmt.Sprintf(test.item, i)) {
				t.Fatalf("%s: number %d is missing", test.tool, i)
			}
		}
	}
}
