package compose_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// perCaller is a source with one catalog for each caller.
type perCaller struct {
	mcp.Unimplemented
	catalogs map[string]*mcp.Catalog
}

func (s *perCaller) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	name := ""
	if p := mcp.PrincipalFrom(ctx); p != nil {
		name = p.Name
	}
	return s.catalogs[name], nil
}

func (s *perCaller) add(caller string, tools ...string) {
	cat := &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "own",
			Version: "1",
		},
		PerCaller: true,
	}
	for _, name := range tools {
		cat.Tools = append(cat.Tools, mcp.Tool{
			Name:        name,
			InputSchema: []byte(`{"type":"object"}`),
		})
	}
	if s.catalogs == nil {
		s.catalogs = make(map[string]*mcp.Catalog)
	}
	s.catalogs[caller] = cat
}

func asCaller(name string) context.Context {
	return mcp.WithPrincipal(context.Background(), &mcp.Principal{Name: name})
}

// TestCatalogsOfCallers joins and edits a source whose catalog depends on the caller: each sees
// their own, and a collision of one is not answered with the catalog of another.
func TestCatalogsOfCallers(t *testing.T) {
	own := &perCaller{}
	own.add("")
	for i := range 40 { // more than are remembered
		own.add(fmt.Sprint(i), fmt.Sprintf("tool_%d", i))
	}
	own.add("twice", "shared")
	other := &perCaller{}
	other.catalogs = map[string]*mcp.Catalog{}
	fixed := &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "other",
			Version: "1",
		},
		Tools: []mcp.Tool{{
			Name:        "shared",
			InputSchema: []byte(`{"type":"object"}`),
		}},
	}
	for name := range own.catalogs {
		other.catalogs[name] = fixed
	}
	edited, err := compose.Edit(own, &compose.Edits{Name: "edited"})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := compose.Union(t.Context(), []compose.Named{{
		Name:   "own",
		Source: edited,
	}, {
		Name:   "other",
		Source: other,
	}}, &compose.UnionOptions{
		KeepLast: true,
		Prefix:   compose.PrefixNever,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i := range 40 {
			cat, err := joined.Catalog(asCaller(fmt.Sprint(i)))
			if err != nil || len(cat.Tools) != 2 || cat.Tool(fmt.Sprintf("tool_%d", i)) == nil || !cat.PerCaller {
				t.Fatalf("catalog of %d = %+v, %v, want the tool of the caller and the shared one", i, cat, err)
			}
		}
		first, _ := joined.Catalog(asCaller("1"))
		_, _ = joined.Catalog(asCaller("2"))
		if again, _ := joined.Catalog(asCaller("1")); again != first {
			t.Error("the catalog of a caller was joined again, although it is remembered")
		}
		if cat, err := joined.Catalog(asCaller("twice")); err == nil {
			t.Errorf("catalog with a collision = %v, want an error instead of the catalog of another caller", cat.Tools)
		}
	}
}
