package router_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/router"
)

// foreignOut resembles types of other packages, which cannot be changed.
type foreignOut struct {
	ByID    map[int]string     `json:"byID"`
	Small   map[uint8]bool     `json:"small"`
	ByAddr  map[netip.Addr]int `json:"byAddr"`
	ID      int64              `json:"id,string"`
	Price   float64            `json:"price,string"`
	On      bool               `json:"on,string"`
	Name    string             `json:"name,string"`
	Left    *uint8             `json:"left,string"`
	Nothing *int               `json:"nothing,string"`
	//lint:ignore SA5008 encoding/json ignores the option here, and so does the router
	List   []int                     `json:"list,string"`
	Nested map[int64]map[string]bool `json:"nested"`
}

// TestOutputsOfOtherPackages compares outputs with those of encoding/json.
func TestOutputsOfOtherPackages(t *testing.T) {
	left := uint8(7)
	out := foreignOut{
		ByID: map[int]string{10: "ten", 9: "nine", -1: "minus"}, Small: map[uint8]bool{200: true},
		ByAddr: map[netip.Addr]int{netip.MustParseAddr("::1"): 1},
		ID:     1 << 62, Price: 1.5, On: true, Name: `a"b`, Left: &left, List: []int{1},
		Nested: map[int64]map[string]bool{5: {"x": true}},
	}
	r := mustNew(t, router.Tool("t", "", func(context.Context, router.Void) (foreignOut, error) { return out, nil }))
	got, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got.StructuredContent)); diff != "" {
		t.Errorf("structured content (-encoding/json +got):\n%s", diff)
	}
	cat, _ := r.Catalog(context.Background())
	for _, part := range []string{
		`"byID":{"type":"object","additionalProperties":{"type":"string"}}`, `"id":{"type":"string"}`,
		`"left":{"type":["string","null"]}`, `"list":{"type":"array","items":{"type":"integer"}}`,
	} {
		if !strings.Contains(string(cat.Tools[0].OutputSchema), part) {
			t.Errorf("schema %s\nwant %s in it", cat.Tools[0].OutputSchema, part)
		}
	}
}

// TestOutputsAreInputs passes the output of a tool to a tool whose input has the same
// type.
func TestOutputsAreInputs(t *testing.T) {
	type both struct {
		Wait time.Duration `json:"wait"`
		Page *url.URL      `json:"page"`
		Home url.URL       `json:"home"`
	}
	page, err := url.Parse("https://user@example.com/a?b=c#d")
	if err != nil {
		t.Fatal(err)
	}
	in := both{90 * time.Minute, page, url.URL{Path: "/relative"}}
	r := mustNew(t,
		router.Tool("out", "", func(context.Context, router.Void) (both, error) { return in, nil }),
		router.Tool("same", "", func(_ context.Context, in both) (both, error) { return in, nil }))
	arguments := json.RawMessage(nil)
	for _, name := range []string{"out", "same"} {
		got, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"wait":"1h30m0s","page":"https://user@example.com/a?b=c#d","home":"/relative"}`
		if arguments = got.StructuredContent; string(arguments) != want {
			t.Errorf("%s = %s, want %s", name, arguments, want)
		}
	}
	cat, _ := r.Catalog(context.Background())
	want := `"home":{"type":"string","format":"uri-reference"}`
	for _, schema := range []json.RawMessage{cat.Tool("same").InputSchema, cat.Tool("same").OutputSchema} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("schema %s, want %s in it", schema, want)
		}
	}
	bad := json.RawMessage(`{"wait":"1h","page":"http://a b/","home":"/"}`)
	if _, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "same", Arguments: bad}); err == nil ||
		!strings.Contains(err.Error(), "page: must be") {
		t.Errorf("a text that is not a URI: %v", err)
	}
}

// TestTitles: each title option sets the field that it documents.
func TestTitles(t *testing.T) {
	run := func(context.Context, router.Void) (string, error) { return "", nil }
	r := mustNew(t,
		router.Tool("both", "", run, router.Title("B")),
		router.Tool("annotations", "", run, router.AnnotationsTitle("A")),
		router.Tool("each", "", run, router.AnnotationsTitle("A"), router.Title("B")))
	cat, _ := r.Catalog(context.Background())
	for name, want := range map[string][2]string{"both": {"B", "B"}, "annotations": {"", "A"}, "each": {"B", "A"}} {
		tool := cat.Tool(name)
		if got := [2]string{tool.Title, tool.Annotations.Title}; got != want {
			t.Errorf("%s: title and annotations.title = %q, want %q", name, got, want)
		}
	}
}

// TestDescriptionTag: the tag description, which other libraries use, works like doc.
func TestDescriptionTag(t *testing.T) {
	type in struct {
		A string `json:"a" description:"about a"`
		B string `json:"b" description:"not this" doc:"about b"`
	}
	r := mustNew(t, router.Tool("t", "", func(context.Context, in) (string, error) { return "", nil }))
	cat, _ := r.Catalog(context.Background())
	schema := string(cat.Tools[0].InputSchema)
	if !strings.Contains(schema, `"description":"about a"`) || !strings.Contains(schema, `"description":"about b"`) {
		t.Errorf("schema %s, want both descriptions", schema)
	}
}
