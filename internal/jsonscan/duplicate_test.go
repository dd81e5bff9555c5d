package jsonscan_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

func TestDuplicate(t *testing.T) {
	deep := strings.Repeat(`[`, 500) + `{"k":1,"k":2}` + strings.Repeat(`]`, 500)
	for _, c := range []struct{ name, text, want string }{
		{"none", `{"a":{"b":1},"b":[{"a":1},{"a":2}]}`, ""},
		{"at the top", `{"name":"x","n":1,"name":"y"}`, "name"},
		{"written in two ways", `{"name":"x","n\u0061me":"y"}`, "name"},
		{"below an object", `{"inputSchema":{"type":"object","type":"string"}}`, "type"},
		{"below a list", `[1,[{"a":1},{"b":1,"b":1}]]`, "b"},
		{"the empty key", `{"":1,"":2}`, ""},
		{"deep", deep, "k"},
		{
			"of many",
			`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"1":1}`,
			"1",
		},
		{"no object", `"a"`, ""},
		{"nothing", ``, ""},
	} {
		got := jsonscan.Duplicate([]byte(c.text))
		if string(got) != c.want {
			t.Errorf("%s: Duplicate = %q, want %q", c.name, got, c.want)
		}
		if wantNil := c.want == "" && c.name != "the empty key"; (got == nil) != wantNil {
			t.Errorf("%s: Duplicate is nil: %t, want %t", c.name, got == nil, wantNil)
		}
	}
}
