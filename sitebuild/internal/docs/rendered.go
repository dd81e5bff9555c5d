package docs

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/convert"
	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

// renderedSystem is the system of folders that a generator has rendered.
const renderedSystem = "html"

// isRendered reports whether a file is an HTML page.
func isRendered(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm":
		return true
	}
	return false
}

// copies are pages that repeat others or list them, by name.
var copies = map[string]bool{
	"404": true, "search": true, "genindex": true, "py-modindex": true, "np-modindex": true, "searchresults": true,
	"all": true, "print": true, "index-all": true, "allclasses": true, "allclasses-index": true,
	"allclasses-noframe": true, "allclasses-frame": true, "allpackages-index": true, "overview-frame": true,
	"overview-tree": true, "package-tree": true, "package-frame": true, "package-use": true, "help-doc": true,
	"serialized-form": true, "toc": true,
}

// copyFolders are folders of such pages, and of the source code of a program.
var copyFolders = map[string]bool{
	"_modules": true, "_sources": true, "_static": true, "_images": true, "_downloads": true, "class-use": true,
	"src-html": true,
}

// repeats reports whether a page only repeats or lists others.
func repeats(file string) bool {
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if copies[strings.ToLower(name)] || strings.HasPrefix(name, "genindex-") || strings.HasSuffix(name, "_source") ||
		strings.HasSuffix(name, ".rs") {
		return true
	}
	for folder := range strings.SplitSeq(path.Dir(file), "/") {
		if copyFolders[folder] {
			return true
		}
	}
	return false
}

// chooseForm returns the documents of a folder: those in Markdown and those that are
// converted, or the pages of a folder that was rendered. A rendered folder has an index.html
// and at most a few Markdown files between its pages, such as a license; notebooks, Word
// documents and PDF there are downloads.
func (r *reader) chooseForm(all *found) []document {
	written, rendered := r.withoutTwins(all.written.documents), all.rendered.documents
	sources := len(written)
	for _, d := range all.converted.documents {
		if !convert.IsPDF(d.file) { // nothing is rendered from it
			sources++
		}
	}
	_, atTop := r.files["index.html"]
	if len(rendered) == 0 || sources > 0 && !(atTop && len(rendered) > 3*len(written)) {
		return slices.Concat(written, all.converted.documents)
	}
	r.config = &config{system: renderedSystem}
	return rendered
}

// withoutTwins removes the Markdown that Slipway has published next to rendered pages: a page's
// address with ".md" appended. Other Markdown there is what the pages were rendered from.
func (r *reader) withoutTwins(documents []document) []document {
	return slices.DeleteFunc(slices.Clone(documents), func(d document) bool {
		page, found := strings.CutSuffix(d.file, ".md")
		if !found {
			return false
		}
		for _, name := range []string{page, page + ".html", page + "/index.html"} {
			if _, ok := r.files[name]; ok {
				text, err := r.text(d.file)
				return err == nil && strings.HasSuffix(text, sitewriter.TwinMark)
			}
		}
		return false
	})
}

// notUTF8 returns the finding about a page that [webpage.Decode] cannot read completely.
func notUTF8(place, text string) check.Finding {
	message := "the page is not UTF-8; its invalid bytes are removed"
	if utf8.ValidString(text) {
		message = "the page declares an encoding that it is not completely in, or that is not supported"
	}
	return finding(ruleNotUTF8, place, 0, "declare its encoding, or render it as UTF-8", "%s", message)
}

// newRenderedPage reads an HTML page, without resolving its links. The page is nil if it has
// no content of its own.
func (r *reader) newRenderedPage(file, source string) (*Page, []check.Finding) {
	text, ok := webpage.Decode([]byte(source), "")
	return r.newDecodedPage(file, text, ok)
}

// newDecodedPage is newRenderedPage for the results of [webpage.Decode].
func (r *reader) newDecodedPage(file, source string, complete bool) (*Page, []check.Finding) {
	var found []check.Finding
	if !complete {
		found = append(found, notUTF8(r.place(file), source))
		source = strings.ToValidUTF8(source, "")
	}
	web, err := webpage.Read([]byte(source))
	if err != nil {
		return nil, append(found, finding(ruleUnreadable, r.place(file), 0, "", "%s", err.Error()))
	}
	if web.Markdown == "" || web.Unlisted && !r.opts.Drafts {
		return nil, found
	}
	p := &Page{
		File: file,
		front: &frontMatter{
			title:       web.Title,
			description: web.Description,
			lang:        primaryLanguage(web.Language),
			address:     addressOf(file, web.Canonical),
			next:        web.Next,
			rendered:    true,
		},
		Body: web.Markdown,
	}
	p.raw = r.markdown.parse(p.Body, false)
	p.raw.anchors = append(p.raw.anchors, web.Anchors...)
	if len(p.raw.headings) == len(web.HeadingIDs) {
		taken := make(map[string]bool)
		for i, id := range web.HeadingIDs {
			if !taken[id] { // a generator may give an id twice
				p.raw.headings[i].id = id
				taken[id] = true
			}
		}
	}
	found = append(found, r.cut(p)...)
	p.describe()
	p.prepareLinks()
	return p, found
}

// primaryLanguage returns the language of a tag such as en-US.
func primaryLanguage(tag string) string {
	language, _, _ := strings.Cut(tag, "-")
	return strings.ToLower(language)
}

// addressOf returns the address that a page has for itself, or "" if it is not that of its
// file: some generators give all pages the same one.
func addressOf(file, canonical string) string {
	u, err := url.Parse(canonical)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	want := withoutIndex(file)
	if want == "" && (strings.HasSuffix(u.Path, "/") || u.Path == "") ||
		strings.HasSuffix("/"+withoutIndex(strings.TrimPrefix(u.Path, "/")), "/"+want) {
		return canonical
	}
	return ""
}

// withoutIndex returns the path of a page without what its address may lack.
func withoutIndex(file string) string {
	bare := strings.Trim(strings.TrimSuffix(file, path.Ext(file)), "/")
	if isRendered(file) && isIndex(path.Base(bare)) {
		bare = strings.Trim(path.Dir("/"+bare), "/")
	}
	return bare
}

// earliest returns the position of the first page of a folder in the sequence.
func (f *folder) earliest() (position float64, ok bool) {
	for _, p := range f.pages {
		if p.front.positioned && (!ok || p.front.position < position) {
			position = p.front.position
			ok = true
		}
	}
	for _, sub := range f.subs {
		if at, found := sub.earliest(); found && (!ok || at < position) {
			position = at
			ok = true
		}
	}
	return position, ok
}

// sequence orders rendered pages as each leads to the next one, from the first page on.
func (r *reader) sequence() {
	if r.system != renderedSystem {
		return
	}
	seen := make(map[*Page]bool)
	for p := r.routes["."]; p != nil && !seen[p]; {
		seen[p] = true
		p.front.position = float64(len(seen))
		p.front.positioned = true
		address, _, _ := strings.Cut(p.front.next, "#")
		if address == "" || isExternal(address) {
			return
		}
		if bare, err := url.PathUnescape(address); err == nil {
			address = bare
		}
		p = r.resolve(p, address)
	}
}
