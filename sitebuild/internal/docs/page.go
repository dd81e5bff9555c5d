package docs

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

// withLineFeeds makes every line end one that the parsers know. A lone carriage return is one in
// CommonMark, too.
func withLineFeeds(text string) string {
	if strings.IndexByte(text, '\r') < 0 { // a replacer copies such a text, too
		return text
	}
	return lineEnds.Replace(text)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// decodeMarked returns a text without its byte order mark. UTF-16, as editors on Windows write
// it, becomes UTF-8.
func decodeMarked(source string) string {
	if strings.HasPrefix(source, "\xff\xfe") || strings.HasPrefix(source, "\xfe\xff") {
		source, _ = webpage.Decode([]byte(source), "")
	}
	return strings.TrimPrefix(source, "\ufeff")
}

// newPage parses the text of a document as a page, without resolving its links. The page
// is nil if it is hidden and Drafts is not set.
func (r *reader) newPage(ctx context.Context, file, source string) (*Page, []check.Finding) {
	switch {
	case isConverted(file):
		return r.newConvertedPage(ctx, file, source)
	case r.system == renderedSystem:
		return r.newRenderedPage(file, source)
	}
	var found []check.Finding
	source = decodeMarked(source)
	if !utf8.ValidString(source) {
		found = append(found,
			finding(ruleNotUTF8, r.place(file), 1+strings.Count(source[:firstInvalid(source)], "\n"),
				"save it as UTF-8", "the document is not UTF-8; its invalid bytes are removed"))
		source = strings.ToValidUTF8(source, "")
	}
	source = withLineFeeds(source)
	values, body, lines, err := splitFrontMatter(source)
	if err != nil {
		var fe *frontError
		line := 1
		if errors.As(err, &fe) {
			line = max(1, fe.line)
		}
		rule, hint := ruleFrontMatter, "only its plain lines such as title: Text are used"
		if fe != nil && fe.prose {
			rule = ruleFrontMatter.As(check.Note)
			hint = "for front matter, write lines such as title: Text"
		}
		found = append(found, finding(rule, r.place(file), line, hint, "%s", err.Error()))
	}
	p := &Page{
		File:  file,
		front: readFront(values),
		lines: lines,
	}
	if r.system == "hugo" {
		found = append(found, r.readHugoDates(p, values)...)
	}
	if p.front.hidden && !r.opts.Drafts {
		return nil, found
	}
	body, included := r.include(file, body, lines)
	found = append(found, included.found...)
	p.extra = included.extra
	p.includes = p.includes || included.used
	p.plugins = included.plugins
	mdx := path.Ext(file) == ".mdx"
	c := cleaner{
		jsx:       mdx || r.system == "docusaurus" || r.system == "vitepress",
		modules:   mdx || r.system == "docusaurus",
		shortcode: r.system == "hugo",
	}
	p.Body = strings.TrimRight(c.clean(body), " \t\n") + "\n"
	for _, line := range c.open {
		found = append(found, finding(ruleStatement, r.place(file), p.lineInFile(line), "close its brackets and quotes",
			"an import or export has no end; its text is kept on the page"))
	}
	p.raw = r.markdown.parse(p.Body, mdx)
	found = append(found, r.cut(p)...)
	p.describe()
	p.prepareLinks()
	return p, found
}

// firstInvalid returns the position of the first byte that is not UTF-8.
func firstInvalid(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}

// cut splits a page into its sections.
func (r *reader) cut(p *Page) []check.Finding {
	var found []check.Finding
	// Footnotes come last in the tree, regardless of their position in the text.
	order.StableBy(p.raw.headings, func(a, b heading) int {
		return a.at - b.at
	})
	order.StableBy(p.raw.pieces, func(a, b textPiece) int {
		return a.at - b.at
	})
	slugs := newSlugger(r.config.headings)
	for _, h := range p.raw.headings {
		if h.id != "" && !slugs.take(h.id) {
			found = append(found, finding(ruleDuplicateSlug, r.place(p.File), p.lineOf(h.at), "give one of them another id",
				"another heading of the page already has the id \"%s\"", h.id))
		}
	}
	end := len(p.Body)
	if len(p.raw.headings) > 0 {
		end = p.raw.headings[0].at
	}
	if strings.TrimSpace(p.Body[:end]) != "" || len(p.raw.headings) == 0 {
		p.Sections = append(p.Sections, Section{
			End:  end,
			Text: p.textIn(0, end),
		})
	}
	seen := make(map[string]bool)
	for i, h := range p.raw.headings {
		end := len(p.Body)
		if i+1 < len(p.raw.headings) {
			end = p.raw.headings[i+1].at
		}
		slug := h.id
		if slug == "" || seen[slug] {
			slug = slugs.slug(&h)
		}
		seen[slug] = true
		p.Sections = append(p.Sections, Section{
			Slug:    strings.Clone(slug), // not a part of the file's text, which can be freed
			Heading: strings.Clone(cmp.Or(undecorated(h.text), h.text)),
			Level:   h.level,
			Start:   h.at,
			End:     end,
			Text:    p.textIn(h.body, end),
		})
	}
	p.slugs = slugs.taken
	for _, a := range p.raw.anchors {
		p.slugs[strings.Clone(a)] = true
	}
	return found
}

// textIn joins the plain texts that begin between two offsets.
func (p *Page) textIn(start, end int) string {
	pieces := p.raw.pieces
	first, _ := slices.BinarySearchFunc(pieces, start, func(piece textPiece, at int) int {
		return piece.at - at
	})
	var list []string
	for _, piece := range pieces[first:] {
		if piece.at >= end {
			break
		}
		text := piece.text
		if strings.Contains(text, "  ") {
			text = spaces().ReplaceAllString(text, " ")
		}
		list = append(list, text)
	}
	if len(list) == 1 {
		return strings.Clone(list[0]) // not a part of the file's text
	}
	return strings.Join(list, "\n")
}

// spaces matches runs of spaces, which HTML collapses into one.
var spaces = lazyregexp.New(` {2,}`)

// lineOf returns the line, in the file, of an offset in Body, or 0 for a rendered page. It is
// used while links are resolved.
func (p *Page) lineOf(at int) int {
	if p.front.rendered {
		return 0
	}
	if p.raw.breaks == nil {
		p.raw.breaks = breaksOf(p.Body)
	}
	return p.lineInFile(p.raw.breaks.before(at))
}

// lineInFile returns the line, in the file, of a line in Body, which counts from 0.
func (p *Page) lineInFile(line int) int {
	if line < len(p.extra) {
		line -= p.extra[line]
	} else if n := len(p.extra); n > 0 {
		line -= p.extra[n-1]
	}
	return p.lines + 1 + line
}

// maxDescription is how many bytes of the first paragraph are used as the description of
// a page that has none.
const maxDescription = 200

// describe fills in the title, the description and the keywords.
func (p *Page) describe() {
	f := p.front
	p.Title = plainTitle(f.title)
	for _, s := range p.Sections {
		if p.Title == "" && s.Level == 1 {
			p.Title = withoutPictograms(s.Heading)
		}
	}
	if p.Title == "" {
		p.Title = titleOf(p.File)
	}
	p.Description = undecorated(plainText(f.description))
	if p.Description == "" || p.Description == p.Title {
		p.Description = cmp.Or(opening(p.raw.lead.text(), maxDescription), p.headings())
	}
	p.Title = strings.Clone(p.Title)
	p.Description = strings.Clone(p.Description)
	p.Keywords = f.keywords
	if f.description != "" {
		p.Keywords = append(p.Keywords, f.description)
	}
	if f.label != "" && f.label != p.Title {
		p.Keywords = append(p.Keywords, f.label)
	}
	p.Unsearched = f.unsearched
}

// headings returns the headings of a page as its description, or "" if it has at most one.
func (p *Page) headings() string {
	var list []string
	for _, s := range p.Sections {
		if s.Level == 2 {
			list = append(list, s.Heading)
		}
	}
	if len(list) < 2 {
		return ""
	}
	return shorten("Sections: "+strings.Join(list, ", "), maxDescription)
}

// titleOf derives a title from the name of a file.
func titleOf(file string) string {
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if isIndex(name) && path.Dir(file) != "." {
		name = path.Base(path.Dir(file))
	}
	name = strings.Join(strings.FieldsFunc(unnumbered(strings.ReplaceAll(name, " ", "-")),
		func(r rune) bool { return r == '-' || r == '_' || r == ' ' }),
		" ")
	if name == "" {
		return path.Base(file)
	}
	_, n := utf8.DecodeRuneInString(name)
	return strings.ToUpper(name[:n]) + name[n:]
}

// minOpening is the length in bytes from which whole sentences are better than a cut one.
const minOpening = 40

// opening returns the beginning of a paragraph: whole sentences, if they are long enough. A
// last sentence that only introduces what follows, such as "It takes these options:", is left
// out after others, and otherwise ends in a full stop.
func opening(text string, limit int) string {
	if strings.HasSuffix(text, ":") {
		if end := sentenceEnd(text); end >= minOpening {
			text = text[:end]
		} else if last := text[strings.LastIndexByte(text, ' ')+1:]; len(last) > len("the:") && last != "with:" {
			text = strings.TrimSuffix(text, ":") + "."
		}
	}
	if len(text) <= limit {
		return text
	}
	if end := sentenceEnd(clip(text, limit)); end >= minOpening {
		return text[:end]
	}
	return shorten(text, limit)
}

// abbreviations end in a full stop that is not the end of a sentence.
var abbreviations = []string{
	"e.g", "i.e", "etc", "vs", "cf", "approx", "incl", "resp", "no", "fig", "a.k.a", "Dr", "Mr", "St",
}

// sentenceEnd returns the end of the last sentence that is followed by another one in text,
// or 0.
func sentenceEnd(text string) int {
	for i := len(text) - 1; i > 1; i-- {
		if text[i] != ' ' || strings.IndexByte(".!?", text[i-1]) < 0 {
			continue
		}
		word := text[strings.LastIndexByte(text[:i-1], ' ')+1 : i-1]
		if len(word) > 1 && !slices.Contains(abbreviations, strings.TrimLeft(word, "(")) {
			return i
		}
	}
	return 0
}

// shorten cuts text at a word boundary.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := strings.LastIndexByte(text[:limit], ' ')
	if cut < limit/2 {
		cut = len(clip(text, limit))
	}
	return strings.TrimRight(text[:cut], " ,;:.") + "…"
}
