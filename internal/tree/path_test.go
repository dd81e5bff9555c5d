package tree_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// TestLongNames verifies that the memory for a text does not grow with the length of the names
// above its values: a text of one long name with many members below it would take gigabytes.
func TestLongNames(t *testing.T) {
	const members = 3000
	long := strings.Repeat("k", 300_000)
	list := func(form, separator string) string {
		var all []string
		for i := range members {
			all = append(all, fmt.Sprintf(form, i))
		}
		return strings.Join(all, separator)
	}
	repeated := func(form, separator string) string {
		return strings.TrimSuffix(strings.Repeat(form+separator, members), separator)
	}
	tests := map[string]struct {
		format     tree.Format
		text       string
		duplicates int
	}{
		"JSON":            {tree.JSON, `{"` + long + `":{` + list(`"a%d":1`, ",") + `}}`, 0},
		"JSON list":       {tree.JSON, `{"` + long + `":[` + list(`%d`, ",") + `]}`, 0},
		"JSON duplicates": {tree.JSON, `{"` + long + `":{` + repeated(`"a":1`, ",") + `}}`, members - 1},
		"YAML":            {tree.YAML, "? " + long + "\n:\n" + list("  a%d: 1", "\n") + "\n", 0},
		"YAML duplicates": {tree.YAML, "? " + long + "\n:\n" + repeated("  a: 1", "\n") + "\n", members - 1},
		"TOML":            {tree.TOML, "[" + long + "]\n" + list("a%d = 1", "\n") + "\n", 0},
		"TOML duplicates": {tree.TOML, "[" + long + "]\n" + repeated("a = 1", "\n") + "\n", members - 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, problems := tree.Parse([]byte(test.text), test.format)
			runtime.ReadMemStats(&after)
			if n == nil || len(problems) != test.duplicates {
				t.Fatalf("%v with %d problems, want %d", n, len(problems), test.duplicates)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 50<<20 {
				t.Errorf("%d bytes of text took %d MiB", len(test.text), used>>20)
			}
			for i := range problems {
				if at := problems[i].Pointer(); at != "" {
					t.Fatalf("pointer of %d bytes below a long name, want that of the root", len(at))
				}
			}
		})
	}
}

// TestLongPointer verifies that a pointer that is too long ends at a value above.
func TestLongPointer(t *testing.T) {
	middle := strings.Repeat("m", 500)
	text := `{"a/b":[0,{"` + middle + `":{"` + middle + `":{"x":1,"x":2}}}]}`
	_, problems := tree.Parse([]byte(text), tree.JSON)
	if len(problems) != 1 {
		t.Fatalf("%d problems, want 1", len(problems))
	}
	if got, want := problems[0].Pointer(), "/a~1b/1/"+middle+"/"+middle+"/x"; got != want {
		t.Errorf("pointer %.80q, want %.80q", got, want)
	}
	longer := strings.Replace(text, `"x":1`, `"x":1,"`+middle+`":{"x":1,"x":2}`, 1)
	_, problems = tree.Parse([]byte(longer), tree.JSON)
	want := "/a~1b/1/" + middle + "/" + middle
	if got := problems[0].Pointer(); got != want {
		t.Errorf("pointer of %d bytes, want that of the deepest value with a short one, %d bytes", len(got), len(want))
	}
	if got := problems[0].WithoutPointer(); got.Pointer() != "" {
		t.Errorf("pointer %q, want none", got.Pointer())
	}
}
