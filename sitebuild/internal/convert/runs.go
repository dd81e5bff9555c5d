package convert

import (
	"bytes"
	"html"
	"strconv"
	"strings"
)

// runs is the text of a paragraph, in pieces of one format each.
type runs struct {
	// word has the styles and the relationships.
	word   *word
	pieces []piece
	ids    []string // bookmarks
	boxes  []*node  // text boxes
	fields []field  // those that are open
}

// piece is text of one format. If raw is set, it is HTML.
type piece struct {
	// format is kept with the text until the paragraph is complete, so that neighbors of the same
	// format become one element.
	format format
	text   []byte
	raw    bool
}

// field is a field whose result is shown, such as a link.
type field struct {
	// code is the instruction between the begin and the separator of the field (ECMA-376 part 1,
	// 17.16). link is the target that it names, or empty.
	code   []byte
	result bool // the code has ended
	link   string
}

// read reads the children of a paragraph or of what groups runs in it.
func (r *runs) read(n *node, f format) {
	for _, kid := range n.list() {
		r.readOne(kid, f)
	}
}

// readOne reads a child of a paragraph.
func (r *runs) readOne(n *node, f format) {
	switch n.name {
	case "w:r":
		r.run(n, f)
	case "w:hyperlink":
		if target := r.word.related["hyperlink"][n.attr("id")]; target != "" {
			f.link = target
		} else if anchor := n.attr("anchor"); anchor != "" {
			f.link = "#" + anchor
		}
		r.read(n, f)
	case "w:fldSimple":
		if link := linkOf(n.attr("instr")); link != "" {
			f.link = link
		}
		r.read(n, f)
	case "w:ins", "w:moveTo", "w:smartTag", "w:customXml", "w:dir", "w:bdo":
		r.read(n, f)
	case "w:sdt":
		r.read(n.child("w:sdtContent"), f)
	case "mc:AlternateContent":
		r.readAll(alternative(n), f)
	case "w:bookmarkStart":
		if name := n.attr("name"); name != "" && name != "_GoBack" && len(r.ids) < 20 {
			r.ids = append(r.ids, name)
		}
	case "m:oMath", "m:oMathPara":
		f.code = true
		r.add(strings.Join(strings.Fields(formula(n)), " "), f)
	}
}

// readAll reads elements that can be children of a paragraph or of a run.
func (r *runs) readAll(n *node, f format) {
	for _, kid := range n.list() {
		r.readOne(kid, f)
		r.content(kid, f)
	}
}

// alternative returns the choice of an element that has several forms.
func alternative(n *node) *node {
	if choice := n.child("mc:Choice"); choice != nil {
		return choice
	}
	return n.child("mc:Fallback")
}

// run reads text of one format.
func (r *runs) run(n *node, f format) {
	properties := n.child("w:rPr")
	if properties.child("w:vanish").isOn() {
		return
	}
	if id := properties.child("w:rStyle").attr("val"); id != "" {
		s, ok := r.word.find(id, func(s style) bool {
			return s.format != format{}
		})
		if ok {
			f = f.with(s.format)
		}
	}
	f = f.with(formatOf(properties))
	for _, kid := range n.list() {
		r.content(kid, f)
	}
}

// content reads a child of a run.
func (r *runs) content(n *node, f format) {
	if len(r.fields) > 0 {
		last := &r.fields[len(r.fields)-1]
		if !last.result && n.name != "w:fldChar" && n.name != "w:instrText" {
			return
		}
		if last.link != "" {
			f.link = last.link
		}
	}
	switch n.name {
	case "w:t":
		r.add(n.allText(), f)
	case "w:tab", "w:ptab":
		r.add("\t", f)
	case "w:br", "w:cr":
		if kind := n.attr("type"); kind == "" || kind == "textWrapping" {
			r.add("\n", f)
		}
	case "w:noBreakHyphen":
		r.add("-", f)
	case "w:sym":
		if code, err := strconv.ParseUint(n.attr("char"), 16, 32); err == nil && (code < 0xE000 || code > 0xF8FF) {
			r.add(string(rune(code)), f)
		}
	case "w:footnoteReference":
		r.note("footnote"+n.attr("id"), f)
	case "w:endnoteReference":
		r.note("endnote"+n.attr("id"), f)
	case "w:fldChar":
		r.fieldChar(n.attr("fldCharType"))
	case "w:instrText":
		if len(r.fields) > 0 {
			last := &r.fields[len(r.fields)-1]
			last.code = append(last.code, n.allText()...)
		}
	case "w:drawing", "w:pict", "w:object":
		r.drawing(n)
	case "mc:AlternateContent":
		r.readAll(alternative(n), f)
	case "w:ruby":
		r.read(n.child("w:rubyBase"), f)
	}
}

// fieldChar begins or ends a part of a field.
func (r *runs) fieldChar(kind string) {
	switch kind {
	case "begin":
		if len(r.fields) < 100 {
			r.fields = append(r.fields, field{})
		}
	case "separate":
		if len(r.fields) > 0 {
			last := &r.fields[len(r.fields)-1]
			last.result = true
			last.link = linkOf(string(last.code))
		}
	case "end":
		if len(r.fields) > 0 {
			r.fields = r.fields[:len(r.fields)-1]
		}
	}
}

