package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ruleCounts contains the number of rules for each subject, by the letter of their ids.
var ruleCounts = []struct {
	letter string
	n      int
}{
	{"B", 6}, {"L", 7}, {"S", 9}, {"R", 7}, {"N", 6}, {"T", 10}, {"E", 6}, {"P", 5},
	{"I", 6}, {"H", 11}, {"C", 5}, {"K", 7}, {"X", 2},
}

// versionRules is the number of rules about features of versions.
const versionRules = 44

// TestRules verifies that every rule has a test, and that the tests named in
// testdata/rules.txt exist.
func TestRules(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "rules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n\nB1 ")
	known := new(knownTests)
	seen := make(map[string]bool)
	for line := range strings.Lines("B1 " + list) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), " | ")
		if len(fields) != 3 || fields[1] == "" || len(strings.Fields(fields[2])) == 0 {
			t.Errorf("want an id, a rule and tests: %s", line)
			continue
		}
		if seen[fields[0]] {
			t.Errorf("%s is there twice", fields[0])
		}
		seen[fields[0]] = true
		for name := range strings.FieldsSeq(fields[2]) {
			if err := known.find(name); err != nil {
				t.Errorf("%s: %v", fields[0], err)
			}
		}
	}
	want := ruleIDs()
	for _, id := range want {
		if !seen[id] {
			t.Errorf("%s has no line", id)
		}
	}
	if len(seen) > len(want) {
		t.Errorf("%d rules, want %d: are the new ones counted?", len(seen), len(want))
	}
}

func ruleIDs() (ids []string) {
	for _, c := range ruleCounts {
		for i := range c.n {
			ids = append(ids, fmt.Sprint(c.letter, i+1))
		}
	}
	for i := range versionRules {
		ids = append(ids, fmt.Sprintf("V%02d", i+1))
	}
	return ids
}

// knownTests finds tests by their names in rules.txt.
type knownTests struct {
	functions map[string]map[string]bool // by folder
}

func (k *knownTests) find(name string) error {
	kind, file, isFile := strings.Cut(name, "/")
	switch {
	case isFile && kind == "wire":
		return exists(filepath.Join("testdata", "wire", file+".txtar"))
	case isFile && kind == "script":
		return exists(filepath.Join("..", "..", "cmd", "slipway", "testdata", "script", file+".txtar"))
	}
	dir := "mcp/server"
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		dir, name = name[:i], name[i+1:]
	}
	if k.functions[dir] == nil {
		if err := k.read(dir); err != nil {
			return err
		}
	}
	if !k.functions[dir][name] {
		return fmt.Errorf("there is no %s in %s", name, dir)
	}
	return nil
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(\w+ \*testing\.[TF]\) \{$`)

// read adds the tests in a folder of the module.
func (k *knownTests) read(dir string) error {
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no tests in %s (%v)", dir, err)
	}
	found := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
		}
	}
	if k.functions == nil {
		k.functions = make(map[string]map[string]bool)
	}
	k.functions[dir] = found
	return nil
}
