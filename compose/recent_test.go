package compose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestEarlierCatalogsAreBounded guards the memory of a source that changes its large catalog
// again and again: only a few of the earlier ones are kept.
func TestEarlierCatalogsAreBounded(t *testing.T) {
	large := json.RawMessage(`{"name":"large","description":"` + strings.Repeat("x", 8<<20) + `"}`)
	own := stock("own", "x:1")
	edited, err := compose.Edit(own, &compose.Edits{Name: "edited"})
	if err != nil {
		t.Fatal(err)
	}
	src, err := compose.Union(t.Context(), []compose.Named{
		{Name: "own", Source: edited},
		{Name: "other", Source: stock("other", "y:1")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var catalogs []weak.Pointer[mcp.Catalog]
	for i := range 12 {
		cat := &mcp.Catalog{Tools: []mcp.Tool{{Name: "large", Raw: large}, {Name: fmt.Sprint(i)}}}
		own.offer(cat)
		catalogs = append(catalogs, weak.Make(cat))
		if got, err := src.Catalog(context.Background()); err != nil || got.Tool(fmt.Sprint(i)) == nil {
			t.Fatalf("Catalog: %v", err)
		}
	}
	runtime.GC()
	kept := 0
	for _, cat := range catalogs {
		if cat.Value() != nil {
			kept++
		}
	}
	if kept > 4 { // of 16 MiB each, as they are encoded twice
		t.Errorf("%d catalogs of 8 MiB are kept, want at most 4", kept)
	}
	runtime.KeepAlive(src)
}
