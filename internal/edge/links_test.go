package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/search"
)

// TestManyLinkedPages compares the order of results of an index with more links, and of questions with more
// pages, than count.
func TestManyLinkedPages(t *testing.T) {
	node := os.Getenv(nodeVariable)
	if node == "" {
		t.Skip("scripts/edge names the runtimes")
	}
	const pages = 4000
	dir := t.TempDir()
	files := &search.Memory{}
	b := search.NewBuilder(&search.Options{Language: "en"}, func(name string, data []byte) error {
		return errors.Join(files.Write(name, data), os.WriteFile(filepath.Join(dir, name), data, 0o600))
	})
	for i := range pages {
		text := strings.Repeat("Each sluice. ", 1+i*i%7) + strings.Repeat("Its gate is open. ", i*i%11)
		sections := []search.Section{{Text: text}}
		if err := b.Add(search.Page{ID: fmt.Sprint("p-", i), Title: fmt.Sprint("Part ", i), Sections: sections}); err != nil {
			t.Fatal(err)
		}
		var to []string
		for n := range i % 40 {
			to = append(to, fmt.Sprint("p-", (i*i+n*n*n)%pages))
		}
		b.Link(to)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := module("en", nil, &config{})
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `
import { readFileSync, writeSync } from 'node:fs';
const [, , folder, asked] = process.argv;
const load = async (name) => JSON.parse(readFileSync(folder + '/' + name, 'utf8'));
const answers = [];
for (const q of JSON.parse(asked)) answers.push((await search({ load }, q)).hits.map((h) => h.page));
writeSync(1, JSON.stringify(answers));
`...)
	name := filepath.Join(t.TempDir(), "probe.mjs")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var want [][]string
	var asked []map[string]any
	for _, phrasings := range [][]string{{"sluice"}, {"open gate"}, {"sluice gate", "each gate", "part 7"}} {
		for _, offset := range []int{0, 30, 200} {
			q := &search.Query{Phrasings: phrasings, Limit: 30, Offset: offset}
			r, err := search.New(files).Find(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, h := range r.Hits {
				found = append(found, h.Page)
			}
			want = append(want, found)
			asked = append(asked, map[string]any{"phrasings": phrasings, "limit": 30, "offset": offset, "section": ""})
		}
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(node, name, dir, string(raw)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(want) {
		t.Fatalf("%.200s: %v", out, err)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("%v: got %q, want %q", asked[i], got[i], want[i])
		}
	}
}
