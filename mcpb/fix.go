package mcpb

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/tree"
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
func Fix(text []byte) (fixed []byte, repairs []Repair) {
	return fix(text, false)
}

// fix is [Fix]; if drop is set, it also removes fields that no version knows.
func fix(text []byte, drop bool) (fixed []byte, repairs []Repair) {
	if invalidUTF8(text) >= 0 {
		return text, nil
	}
	const rounds = 8 // a repair may reveal another, such as a field of a newer version
	for range rounds {
		f := &fixer{
			document: readDocument(text, "", &check.Report{}),
			drop:     drop,
		}
		f.fix()
		if len(f.edits) == 0 && f.bom == 0 {
			break
		}
		if f.bom > 0 {
			f.edit(0, 0, "", "", "removed the byte order mark")
		}
		var made []edit
		text, made = applyEdits(f.text, f.edits)
		for _, e := range made {
			repairs = append(repairs, e.repair)
		}
	}
	return text, repairs
}

// edit replaces bytes of a text.
type edit struct {
	// at and end are the bytes that with replaces, and repair describes it for the user.
	at, end int
	with    string
	repair  Repair
}

// applyEdits makes the edits in the order of the text. Of two overlapping ones it makes
// only the first.
func applyEdits(text []byte, edits []edit) (edited []byte, made []edit) {
	order.StableBy(edits, func(a, b edit) int {
		return cmp.Compare(a.at, b.at)
	})
	done := 0
	for _, e := range edits {
		if e.at < done {
			continue
		}
		edited = append(edited, text[done:e.at]...)
		edited = append(edited, e.with...)
		done = e.end
		made = append(made, e)
	}
	return append(edited, text[done:]...), made
}

// fixer collects the repairs of a manifest as edits of its text, so that formatting and the order
// of fields stay.
type fixer struct {
	*document
	edits []edit
	drop  bool // remove fields that no version knows
}

