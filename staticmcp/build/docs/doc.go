// Package docs makes StaticMCP sites of documents: a folder of Markdown or MDX,
// or an llms.txt with the pages it names.
//
// [Dir] and [LLMS] return a [build.Input]. [Read] is the half before it: pages
// with their sections, links and navigation, and findings for what is broken.
//
//	input, err := docs.Dir("docs", nil)
//	site, err := input.Site(ctx)
//	result, err := build.Write(ctx, site, build.Dir("public/mcp"), nil)
//
// A site of documents has the tools search, list_pages, get_page, get_section
// and get_nav. Each page is a resource as well, under docs:// and its path, and
// so are the images that pages show. Navigation is taken from what Docusaurus,
// MkDocs, VitePress, mdBook and Hugo are configured with. Files are only read:
// no program of the folder is run.
package docs
