// Package docs builds StaticMCP sites from documents: a folder of Markdown or MDX, notebooks,
// Word documents and PDF, a folder of rendered HTML pages, or an llms.txt with the pages it lists.
//
// [Dir] and [LLMS] return a [sitebuild.Input]. [Read] is the first half of the work: pages
// with their sections, links and navigation, and findings for broken parts.
//
//	input, err := docs.Dir("docs", nil)
//	site, err := input.Site(ctx)
//	result, err := sitebuild.Write(ctx, site, sitebuild.Dir("public/mcp"), nil)
//
// A site of documents has the tools search, list_pages, get_page, get_section and
// get_nav. Each page is also a resource, under docs:// and its path, and so are the
// images on the pages. Navigation is read from the configuration of Docusaurus, MkDocs,
// VitePress, mdBook and Hugo. Files are only read: no program in the folder is run.
package docs
