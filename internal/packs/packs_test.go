package packs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// answer is an answer to pack.
type answer struct {
	path, doc string
	key       uint64
}

// pages returns answers about n pages: each whole, and in sections.
func pages(t *testing.T, n int) []answer {
	var list []answer
	add := func(path, doc string) {
		key, ok := packs.Key(path)
		if !ok {
			t.Fatalf("%s cannot be packed", path)
		}
		list = append(list, answer{path, doc, key})
	}
	for i := range n {
		text := strings.Repeat("x", 500+i*37%3000)
		add(fmt.Sprintf("tools/get_page/guide_%d.json", i), `{"content":"`+text+`"}`)
		for k := range 5 {
			add(fmt.Sprintf("tools/get_section/guide_%d/part-%d.json", i, k), `{"content":"`+text[:100+k]+`"}`)
		}
	}
	return list
}

// pack packs answers into files by name, with their table.
func pack(t *testing.T, list []answer) (map[string][]byte, packs.Table) {
	t.Helper()
	slices.SortFunc(list, func(a, b answer) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.path, b.path)) })
	var items []packs.Item
	for _, a := range list {
		items = append(items, packs.Item{Key: a.key, Size: int64(len(a.path) + len(a.doc) + 5)})
	}
	var table packs.Table
	var parts [][]answer
	packs.Split(items, func(start string, from, to int) {
		table = append(table, start)
		parts = append(parts, list[from:to])
	})
	files := make(map[string][]byte)
	for i, start := range table {
		next := ""
		if i+1 < len(table) {
			next = table[i+1]
		}
		text, err := packs.Append(nil, next, len(parts[i]), func(k int) (string, []byte, error) {
			return parts[i][k].path, []byte(parts[i][k].doc), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		files[packs.File(start)] = text
	}
	return files, table
}

// TestSplit verifies that each answer is found where its path leads, that no pack is too
// large, and that the table survives its encoding.
func TestSplit(t *testing.T) {
	for _, n := range []int{1, 10, 400, 3000} {
		list := pages(t, n)
		files, table := pack(t, list)
		raw, err := table.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := packs.Parse(raw); err != nil || !slices.Equal(again, table) {
			t.Errorf("%d pages: the table becomes %v, %v", n, again, err)
		}
		for name, text := range files {
			if len(text) > packs.MaxBytes+100 {
				t.Errorf("%d pages: %s has %d bytes", n, name, len(text))
			}
		}
		for _, a := range list {
			text := files[packs.File(table[table.Pack(a.key)])]
			if got := packs.Find(text, a.path); string(got) != a.doc {
				t.Fatalf("%d pages: %s is %.50q, want %.50q", n, a.path, got, a.doc)
			}
		}
		if n == 3000 && len(files) > 300 {
			t.Errorf("%d packs for 3,000 pages: they are too small", len(files))
		}
	}
}

// TestSplitStable verifies that a changed page changes few packs, and a new one, too.
func TestSplitStable(t *testing.T) {
	before, _ := pack(t, pages(t, 1000))
	changed := pages(t, 1000)
	for i := range changed {
		if strings.Contains(changed[i].path, "/guide_500") {
			changed[i].doc += " "
		}
	}
	for name, list := range map[string][]answer{"changed": changed, "added": pages(t, 1001)} {
		after, _ := pack(t, list)
		different := 0
		for path, text := range after {
			if !bytes.Equal(before[path], text) {
				different++
			}
		}
		if different == 0 || different > 3 {
			t.Errorf("%s: %d of %d packs differ", name, different, len(after))
		}
	}
}

// TestLargeAnswers verifies that an answer above the limit has a pack of its own, also among
// others about the same page.
func TestLargeAnswers(t *testing.T) {
	var list []answer
	for i := range 4 {
		path := fmt.Sprintf("tools/get_section/page/part-%d.json", i)
		key, _ := packs.Key(path)
		list = append(list, answer{path, `{"content":"` + strings.Repeat("y", packs.MaxBytes) + `"}`, key})
	}
	files, table := pack(t, list)
	if len(files) != 4 || len(table) != 4 {
		t.Errorf("%d packs, want 4: %v", len(files), table)
	}
}

// TestKey verifies which paths packs can contain.
func TestKey(t *testing.T) {
	for path, want := range map[string]bool{
		"tools/get_page/guide.json":          true,
		"tools/get.Page/guide/2.json":        true,
		"tools/list_pages.json":              false,
		"tools/get_page/Guide.md.json":       false,
		"tools/get_page/a//b.json":           false,
		"tools/get_page/.json":               false,
		"tools/get_page/a/.json":             false,
		"tools/get_page/a":                   false,
		"resources/guide.json":               false,
		"prompts/explain/go.json":            false,
		"tools/get_page/../../etc/pass.json": false,
	} {
		if _, ok := packs.Key(path); ok != want {
			t.Errorf("Key(%q) = %v, want %v", path, ok, want)
		}
	}
	one, _ := packs.Key("tools/get_page/guide.json")
	two, _ := packs.Key("tools/get_section/guide/setup.json")
	if one>>32 != two>>32 {
		t.Errorf("the answers about a page have the numbers %x and %x", one, two)
	}
}

// TestParse verifies that invalid tables are refused.
func TestParse(t *testing.T) {
	for _, raw := range []string{
		`{}`, `[]`, `{"starts":[]}`, `{"starts":["1"]}`, `{"starts":["0","2","1"]}`, `{"starts":["0","0"]}`,
		`{"starts":["0","../x"]}`, `{"starts":["0","A"]}`, `{"starts":["0","12345678901234567"]}`, `{"starts":[0]}`,
	} {
		if table, err := packs.Parse([]byte(raw)); err == nil {
			t.Errorf("Parse(%s) = %v", raw, table)
		}
	}
	if table, err := packs.Parse([]byte("null")); table != nil || err != nil {
		t.Errorf("Parse(null) = %v, %v", table, err)
	}
}

// FuzzEach verifies that no text makes the readers of packs fail, and that what Each visits
// is what Find returns.
func FuzzEach(f *testing.F) {
	f.Add([]byte("{\"next\":\"2c\",\n\"tools/a/b.json\":{},\n\"tools/a/c.json\":{}\n}\n"))
	f.Add([]byte("{\"next\":\"\",\n}\n"))
	f.Add([]byte("{\"next\":\"\",\n\"\n}\n"))
	f.Add([]byte("{\"next\":\"\",\n\n}\n"))
	f.Add([]byte("{\"next\":\"\",\n\":1\n}\n"))
	f.Add([]byte(""))
	fuzzbound.Fuzz(f, func(t *testing.T, pack []byte) {
		packs.Next(pack)
		_ = packs.Each(pack, func(path string, start, end int) bool {
			if start > end || end > len(pack) {
				t.Fatalf("%q is from %d to %d of %d", path, start, end, len(pack))
			}
			return true
		})
		packs.Find(pack, "tools/a/b.json")
	})
}
