package router

import (
	"context"
	"fmt"
	"sync"

	"github.com/slipway-mcp/slipway/mcp"
)

// Filter hides items per request: an item exists for a request only if allowed returns
// true. ctx identifies the caller ([mcp.PrincipalFrom], [mcp.RequestFrom]). A hidden item
// is neither listed nor usable. allowed is called for every item on every request, so it
// must be fast, and always return the same result for the same caller.
//
// Passed to [New], a filter applies to all features; in a [Group], to that group. An item
// must pass all of its filters.
func Filter(allowed func(ctx context.Context, item Item) bool) Feature {
	return &filterFeature{caller(), allowed}
}

type filterFeature struct {
	place
	allowed func(context.Context, Item) bool
}

// register only checks the function: filters are collected before the features next to
// them are registered.
func (f *filterFeature) register(b *builder) {
	if f.allowed == nil {
		b.faults = append(b.faults, fmt.Errorf("%s: filter: the function is nil", f.place))
	}
}

func filtersAmong(features []Feature) (filters []func(context.Context, Item) bool) {
	for _, f := range features {
		if f, ok := f.(*filterFeature); ok && f.allowed != nil {
			filters = append(filters, f.allowed)
		}
	}
	return filters
}

// views caches the catalogs of callers who see different items. Callers who see the same
// items share a catalog, so its lists are encoded once.
type views struct {
	mu   sync.Mutex
	max  int
	kept map[string]*mcp.Catalog
	keys []string // oldest first
}

// get returns the catalog for a set of visible items, given as a bit mask.
func (v *views) get(mask []byte, build func() *mcp.Catalog) *mcp.Catalog {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.kept[string(mask)]; ok {
		return c
	}
	if len(v.keys) >= v.max {
		delete(v.kept, v.keys[0])
		v.keys = v.keys[1:]
	}
	if v.kept == nil {
		v.kept = make(map[string]*mcp.Catalog)
	}
	c := build()
	v.kept[string(mask)] = c
	v.keys = append(v.keys, string(mask))
	return c
}
