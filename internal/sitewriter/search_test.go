package sitewriter_test

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/naivesite"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// numbered yields n entries, each with a unique word.
func numbered(n int) iter.Seq[sitewriter.SearchEntry] {
	words := strings.Fields("apple banana cherry grape lemon mango melon orange peach plum quince")
	return func(yield func(sitewriter.SearchEntry) bool) {
		for i := range n {
			if !yield(sitewriter.SearchEntry{ID: "id" + strconv.Itoa(i), Title: "A " + words[i], Text: "It grows on a tree."}) {
				return
			}
		}
	}
}

func TestExtend(t *testing.T) {
	s, err := sitewriter.NewSearch("find", numbered(11), &sitewriter.SearchOptions{Title: "Find", Hint: "Read it."})
	if err != nil {
		t.Fatal(err)
	}
	site := &sitewriter.Site{
		Server:  mcp.Implementation{Name: "s", Version: "1.0.0"},
		Answers: func(func(*sitewriter.Answer, error) bool) {},
	}
	s.Extend(t.Context(), site)
	m := sitewriter.NewMemory()
	if r, err := sitewriter.Write(t.Context(), site, m, nil); err != nil {
		t.Fatalf("%v: %v", err, ruletest.Findings(&r.Report))
	}
	opened, err := staticmcp.Open(t.Context(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	result, err := opened.CallTool(t.Context(), &mcp.CallToolParams{
		Name:      "find",
		Arguments: json.RawMessage(`{"query":"mangos on trees"}`),
	})
	raw, _ := json.Marshal(result)
	if err != nil || !strings.Contains(string(raw), "1. A mango") {
		t.Errorf("got %s %v", raw, err)
	}
	naive := naivesite.Site{FS: m, Encode: staticmcp.EncodeName}
	if text, err := naive.Call("find", "mango"); err != nil || !strings.Contains(text, "path: id5") {
		t.Errorf("the naive reader: %s %v", text, err)
	}
}

func TestFew(t *testing.T) {
	s, err := sitewriter.NewSearch("find", numbered(3), nil)
	if s != nil || err != nil {
		t.Fatalf("got %v %v", s, err)
	}
	site := &sitewriter.Site{}
	if s.Extend(t.Context(), site); site.Tools != nil {
		t.Error("there is a tool")
	}
}
