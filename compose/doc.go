// Package compose makes Sources out of Sources.
//
// [Union] shows several sources as one: their catalogs joined in order, each
// call sent to the source that owns what it names.
//
//	src, err := compose.Union(ctx, []compose.Named{
//		{Name: "docs", Source: docs},
//		{Name: "status", Source: status},
//	}, nil)
//
// Names of tools and prompts stay as they are unless two sources use the same
// one; then each owner's name goes in front: docs_search, status_search.
//
// [Pinned] holds a source to a [Lock], which says what it offered when somebody
// approved of it, and [Edit] shows its tools under other names, or some of them
// only. The lock knows a source's own names, so it goes below the edits, and the
// union above both.
package compose
