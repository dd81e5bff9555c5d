package docs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Names of the tools.
const (
	toolSearch  = "search"
	toolList    = "list_pages"
	toolPage    = "get_page"
	toolSection = "get_section"
	toolNav     = "get_nav"
)

// ToolNames returns the names of all tools.
func ToolNames() []string { return []string{toolSearch, toolList, toolPage, toolSection, toolNav} }

// pagesPerList is how many pages list_pages returns at once.
const pagesPerList = 100

// Site builds a site from the documents. The set must not be modified while the site is
// in use. The set's findings become those of the site.
func (s *Set) Site(ctx context.Context, opts *Options) (*sitewriter.Site, error) {
	return newMaker(s, opts).site(ctx)
}

// site builds the site of the set.
func (m *maker) site(ctx context.Context) (*sitewriter.Site, error) {
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	site := m.definitions()
	site.Answers = func(yield func(*sitewriter.Answer, error) bool) {
		m.answers(ctx, yield)
	}
	site.Findings = slices.Concat(m.set.Report.Findings(), m.checkPins())
	return site, nil
}

// prepare builds the index, if results for words are stored: these are found in the index
// itself, which is kept for that.
func (m *maker) prepare(ctx context.Context) error {
	if m.opts.TermFiles <= 0 {
		return nil
	}
	b, err := m.index(ctx, m.files.Write)
	if err != nil {
		return err
	}
	m.words = fileWords(b, m.opts.TermFiles)
	return nil
}

// newMaker returns what builds the site of s.
func newMaker(s *Set, opts *Options) *maker {
	return &maker{
		set:  s,
		opts: opts.withDefaults(folderPages, folderBytes),
		nav:  newNavTree(s.Nav),
	}
}

// definitions returns the site without its answers. The set may come from a survey, so only
// what its pages are called, and the top page, may matter here.
func (m *maker) definitions() *sitewriter.Site {
	return &sitewriter.Site{
		Server: mcp.Implementation{
			Name:        m.name(),
			Title:       m.set.Title,
			Version:     m.opts.Version,
			Description: m.set.Description,
		},
		Instructions: cmp.Or(m.opts.Instructions, m.instructions()),
		Tools:        m.tools(),
		Resources:    m.resources,
	}
}