// linkOf returns the target of a field that is a link, or "".
func linkOf(code string) string {
	rest, found := strings.CutPrefix(strings.TrimSpace(code), "HYPERLINK ")
	if !found {
		return ""
	}
	anchor := false
	for _, word := range strings.Fields(rest) {
		switch {
		case word == `\l`:
			anchor = true
		case strings.HasPrefix(word, `\`):
		case anchor:
			return "#" + strings.Trim(word, `"`)
		default:
			return strings.Trim(word, `"`)
		}
	}
	return ""
}

// drawing reads the description of a picture and the text of text boxes.
func (r *runs) drawing(n *node) {
	for _, kid := range n.list() {
		switch kid.name {
		case "wp:docPr":
			if alt := kid.attr("descr"); alt != "" {
				r.pieces = append(r.pieces, piece{
					text: []byte(`<img src="data:," alt="` + html.EscapeString(alt) + `">`),
					raw:  true,
				})
			}
		case "w:txbxContent":
			r.boxes = append(r.boxes, kid)
		default:
			r.drawing(kid)
		}
	}
}

// note writes the mark of a note.
func (r *runs) note(id string, f format) {
	if r.word.notes[id] == nil {
		return
	}
	number, seen := r.word.numbers[id]
	if !seen {
		r.word.used = append(r.word.used, id)
		number = len(r.word.used)
		r.word.numbers[id] = number
	}
	f.up = true
	r.add(strconv.Itoa(number), f)
}

// add adds text, to the last piece if that has the same format.
func (r *runs) add(text string, f format) {
	n := len(r.pieces)
	if n > 0 && !r.pieces[n-1].raw && r.pieces[n-1].format == f {
		r.pieces[n-1].text = append(r.pieces[n-1].text, text...)
		return
	}
	r.pieces = append(r.pieces, piece{f, []byte(text), false})
}

// allCode reports whether a paragraph has text, and all of it is code.
func (r *runs) allCode() bool {
	some := false
	for _, p := range r.pieces {
		isOther := p.format.up || p.format.down || p.format.link != ""
		if p.raw ||
			isOther ||
			!p.format.code && len(bytes.TrimSpace(p.text)) > 0 {
			return false
		}
		some = some || len(bytes.TrimSpace(p.text)) > 0
	}
	return some
}

// text returns the bare text, with its line breaks.
func (r *runs) text() string {
	var b strings.Builder
	for _, p := range r.pieces {
		if !p.raw {
			b.Write(p.text)
		}
	}
	return b.String()
}

// html returns the text as HTML. A heading has no bold text.
func (r *runs) html(heading bool) string {
	var b strings.Builder
	for _, p := range r.pieces {
		if p.raw {
			b.Write(p.text)
			continue
		}
		text := strings.ReplaceAll(html.EscapeString(string(p.text)), "\t", " ")
		if heading {
			text = strings.ReplaceAll(text, "\n", " ")
			p.format.bold = false
			p.format.italic = false
		} else {
			text = strings.ReplaceAll(text, "\n", "<br>")
		}
		b.WriteString(p.format.wrap(text))
	}
	return b.String()
}

// wrap returns HTML in a format.
func (f format) wrap(text string) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	tag := func(on bool, name string) {
		if on {
			text = "<" + name + ">" + text + "</" + name + ">"
		}
	}
	tag(f.code, "code")
	tag(f.up, "sup")
	tag(f.down, "sub")
	tag(f.strike, "s")
	tag(f.italic, "i")
	tag(f.bold, "b")
	if f.link != "" {
		text = `<a href="` + html.EscapeString(f.link) + `">` + text + "</a>"
	}
	return text
}

// with returns f with what the other format adds.
func (f format) with(other format) format {
	f.bold = f.bold || other.bold
	f.italic = f.italic || other.italic
	f.strike = f.strike || other.strike
	f.code = f.code || other.code
	f.up = f.up || other.up
	f.down = f.down || other.down
	return f
}

// isOn reports whether a property that can be on or off is on.
func (n *node) isOn() bool {
	if n == nil {
		return false
	}
	switch n.attr("val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

// formatOf returns the format of the properties of a run.
func formatOf(properties *node) format {
	font := strings.ToLower(properties.child("w:rFonts").attr("ascii"))
	align := properties.child("w:vertAlign").attr("val")
	return format{
		bold:   properties.child("w:b").isOn(),
		italic: properties.child("w:i").isOn(),
		strike: properties.child("w:strike").isOn(),
		up:     align == "superscript",
		down:   align == "subscript",
		code: strings.Contains(font, "mono") || strings.Contains(font, "courier") || strings.Contains(font, "consol") ||
			strings.Contains(font, "menlo") || strings.Contains(font, "source code") || strings.Contains(font, "cascadia"),
	}
}
