package doc

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	godiff "github.com/google/go-cmp/cmp"
)

// Check applies every rule to the repository in fsys with the given pages, and returns
// the problems ordered by path and line.
func Check(fsys fs.FS, pages []Page) ([]Problem, error) {
	problems, err := checkWords(fsys)
	if err != nil {
		return nil, err
	}
	problems = append(problems, checkPackageTable(fsys)...)
	for _, p := range pages {
		problems = append(problems, checkTitle(p)...)
		problems = append(problems, checkLength(p)...)
		problems = append(problems, checkLinks(fsys, pages, p)...)
		problems = append(problems, checkNames(fsys, p)...)
		problems = append(problems, checkQuotes(fsys, p)...)
		problems = append(problems, checkProofs(fsys, p)...)
		problems = append(problems, checkProse(p)...)
		if p.Path == "README.md" {
			problems = append(problems, checkReadme(p)...)
		}
		_, faults := Sessions(p)
		problems = append(problems, faults...)
	}
	problems = append(problems, checkOrphans(pages)...)
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line)
	})
	return problems, nil
}

// TestRepository checks this repository.
func TestRepository(t *testing.T) {
	fsys := os.DirFS("../../..")
	pages, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := Check(fsys, pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// TestGoWords checks the comments and strings of this repository.
func TestGoWords(t *testing.T) {
	problems, err := CheckGoWords(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func TestCheckGoWords(t *testing.T) {
	fsys := fstest.MapFS{
		"core/core.go": {Data: []byte("package core\n\n// F tells nobody.\nfunc F() string { return \"once more\" }\n\nvar " +
			"nobody = 1\n")},
		"core/x.txt": {Data: []byte("nobody\n")},
	}
	problems, err := CheckGoWords(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s:%d", p.Path, p.Line))
	}
	if want := "core/core.go:3 core/core.go:4"; strings.Join(got, " ") != want {
		t.Errorf("problems at %v, want %s", got, want)
	}
}

const readme = "# Name\n\nWhat it is.\n\n```sh\n" +
	"go run ./cmd/slipway serve examples/http-reference\ngo test -short -vet=off ./...\n```\n\n" +
	"See [the pages](docs/README.md).\n"

// machine is a folder that no page may name. It is split because this file is checked
// too.
const machine = "/wo" + "rk/"

func repository(changes map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{
		"README.md":      {Data: []byte(readme)},
		"docs/README.md": {Data: []byte("# Pages\n\n[One](one.md#a-heading), [home](../README.md).\n")},
		"docs/one.md":    {Data: []byte("# One\n\n## A heading\n\nIn `core/core.go`.\n")},
		"core/core.go":   {Data: []byte("package core\n")},
		"core/core_test.go": {
			Data: []byte("package core\n\nfunc TestCore(t *testing.T) {}\n\n// func TestGone(t *testing.T)\n"),
		},
		"core/testdata/script/say.txtar": {Data: []byte("exec say\n")},
		"core/testdata/x/odd.md":         {Data: []byte("no title, [nowhere](nowhere.md)\n")},
		"picture.png":                    {Data: []byte("\x89PNG " + machine + " \xff")},
	}
	for name, text := range changes {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		changes map[string]string
		want    []string // "path:line"
	}{
		"a banned word": {map[string]string{"docs/one.md": "# One\n\n## A heading\n\nAsk " +
			"somebody.\n\n```sh\nsomebody\n```\n"},
			[]string{"docs/one.md:5"}},
		"a banned phrase in any case": {map[string]string{"docs/one.md": "# One\n\n## A heading\n\nOnce more, it Is Told.\n"},
			[]string{"docs/one.md:5", "docs/one.md:5"}},
		"a part of a word is not banned": {map[string]string{"docs/one.md": "# One\n\n## A heading\n\nAmend it, " +
			"recommended.\n"}, nil},
		"content of an example": {map[string]string{"docs/one.md": "# One\n\n## A heading\n\n[x](../examples/x/one.md)\n",
			"examples/x/one.md": "# Larder\n\nSomebody did.\n"}, nil},
		"a package that does not exist": {map[string]string{"doc.go": "// Package slipway ...\n//\n//\tcore  " +
			"slipway/core\n//\tgone  slipway/gone\npackage slipway\n"},
			[]string{"doc.go:4"}},
		"all rules kept":        {nil, nil},
		"a dead link":           {page("[x](two.md)"), []string{"docs/one.md:3"}},
		"a dead heading":        {page("[x](README.md#nothing)"), []string{"docs/one.md:3"}},
		"a heading here":        {page("[x](#b-c)\n\n## B, `c`!"), nil},
		"a heading given twice": {page("[x](#b-1)\n\n## B\n\n## B"), nil},
		"a heading in code":     {page("[x](#b)\n\n```md\n## B\n```"), []string{"docs/one.md:3"}},
		"a link in code":        {page("`[x](two.md)`\n\n```md\n[x](two.md)\n```"), nil},
		"a link outside":        {page("[x](https://example.org/two.md)"), nil},
		"a file that is gone":   {page("`core/gone.go`"), []string{"docs/one.md:3"}},
		"code of a file":        {page("<!-- from core/core.go -->\n```go\npackage core\n```"), nil},
		"code, less indented":   {quote("a()\nif x {\n\tb()\n\n\tc()\n}"), nil},
		"code that has changed": {quote("a()\nif x {\n\tc()\n}"), []string{"docs/one.md:9"}},
		"code of no file":       {page("<!-- from core/gone.go -->\n```go\npackage core\n```"), []string{"docs/one.md:6"}},
		"code of anywhere":      {page("```go\npackage core\n```"), []string{"docs/one.md:3"}},
		"tests that exist":      {page("`core: TestCore`, `core: TestCore/say`"), nil},
		"a test that is gone":   {page("`core: TestGone`"), []string{"docs/one.md:3"}},
		"part of a name":        {page("`core: TestCor`"), []string{"docs/one.md:3"}},
		"a script that is gone": {page("`core: TestCore/shout`"), []string{"docs/one.md:3"}},
		"a test of no folder":   {page("`gone: TestCore`"), []string{"docs/one.md:3"}},
		"a test in code":        {page("```text\n`core: TestGone`\n```"), nil},
		"a row without a test": {
			page("| a | test |\n| --- | --- |\n| x | `core: TestCore` |\n| y | soon |"),
			[]string{"docs/one.md:6"},
		},
		"a row elsewhere":       {page("| a | b |\n| --- | --- |\n| y | soon |"), nil},
		"a page out of reach":   {map[string]string{"docs/two.md": "# Two\n\n[x](two.md)\n"}, []string{"docs/two.md:0"}},
		"no title":              {page("x", "One\n"), []string{"docs/one.md:1"}},
		"a folder of a machine": {page("cd " + machine + "main"), []string{"docs/one.md:3"}},
		"such a path elsewhere": {page("see docs" + machine + " and https://example.org" + machine), nil},
		"such a folder in code": {
			map[string]string{"core/core.go": "package core\n\nconst c = \"" + machine + "x\"\n"},
			[]string{"core/core.go:3"},
		},
		"a registry": {
			map[string]string{"a.json": "{\"url\": \"https://registry.npmjs" + ".org/x\"}"},
			[]string{"a.json:1"},
		},
		"a module proxy":        {map[string]string{"run": "GOPROXY=https://proxy.golang" + ".org"}, []string{"run:1"}},
		"a shell in a console":  {page("```console\n$ slipway ls x | head\n```"), []string{"docs/one.md:4"}},
		"another program":       {page("```console\n$ curl x\n```"), []string{"docs/one.md:4"}},
		"output before command": {page("```console\nhello\n```"), []string{"docs/one.md:4"}},
		"a quote left open":     {page("```console\n$ slipway 'x\n```"), []string{"docs/one.md:4"}},
		"a long README": {
			map[string]string{"README.md": readme + strings.Repeat("\n", 171)},
			[]string{"README.md:181"},
		},
		"late code": {
			map[string]string{"README.md": "# Name\n" + strings.Repeat("\n", 23) + readme[7:]},
			[]string{"README.md:28"},
		},
		"another first command": {
			map[string]string{"README.md": strings.Replace(readme, "go run", "make run #", 1)},
			[]string{"README.md:5"},
		},
		"no code": {map[string]string{"README.md": "# Name\n\n[x](docs/README.md)\n"}, []string{"README.md:0"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := repository(tt.changes)
			pages, err := Load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			problems, err := Check(fsys, pages)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%s:%d", p.Path, p.Line))
				t.Log(p)
			}
			if diff := godiff.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// page returns docs/one.md with text on its third line.
func page(text string, title ...string) map[string]string {
	head := "# One\n"
	if len(title) > 0 {
		head = title[0]
	}
	return map[string]string{"docs/one.md": head + "\n" + text + "\n\n## A heading\n"}
}

// quote returns docs/one.md with code that claims to be from core/core.go, and that file.
func quote(code string) map[string]string {
	changes := page("<!-- from core/core.go -->\n```go\n" + code + "\n```")
	changes["core/core.go"] = "package core\n\nfunc f() {\n\ta()\n\tif x {\n\t\tb()\n\n\t\tc()\n\t}\n}\n"
	return changes
}

func TestSessions(t *testing.T) {
	p := Page{Path: "p.md", Lines: strings.Split("# P\n\n```console\n"+
		"$ slipway call x get 'a b' \"c d\" ''\none\n\ntwo\n$ echo $?\n1\n```\n\n```sh\nslipway serve x\n```\n", "\n")}
	sessions, problems := Sessions(p)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []Session{{Page: "p.md", Line: 4, Steps: []Step{
		{Line: 4, Args: []string{"slipway", "call", "x", "get", "a b", "c d", ""}, Output: []string{"one", "", "two"}},
		{Line: 8, Args: []string{"echo", "$?"}, Output: []string{"1"}},
	}}}
	if diff := godiff.Diff(want, sessions); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}

	got := Rewrite(p, func(s Step) []string { return []string{strings.ToUpper(s.Args[0])} })
	wantText := "# P\n\n```console\n$ slipway call x get 'a b' \"c d\" ''\nSLIPWAY\n$ echo " +
		"$?\nECHO\n```\n\n```sh\nslipway serve x\n```\n"
	if diff := godiff.Diff(wantText, strings.Join(got, "\n")); diff != "" {
		t.Errorf("rewritten (-want +got):\n%s", diff)
	}
}

func TestJourney(t *testing.T) {
	p := Page{Path: JourneyFolder + "p.md", Lines: strings.Split("# P\n\n```console\n$ cat <a | sort\none\n```\n\n"+
		"<!-- save as d/b.txt -->\n```text\nx\n\ny\n```\n\n```text\nz\n```\n\n```console\n$ cat d/b.txt\nx\n```\n", "\n")}
	steps, problems := Journey(p)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []Step{
		{Line: 4, Args: []string{"cat <a | sort"}, Output: []string{"one"}},
		{Line: 9, File: "d/b.txt", Output: []string{"x", "", "y"}},
		{Line: 20, Args: []string{"cat d/b.txt"}, Output: []string{"x"}},
	}
	if diff := godiff.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestStepMatches(t *testing.T) {
	tests := map[string]struct {
		page, terminal string
		want           bool
	}{
		"same":              {"a b", "a b", true},
		"nothing":           {"", "", true},
		"another line":      {"a b", "a c", false},
		"a line more":       {"a", "a b", false},
		"a line less":       {"a b", "a", false},
		"left out":          {"a ... d", "a b c d", true},
		"nothing left out":  {"a ... b", "a b", true},
		"left out to end":   {"a ...", "a b c", true},
		"end does not fit":  {"a ... d", "a b c", false},
		"twice":             {"... b ... d", "a b b c d", true},
		"dots are no wider": {"a ...", "b c", false},
		"part of a line":    {"port-…-open", "port-80-open", true},
		"another part":      {"port-…-open", "port-80-shut", false},
		"twice in a line":   {"…:…/mcp", "a:1/mcp", true},
		"parts overlap":     {"ab…b", "ab", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			step := Step{Output: strings.Fields(tt.page)}
			if got := step.Matches(strings.Fields(tt.terminal)); got != tt.want {
				t.Errorf("Matches(%q) for %q = %v, want %v", tt.terminal, tt.page, got, tt.want)
			}
		})
	}
}
