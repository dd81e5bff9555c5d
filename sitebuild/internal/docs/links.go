package docs

import (
	"encoding/base64"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// Scheme is the start of the URIs of pages and images.
const Scheme = "docs://"

// URI returns the URI of the resource of the page.
func (p *Page) URI() string { return uriOf(p.place + p.ID) }

// URI returns the URI of the resource of the image.
func (i *Image) URI() string { return uriOf(i.place + i.ID) }

// uriOf returns the URI of the page or image with an id.
func uriOf(id string) string {
	parts := strings.Split(id, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return Scheme + strings.Join(parts, "/")
}

// route records the addresses by which links can refer to the pages.
func (r *reader) route(pages []*Page) {
	note := func(address string, p *Page) {
		address = strings.Trim(address, "/")
		if address != "" && r.routes[address] == nil {
			r.routes[address] = p
		}
	}
	for _, p := range pages {
		note(p.File, p)
	}
	for _, p := range pages {
		file := strings.TrimPrefix(p.File, r.config.root+"/")
		bare := strings.TrimSuffix(file, path.Ext(file))
		note(p.ID, p)
		note(bare, p)
		if p.front.slug == "/" {
			r.routes["."] = p
		}
		dir := path.Dir(file)
		if slug := p.front.slug; strings.HasPrefix(slug, "/") {
			note(slug, p)
		} else if slug != "" {
			note(path.Join(dir, slug), p)
		}
		if p.front.id != "" && r.system == "docusaurus" {
			note(path.Join(path.Dir(p.ID), p.front.id), p)
		}
		for _, a := range p.front.aliases {
			note(a, p)
		}
	}
	for _, p := range pages {
		note(withoutEnding(p.published), p)
	}
	for _, p := range pages {
		if r.isHome(p.File) && r.routes["."] == nil {
			r.routes["."] = p
		}
	}
}

// slot is the target of a link in the text of a page.
type slot struct {
	// at and end delimit the target in the text.
	at, end int
	target  string
	// text is that of the link, if it is known, and image is true for an image.
	text  string
	image bool
	line  int // in the file, 0 if that is unknown
}

// edit replaces a part of the text of a page.
type edit struct {
	at, end int
	with    string
}

// prepareLinks finds the links of a page, and removes attributes from its text. It needs the
// syntax tree, which is not kept.
func (p *Page) prepareLinks() {
	var out strings.Builder
	out.Grow(len(p.Body))
	code := p.raw.code
	sort.Slice(code, func(i, j int) bool {
		return code[i].start < code[j].start
	})
	for i := range p.Sections {
		s := &p.Sections[i]
		var section strings.Builder
		first := len(p.slots)
		p.prepareText(&section, s.Start, s.End)
		start := out.Len()
		dropped := 0
		next := first
		out.WriteString(squeezed(section.String(), func(at, size int) {
			for ; next < len(p.slots) && p.slots[next].at < at; next++ {
				p.slots[next].at -= dropped
				p.slots[next].end -= dropped
			}
			dropped += size
		}))
		for ; next < len(p.slots); next++ {
			p.slots[next].at -= dropped
			p.slots[next].end -= dropped
		}
		for j := first; j < len(p.slots); j++ {
			p.slots[j].at += start
			p.slots[j].end += start
		}
		s.Start = start
		s.End = out.Len()
	}
	p.Body = out.String()
	p.raw = nil
	p.extra = nil
}

// link determines what the links of a page lead to, and reports broken ones.
func (r *reader) link(p *Page) {
	for i := range p.slots {
		s := &p.slots[i]
		with, ok := r.target(p, s)
		if ok {
			p.edits = append(p.edits, edit{s.at, s.end, with})
		}
		if p.recorded != nil && !isExternal(s.target) {
			p.recorded.links = append(p.recorded.links, link{with, ok})
		}
	}
	p.slots = nil
}

// applyLinks replaces the targets of the links in the text of a page.
func (p *Page) applyLinks() {
	if len(p.edits) == 0 {
		return
	}
	var out strings.Builder
	out.Grow(len(p.Body) + len(p.Body)/16)
	done := 0
	section := 0
	// Sections that begin before an edit, or end at it, are not moved by it.
	move := func(before int) {
		for ; section < 2*len(p.Sections); section++ {
			at := &p.Sections[section/2].Start
			if section%2 == 1 {
				at = &p.Sections[section/2].End
			}
			if *at > before {
				return
			}
			*at += out.Len() - done
		}
	}
	for _, e := range p.edits {
		if e.at < done {
			continue // in another target
		}
		move(e.at)
		out.WriteString(p.Body[done:e.at])
		out.WriteString(e.with)
		done = e.end
	}
	move(len(p.Body))
	out.WriteString(p.Body[done:])
	p.Body = out.String()
	p.edits = nil
}

// squeezed collapses several empty lines, which remain where something was removed, into
// one. Fenced code stays unchanged. dropped is called with each piece that is removed.
func squeezed(text string, dropped func(at, size int)) string {
	if !strings.Contains(text, "\n\n\n") {
		return text
	}
	var b strings.Builder
	empty := 0
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if mark := fenceMark(line); mark != "" {
			next = fenceEnd(text, next, mark)
		}
		if empty++; strings.TrimSpace(text[at:next]) != "" {
			empty = 0
		}
		if empty < 2 {
			b.WriteString(text[at:next])
		} else {
			dropped(at, next-at)
		}
		at = next
	}
	return b.String()
}

// prepareText writes Body[start:end] without attributes, and appends its links to slots, with
// their positions in out.
func (p *Page) prepareText(out *strings.Builder, start, end int) {
	body := p.Body
	var open []bracket
	line := bracketLine{
		body: body,
		text: start,
		at:   start,
	}
	done := start
	note := func(from, to int, text string, image bool) {
		at := out.Len() + from - done
		p.slots = append(p.slots, slot{
			at:     at,
			end:    at + to - from,
			target: strings.Clone(body[from:to]),
			text:   strings.Clone(text),
			image:  image,
			line:   p.lineOf(from),
		})
	}
	for i := start; i < end; i++ {
		switch body[i] {
		case '\\':
			i++
		case '[', ']', '<', '`', '{':
			if skip := codeAt(p.raw.code, i); skip > i {
				i = skip - 1
				continue
			}
			switch body[i] {
			case '[':
				open = append(open, bracket{i + 1, i > start && body[i-1] == '!'})
			case ']':
				text := ""
				image := false
				if last := len(open) - 1; last >= 0 {
					text = body[open[last].at:i]
					image = open[last].image
					open = open[:last]
				}
				if from, to := destination(body[:end], i, &line); to > from {
					note(from, to, text, image)
					i = to - 1
				}
			case '{':
				if to := attributesAt(body, line.beginning(i), i, end); to > i {
					out.WriteString(strings.TrimRight(body[done:i], " \t"))
					done = to
					i = to - 1
				}
			case '<':
				m := htmlTarget().FindStringSubmatchIndex(body[i:min(end, i+2000)])
				if m != nil {
					note(i+m[4], i+m[5], "", body[i+m[2]:i+m[3]] == "src")
				}
			}
		case '\n':
			open = open[:0]
		}
	}
	out.WriteString(body[done:end])
}

// bracket is an open bracket: where the text after it begins, and whether it belongs to an
// image.
type bracket struct {
	at    int
	image bool
}

// Limits of the texts of links to a page that are kept for search.
const (
	maxAnchors    = 20
	maxAnchorText = 100
)

// addAnchor keeps the text of a link to the page, unless it says no more than the title.
func (p *Page) addAnchor(text string) {
	if len(text) > maxAnchorText || len(p.Anchors) == maxAnchors {
		return
	}
	text = strings.Join(strings.Fields(strings.Trim(text, "`*_ ")), " ")
	if text == "" ||
		strings.EqualFold(text, p.Title) || slices.Contains(p.Anchors, text) {
		return
	}
	p.Anchors = append(p.Anchors, strings.Clone(text))
}

// htmlTarget matches the target in an HTML tag.
var htmlTarget = lazyregexp.New(`^<(?:a|img)\s[^<>]*?\b(href|src)=["']([^"'<>]+)["']`)

// codeAt returns the end of the code at i, or 0.
func codeAt(code []span, i int) int {
	at := sort.Search(len(code), func(n int) bool {
		return code[n].start > i
	}) - 1
	if at >= 0 && i < code[at].end {
		return code[at].end
	}
	return 0
}

// bracketLine tracks the line that a bracket is on. It reads each byte once, however many
// brackets a line has.
type bracketLine struct {
	body   string
	at     int // how far it has read
	text   int // its first byte that is not a space
	opened int // brackets that open on it before at
}

// beginning returns where the text of the line that contains i begins.
func (l *bracketLine) beginning(i int) int {
	l.read(i)
	return l.text
}

// read advances to i.
func (l *bracketLine) read(i int) {
	for ; l.at < i; l.at++ {
		switch c := l.body[l.at]; {
		case c == '\n':
			l.text = l.at + 1
			l.opened = 0
		case c == '[':
			l.opened++
		case c == ' ' && l.text == l.at:
			l.text++
		}
	}
}

// definition reports whether the line up to i, a closing bracket, is the label of a
// definition: [label], preceded only by spaces, and not a footnote's.
func (l *bracketLine) definition(i int) bool {
	l.read(i)
	return l.opened == 1 && l.body[l.text] == '[' &&
		!strings.HasPrefix(l.body[l.text:i], "[^")
}

// destination returns the position of the target of the link whose text ends with the
// bracket at i: in parentheses, or in a definition.
func destination(body string, i int, line *bracketLine) (from, to int) {
	if i+1 >= len(body) || body[i+1] != '(' && body[i+1] != ':' {
		return 0, 0
	}
	if body[i+1] == ':' && !line.definition(i) {
		return 0, 0
	}
	from = i + 2
	for from < len(body) && (body[from] == ' ' || body[from] == '\t') {
		from++
	}
	if from < len(body) && body[from] == '<' {
		from++
		if n := strings.IndexAny(body[from:], ">\n"); n >= 0 {
			return from, from + n
		}
		return from, len(body)
	}
	depth := 0
	for to = from; to < len(body); to++ {
		switch c := body[to]; {
		case c == '(':
			depth++
		case c == ')' && depth == 0, c <= ' ':
			return from, to
		case c == ')':
			depth--
		}
	}
	return from, to
}

// target returns the replacement for the target of a link, and whether to replace it at
// all.
func (r *reader) target(p *Page, s *slot) (string, bool) {
	if isExternal(s.target) {
		return "", false
	}
	if p.front.fetched != nil {
		return r.fetchedTarget(p, s)
	}
	return r.localTarget(p, s)
}

// fetchedTarget is target for a page that was fetched: what is not among the pages has its
// whole address.
func (r *reader) fetchedTarget(p *Page, s *slot) (string, bool) {
	if !s.image && !isImage(s.target) {
		if here := p.based(s); here != nil {
			if local, ok := r.localTarget(p, here); ok || strings.HasPrefix(s.target, "#") {
				return local, ok
			}
		}
	}
	if whole, err := p.front.fetched.Parse(s.target); err == nil {
		return linkTarget(whole.String()), true
	}
	return "", false
}

// based returns a link with its path from the root of the host, if it is not relative to the page, or
// nil if it leads to another host.
func (p *Page) based(s *slot) *slot {
	if p.front.fetchedAt == nil || strings.HasPrefix(s.target, "#") {
		return s
	}
	whole, err := p.front.fetched.Parse(s.target)
	if err != nil {
		return s
	}
	if whole.Host != p.front.fetchedAt.Host {
		return nil
	}
	rooted := *s
	rooted.target = (&url.URL{Path: whole.Path, RawPath: whole.RawPath, Fragment: whole.Fragment}).String()
	return &rooted
}

// linkTarget returns an address as Markdown has it in a link.
func linkTarget(address string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(address)
}

// localTarget is target for a link to a page or picture of the set.
func (r *reader) localTarget(p *Page, s *slot) (string, bool) {
	address, fragment, hasFragment := strings.Cut(s.target, "#")
	address, _, _ = strings.Cut(address, "?")
	if unescaped, err := url.PathUnescape(address); err == nil {
		address = unescaped
	}
	address = strings.TrimPrefix(strings.TrimPrefix(address, "@site/"), "pathname://")
	if s.image || isImage(address) {
		return r.imageTarget(p, address, s.line)
	}
	to := p
	if address != "" {
		if to = r.resolve(p, address); to == nil {
			r.broken(p, address, s.line)
			return "", false
		}
		if to != p {
			to.addAnchor(s.text)
			p.Links = append(p.Links, to.ID)
		}
	}
	if hasFragment && fragment != "" {
		fragment = r.anchor(p, to, fragment, s.line)
	}
	result := to.URI()
	if address == "" {
		result = ""
	}
	if fragment != "" {
		result += "#" + fragment
	}
	return result, result != s.target && result != ""
}

// schemes matches the start of an external address.
var schemes = lazyregexp.New(`^(?:[A-Za-z][A-Za-z0-9+.-]*:|//|\{|\$|%)`)

// isExternal reports whether a target is not a path: it has a scheme or a host, or begins
// with a placeholder of a template.
func isExternal(target string) bool {
	return schemes().MatchString(target) && !strings.HasPrefix(target, "pathname://")
}

// resolve returns the page that an address on page p leads to, or nil.
func (r *reader) resolve(p *Page, address string) *Page {
	if strings.HasPrefix(address, "/") {
		rest := path.Clean(address)[1:]
		for range 3 { // the mount point of a site is not always known
			for _, root := range []string{rest, path.Join(r.config.root, rest)} {
				if to := r.at(root); to != nil {
					return to
				}
			}
			_, after, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = after
		}
		if rest == "" || rest == "docs" || rest == r.config.root {
			return r.routes["."]
		}
		return nil
	}
	address = strings.TrimSuffix(address, "/")
	for _, base := range []string{
		path.Dir(p.File),
		path.Dir(p.ID),
		p.ID,
		path.Join(r.config.root, path.Dir(p.ID)),
		path.Join(path.Dir(p.ID), p.front.slug),
	} {
		if to := r.at(path.Join(base, address)); to != nil {
			return to
		}
	}
	if r.system == "hugo" ||
		strings.HasSuffix(address, ".md") ||
		strings.HasSuffix(address, ".mdx") {
		return r.at(address) // from the root of the documents
	}
	return nil
}

// at returns the page with that address: a file, with or without its extension, or a
// route.
func (r *reader) at(address string) *Page {
	if address == "" {
		address = "."
	}
	ext := path.Ext(address)
	bare := strings.TrimSuffix(address, ext)
	tries := []string{address}
	switch ext {
	case ".md", ".mdx", ".markdown", ".html", ".htm":
		tries = append(tries, bare+".md", bare+".mdx", bare)
		if isIndex(path.Base(bare)) {
			tries = append(tries, path.Dir(bare))
		}
	}
	for _, t := range tries {
		if p := r.routes[t]; p != nil {
			return p
		}
	}
	if isIndex(path.Base(address)) && ext == "" {
		return r.routes[path.Dir(address)]
	}
	return nil
}

// inOtherEdition reports whether an address on page p is that of a file which the edition does not see.
func (r *reader) inOtherEdition(p *Page, address string) bool {
	if r.opts.actual == nil {
		return false
	}
	file := path.Join(path.Dir(p.File), address)
	if !fs.ValidPath(file) {
		return false
	}
	info, err := fs.Stat(r.fsys, file)
	return err == nil && info.Mode().IsRegular()
}

// warn reports a problem on a line of a page.
func (r *reader) warn(rule check.Rule, p *Page, line int, hint, format string, args ...any) {
	r.set.Report.Add(finding(rule, r.place(p.File), line, hint, format, args...))
}

// broken reports a broken link. Addresses from the root of a web site may
// lead to other content than documents.
func (r *reader) broken(p *Page, address string, line int) {
	_, ok := r.files[path.Join(path.Dir(p.File), address)]
	if ok {
		return // a file that is not a page
	}
	if address == "/" || address == "." || address == "./" {
		return
	}
	if p.front.fetched != nil || p.front.rendered && strings.HasPrefix(address, "/") {
		return // only the web server knows what is there
	}
	if outside(p, address) {
		r.warn(ruleBrokenLink.As(check.Note), p, line, "",
			"the link to %s points outside the folder", address)
		return
	}
	if r.inOtherEdition(p, address) {
		r.warn(ruleBrokenLink.As(check.Note), p, line, "",
			"the link to %s leads to a page of another version or language", address)
		return
	}
	severity := check.Warning
	if strings.HasPrefix(address, "/") && !isDocument(address) || p.front.rendered {
		severity = check.Note
	}
	hint := ""
	if near := r.nearestPage(address); near != "" {
		hint = "did you mean " + near + "?"
	}
	r.warn(ruleBrokenLink.As(severity), p, line, hint,
		"the link to %s matches no page in the folder", address)
}

// outside reports whether a link leads above the folder. Its target may exist, but is not
// a page of the site.
func outside(p *Page, address string) bool {
	return !strings.HasPrefix(address, "/") &&
		strings.HasPrefix(path.Join(path.Dir(p.File), address)+"/", "../")
}

// nearestPage returns the file of a page with the same name elsewhere, or "".
func (r *reader) nearestPage(address string) string {
	want := strings.TrimSuffix(path.Base(address), path.Ext(address))
	if r.names == nil {
		r.names = make(map[string][]*Page)
		for _, p := range r.set.Pages {
			name := strings.TrimSuffix(path.Base(p.File), path.Ext(p.File))
			r.names[name] = append(r.names[name], p)
		}
	}
	found := r.names[want]
	if len(found) != 1 || want == "" || isIndex(want) {
		return ""
	}
	return r.place(found[0].File)
}

// anchor returns the slug that a fragment refers to, and reports a fragment that matches
// no heading.
func (r *reader) anchor(p, to *Page, fragment string, line int) string {
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if to.slugs[fragment] {
		return fragment
	}
	loose := looseSlug(fragment)
	for _, s := range to.Sections {
		if s.Slug != "" &&
			(looseSlug(s.Slug) == loose || looseSlug(slugOf(s.Heading)) == loose) {
			return s.Slug
		}
	}
	if fragment == "top" ||
		strings.HasPrefix(fragment, ":~:") ||
		strings.HasPrefix(fragment, "__") {
		return fragment
	}
	name := to.File
	if to == p {
		name = "the page"
	}
	r.warn(ruleBrokenAnchor, p, line, nearSlug(to, fragment),
		"%s has no heading #%s", name, fragment)
	return fragment
}

// imageType returns the MIME type of an image by its extension.
func imageType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".svg":
		return "image/svg+xml"
	case ".avif":
		return "image/avif"
	}
	return ""
}

