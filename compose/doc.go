// Package compose builds Sources from other Sources.
//
// [Union] joins several sources into one: their catalogs are concatenated, and each call
// goes to the source that owns the tool, prompt or resource.
//
//	src, err := compose.Union(ctx, []compose.Named{
//		{Name: "docs", Source: docs},
//		{Name: "status", Source: status},
//	}, nil)
//
// Tools and prompts keep their names unless two sources use the same one; then each is
// prefixed with the name of its source: docs_search, status_search.
//
// [Pinned] restricts a source to what a [Lock] approved, and [Edit] renames or hides its
// tools. The lock contains a source's own names, so apply Pinned first, then Edit, then
// Union.
package compose
