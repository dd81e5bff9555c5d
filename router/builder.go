package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// builder collects the features of one call of [New] or [Router.Add].
type builder struct {
	// options are those given to New, or nil. mayOptions reports whether the current
	// feature may be Options: within a group they would look as if they applied to it
	// alone.
	options    *Options
	mayOptions bool
	// prefix and filters are those of the enclosing groups.
	prefix  string
	filters []func(context.Context, Item) bool
	entries []*entry
	faults  []error
	wrong   []*feature // omitted because of mistakes
}

// registerAll registers features. owner names their list in messages.
func (b *builder) registerAll(owner string, features []Feature) {
	for i, f := range features {
		if f == nil {
			b.faults = append(b.faults, fmt.Errorf("%s: feature %d is nil", owner, i+1))
			continue
		}
		f.register(b)
	}
}

// add stores a compiled feature, or its mistakes.
func (b *builder) add(f *feature, e *entry) {
	b.faults = append(b.faults, f.faults...)
	if len(f.faults) > 0 {
		b.wrong = append(b.wrong, f)
		return
	}
	e.place = f.place
	e.filters = slices.Concat(b.filters, e.filters)
	b.entries = append(b.entries, e)
}

// routerOptions returns the options of the router with their defaults.
func (b *builder) routerOptions() Options {
	if b.options == nil {
		return Options{}
	}
	return *b.options
}

// err returns all faults as one error, a line each: first those without a place, then the
// others in source order.
func (b *builder) err() error {
	b.findDuplicates()
	slices.SortStableFunc(b.faults, func(x, y error) int {
		one := placeOf(x)
		other := placeOf(y)
		return cmp.Or(strings.Compare(one.file, other.file),
			cmp.Compare(one.line, other.line))
	})
	return errors.Join(b.faults...)
}

// placeOf returns where a mistake was made, for sorting.
func placeOf(err error) place {
	if m, ok := err.(*mistake); ok {
		return m.place
	}
	return place{}
}

// findDuplicates reports names that features with another mistake share with others, so
// that fixing one mistake does not uncover the next.
func (b *builder) findDuplicates() {
	for i, f := range b.wrong {
		f.faults = nil
		for _, e := range b.entries {
			if e.Kind == f.kind && e.Name == f.name {
				f.duplicates(e.place)
			}
		}
		same := func(other *feature) bool {
			return other.kind == f.kind && other.name == f.name && other.place != f.place
		}
		if k := slices.IndexFunc(b.wrong[:i], same); k >= 0 {
			f.duplicates(b.wrong[k].place)
		}
		b.faults = append(b.faults, f.faults...)
	}
	b.wrong = nil
}

// duplicates reports that a feature of the same kind and name exists, and where. Both places
// are in the author's program.
func (f *feature) duplicates(other place) {
	f.fault("is already the name of a %s at %s", f.kind, other)
}

// Group prefixes the names of features: tools, prompts, resources and templates; URIs
// stay as they are. Groups nest. A [Filter] in a group applies to that group only.
func Group(prefix string, features ...Feature) Feature {
	return &groupFeature{caller(), prefix, features}
}

// groupFeature is what [Group] returns: features whose names get a prefix.
type groupFeature struct {
	place
	prefix   string
	features []Feature
}

// register registers the features below the group's prefix and filters, and restores those
// of the enclosing group.
func (g *groupFeature) register(b *builder) {
	owner := fmt.Sprintf("%s: group %q", g.place, g.prefix)
	features := slices.DeleteFunc(slices.Clone(g.features), func(f Feature) bool {
		_, isOptions := f.(Options)
		if isOptions {
			b.faults = append(b.faults, fmt.Errorf("%s: Options belong to New", owner))
		}
		return isOptions
	})
	prefix := b.prefix
	filters := b.filters
	b.prefix += g.prefix
	b.filters = slices.Concat(filters, filtersOf(features))
	b.registerAll(owner, features)
	b.prefix = prefix
	b.filters = filters
}

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

// filterFeature is what [Filter] returns. It applies to the features of the same group.
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

// filtersOf returns the filters among the features of a group, regardless of their position:
// a filter also applies to the features before it.
func filtersOf(features []Feature) (filters []func(context.Context, Item) bool) {
	for _, f := range features {
		f, ok := f.(*filterFeature)
		if ok && f.allowed != nil {
			filters = append(filters, f.allowed)
		}
	}
	return filters
}