// isImage reports whether a file is an image, by its extension.
func isImage(name string) bool { return imageType(name) != "" }

// imageTarget is target for an image.
func (r *reader) imageTarget(p *Page, address string, line int) (string, bool) {
	bare := strings.TrimPrefix(path.Clean("/"+address), "/")
	tries := []string{path.Join(path.Dir(p.File), address)}
	if strings.HasPrefix(address, "/") {
		tries = []string{bare, path.Join("static", bare), path.Join("public", bare), path.Join(r.config.root, bare)}
	} else {
		tries = append(tries, path.Join(p.ID, address), path.Join(path.Dir(p.ID), address),
			bare, path.Join("static", bare), path.Join("assets", bare))
	}
	i := slices.IndexFunc(tries, func(name string) bool {
		_, ok := r.files[name]
		return ok
	})
	if i < 0 {
		if !strings.HasPrefix(address, "/") && isImage(address) {
			r.warn(ruleBrokenLink, p, line, "", "the image does not exist: %s",
				address)
		}
		return "", false
	}
	if image := r.image(tries[i]); image != nil {
		return image.URI(), true
	}
	return "", false
}

// image returns the image in a file, or nil if it is not to be stored.
func (r *reader) image(name string) *Image {
	if known, ok := r.images[name]; ok {
		return known
	}
	r.images[name] = nil
	kind := imageType(name)
	size := r.files[name].Size()
	if kind == "" ||
		size > r.opts.MaxImageBytes ||
		size == 0 ||
		r.opts.used.images+len(r.set.Images) >= maxImages ||
		r.opts.used.imageBytes+r.imageSum+size > maxImageTotal {
		return nil
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := fsutil.ReadLimited(f, r.opts.MaxImageBytes)
	if err != nil {
		return nil
	}
	r.imageSum += size
	image := &Image{
		ID:       strings.TrimPrefix(name, r.config.root+"/"),
		MIMEType: kind,
		Data:     data,
		place:    r.opts.uriPlace,
	}
	r.images[name] = image
	r.set.Images = append(r.set.Images, image)
	return image
}

// blob returns the image in base64.
func (i *Image) blob() string {
	return base64.StdEncoding.EncodeToString(i.Data)
}