// checkPins reports pins of pages that do not exist.
func (m *maker) checkPins() []check.Finding {
	var found []check.Finding
	for _, p := range m.opts.Search.Pins {
		if m.set.byID[p.Page] != nil {
			continue
		}
		var ids []string
		for id := range m.set.byID {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		hint := "use the path of a page"
		if shown := m.names().List(toolList, toolNav, toolSearch); len(shown) > 0 {
			hint = "use a path as " + shown[0] + " shows it"
		}
		if near := nearest.DidYouMean(p.Page, ids); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		found = append(found, finding(rulePin, "", 0, hint, "the page %q, first for %q, does not exist", p.Page, p.Query))
	}
	return found
}

// maker builds the site of a set.
type maker struct {
	// set is what the site is made from, and nav its navigation as tools show it.
	set  *Set
	opts *Options
	nav  *navTree
	// all are the editions of the documents, and edition is this one; nil if there is only one.
	all     *editions
	edition *edition

	// words are those whose search results are stored, and files the index, if there are any.
	words []string
	files search.Memory
	// counts are those of the index, and full is true if there is an llms-full.txt, for a record.
	counts []byte
	full   bool
}

// name returns the site's name for programs: the first candidate that still has letters
// after encoding, which a Chinese title, for example, does not.
func (m *maker) name() string {
	if name := strings.Trim(staticmcp.EncodeName(m.opts.Name), "_-"); name != "" {
		return name
	}
	for _, name := range []string{m.set.named, m.set.place, m.set.Title} {
		if name = sitewriter.ServerName(name, "-"); name != "" {
			return name
		}
	}
	return "docs"
}

// title returns the title of the documents, or the name of the server, as it follows "the
// documentation of".
func (m *maker) title() string {
	title := cmp.Or(m.set.Title, m.name())
	for _, end := range []string{" documentation", " docs", " manual"} {
		if bare := len(title) - len(end); bare > 0 && strings.EqualFold(title[bare:], end) {
			return title[:bare]
		}
	}
	return title
}

// instructions returns the instructions for using the site.
func (m *maker) instructions() string {
	names := m.names()
	how := "read one with %s"
	heading := ""
	if names.Of(toolSection) != "" {
		how = "a whole page with %s"
		heading = " and heading linux"
	}
	read := sitewriter.Clauses(", or ", names.If(toolSection, "read one section with %s"), names.If(toolPage, how))
	overview := sitewriter.Clauses(" and ", names.List(toolNav, toolList)...)
	if overview != "" {
		overview = "see what there is with " + overview
	}
	find := sitewriter.Clauses(", or ", names.If(toolSearch, "find pages with %s"), overview)
	text := "The documentation of " + m.title() + "."
	switch {
	case find != "" && read != "":
		text += " " + capital(find) + "; then " + read + "."
	case find+read != "":
		text += " " + capital(find+read) + "."
	}
	if read != "" {
		text += " A link such as docs://guide/install#linux means path guide/install" + heading + "."
	}
	return text + m.all.instructions()
}

// capital returns a text with a capital letter at its start.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// names returns the names of tools for texts that mention them.
func (m *maker) names() sitewriter.ToolNames {
	return func(tool string) string {
		if tool == toolSection && m.opts.NoSections {
			return ""
		}
		if name, ok := m.opts.ToolNames[tool]; ok {
			return name
		}
		return tool
	}
}

// tool returns the name of a tool for texts that mention it, or "" if the site omits it.
func (m *maker) tool(name string) string { return m.names().Of(name) }

// indexOptions returns the options of the search index.
func (m *maker) indexOptions() *search.Options {
	hint := sitewriter.Clauses(" or ",
		m.names().If(toolSection, "%s (path and heading)"), m.names().If(toolPage, "%s (path)"))
	if hint != "" {
		hint = "Read one with " + hint + "."
	}
	if also := m.also(); also != "" && hint != "" {
		hint = strings.TrimSuffix(hint, ".") + "," + strings.TrimPrefix(also, " and") + "."
	}
	o := &search.Options{
		Language:    m.set.Language,
		Hint:        hint,
		RowsPerFile: 2, // one would be a file for each page, beside that of the resource
		TermBytes:   2 << 10,
		Synonyms:    m.opts.Search.Synonyms,
	}
	if m.set.cache != nil && m.opts.CacheDir != "" {
		o.TempFile = func() (*os.File, error) { return sitewriter.TempFile(m.opts.CacheDir) }
	}
	for _, p := range m.opts.Search.Pins {
		o.Pins = append(o.Pins, search.Pin{Phrase: p.Query, Page: p.Page})
	}
	return o
}

// index builds the search index, and calls write with each file.
func (m *maker) index(ctx context.Context, write search.Write) (*search.Builder, error) {
	b := search.NewBuilder(m.indexOptions(), write)
	defer b.Release()
	number := 0
	for _, p := range m.set.Pages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.Unsearched {
			continue
		}
		link := m.link(p)
		a, rows, err := m.set.cache.analysis(b, p, m.set.Language+"\x00"+link, func() (*search.Page, error) {
			return searchPage(p, link)
		})
		if err != nil {
			return nil, err
		}
		if err := b.AddAnalysis(p.ID, a, rows); err != nil {
			return nil, err
		}
		b.Link(p.Links)
		if p.recorded != nil {
			p.recorded.number = number
		}
		number++
	}
	if err := m.set.cache.commit(); err != nil {
		return nil, err
	}
	if err := b.Close(); err != nil {
		return nil, err
	}
	if m.opts.recording {
		m.counts = b.Counts()
	}
	return b, nil
}

// searchPage returns what is searched of a page.
func searchPage(p *Page, link string) (*search.Page, error) {
	sections, err := p.withTexts()
	if err != nil {
		return nil, err
	}
	page := &search.Page{
		ID:       p.ID,
		Title:    p.Title,
		Keywords: p.Keywords,
		Anchors:  p.Anchors,
		Link:     link,
	}
	for _, s := range sections {
		page.Sections = append(page.Sections, search.Section{
			Slug:    s.Slug,
			Heading: s.Heading,
			Text:    s.Text,
		})
	}
	return page, nil
}

// fileWords returns the words whose search results are stored as files: those that encode
// to themselves and are likely to be searched for.
func fileWords(b *search.Builder, limit int) []string {
	var words []string
	for _, w := range b.Words(limit) {
		if staticmcp.EncodeName(w) == w &&
			len(w) > 2 &&
			strings.ContainsAny(w[:1], "abcdefghijklmnopqrstuvwxyz") {
			words = append(words, w)
		}
	}
	return words
}

