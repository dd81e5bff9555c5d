package router

import (
	"context"
	"fmt"
	"sync"

	"github.com/slipway-mcp/slipway/mcp"
)

// Filter decides for each request which items exist for it: those for which
// allowed returns true. ctx leads to who asks ([mcp.PrincipalFrom],
// [mcp.RequestFrom]). An item that is filtered out is neither listed nor can it
// be used. allowed is called for every item at every request, so it must be
// quick, and always answer alike for the same caller.
//
// Beside the features of [New] it is about all of them, in a [Group] about that
// group. All filters must agree.
func Filter(allowed func(ctx context.Context, item Item) bool) Feature {
	return &filterFeature{caller(), allowed}
}

type filterFeature struct {
	place
	allowed func(context.Context, Item) bool
}

// register has nothing to do: filters are collected before the features beside
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

// views keeps the catalogs of callers who see different items. Two callers who
// see the same share one, so that its lists are encoded once.
type views struct {
	mu   sync.Mutex
	max  int
	kept map[string]*mcp.Catalog
	keys []string // oldest first
}

// get returns the catalog for a set of visible items, a bit for each.
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
