package naivesite_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/test/naivesite"
)

func TestSite(t *testing.T) {
	site := naivesite.Site{Encode: strings.ToLower, FS: fstest.MapFS{
		"mcp.json": {
			Data: []byte(`{"capabilities":{"tools":[{"name":"t","inputSchema":{"required":["a","b"]}}]}}`),
		},
		"resources/info.json":       {Data: []byte(`{"uri":"resume://info","mimeType":"text/plain","text":"me"}`)},
		"resources/docs/a.json":     {Data: []byte(`{"contents":[]}`)},
		"tools/list.json":           {Data: []byte(`{"content":[{"type":"text","text":"all"}]}`)},
		"tools/compare/eur/us.json": {Data: []byte(`{"content":[{"type":"text","text":"pair"}]}`)},
		"tools/odd/x.json":          {Data: []byte(`{"contents":[]}`)},
	}}
	if m, err := site.Manifest(); err != nil ||
		len(m.Capabilities.Tools) != 1 ||
		len(m.Capabilities.Tools[0].InputSchema.Required) != 2 {
		t.Errorf("Manifest = %+v, %v", m, err)
	}
	text := func(text, _ string, err error) (string, error) { return text, err }
	tests := map[string]struct {
		get  func() (string, error)
		want string
	}{
		"resource":         {func() (string, error) { return text(site.Resource("resume://INFO")) }, "me"},
		"another shape":    {func() (string, error) { return text(site.Resource("x://docs/a")) }, ""},
		"no such resource": {func() (string, error) { return text(site.Resource("x://docs")) }, ""},
		"no arguments":     {func() (string, error) { return site.Call("list") }, "all"},
		"two arguments":    {func() (string, error) { return site.Call("compare", "EUR", "US") }, "pair"},
		"reversed":         {func() (string, error) { return site.Call("compare", "US", "EUR") }, ""},
		"no content":       {func() (string, error) { return site.Call("odd", "x") }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := tt.get(); got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
