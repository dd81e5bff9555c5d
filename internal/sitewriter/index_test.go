package sitewriter

import (
	"encoding/json"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

// TestAppendEntry: entries of the index have one form, whether the question is decoded or not.
func TestAppendEntry(t *testing.T) {
	w := &writer{opts: (&Options{Layout: Packed}).withDefaults(), spool: &spool{limit: 1}}
	w.spool.dir = t.TempDir()
	defer w.spool.close()
	tests := []struct {
		name, path string
		q          *question
		spare      bool
	}{
		{name: "file", path: ".staticmcp/search/index.json"},
		{name: "quote", path: "a\"b.json"},
		{name: "letters", path: "ü.json"},
		{name: "packed", path: "tools/get_page/guide.json",
			q: &question{Tool: "get_page", Arguments: json.RawMessage(`{"path":"a<b>&\u2028\"ü"}`), Title: "T", From: "f.md"}},
		{name: "tool without arguments", path: "tools/list.json", q: &question{Tool: "list"}, spare: true},
		{name: "resource", path: "resources/guide.json", q: &question{URI: "docs://a\"<ü\u2028", Title: `"tool":"x"`}},
		{name: "prompt", path: "prompts/p.json", q: &question{Prompt: "p", Arguments: json.RawMessage(`{"a":1}`)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := w.keep(file{path: test.path, spare: test.spare}, []byte(test.name), test.q); err != nil {
				t.Fatal(err)
			}
			f := &w.files[len(w.files)-1]
			e, err := w.entry(f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := mcp.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := w.appendEntry(nil, f); err != nil || string(got) != string(want) {
				t.Errorf("appendEntry(%q) = %s, %v, want %s", test.path, got, err, want)
			}
		})
	}
}