// fix finds the repairs of one round. Repairs of the version come first, because the fields
// that are allowed depend on it.
func (f *fixer) fix() {
	switch {
	case f.root == nil:
		f.fixSyntax()
		return
	case f.root.Kind != tree.Object:
		return
	}
	version, known := f.version()
	if !known || f.root.Member("dxt_version") != nil {
		f.fixVersion(known)
		return // the allowed fields depend on it
	}
	if needed := f.needed(); needed > version {
		f.replace(f.root.Get("manifest_version"), "/manifest_version", strconv.Quote(needed),
			fmt.Sprintf("set the version from %s to %s, which the fields need", version, needed))
		return
	}
	f.object(f.root, manifestSchema(version), "", version)
	entry := f.root.Get("server", "entry_point")
	clean, why := cleanPath(textOf(entry))
	if why == "" && strings.Contains(entry.Text, `\`) {
		f.replace(entry, "/server/entry_point", quote(clean), "wrote the path with slashes")
	}
}

// edit replaces text[from:to].
func (f *fixer) edit(from, to int, with, pointer, about string) {
	f.editAt(from, from, to, with, pointer, about)
}

// editAt is edit for a repair with another position.
func (f *fixer) editAt(at, from, to int, with, pointer, about string) {
	line, column := f.Document.Position(at)
	f.edits = append(f.edits, edit{from, to, with, Repair{line, column, pointer, about}})
}

// replace replaces the text of a value.
func (f *fixer) replace(n *tree.Node, pointer, with, about string) {
	f.edit(n.Start, n.End, with, pointer, about)
}

// rename replaces the key of a member.
func (f *fixer) rename(m *tree.Member, pointer, to string) {
	f.edit(m.KeyStart, m.KeyEnd, strconv.Quote(to), pointer,
		fmt.Sprintf("renamed %q to %q", m.Key, to))
}

// remove removes a member with the comma after it or, for the last one, the comma before
// it, and the whitespace before it.
func (f *fixer) remove(m *tree.Member, pointer, about string) {
	from := m.KeyStart
	to := m.Value.End
	for from > 0 && strings.ContainsRune(" \t\r\n", rune(f.text[from-1])) {
		from--
	}
	next := jsonscan.Space(f.text, to)
	if next < len(f.text) && f.text[next] == ',' {
		to = next + 1
	} else if from > 0 && f.text[from-1] == ',' {
		from--
	}
	f.editAt(m.KeyStart, from, to, "", pointer, about)
}

// fixVersion repairs the version. known means that a known one is already set.
func (f *fixer) fixVersion(known bool) {
	written := f.root.Member("manifest_version")
	old := f.root.Member("dxt_version")
	isKnown := func(m *tree.Member) bool {
		return slices.Contains(Versions(), m.Value.String())
	}
	switch {
	case old != nil && written != nil && isKnown(written):
		f.remove(old, "/dxt_version", `removed "dxt_version", the old name of "manifest_version"`)
	case old != nil && written == nil && isKnown(old):
		f.rename(old, "/dxt_version", "manifest_version")
	case !known && written != nil && written.Value.Is(tree.Number) && isKnown(written):
		f.replace(written.Value, "/manifest_version",
			strconv.Quote(written.Value.Text), "made the version a string")
	}
}

// needed returns the first version that knows every top-level field and the type of the
// server.
func (f *fixer) needed() string {
	if textOf(f.root.Get("server", "type")) == TypeUV {
		return "0.4"
	}
	version := ""
	for _, field := range manifestSchema("0.4").fields {
		if f.root.Member(field.name) != nil {
			version = max(version, field.since)
		}
	}
	return version
}

// object repairs the members of an object, and the names that no field has.
func (f *fixer) object(n *tree.Node, s *valueSchema, pointer, version string) {
	for _, m := range membersOf(n) {
		below := pointerTo(pointer, m.Key)
		known := s.field(m.Key)
		switch {
		case s.fields == nil:
			f.value(m.Value, s.elem, below, version)
		case known == nil && !s.inexact:
			f.fixName(n, &m, s.names(version), below)
		case known == nil:
		case m.Value.Kind == tree.Null && !known.required:
			f.remove(&m, below, fmt.Sprintf("removed %q, which was null", m.Key))
		default:
			f.value(m.Value, known.schema, below, version)
		}
	}
}

// fixName renames a field if its right name is certain and not yet used, or drops it.
func (f *fixer) fixName(n *tree.Node, m *tree.Member, known []string, pointer string) {
	to := renamedField(m.Key)
	folded := foldField(m.Key)
	for _, name := range known {
		if foldField(name) == folded {
			to = name
		}
	}
	switch {
	case slices.Contains(known, to) && n.Member(to) == nil:
		f.rename(m, pointer, to)
	case f.drop:
		f.remove(m, pointer, fmt.Sprintf("removed the unknown field %q", m.Key))
	}
}

// foldField removes differences that people often get wrong: case and separators.
func foldField(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// value repairs the parts of an object or array, and a string that should have another type.
func (f *fixer) value(n *tree.Node, s *valueSchema, pointer, version string) {
	switch {
	case s.any || s.scalar:
	case n.Kind == s.kind && n.Kind == tree.Object:
		f.object(n, s, pointer, version)
	case n.Kind == s.kind && n.Kind == tree.Array:
		for i, item := range n.Items {
			f.value(item, s.elem, fmt.Sprintf("%s/%d", pointer, i), version)
		}
	case n.Kind == tree.String && s.kind != tree.String:
		f.fixString(n, s, pointer)
	}
}

// fixString converts a string to the type of the field, if its meaning is clear.
func (f *fixer) fixString(n *tree.Node, s *valueSchema, pointer string) {
	isBool := n.Text == "true" || n.Text == "false"
	isNumber := !isBool && n.Text != "null" && jsonscan.Valid([]byte(n.Text)) == nil &&
		!strings.ContainsAny(n.Text, "\"[{ \n")
	switch {
	case pointer == "/author":
		f.replace(n, pointer, authorObject(n.Text), "made the author an object")
	case pointer == "/repository":
		if url := repositoryURL(n.Text); url != "" {
			f.replace(n, pointer,
				fmt.Sprintf(`{ "type": "git", "url": %s }`, quote(url)), "made the repository an object")
		}
	case s.kind == tree.Array && s.elem.kind == tree.String && n.Text != "":
		f.replace(n, pointer, "["+string(f.text[n.Start:n.End])+"]",
			"turned the string into a list")
	case s.kind == tree.Bool && isBool, s.kind == tree.Number && isNumber:
		f.replace(n, pointer, n.Text, "removed the quotes from "+n.Text)
	}
}

// repositoryURL returns the URL that a repository in npm's form means, or "".
func repositoryURL(text string) string {
	text = strings.TrimPrefix(text, "git+")
	if name, ok := strings.CutPrefix(text, "github:"); ok {
		text = "https://github.com/" + name
	}
	if urlFault(text) != "" {
		return ""
	}
	return text
}

// parseAuthor parses "Name <address> (url)", npm's form for people. It omits an invalid
// address or URL.
func parseAuthor(s string) Author {
	name, url, _ := strings.Cut(s, "(")
	name, email, _ := strings.Cut(name, "<")
	trim := func(s, end string) string {
		return strings.TrimSuffix(strings.TrimSpace(s), end)
	}
	return validAuthor(Author{strings.TrimSpace(name), trim(email, ">"), trim(url, ")")})
}

// validAuthor omits an invalid address or URL.
func validAuthor(a Author) Author {
	if !isEmail(a.Email) {
		a.Email = ""
	}
	if urlFault(a.URL) != "" {
		a.URL = ""
	}
	return a
}

// authorObject returns the JSON object for an author in npm's form.
func authorObject(s string) string {
	a := parseAuthor(s)
	object := `{ "name": ` + quote(a.Name)
	if a.Email != "" {
		object += `, "email": ` + quote(a.Email)
	}
	if a.URL != "" {
		object += `, "url": ` + quote(a.URL)
	}
	return object + " }"
}

// quote returns s as a JSON string.
func quote(s string) string { return string(jsonscan.AppendQuote(nil, s)) }

// looseSyntax matches strings, comments, and commas that are followed by a closing bracket
// after only comments and whitespace.
const looseSyntax = `"(?:[^"\\]|\\.)*"|//[^\n]*|(?s:/\*.*?\*/)|,(?:\s|//[^\n]*\n|(?s:/\*.*?\*/))*[\]}]`

// fixSyntax removes comments and trailing commas, if that results in valid JSON.
func (f *fixer) fixSyntax() {
	comment := regexp.MustCompile(looseSyntax)
	for at := 0; ; {
		found := comment.FindIndex(f.text[at:])
		if found == nil {
			break
		}
		from := at + found[0]
		to := at + found[1]
		at = to
		switch f.text[from] {
		case '/':
			f.edit(from, to, "", "", "removed a comment")
		case ',':
			f.edit(from, from+1, "", "", "removed a comma before a closing bracket")
			at = from + 1
		}
	}
	fixed, _ := applyEdits(f.text, slices.Clone(f.edits))
	if jsonscan.Valid(fixed) != nil {
		f.edits = nil
	}
}
