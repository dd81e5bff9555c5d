// Package search is the search of a StaticMCP site: an index made of files that
// any web host can carry, and the reader that answers questions from it.
//
// [NewBuilder] takes pages and writes the index: a head, the terms in shards, and
// the pages in shards. How much a term says about a page is worked out while
// building (BM25 over the title, the headings and the text), so that [Index.Search]
// has only to add up: it reads the head, one shard for each word of the question,
// and one for each page that it shows. Nothing needs the whole index in memory.
//
//	b := search.NewBuilder(&search.Options{Language: "en"}, write)
//	err := b.Add(search.Page{ID: "guide/install", Title: "Install", Sections: sections})
//	err = b.Close()
//	...
//	x := search.New(store)
//	result, err := x.Search(ctx, "install without network")
//
// The same pages in the same order make the same bytes.
package search
