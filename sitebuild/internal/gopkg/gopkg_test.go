package gopkg_test

import (
	"context"
	"encoding/json"
	gobuild "go/build"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/gopkg"
)

func module() map[string]string {
	return map[string]string{
		"go.mod": "// Comment\nmodule example.org/shop // here\n\ngo 1.26\n",
		"shop.go": `// Package shop sells things.
//
// Begin with [New].
package shop

// Currencies that are taken.
const (
	Euro = "EUR" // in Europe
	hidden = 1
)

// Shop is open.
type Shop struct {
	Name string // on the door
	till int
}

// New opens a shop.
func New(name string) (*Shop, error) { return &Shop{Name: name}, nil }

// Sell takes money.
func (s *Shop) Sell(
	what string,
	price int,
) error {
	return nil
}
`,
		"shop_windows.go": "package shop\n\n// OnlyWindows is elsewhere.\nfunc OnlyWindows() {}\n",
		"shop_test.go": `package shop_test

import "fmt"

// It is done at once.
func ExampleShop_Sell() {
	fmt.Println("sold")
	// Output: sold
}
`,
		"internal/x/x.go":        "package x\n\nfunc X() {}\n",
		"store/store.go":         "package store\n\n// Sell again.\nfunc Sell() {}\n",
		"store/bad.go":           "package store\n\nfunc {\n",
		"store/testdata/a.go":    "package a\n",
		"other/go.mod":           "module other\n",
		"other/other.go":         "package other\n",
		"cmd/tool/main.go":       "// Tool does it.\npackage main\n\nfunc main() {}\n",
		"store/ignored/build.go": "//go:build ignore\n\npackage main\n",
	}
}

func open(t *testing.T, dir string, opts *gopkg.Options) (*sitetest.Built, error) {
	t.Helper()
	in, err := gopkg.New(dir, opts)
	if err != nil {
		return nil, err
	}
	return sitetest.Open(t, in, nil)
}