// schema returns the inputSchema of a tool. properties are in path order.
func schema(required []string, properties ...string) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}`)
	if len(required) > 0 {
		list, _ := json.Marshal(required)
		b.WriteString(`,"required":` + string(list))
	}
	b.WriteString(`,"additionalProperties":false}`)
	return json.RawMessage(b.String())
}

// property returns a property of a schema; more is the text of its other members.
func property(name, kind, description, more string) string {
	return string(jsonscan.AppendQuote(nil, name)) + `:{"type":"` + kind + `",` + more + `"description":` +
		string(jsonscan.AppendQuote(nil, description)) + `}`
}

const (
	fromOne  = `"minimum":1,"default":1,`
	notEmpty = `"minLength":1,`
)

// tools returns the definitions of the tools.
func (m *maker) tools() []mcp.Tool {
	no := false
	hints := &mcp.ToolAnnotations{
		ReadOnlyHint:    true,
		DestructiveHint: &no,
		IdempotentHint:  true,
		OpenWorldHint:   &no,
	}
	about := "The path of the page, such as guide/install"
	switch sources := m.names().List(toolSearch, toolNav, toolList); len(sources) {
	case 0:
	case 1:
		about += ", as " + sources[0] + " returns it"
	default:
		about += ", as " + sitewriter.Clauses(" and ", sources...) + " return it"
	}
	page := property("path", "string", about+".", notEmpty)
	part := property("part", "integer", "Which part of a long text; the answer says how many there are.", fromOne)
	declared := map[string]any{"index": search.Dir, "argument": "query"}
	if variants := m.all.indexes(); len(variants) > 0 {
		declared["variants"] = variants
	}
	meta, _ := json.Marshal(map[string]any{staticmcp.MetaSearch: declared})
	choices := m.all.properties()
	paths := m.pathMeta()
	title := m.title()
	less := m.names().If(toolSection, " To read only what is needed, use %s.")
	tools := []mcp.Tool{
		{
			Name:        toolSearch,
			Title:       "Search the documentation",
			Annotations: hints,
			Meta:        meta,
			Description: "Search the documentation of " + title +
				". Returns the best pages, each with its most relevant section. Use a few words that the page is likely " +
				"to contain, such as \"rate limit header\". There are no search operators.",
			InputSchema: sitewriter.SearchSchema("The words to look for.",
				"Search only the page with this path and those below it, such as reference/configuration.", choices...),
		},
		{
			Name:        toolPage,
			Title:       "Read a page",
			Annotations: hints,
			Meta:        paths,
			Description: "Read a page of the documentation of " + title + " as Markdown." + less,
			InputSchema: schema([]string{"path"}, append([]string{page, part}, choices...)...),
		},
		{
			Name:        toolSection,
			Title:       "Read a section of a page",
			Annotations: hints,
			Meta:        paths,
			Description: "Read one section of a page of the documentation of " + title +
				", including its subsections, as Markdown.",
			InputSchema: schema([]string{"path", "heading"}, append([]string{page,
				property("heading", "string",
					"The heading's id"+m.names().If(toolSearch, ", as search results show it")+
						": lower case, with \"-\" for spaces and without punctuation, such as changing-them.",
					notEmpty),
				part}, choices...)...),
		},
		{
			Name:        toolNav,
			Title:       "Show the table of contents",
			Annotations: hints,
			Description: "Show the table of contents of the documentation of " + title +
				": titles and paths of pages, nested. If there are many pages, some groups are only named; pass the name " +
				"of one to see its pages.",
			InputSchema: schema(nil, append([]string{
				property("group", "string",
					"Show only this group, as the table of contents names it. Default: the top.", notEmpty),
			}, choices...)...),
		},
		{
			Name:        toolList,
			Title:       "List all pages",
			Annotations: hints,
			Description: "List the pages of the documentation of " + title +
				" with their titles and descriptions, 100 at a time.",
			InputSchema: schema(nil, append([]string{
				property("page", "integer", "Which 100 pages: 1 is the first 100.", fromOne),
			}, choices...)...),
		},
	}
	if m.opts.NoSections {
		tools = slices.DeleteFunc(tools, func(t mcp.Tool) bool {
			return t.Name == toolSection
		})
	}
	return tools
}

// pathMeta returns the _meta that declares how the path of a page may be spelled. The
// published address is an accepted spelling only if no page is published under another
// page's path.
func (m *maker) pathMeta() json.RawMessage {
	bases := []string{Scheme}
	base := m.base()
	if base != "" && !m.crossed() {
		bases = append(bases, base)
	}
	meta, _ := json.Marshal(map[string]any{staticmcp.MetaPage: map[string]any{"argument": "path", "home": homeID,
		"bases": bases}})
	return meta
}

// crossed reports whether a page is published under another page's path.
func (m *maker) crossed() bool {
	for _, p := range m.set.Pages {
		other := m.set.byID[withoutEnding(p.published)]
		if other != nil && other != p && other.published != p.published {
			return true
		}
	}
	return false
}

// resources yields the definitions of pages and images.
func (m *maker) resources(yield func(*mcp.Resource, error) bool) {
	for _, p := range m.set.Pages {
		r := &mcp.Resource{
			URI:         p.URI(),
			Name:        p.Title,
			Description: cmp.Or(p.Description, p.Title),
			MIMEType:    "text/markdown",
		}
		if link := m.link(p); link != "" {
			r.Meta, _ = json.Marshal(map[string]string{staticmcp.MetaURL: link})
		}
		if !yield(r, nil) {
			return
		}
	}
	for _, i := range m.set.Images {
		if !yield(&mcp.Resource{
			URI:         i.URI(),
			Name:        path.Base(i.ID),
			Description: "A picture in the documentation.",
			MIMEType:    i.MIMEType,
		}, nil) {
			return
		}
	}
}

// answers yields all answers and the other files.
func (m *maker) answers(ctx context.Context, yield func(*sitewriter.Answer, error) bool) {
	for _, each := range []iter.Seq2[*sitewriter.Answer, error]{
		m.searches(ctx), // first, as it needs most memory
		m.pageAnswers,
		m.lists,
		m.nav.answers(m.opts.PartBytes, m.tool(toolNav)),
		m.others,
	} {
		for a, err := range each {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// titled returns the Markdown of a page, preceded by its title if it has no top heading.
func (p *Page) titled() string {
	for _, s := range p.Sections {
		if s.Level == 1 {
			return p.Body
		}
	}
	return "# " + p.Title + "\n\n" + p.Body
}

// pageAnswers yields the answers of get_page and get_section, and the resources.
func (m *maker) pageAnswers(yield func(*sitewriter.Answer, error) bool) {
	var buffer []byte
	for _, p := range m.set.Pages {
		whole, err := p.withBody(&buffer)
		if err != nil {
			yield(nil, err)
			return
		}
		if !m.answersOf(whole, func(a *sitewriter.Answer, err error) bool {
			if p.recorded != nil {
				p.recorded.answers++
			}
			return yield(a, err)
		}) {
			return
		}
	}
	for _, i := range m.set.Images {
		result := fmt.Appendf(nil, `{"uri":%s,"mimeType":%q,"blob":%q}`,
			jsonscan.AppendQuote(nil, i.URI()), i.MIMEType, i.blob())
		if !yield(&sitewriter.Answer{
			URI:    i.URI(),
			Result: result,
			From:   i.ID,
		}, nil) {
			return
		}
	}
}

// answersOf yields the answers of a page with its Body.
func (m *maker) answersOf(p *Page, yield func(*sitewriter.Answer, error) bool) bool {
	text := p.titled()
	a := sitewriter.TextResource(p.URI(), "text/markdown", m.linked(p, text))
	a.Title = p.Title
	a.From = p.File
	a.Twin = m.twin(p, text)
	if !yield(a, nil) || !m.parts(yield, toolPage, p, "", text) {
		return false
	}
	for i, s := range p.Sections {
		if m.opts.NoSections || s.Slug == "" || staticmcp.EncodeName(s.Slug) == "" {
			continue
		}
		start, end := p.through(i)
		if !m.parts(yield, toolSection, p, s.Slug, p.Body[start:end]) {
			return false
		}
	}
	return true
}

// twin returns the Markdown to publish next to a page, whose text is given.
func (m *maker) twin(p *Page, text string) *sitewriter.Twin {
	address := m.link(p)
	if address == "" {
		address = "/" + p.published
	}
	return &sitewriter.Twin{
		Address: address,
		Text:    func() string { return m.linked(p, m.absolute(text)) },
	}
}

// parts yields the answers to one call, one for each part of a text.
func (m *maker) parts(yield func(*sitewriter.Answer, error) bool, tool string, p *Page, slug, text string) bool {
	list := split(text, m.opts.PartBytes)
	for i, part := range list {
		arguments := map[string]any{"path": p.ID}
		title := p.Title
		if slug != "" {
			arguments["heading"] = slug
			title += ": " + slug
		}
		if len(list) > 1 {
			part += fmt.Sprintf("\n---\nThis is part %d of %d.", i+1, len(list))
			if i+1 < len(list) {
				part += fmt.Sprintf(" The next one: %s with part=%d%s.", m.tool(tool), i+2, m.also())
			}
			if section := m.tool(toolSection); i == 0 && slug == "" && section != "" {
				part += "\n" + p.outline(section)
			}
		}
		part = m.linked(p, part)
		if i == 0 && !m.part(yield, tool, arguments, title, p.File, part) {
			return false
		}
		arguments["part"] = i + 1
		if len(list) > 1 && !m.part(yield, tool, arguments, title, p.File, part) {
			return false
		}
	}
	return true
}

// part yields one answer; arguments may be modified afterwards.
func (m *maker) part(yield func(*sitewriter.Answer, error) bool, tool string, arguments map[string]any, title, file,
	text string) bool {
	a := sitewriter.Text(tool, arguments, text)
	a.Title = title
	a.From = file
	return yield(a, nil)
}

// maxOutline is how many sections an outline lists.
const maxOutline = 60

// outline lists the sections of a long page, which the tool section returns.
func (p *Page) outline(section string) string {
	var slugs []string
	for _, s := range p.Sections {
		if s.Slug != "" &&
			(s.Level <= 2 || len(p.Sections) <= maxOutline) &&
			len(slugs) < maxOutline {
			slugs = append(slugs, s.Slug)
		}
	}
	return "Sections for " + section + ": " + strings.Join(slugs, ", ") + "."
}

// lists yields the answers of list_pages.
func (m *maker) lists(yield func(*sitewriter.Answer, error) bool) {
	count := max(1, (len(m.set.Pages)+pagesPerList-1)/pagesPerList)
	for n := range count {
		var b strings.Builder
		from := n * pagesPerList
		for _, p := range m.set.Pages[from:min(len(m.set.Pages), from+pagesPerList)] {
			fmt.Fprintf(&b, "- %s: %s", p.ID, p.Title)
			if p.Description != "" && p.Description != p.Title {
				b.WriteString(". " + p.Description)
			}
			b.WriteByte('\n')
		}
		head := fmt.Sprintf("%d pages", len(m.set.Pages))
		var arguments any
		if count > 1 {
			head += fmt.Sprintf(", list %d of %d", n+1, count)
			if n+1 < count {
				fmt.Fprintf(&b, "\nThe next: %s with page=%d%s.\n", m.tool(toolList), n+2, m.also())
			}
		}
		if n > 0 {
			arguments = map[string]int{"page": n + 1}
		}
		if !yield(sitewriter.Text(toolList, arguments, head+":\n\n"+b.String()), nil) {
			return
		}
	}
}

// searches yields the files of the index, and the answers to single words, if any.
func (m *maker) searches(ctx context.Context) iter.Seq2[*sitewriter.Answer, error] {
	file := func(name string, data []byte) *sitewriter.Answer {
		return &sitewriter.Answer{
			Path: search.Dir + "/" + name,
			Data: data,
		}
	}
	return func(yield func(*sitewriter.Answer, error) bool) {
		if m.opts.TermFiles <= 0 {
			_, err := m.index(ctx, func(name string, data []byte) error {
				if !yield(file(name, data), nil) {
					return errStopped
				}
				return nil
			})
			if err != nil && !errors.Is(err, errStopped) {
				yield(nil, err)
			}
			return
		}
		x := search.New(&m.files)
		for _, w := range m.words {
			found, err := x.Search(ctx, w)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(found.Hits) > 0 &&
				!yield(sitewriter.Text(toolSearch, map[string]string{"query": w}, found.Text()), nil) {
				return
			}
		}
		m.files.Each(func(name string, data []byte) bool {
			return yield(file(name, data), nil)
		})
	}
}

// errStopped ends the writing of an index whose files are not wanted any longer.
var errStopped = errors.New("stopped")

// others yields llms.txt, and llms-full.txt if the pages are small enough for it.
func (m *maker) others(yield func(*sitewriter.Answer, error) bool) {
	var full []byte
	if m.place() == "" { // the one file is of the default edition
		var err error
		if full, err = m.llmsFull(); err != nil {
			yield(nil, err)
			return
		}
	}
	m.full = full != nil
	list := m.llms(m.full)
	if m.all != nil && m.place() == "" {
		list = append(list, m.all.llms()...)
	}
	if yield(&sitewriter.Answer{Path: "llms.txt", Data: list}, nil) && full != nil {
		yield(&sitewriter.Answer{Path: llmsFullName, Data: full}, nil)
	}
}

// clip returns at most n bytes of text. It cuts between characters, or between bytes
// where the text is not UTF-8.
func clip(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for at := n; at > max(0, n-utf8.UTFMax); at-- {
		if utf8.RuneStart(text[at]) {
			return text[:at]
		}
	}
	return text[:n]
}
