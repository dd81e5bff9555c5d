// Package search is the search of a StaticMCP site: an index of plain files that any web
// host can serve, and a reader that answers queries from it.
//
// [NewBuilder] takes pages and writes the index: a head, shards of terms and shards of
// pages. The scores of terms (BM25 over title, headings and text) are computed while
// building, so [Index.Search] only has to add them up. It reads the head, one shard per
// word of the query, and one per page shown, and never needs the whole index in memory.
//
//	b := search.NewBuilder(&search.Options{Language: "en"}, write)
//	err := b.Add(search.Page{ID: "guide/install", Title: "Install", Sections: sections})
//	err = b.Close()
//	...
//	x := search.New(store)
//	result, err := x.Search(ctx, "install without network")
//
// Builds are reproducible: the same pages in the same order yield the same bytes.
package search
