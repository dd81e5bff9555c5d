package mcpb_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// FuzzManifest reads, checks, repairs, translates and expands arbitrary input. No step
// may panic, and they must agree: the checker and the parser accept the same text, and a
// repaired text needs no repair.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(strings.ReplaceAll(full, "0.3", "0.1")))
	f.Add([]byte("\ufeff{\"dxt_version\":\"0.1\",\"author\":\"a <b@c.de>\",\"icon\":\"../x\",}"))
	f.Add(
		[]byte(
			`{"manifest_version":0.4,"server":{"type":"uv","entry_point":"a\\b"},"user_config":{"":null,"a":{"minimum":"1"}}}`))
	f.Add([]byte("// x\n{\"a\":[1,],/*}*/}"))
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		kept := bytes.Clone(text)
		fsys := fstest.MapFS{
			"manifest.json":   {Data: text},
			"r/de.json":       {Data: text},
			"server/index.js": {Data: text},
			"icon.png":        {Data: text},
		}
		checked, report, err := mcpb.Check(fsys, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := mcpb.ParseManifest(text)
		if err == nil && checked == nil || err != nil && report.OK(false) {
			t.Fatalf("parsed %v, checked\n%v", err, ruletest.Findings(report))
		}
		if err == nil {
			_, _ = m.Localized(fsys, "de-AT")
			_, _ = mcpb.Expand(m, &mcpb.ExpandOptions{Dir: "/b", NoFiles: true, Values: map[string]any{"key": "${HOME}"}})
		}
		fixed, repairs := mcpb.Fix(text)
		if again, more := mcpb.Fix(fixed); len(repairs) > 0 && len(repairs) < 8 && len(more) > 0 {
			t.Errorf("%q became %q and then %q: %v", text, fixed, again, more)
		}
		if !bytes.Equal(text, kept) {
			t.Error("the text was changed in place")
		}
	})
}
