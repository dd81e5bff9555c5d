package sitelint_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// FuzzCheck verifies that no manifest and no answer makes a check panic, and that a site
// without findings can be opened and read.
func FuzzCheck(f *testing.F) {
	site := small()
	f.Add(site["mcp.json"].Data, []byte(`{"content":[{"type":"text","text":"a"}]}`), "a")
	f.Add(
		[]byte(
			`{"capabilities":{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"enum":[1,{}]},"b":{}},"required":["b",`+
				`1]}}]}}`),
		[]byte(`{"contents":[{}]}`), "Ü b")
	f.Add(
		[]byte(
			`{"serverInfo":[],"resources":[{"uri":"://"}],"capabilities":{"resources":[{"uri":"a"},{"uri":"a"}],`+
				`"prompts":[{"name":"t","arguments":[{}]}]}}`),
		[]byte(`[]`), "index")
	f.Add([]byte("\xef\xbb\xbf[]"),
		[]byte(`{"_meta":{"io.github.slipway-mcp/disambiguation":[0,9]},"content":[],"staticmcp":{"parameters":{"a":null}}}`),
		"YT14JmI9eSZjPXo_")
	fuzzbound.Fuzz(f, func(t *testing.T, manifest, answer []byte, name string) {
		const longest = 255 // the limit of file systems; a MapFS walks deep paths slowly
		if len(name) > longest {
			return
		}
		files := fstest.MapFS{"mcp.json": {Data: manifest}}
		for _, path := range []string{
			"tools/t/" + name + ".json",
			"tools/t.json",
			"resources/" + name + ".json",
			"resources/a.json",
			"prompts/t/" + name + ".json",
			"completions/" + name + ".json",
			".staticmcp/index.json",
		} {
			if !fs.ValidPath(path) {
				return // a MapFS loops on such paths
			}
			files[path] = &fstest.MapFile{Data: answer}
		}
		report, err := sitelint.Check(t.Context(), files, &sitelint.Options{
			Readers: sitelint.Readers(),
			Hosts:   []string{"github-pages"},
		})
		if err != nil || !report.OK(true) {
			return // such as a name that no file system can hold
		}
		opened, err := staticmcp.Open(t.Context(), files, &staticmcp.Options{Strict: true, Poll: -1})
		if err != nil {
			t.Fatalf("a site without findings cannot be opened: %v", err)
		}
		opened.Close()
	})
}
