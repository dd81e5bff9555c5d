package mcp_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

func TestHeaderParams(t *testing.T) {
	const annotated = `"properties":{"where":{"properties":{"name":{"type":"string","x-mcp-header":"Region"}}},` +
		`"n":{"type":"integer","x-mcp-header":"n"}}`
	params, err := mcp.HeaderParams([]byte(`{"type":"object",` + annotated + `}`))
	got := make(map[string]string)
	for _, p := range params {
		if value, ok := p.Value([]byte(`{"where":{"name":"a\u0062"},"n":7}`)); ok {
			got[p.Name] = value
		}
		if value, ok := p.Value([]byte(`{"where":{"name":null}}`)); ok {
			t.Errorf("%s of no argument is %q", p.Name, value)
		}
	}
	if want := map[string]string{"Mcp-Param-Region": "ab", "Mcp-Param-N": "7"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("headers %v, %v, want %v", got, err, want)
	}
	for name, property := range map[string]string{
		"a bad name": `{"type":"string","x-mcp-header":"a b"}`,
		"a bad type": `{"type":"object","x-mcp-header":"a"}`,
		"a number":   `{"type":"string","x-mcp-header":1}`,
		"no type":    `{"x-mcp-header":"a"}`,
		"a twin": `{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"A"}}},` +
			`"c":{"type":"string","x-mcp-header":"a"}`,
		"not reachable": `{"items":{"type":"string","x-mcp-header":"a"}}`,
	} {
		if _, err := mcp.HeaderParams([]byte(`{"properties":{"a":` + property + `}}`)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if params, err := mcp.HeaderParams([]byte(`{"type":"object"}`)); err != nil || params != nil {
		t.Errorf("without annotations: %v, %v", params, err)
	}
}

// TestHeaderParamsAtDepth guards the cost of schemas nested deeply: they were parsed again for each level.
func TestHeaderParamsAtDepth(t *testing.T) {
	const depth, size = 250, 1 << 20
	schema := []byte(strings.Repeat(`{"properties":{"a":`, depth) + `{"type":"string","x-mcp-header":"A","description":"` +
		strings.Repeat("x", size) + `"}` + strings.Repeat(`}}`, depth))
	cost := func(do func()) time.Duration {
		least := time.Hour
		for range 5 { // others may use the processor
			began := time.Now()
			do()
			least = min(least, time.Since(began))
		}
		return least
	}
	took := cost(func() {
		found, err := mcp.HeaderParams(schema)
		if err != nil || len(found) != 1 || len(found[0].Path) != depth {
			t.Fatalf("headers %v, %v, want one at depth %d", found, err, depth)
		}
	})
	scan := cost(func() {
		if err := jsonscan.Valid(schema); err != nil {
			t.Fatal(err)
		}
	})
	if took > 20*scan+10*time.Millisecond {
		t.Errorf("the headers take %v, a scan of the schema takes %v", took, scan)
	}
}

func TestValidHeaderName(t *testing.T) {
	for name, want := range map[string]bool{
		"Region":            true,
		"a":                 true,
		"x!#$%&'*+-.^_`|~9": true,
		"":                  false,
		"a b":               false,
		"a:":                false,
		"ü":                 false,
		"a\x00":             false,
		"a b\u00fc-c":       false,
	} {
		if got := mcp.ValidHeaderName(name); got != want {
			t.Errorf("ValidHeaderName(%q) = %v, want %v", name, got, want)
		}
	}
}
