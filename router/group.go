package router

import (
	"fmt"
	"slices"
)

// Group prefixes the names of features: tools, prompts, resources and templates; URIs
// stay as they are. Groups nest. A [Filter] in a group applies to that group only.
func Group(prefix string, features ...Feature) Feature {
	return &groupFeature{caller(), prefix, features}
}

type groupFeature struct {
	place
	prefix   string
	features []Feature
}

func (g *groupFeature) register(b *builder) {
	prefix, filters := b.prefix, b.filters
	b.prefix += g.prefix
	for _, f := range g.features {
		if _, ok := f.(Options); ok {
			b.faults = append(b.faults, fmt.Errorf("%s: group %q: Options belong to New", g.place, g.prefix))
		}
	}
	features := slices.DeleteFunc(slices.Clone(g.features), isOptions)
	b.filters = slices.Concat(filters, filtersAmong(features))
	b.take(fmt.Sprintf("%s: group %q", g.place, g.prefix), features)
	b.prefix, b.filters = prefix, filters
}

func isOptions(f Feature) bool {
	_, ok := f.(Options)
	return ok
}
