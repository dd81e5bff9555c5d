// Package sitetest holds the shared test helpers of all builders: it writes the site of
// an input, checks it against every site rule, and calls its tools.
package sitetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/naivesite"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Folder writes files, by their slash-separated names, to a new temporary folder and
// returns its path.
func Folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Built is a site that was written and opened again.
type Built struct {
	From  *sitewriter.Site // as built by the input
	Files *sitewriter.Memory
	Site  *staticmcp.Site

	t testing.TB
}

// Open writes the site of in and opens it. It returns only errors of in. The test fails
// unless the site can be written, passes [sitelint.Check], opens in strict mode, and has
// each resource where a reader that knows only the standard expects it. opts may be nil.
func Open(t testing.TB, in sitewriter.Input, opts *sitewriter.Options) (*Built, error) {
	t.Helper()
	from, err := in.Site(t.Context())
	if err != nil {
		return nil, err
	}
	b := &Built{
		From:  from,
		Files: sitewriter.NewMemory(),
		t:     t,
	}
	if r, err := sitewriter.Write(t.Context(), from, b.Files, opts); err != nil {
		t.Fatalf("%v: %v", err, r.Report.Findings())
	}
	b.check()
	if b.Site, err = staticmcp.Open(t.Context(), b.Files, &staticmcp.Options{Strict: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Site.Close() }) // it is in memory
	return b, nil
}

// check fails the test unless the site has no lint errors and a naive reader can read all of its
// resources.
func (b *Built) check() {
	b.t.Helper()
	report, err := sitelint.Check(b.t.Context(), b.Files, nil)
	if err != nil || !report.OK(false) {
		b.t.Errorf("check: %v %v", err, report.Findings())
	}
	naive := naivesite.Site{
		FS:     b.Files,
		Encode: staticmcp.EncodeName,
	}
	if _, err := naive.Manifest(); err != nil {
		b.t.Error(err)
	}
	if b.From.Resources == nil {
		return
	}
	for r, err := range b.From.Resources {
		if err != nil {
			b.t.Fatal(err)
		}
		if _, _, err := naive.Resource(r.URI); err != nil {
			b.t.Errorf("the naive reader: %v", err)
		}
	}
}

// Answer is the outcome of a call.
type Answer struct {
	Text       string // of the first content, or of the error
	Structured string
	IsError    bool
}

// Call calls a tool.
func (b *Built) Call(tool, arguments string) Answer {
	b.t.Helper()
	result, err := b.Site.CallTool(b.t.Context(), &mcp.CallToolParams{
		Name:      tool,
		Arguments: json.RawMessage(arguments),
	})
	if err != nil {
		return Answer{Text: err.Error()}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		b.t.Fatal(err)
	}
	var got struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		b.t.Fatal(err)
	}
	if len(got.Content) == 0 {
		b.t.Fatalf("%s %s has no content: %s", tool, arguments, raw)
	}
	return Answer{got.Content[0].Text, string(got.StructuredContent), got.IsError}
}