func must(t *testing.T, dir string, opts *gopkg.Options) *sitetest.Built {
	t.Helper()
	b, err := open(t, dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestModule(t *testing.T) {
	b := must(t, sitetest.Folder(t, module()), nil)
	tests := map[string][4]string{
		"list": {
			"list_packages", `{}`,
			"example.org/shop — Package shop sells things.\nexample.org/shop/cmd/tool — Tool does it.\n" +
				"example.org/shop/store\n",
			"",
		},
		"package": {"get_package", `{"import_path":"example.org/shop"}`, `package shop // import "example.org/shop"

Package shop sells things.

Begin with New.

const Euro
type Shop struct
    func New(name string) (*Shop, error)
    func (s *Shop) Sell(what string, price int) error
`, `{"importPath":"example.org/shop","name":"shop","doc":"Package shop sells things.\n\nBegin with New.",` +
			`"symbols":[{"name":"Euro","kind":"const","signature":"const Euro","synopsis":"Currencies that are ` +
			`taken."},{"name":"Shop","kind":"type","signature":"type Shop struct","synopsis":"Shop is open."},` +
			`{"name":"New","kind":"func","signature":"func New(name string) (*Shop, error)","synopsis":"New opens a ` +
			`shop."},{"name":"Shop.Sell","kind":"method","signature":"func (s *Shop) Sell(what string, price int) ` +
			`error","synopsis":"Sell takes money."}]}`},
		"type": {"get_symbol", `{"import_path":"example.org/shop","symbol":"Shop"}`,
			`package shop // import "example.org/shop"

type Shop struct {
	Name string // on the door
	// contains filtered or unexported fields
}

Shop is open.

func New(name string) (*Shop, error)
func (s *Shop) Sell(what string, price int) error

Declared in shop.go:13
`, ""},
		"method": {"get_symbol", `{"import_path":"example.org/shop","symbol":"Shop.Sell"}`,
			`package shop // import "example.org/shop"

func (s *Shop) Sell(
	what string,
	price int,
) error

Sell takes money.

Example:
It is done at once.

	package main

	import (
		"fmt"
	)

	func main() {
		fmt.Println("sold")
	}

Output:

	sold

Declared in shop.go:22
`, ""},
		"const": {"get_symbol", `{"import_path":"example.org/shop","symbol":"Euro"}`,
			`package shop // import "example.org/shop"

const (
	Euro = "EUR" // in Europe

)

Currencies that are taken.

in Europe

Declared in shop.go:8
`, ""},
		"find": {"find_symbols", `{"name":"Sell"}`,
			"method Shop.Sell in package example.org/shop\nfunc Sell in package example.org/shop/store\n",
			`{"symbols":[{"importPath":"example.org/shop","symbol":"Shop.Sell","kind":"method"},` +
				`{"importPath":"example.org/shop/store","symbol":"Sell","kind":"func"}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := b.Call(test[0], test[1])
			text, structured := answer.Text, answer.Structured
			if diff := cmp.Diff(text, test[2]); diff != "" {
				t.Error(diff)
			}
			if test[3] != "" && structured != test[3] {
				t.Errorf("got %s\nwant %s", structured, test[3])
			}
		})
	}
	if len(ruletest.Record(b.From.Findings...)) != 1 ||
		!strings.HasSuffix(b.From.Findings[0].String(),
			"bad.go:3:6: warning: expected 'IDENT', found '{'; the file is skipped [go/syntax]") {
		t.Errorf("findings: %v", b.From.Findings)
	}
	if _, err := b.Site.ReadResource(t.Context(),
		&mcp.ReadResourceParams{URI: "godoc://example.org/shop/store"}); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	dir := sitetest.Folder(t, module())
	b := must(t, dir, &gopkg.Options{Internal: true, GOOS: "windows"})
	if text := b.Call("list_packages", `{}`).Text; !strings.Contains(text, "example.org/shop/internal/x\n") {
		t.Errorf("no internal package: %s", text)
	}
	if text := b.Call("get_package", `{"import_path":"example.org/shop"}`).Text; !strings.Contains(text, "OnlyWindows") {
		t.Errorf("not of windows: %s", text)
	}
	below := must(t, filepath.Join(dir, "store"), nil)
	if text := below.Call("list_packages", `{}`).Text; text != "example.org/shop/store\n" {
		t.Errorf("got %s", text)
	}
	if !gopkg.Reads(dir) || !gopkg.Reads(filepath.Join(dir, "store")) || gopkg.Reads(filepath.Join(dir, "internal")) {
		t.Error("Reads")
	}
	if _, err := open(t, filepath.Join(dir, "internal"), nil); err != nil {
		t.Errorf("a folder that was named is taken: %v", err)
	}
	if _, err := open(t, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "no importable packages") {
		t.Errorf("got %v", err)
	}
}

// TestReal reads a package of this module, and one of the standard library if its sources
// are installed.
func TestReal(t *testing.T) {
	dirs := map[string][2]string{"../../../mcp": {"github.com/slipway-mcp/slipway/mcp", "Source"}}
	if std := filepath.Join(gobuild.Default.GOROOT, "src", "net", "http"); gopkg.Reads(std) {
		dirs[std] = [2]string{"net/http", "Client.Do"}
	}
	for dir, want := range dirs {
		b := must(t, dir, nil)
		args, _ := json.Marshal(map[string]string{"import_path": want[0], "symbol": want[1]})
		if text := b.Call("get_symbol", string(args)).Text; !strings.Contains(text, "import \""+want[0]+"\"") ||
			!strings.Contains(text, "\nDeclared in ") {
			t.Errorf("%s: %s", dir, text)
		}
		if slices.ContainsFunc(b.From.Tools, func(tool mcp.Tool) bool { return tool.Name == "" }) {
			t.Error("a tool has no name")
		}
	}
}

func FuzzSite(f *testing.F) {
	for name, text := range module() {
		if strings.HasSuffix(name, ".go") {
			f.Add(text)
		}
	}
	f.Add(
		"package a\n\ntype ( T[P any] struct{ *T[P]; a, B int }; U = interface{ ~int | M() })\nconst ( A = iota; " +
			"B; _ )\nvar X, Y = f()\n")
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		in, err := gopkg.New(sitetest.Folder(t, map[string]string{"a.go": text, "a_test.go": text}), nil)
		if err != nil {
			t.Fatal(err)
		}
		site, err := in.Site(context.Background())
		if err != nil {
			return
		}
		if _, err := sitewriter.Write(context.Background(), site, sitewriter.NewMemory(),
			&sitewriter.Options{Lenient: true}); err != nil {
			t.Fatal(err)
		}
	})
}
