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
// [Edit] renames or hides tools of a source, and [Swap] replaces a source while clients use
// it. To restrict a source to approved definitions, see package lock; do that first, then
// Edit, then Union.
package compose
