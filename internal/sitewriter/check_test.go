package sitewriter_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/naivesite"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// TestStrict runs the check on a site with everything that can be written, expecting no
// warnings, and reads it with a strict reader.
func TestStrict(t *testing.T) {
	ctx := context.Background()
	s := site(
		named("São Paulo", "1"), named("東京", "2"), named("北京", "3"), named(strings.Repeat("A", 250), "4"),
		sitewriter.Text("route", json.RawMessage(`{"a":"é","b":1}`), "5"),
		sitewriter.Text("route", json.RawMessage(`{"a":"e","b":1}`), "6"),
		sitewriter.TextResource("doc://x", "text/plain", "7"), sitewriter.TextResource("b://x", "text/plain", "8"),
		&sitewriter.Answer{
			Prompt:   "greet",
			Template: true,
			Result:   json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"Hello {{who}}"}}]}`),
		},
	)
	s.Resources = func(yield func(*mcp.Resource, error) bool) {
		_ = yield(&mcp.Resource{URI: "doc://x", Name: "X"}, nil) && yield(&mcp.Resource{URI: "b://x", Name: "X"}, nil)
	}
	for name, opts := range map[string]*sitewriter.Options{
		"plain": nil,
		"all":   {Compact: true, Precompress: []string{"gzip"}, Host: sitewriter.CloudflarePages},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := written(t, s, opts)
			report, err := sitelint.Check(ctx, m, nil)
			if err != nil || !report.OK(true) {
				t.Errorf("%v: %v", err, ruletest.Findings(report))
			}
			strict, err := staticmcp.Open(ctx, m, &staticmcp.Options{Strict: true, Poll: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer strict.Close()
			for _, name := range []string{"São Paulo", "東京", strings.Repeat("A", 250)} {
				arguments, _ := json.Marshal(map[string]string{"name": name})
				if result, err := strict.CallTool(ctx, &mcp.CallToolParams{
					Name:      "city",
					Arguments: arguments,
				}); err != nil || result.IsError {
					t.Errorf("%s: %v %v", name, result, err)
				}
			}
		})
	}
}

// TestNaive: a reader that knows only the standard finds every file.
func TestNaive(t *testing.T) {
	s := site(named("São Paulo", "a"), sitewriter.Text("route", json.RawMessage(`{"a":"x/y z","b":-7}`), "b"),
		sitewriter.TextResource("doc://Guide/a.md", "text/plain", "c"))
	m, _ := written(t, s, nil)
	naive := naivesite.Site{FS: m, Encode: staticmcp.EncodeName}
	if text, err := naive.Call("city", "São Paulo"); text != "a" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := naive.Call("route", "x/y z", "-7"); text != "b" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if text, _, err := naive.Resource("doc://Guide/a.md"); text != "c" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}
