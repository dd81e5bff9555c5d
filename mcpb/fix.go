package mcpb

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Repair is one change made by [Fix].
type Repair struct {
	// Line and Column are the position before the change, counted from 1.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Pointer is the JSON pointer of the changed value.
	Pointer string `json:"pointer"`
	// About describes the change, such as: renamed "minimum" to "min".
	About string `json:"about"`
}

// Fix repairs problems in the text of a manifest that have only one correct solution:
//
//   - a byte order mark
//   - comments and trailing commas
//   - field names of other formats
//   - an author or a repository that is a string
//   - a version that is older than the fields in use
//   - null for an optional field
//
// All other bytes stay the same. If nothing needs repair, Fix returns the text unchanged.
// A text that is not UTF-8 is not repaired.
func Fix(text []byte) (fixed []byte, repairs []Repair) { return fix(text, false) }

// fix is [Fix]; if drop is set, it also removes fields that no version knows.
func fix(text []byte, drop bool) (fixed []byte, repairs []Repair) {
	if invalidUTF8(text) >= 0 {
		return text, nil
	}
	const rounds = 8 // a repair may reveal another, such as a field of a newer version
	for range rounds {
		f := &fixer{document: readDocument(text, "", &check.Report{}), drop: drop}
		f.fix()
		if len(f.edits) == 0 {
			break
		}
		text = f.apply()
		repairs = append(repairs, f.made...)
	}
	return text, repairs
}

// edit replaces bytes of the text.
type edit struct {
	at, end int
	with    string
}

type fixer struct {
	*document
	edits []edit
	about map[edit]Repair
	made  []Repair // the repairs made by apply, in the order of the text
	drop  bool     // remove fields that no version knows
}

func (f *fixer) fix() {
	if f.bom > 0 {
		f.edit(0, 0, 0, "", "", "removed the byte order mark")
	}
	if f.root == nil {
		f.fixSyntax()
		return
	}
	if f.root.kind != kindObject {
		return
	}
	version, known := f.version()
	if !known || f.root.member("dxt_version") != nil {
		f.fixVersion(known)
		return // the allowed fields depend on it
	}
	if needed := f.needed(); needed > version {
		n := f.root.member("manifest_version")
		f.replace(n, "/manifest_version", strconv.Quote(needed),
			fmt.Sprintf("set the version from %s to %s, which the fields need", version, needed))
		return
	}
	f.object(f.root, manifestShape(version), "", version)
	f.fixEntryPoint()
}

// edit replaces text[from:to]. at is the position of the repair.
func (f *fixer) edit(from, to, at int, with, pointer, about string) {
	line, column := f.Document.Position(at)
	e := edit{from, to, with}
	if f.about == nil {
		f.about = map[edit]Repair{}
	}
	f.edits = append(f.edits, e)
	f.about[e] = Repair{line, column, pointer, about}
}

func (f *fixer) replace(n *jsonNode, pointer, with, about string) {
	f.edit(n.at, n.end, n.at, with, pointer, about)
}

func (f *fixer) rename(m member, pointer, to string) {
	f.edit(m.at, m.at+quotedLen(f.text[m.at:]), m.at, strconv.Quote(to),
		pointer, fmt.Sprintf("renamed %q to %q", m.name, to))
}

// quotedLen returns the length of the string at the start of text.
func quotedLen(text []byte) int {
	end, _ := jsonscan.Value(text, 0)
	return end
}

// remove removes a member with the comma after it or, for the last one, the comma before
// it, and the whitespace before it.
func (f *fixer) remove(m member, pointer, about string) {
	from, to := m.at, m.value.end
	for from > 0 && strings.ContainsRune(" \t\r\n", rune(f.text[from-1])) {
		from--
	}
	if next := jsonscan.Space(f.text, to); next < len(f.text) && f.text[next] == ',' {
		to = next + 1
	} else if from > 0 && f.text[from-1] == ',' {
		from--
	}
	f.edit(from, to, m.at, "", pointer, about)
}

// apply makes the edits. Of two overlapping edits it makes only the first; the next round
// finds the other again.
func (f *fixer) apply() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	text, done := make([]byte, 0, len(f.text)), 0
	for _, e := range f.edits {
		if e.at < done {
			continue
		}
		text = append(append(text, f.text[done:e.at]...), e.with...)
		done = e.end
		f.made = append(f.made, f.about[e])
	}
	return append(text, f.text[done:]...)
}

// fixVersion repairs the version. known means that a known one is already set.
func (f *fixer) fixVersion(known bool) {
	var written, old *member
	for i := range f.root.members {
		switch m := &f.root.members[i]; m.name {
		case "manifest_version":
			written = m
		case "dxt_version":
			old = m
		}
	}
	isKnown := func(m *member) bool {
		return m != nil && slices.Contains(Versions(), strings.Trim(string(f.text[m.value.at:m.value.end]), `"`))
	}
	switch {
	case old != nil && (written != nil && isKnown(written)):
		f.remove(*old, "/dxt_version", `removed "dxt_version", the old name of "manifest_version"`)
	case old != nil && written == nil && isKnown(old):
		f.rename(*old, "/dxt_version", "manifest_version")
	case !known && written != nil && written.value.is(kindNumber) && isKnown(written):
		f.replace(written.value, "/manifest_version",
			strconv.Quote(string(f.text[written.value.at:written.value.end])), "made the version a string")
	}
}

// needed returns the first version that knows every top-level field and the type of the
// server.
func (f *fixer) needed() string {
	version := ""
	for _, field := range manifestShape("0.4").fields {
		if f.root.member(field.name) != nil {
			version = max(version, field.since)
		}
	}
	if f.root.member("server").member("type").str() == TypeUV {
		version = "0.4"
	}
	return version
}

