package arch

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestHouse checks this module.
func TestHouse(t *testing.T) {
	problems, err := Check(os.DirFS("../../.."), Layers())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// TestPublicPackages limits what a reader of the library has to choose from. Packages that only
// the program needs are internal.
func TestPublicPackages(t *testing.T) {
	const most = 25
	var public []string
	for _, floor := range Layers().Floors {
		for _, dir := range floor {
			first, _, _ := strings.Cut(dir, "/")
			if strings.Contains("/"+dir+"/", "/internal/") || slices.Contains([]string{"cmd", "examples", "scripts"}, first) {
				continue
			}
			public = append(public, dir)
		}
	}
	if len(public) > most {
		t.Errorf("%d packages are public, want at most %d: %s", len(public), most, strings.Join(public, ", "))
	}
}

func TestHouseGivesReasons(t *testing.T) {
	for _, g := range Layers().Guests {
		if g.Saves == "" {
			t.Errorf("guest %s: does not say what it saves", g.Module)
		}
		if len(g.Rooms) == 0 && !g.Tests {
			t.Errorf("guest %s: is invited nowhere", g.Module)
		}
	}
}

func plan() *Plan {
	return &Plan{
		Floors: [][]string{
			{"internal/leaf", "internal/twig"},
			{"core"},
			{"left/inner"},
			{"left", "right", "core/kit"},
			{"cmd/prog"},
		},
		Depth: 4,
		Guests: []Guest{
			{Module: "example.org/flags", Rooms: []string{"cmd/prog"}, Saves: "flags", Brings: []string{"example.org/dashes"}},
			{Module: "example.org/diff", Tests: true, Saves: "differences"},
		},
	}
}

const module = `module example.org/house

go 1.26

require example.org/flags v1.0.0

require (
	example.org/dashes v1.0.0 // indirect
	example.org/diff v1.0.0
)
`

// moduleWith returns a module that satisfies every rule, with the given changes. A file with
// empty content is removed.
func moduleWith(changes map[string]string) fstest.MapFS {
	files := map[string]string{
		"go.mod": module,
		"internal/leaf/leaf.go": "// Package leaf is a leaf.\npackage leaf\n\nimport _ " +
			"\"example.org/house/internal/twig\"\n",
		"internal/twig/twig.go": "// Package twig is a leaf.\npackage twig\n",
		"core/core.go": "// Package core is the core.\npackage core\n\nimport _ " +
			"\"example.org/house/internal/leaf\"\n",
		"core/more.go": "package core\n",
		"core/core_test.go": "package core_test\n\nimport (\n\t_ \"example.org/diff/cmp\"\n\t_ " +
			"\"example.org/house/core/kit\"\n)\n",
		"core/kit/kit.go": "// Package kit is for tests.\npackage kit\n\nimport _ \"example.org/house/core\"\n",
		"left/left.go": "// Package left is a room.\npackage left\n\nimport _ " +
			"\"example.org/house/left/inner\"\n",
		"left/inner/inner.go": "// Package inner is a part of a room.\npackage inner\n",
		"right/right.go":      "// Package right is a room.\npackage right\n\nimport _ \"net/http\"\n",
		"cmd/prog/main.go": "// Prog does it.\npackage main\n\nimport (\n\t_ \"example.org/flags\"\n\t_ " +
			"\"example.org/house/left\"\n)\n\nfunc main() {}\n",
		"cmd/prog/testdata/odd.go":  "not Go at all",
		"bench/go.mod":              "module example.org/house/bench\n",
		"bench/bench.go":            "package bench\n\nimport _ \"example.org/anything\"\n",
		".cache/tool/tool.go":       "package tool\n",
		"node_modules/odd/thing.go": "package thing\n",
	}
	maps.Copy(files, changes)
	fsys := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return fsys
}

func TestCheck(t *testing.T) {
	const left = "// Package left is a room.\npackage left\n\n"
	tests := map[string]struct {
		changes map[string]string
		want    []string // "path: rule"
	}{
		"all rules kept": {nil, nil},
		"upwards": {
			map[string]string{"core/more.go": "package core\n\nimport _ \"example.org/house/left\"\n"},
			[]string{"core/more.go: floor"},
		},
		"upwards from a leaf": {
			map[string]string{"internal/twig/more.go": "package twig\n\nimport _ \"example.org/house/core\"\n"},
			[]string{"internal/twig/more.go: floor"},
		},
		"upwards from a folder of a room": {
			map[string]string{"left/inner/more.go": "package inner\n\nimport _ \"example.org/house/cmd/prog\"\n"},
			[]string{"left/inner/more.go: floor"},
		},
		"sideways": {
			map[string]string{"left/more.go": "package left\n\nimport _ \"example.org/house/right\"\n"},
			[]string{"left/more.go: floor"},
		},
		"a package that does not exist": {
			map[string]string{"left/inner/inner.go": "", "left/left.go": left},
			[]string{"left/inner: missing"},
		},
		"a long chain": {
			map[string]string{"left/inner/more.go": "package inner\n\nimport _ \"example.org/house/core\"\n"},
			[]string{"cmd/prog: depth"},
		},
		"a floor of its own below a room": {
			map[string]string{"core/more.go": "package core\n\nimport _ \"example.org/house/core/kit\"\n"},
			[]string{"core/more.go: floor"},
		},
		"leaves in a circle": {
			map[string]string{"internal/twig/more.go": "package twig\n\nimport _ \"example.org/house/internal/leaf\"\n"},
			[]string{"internal/leaf: cycle", "internal/twig: cycle"},
		},
		"no floor": {
			map[string]string{"attic/attic.go": "// Package attic is new.\npackage attic\n"},
			[]string{"attic: no-floor"},
		},
		"a stranger": {
			map[string]string{"left/more.go": "package left\n\nimport _ \"example.org/stranger/v2\"\n"},
			[]string{"left/more.go: guest"},
		},
		"a stranger whose name begins like a guest's": {
			map[string]string{"cmd/prog/more.go": "package main\n\nimport _ \"example.org/flagship\"\n"},
			[]string{"cmd/prog/more.go: guest"},
		},
		"a guest in another room": {
			map[string]string{"left/more.go": "package left\n\nimport _ \"example.org/flags\"\n"},
			[]string{"left/more.go: guest"},
		},
		"a guest of tests outside a test": {
			map[string]string{"left/more.go": "package left\n\nimport _ \"example.org/diff\"\n"},
			[]string{"left/more.go: guest"},
		},
		"a guest of one room in the test of another": {
			map[string]string{"left/left_test.go": "package left_test\n\nimport _ \"example.org/flags\"\n"},
			[]string{"left/left_test.go: guest"},
		},
		"cgo": {
			map[string]string{"left/more.go": "package left\n\nimport \"C\"\n"},
			[]string{"left/more.go: guest"},
		},
		"an uninvited requirement": {
			map[string]string{"go.mod": module + "\nrequire example.org/stranger v1.0.0 // indirect\n"},
			[]string{"go.mod: guest"},
		},
		"a guest who has left": {
			map[string]string{"go.mod": strings.Replace(module, "\texample.org/dashes v1.0.0 // indirect\n", "", 1)},
			[]string{"go.mod: guest"},
		},
		"no package comment": {
			map[string]string{"left/left.go": "package left\n"},
			[]string{"left: comment"},
		},
		"a program without a comment": {
			map[string]string{"cmd/prog/main.go": "package main\n\nfunc main() {}\n"},
			[]string{"cmd/prog: comment"},
		},
		"two package comments": {
			map[string]string{"left/more.go": left},
			[]string{"left: comment"},
		},
		"a package comment that begins otherwise": {
			map[string]string{"left/left.go": "// This is a room.\npackage left\n"},
			[]string{"left: comment"},
		},
		"a directive is no comment": {
			map[string]string{"left/left.go": "//go:generate true\npackage left\n"},
			[]string{"left: comment"},
		},
		"documentation at the root": {
			map[string]string{"doc.go": "// Package house is the house.\npackage house\n"},
			nil,
		},
		"code at the root": {
			map[string]string{"doc.go": "// Package house is the house.\npackage house\n\nconst Rooms = 3\n"},
			[]string{"doc.go: root"},
		},
		"another file at the root": {
			map[string]string{"house.go": "// Package house is the house.\npackage house\n"},
			[]string{"house.go: root"},
		},
		"a folder that says nothing": {
			map[string]string{"left/util/pool.go": "// Package pool is a part of a room.\npackage pool\n"},
			[]string{"left/util: name", "left/util: no-floor"},
		},
		"a package clause that says nothing": {
			map[string]string{"left/inner/inner.go": "// Package helpers is a part of a room.\npackage helpers\n"},
			[]string{"left/inner: name"},
		},
		"init": {
			map[string]string{"left/more.go": "package left\n\nfunc init() {}\n"},
			[]string{"left/more.go: init"},
		},
		"init in a test": {
			map[string]string{"left/left_test.go": "package left\n\nfunc init() {}\n"},
			[]string{"left/left_test.go: init"},
		},
		"a regular expression at every start": {
			map[string]string{"left/more.go": "package left\n\nimport \"regexp\"\n\n" +
				"var digits = regexp.MustCompile(`[0-9]`)\n"},
			[]string{"left/more.go: regexp"},
		},
		"a regular expression on first use": {
			map[string]string{"left/more.go": "package left\n\nimport (\n\t\"regexp\"\n\t\"sync\"\n)\n\n" +
				"var digits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9]`) })\n"},
			nil,
		},
		"a template": {
			map[string]string{"left/more.go": "package left\n\nimport _ \"html/template\"\n"},
			[]string{"left/more.go: template"},
		},
		"a method called init": {
			map[string]string{"left/more.go": "package left\n\ntype T struct{}\n\nfunc (T) init() {}\n"},
			nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { compare(t, tt.changes, tt.want) })
	}
}

func TestCheckGlobals(t *testing.T) {
	changing := []string{"left: global"}
	tests := map[string]struct {
		source string
		want   []string
	}{
		"a table":  {"var t = map[string]int{\"a\": 1}\n\nfunc f() int { return t[\"a\"] }\n", nil},
		"an error": {"import \"errors\"\n\nvar ErrX = errors.New(\"x\")\n", nil},
		"a guard": {
			"import \"io\"\n\nvar _ io.Reader = (*T)(nil)\n\ntype T struct{}\n\nfunc (*T) Read([]byte) (int, error) { return " +
				"0, nil }\n",
			nil,
		},
		"a pool": {"import \"sync\"\n\nvar p = sync.Pool{}\n\nfunc f() { p.Put(p.Get()) }\n", nil},
		"shadowed": {
			"var n = 1\n\nfunc f(n int) int { n++; m := n; n := m; n = 2; return n }\n\nfunc g() int { n := n; n++; " +
				"return n }\n",
			nil,
		},
		"a field of that name": {"var n = 1\n\ntype T struct{ n int }\n\nfunc f(t *T) { t.n = n }\n", nil},
		"assigned":             {"var n int\n\nfunc f() { n = 1 }\n", changing},
		"counted":              {"var n int\n\nfunc f() { n++ }\n", changing},
		"assigned by range":    {"var n int\n\nfunc f() { for n = range 3 {\n\t}\n}\n", changing},
		"a field assigned":     {"var t struct{ n int }\n\nfunc f() { t.n = 1 }\n", changing},
		"an element assigned":  {"var m = map[int]int{}\n\nfunc f() { m[1] = 2 }\n", changing},
		"pointed to, assigned": {"var p = new(int)\n\nfunc f() { *p = 1 }\n", changing},
		"deleted from":         {"var m = map[int]int{}\n\nfunc f() { delete(m, 1) }\n", changing},
		"address taken":        {"import \"flag\"\n\nvar n int\n\nfunc f() { flag.IntVar(&n, \"n\", 0, \"\") }\n", changing},
		"a field's address": {
			"import \"flag\"\n\nvar o struct{ n int }\n\nfunc f() { flag.IntVar(&o.n, \"n\", 0, \"\") }\n",
			changing,
		},
		"an element's address": {"var t = []struct{ n int }{{1}}\n\nfunc f() int { e := &t[0]; return e.n }\n", nil},
		"a mutex":              {"import \"sync\"\n\nvar mu sync.Mutex\n", changing},
		"a mutex in a struct":  {"import \"sync\"\n\nvar s struct{ mu sync.Mutex }\n", changing},
		"a pointer to a map":   {"import \"sync\"\n\nvar m = &sync.Map{}\n", changing},
		"an atomic":            {"import \"sync/atomic\"\n\nvar n atomic.Int64\n", changing},
		"an atomic of a type":  {"import \"sync/atomic\"\n\nvar p atomic.Pointer[int]\n", changing},
		"a channel":            {"var c = make(chan int)\n", changing},
		"each variable by name": {
			"var a, b int\n\nfunc f() { a, b = 1, 2; a = 3 }\n",
			[]string{"left: global", "left: global"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			compare(t, map[string]string{"left/more.go": "package left\n\n" + tt.source}, tt.want)
		})
	}
}

func compare(t *testing.T, changes map[string]string, want []string) {
	t.Helper()
	problems, err := Check(moduleWith(changes), plan())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.Path+": "+p.Rule)
		t.Log(p)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestCheckUnreadable(t *testing.T) {
	tests := map[string]map[string]string{
		"no go.mod": {"go.mod": ""},
		"not Go":    {"left/more.go": "pack left"},
	}
	for name, changes := range tests {
		t.Run(name, func(t *testing.T) {
			if problems, err := Check(moduleWith(changes), plan()); err == nil {
				t.Errorf("Check = %v, nil; want an error", problems)
			}
		})
	}
}
