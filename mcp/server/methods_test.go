package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// offering is a source that only has a catalog, which can be replaced.
type offering struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

func (o *offering) Catalog(context.Context) (*mcp.Catalog, error) { return o.catalog, nil }

func manyTools(n int) *mcp.Catalog {
	c := &mcp.Catalog{Server: mcp.Implementation{Name: "many", Version: "1"}, PageSize: n}
	for i := range n {
		c.Tools = append(c.Tools, mcp.Tool{Name: fmt.Sprintf("tool-%d", i), Description: strings.Repeat("long ", 20)})
	}
	return c
}

// toolsIn returns the names and the cursor in a result of tools/list.
func toolsIn(t *testing.T, result string) (names []string, next string) {
	t.Helper()
	var w struct {
		Tools      []mcp.Tool
		NextCursor string
	}
	if err := json.Unmarshal([]byte(result), &w); err != nil {
		t.Fatalf("%v in %.100s", err, result)
	}
	for _, tool := range w.Tools {
		names = append(names, tool.Name)
	}
	return names, w.NextCursor
}

// A list that is too large to be copied arrives complete, on both surfaces and in both
// eras.
func TestLargeList(t *testing.T) {
	const n = 2000
	source := &offering{catalog: manyTools(n)}
	addr := serveHTTP(t, source, nil)
	check := func(name string, got *response) {
		t.Helper()
		names, next := toolsIn(t, got.result)
		if got.id != "1" || len(names) != n || names[n-1] != "tool-1999" || next != "" {
			t.Errorf("%s: %d tools for id %s, cursor %q", name, len(names), got.id, next)
		}
	}
	for _, body := range []string{
		modernRequest,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`,
	} {
		got := post(body).do(t, addr)
		if length := got.header.Get("Content-Length"); length != strconv.Itoa(len(got.body)) {
			t.Errorf("Content-Length %q for %d bytes", length, len(got.body))
		}
		check("http", takeApart(t, 200, nil, []byte(strings.Trim(got.body, "[]"))))
		check("events", takeApart(t, 200, nil,
			[]byte(strings.Trim(lastEvent(post(body, "Accept: text/event-stream").do(t, addr).body), "[]"))))
	}
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, source, nil)
		p.send(modernRequest)
		check("stdio", takeApart(t, 0, nil, []byte(p.received())))
		p.close()
	})
}

func lastEvent(body string) string {
	return strings.TrimSpace(body[strings.LastIndex(body, "data: ")+len("data: "):])
}

// Pages cover a list of any length once and in order, and a cursor remains valid when the
// list has become shorter.
func TestPages(t *testing.T) {
	for _, n := range []int{1, 3, 4, 5, 8, 9} {
		catalog := manyTools(n)
		catalog.PageSize = 4
		source := &offering{catalog: catalog}
		b := newBrowser(source, nil)
		var all []string
		cursor := ""
		for page := 0; ; page++ {
			names, next := toolsIn(t, b.post(t, modern("tools/list", fmt.Sprintf(`"cursor":%q`, cursor))).result)
			if page > n || len(names) == 0 || len(names) > 4 {
				t.Fatalf("%d tools: %d on page %d", n, len(names), page)
			}
			all = append(all, names...)
			if cursor = next; cursor == "" {
				break
			}
			if again, _ := toolsIn(
				t, b.post(t, modern("tools/list", fmt.Sprintf(`"cursor":%q`, cursor))).result,
			); len(again) == 0 {
				t.Errorf("%d tools: a cursor is good only once", n)
			}
		}
		for i, name := range all {
			if name != fmt.Sprintf("tool-%d", i) {
				t.Errorf("%d tools: %s in place %d", n, name, i)
			}
		}
		if len(all) != n {
			t.Errorf("%d tools listed, want %d", len(all), n)
		}
	}
	source := &offering{catalog: manyTools(9)}
	source.catalog.PageSize = 4
	b := newBrowser(source, nil)
	_, cursor := toolsIn(t, b.post(t, modern("tools/list", "")).result)
	source.catalog = manyTools(2)
	if got := b.post(t, modern("tools/list", fmt.Sprintf(`"cursor":%q`, cursor))); got.code != 0 ||
		!strings.Contains(got.result, `"tools":[]`) {
		t.Errorf("behind the end of a shorter list: %s", got.body)
	}
}

// TestWithheld: clients that use a withheld tool or prompt get the reason, even if
// nothing else is offered.
func TestWithheld(t *testing.T) {
	source := &offering{catalog: &mcp.Catalog{
		Server:          mcp.Implementation{Name: "w", Version: "1"},
		WithheldTools:   map[string]string{"rob": "not this tool"},
		WithheldPrompts: map[string]string{"lie": "not this prompt"},
	}}
	addr := serveHTTP(t, source, nil)
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rob"}}`:   `"not this tool"`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other"}}`: `unknown tool \"other\"`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"lie"}}`:  `"not this prompt"`,
	} {
		got := post(body).do(t, addr).body
		if !strings.Contains(got, want) {
			t.Errorf("%s\nanswer %s, want %s in it", body, got, want)
		}
	}
	other := &mcp.Catalog{Server: source.catalog.Server}
	if other.Version() == source.catalog.Version() {
		t.Error("a catalog that withholds something has the version of one that does not")
	}
}

// TestUnknownNames: the error for a misspelt tool or prompt suggests the most similar
// offered name, among few and among very many; withheld names are never suggested.
func TestUnknownNames(t *testing.T) {
	source := &offering{catalog: &mcp.Catalog{
		Server:        mcp.Implementation{Name: "w", Version: "1"},
		Tools:         []mcp.Tool{{Name: "other", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Prompts:       []mcp.Prompt{{Name: "code_review"}},
		WithheldTools: map[string]string{"delete_all": "not this tool"},
	}}
	for i := range 100_000 {
		source.catalog.Tools = append(source.catalog.Tools, mcp.Tool{
			Name:        fmt.Sprint("operation_", i),
			InputSchema: json.RawMessage(`{"type":"object"}`),
		})
	}
	source.catalog.Tools[50_000].Name = "calculator"
	addr := serveHTTP(t, source, nil)
	for _, c := range []struct{ method, name, want string }{
		{"tools/call", "calculatr", `unknown tool \"calculatr\", did you mean \"calculator\"?"`},
		{"tools/call", "delete_al", `unknown tool \"delete_al\""`},
		{"prompts/get", "codeReview", `unknown prompt \"codeReview\", did you mean \"code_review\"?"`},
		{"prompts/get", "zebra", `unknown prompt \"zebra\""`},
	} {
		got := post(`{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":{"name":"`+c.name+`"}}`).do(t, addr).body
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s in it", c.method, c.name, got, c.want)
		}
	}
}

func TestKeepSystemRole(t *testing.T) {
	for _, keep := range []bool{false, true} {
		b := newBrowser(newDemo(), &server.Options{KeepSystemRole: keep})
		got := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"ask","arguments":{"topic":"x"}}}`)
		if kept := strings.Contains(got.result, `"role":"system"`); kept != keep {
			t.Errorf("KeepSystemRole %v: %s", keep, got.result)
		}
	}
}