func (f *fixer) object(n *jsonNode, s *shape, pointer, version string) {
	for _, m := range n.each() {
		below := pointer + "/" + jsonscan.EscapeToken(m.name)
		if s.fields == nil {
			f.value(m.value, s.elem, below, version)
			continue
		}
		i := slices.IndexFunc(s.fields, func(k field) bool { return k.name == m.name })
		switch {
		case i < 0 && s.others == nil:
			f.fixName(n, m, names(s.fields, version), below)
		case i < 0:
		case m.value.kind == kindNull && !s.fields[i].required:
			f.remove(m, below, fmt.Sprintf("removed %q, which was null", m.name))
		default:
			f.value(m.value, s.fields[i].shape, below, version)
		}
	}
}

// fixName renames a field if its right name is certain and not yet used, or drops it.
func (f *fixer) fixName(n *jsonNode, m member, known []string, pointer string) {
	to := renamedField(m.name)
	folded := fold(m.name)
	for _, name := range known {
		if fold(name) == folded {
			to = name
		}
	}
	switch {
	case slices.Contains(known, to) && n.member(to) == nil:
		f.rename(m, pointer, to)
	case f.drop:
		f.remove(m, pointer, fmt.Sprintf("removed %q, which no field is called", m.name))
	}
}

// fold removes differences that people often get wrong: case and separators.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func (f *fixer) value(n *jsonNode, s *shape, pointer, version string) {
	switch {
	case s.any || s.scalar:
	case n.kind == s.kind && n.kind == kindObject:
		f.object(n, s, pointer, version)
	case n.kind == s.kind && n.kind == kindArray:
		for i, item := range n.items {
			f.value(item, s.elem, pointer+"/"+strconv.Itoa(i), version)
		}
	case n.kind == kindString && s.kind != kindString:
		f.fixString(n, s, pointer)
	}
}

// fixString converts a string to the type of the field, if its meaning is clear.
func (f *fixer) fixString(n *jsonNode, s *shape, pointer string) {
	switch {
	case pointer == "/author":
		f.replace(n, pointer, authorObject(n.text), "made the author an object")
	case pointer == "/repository":
		url := strings.TrimPrefix(n.text, "git+")
		if owner, ok := strings.CutPrefix(url, "github:"); ok {
			url = "https://github.com/" + owner
		}
		if urlFault(url) == "" {
			f.replace(n, pointer, fmt.Sprintf(`{ "type": "git", "url": %s }`, quote(url)), "made the repository an object")
		}
	case s.kind == kindArray && s.elem.kind == kindString && n.text != "":
		f.replace(n, pointer, "["+string(f.text[n.at:n.end])+"]", "made a list of the string")
	case s.kind == kindBool && (n.text == "true" || n.text == "false"):
		f.replace(n, pointer, n.text, "took the quotes from "+n.text)
	case s.kind == kindNumber && jsonscan.Valid([]byte(n.text)) == nil && !strings.ContainsAny(n.text, "\"[{tfn \n"):
		f.replace(n, pointer, n.text, "took the quotes from "+n.text)
	}
}

// authorObject parses "Name <address> (url)", npm's form for people.
func authorObject(s string) string {
	name, email, url := s, "", ""
	if before, rest, ok := strings.Cut(name, "("); ok {
		name, url = before, strings.TrimSuffix(strings.TrimSpace(rest), ")")
	}
	if before, rest, ok := strings.Cut(name, "<"); ok {
		name, email = before, strings.TrimSuffix(strings.TrimSpace(rest), ">")
	}
	object := `{ "name": ` + quote(strings.TrimSpace(name))
	if isEmail(email) {
		object += `, "email": ` + quote(email)
	}
	if url != "" && urlFault(url) == "" {
		object += `, "url": ` + quote(url)
	}
	return object + " }"
}

func quote(s string) string { return string(jsonscan.AppendQuote(nil, s)) }

func (f *fixer) fixEntryPoint() {
	n := f.root.member("server").member("entry_point")
	if clean, why := inside(n.str()); why == "" && strings.Contains(n.text, `\`) {
		f.replace(n, "/server/entry_point", quote(clean), "wrote the path with slashes")
	}
}

// fixSyntax removes comments and trailing commas, if that results in valid JSON.
func (f *fixer) fixSyntax() {
	trial := &fixer{document: f.document}
	for _, s := range looseSyntax(f.text) {
		about := "removed a comment"
		if f.text[s.from] == ',' {
			about = "removed a comma before a closing bracket"
		}
		trial.edit(s.from, s.to, s.from, "", "", about)
	}
	if jsonscan.Valid(trial.apply()) == nil {
		f.edits, f.about = trial.edits, trial.about
	}
}

// stretch is a range of a text.
type stretch struct{ from, to int }

// looseSyntax finds comments, and commas that are followed by a closing bracket after
// only comments and whitespace.
func looseSyntax(text []byte) []stretch {
	var found []stretch
	comma := -1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end, err := jsonscan.Value(text, i)
			if err != nil {
				return nil
			}
			i, comma = end-1, -1
		case c == '/' && bytes.HasPrefix(text[i:], []byte("//")):
			end := len(text)
			if n := bytes.IndexByte(text[i:], '\n'); n >= 0 {
				end = i + n
			}
			found = append(found, stretch{i, end})
			i = end - 1
		case c == '/' && bytes.HasPrefix(text[i:], []byte("/*")):
			length := bytes.Index(text[i:], []byte("*/"))
			if length < 0 {
				return nil
			}
			found = append(found, stretch{i, i + length + 2})
			i += length + 1
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				found = append(found, stretch{comma, comma + 1})
			}
			comma = -1
		case !strings.ContainsRune(" \t\r\n", rune(c)):
			comma = -1
		}
	}
	return found
}
