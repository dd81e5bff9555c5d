package staticmcp

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// sheet collects the findings about one file.
type sheet struct {
	path string
	name string // as it appears in findings
	// text is the unmodified file; offsets count from its start.
	text []byte
	at   spot

	fixing   bool
	findings []check.Finding
	repairs  []repair
}

func (c *checker) sheet(path string, text []byte) *sheet {
	return &sheet{path: path, name: c.opts.Name + path, text: text, fixing: c.fixing}
}

// take moves the findings and repairs of a sheet to the report.
func (c *checker) take(s *sheet) {
	c.report.Add(s.findings...)
	c.repairs = append(c.repairs, s.repairs...)
}

// about adds a finding about a whole file.
func (c *checker) about(r rule, path, message, hint string) {
	s := c.sheet(path, nil)
	s.add(r, 0, "", message, hint)
	c.take(s)
}

// add adds a finding about the value at text[offset], with its JSON pointer.
func (s *sheet) add(r rule, offset int, pointer, message, hint string) {
	f := check.Finding{
		Rule:     ruleTable[r].ID,
		Severity: ruleTable[r].Severity,
		File:     s.name,
		Pointer:  pointer,
		Message:  message,
		Hint:     hint,
	}
	if s.text != nil {
		f.Line, f.Column = s.at.find(s.text, offset)
	}
	s.findings = append(s.findings, f)
}

// place adds findings of another package, which have no position, at text[offset].
func (s *sheet) place(offset int, pointer string, findings []check.Finding) {
	for _, f := range findings {
		f.File, f.Pointer = s.name, pointer
		f.Line, f.Column = s.at.find(s.text, offset)
		s.findings = append(s.findings, f)
	}
}

// repair records a repair for a finding if fixing.
func (s *sheet) repair(r repair) {
	if s.fixing {
		if r.file == "" {
			r.file = s.path
		}
		r.size = len(s.text)
		s.repairs = append(s.repairs, r)
	}
}

// spot caches the last position that was computed, so the next one is a short scan away:
// a manifest of many megabytes can have a great many findings.
type spot struct{ offset, line, column int }

// find returns the line and the character of text[offset], as
// [check.LineColumn] does.
func (p *spot) find(text []byte, offset int) (line, column int) {
	offset = max(0, min(offset, len(text)))
	if p.line == 0 || offset < p.offset {
		line, column := check.LineColumn(text, offset)
		*p = spot{offset, line, column}
		return line, column
	}
	between := text[p.offset:offset]
	if lines := bytes.Count(between, []byte{'\n'}); lines > 0 {
		p.line += lines
		p.column = 1
		between = between[bytes.LastIndexByte(between, '\n')+1:]
	}
	p.column += utf8.RuneCount(between)
	p.offset = offset
	return p.line, p.column
}

// whole checks that the file is one JSON value and returns where it begins. If it is not,
// the finding is added and ok is false.
func (s *sheet) whole() (begin int, ok bool) {
	if bytes.HasPrefix(s.text, byteOrderMark) {
		begin = len(byteOrderMark)
		s.add(ruleBOM, 0, "", "the file begins with a byte order mark", "write it without one")
		s.repair(repair{does: "remove the byte order mark", edits: []edit{{0, begin, nil}}})
	}
	body := s.text[begin:]
	at := jsonscan.Space(body, 0)
	switch {
	case at == len(body):
		s.add(ruleJSON, begin, "", "the file is empty", "")
		return begin, false
	case body[at] == '<' && s.path != manifestName:
		s.add(ruleHTML, begin+at, "", "the file is a web page, not JSON: readers take it for missing", "")
		return begin, false
	}
	if err := jsonscan.Valid(body); err != nil {
		offset, why := begin+at, err.Error()
		if e, ok := err.(*jsonscan.Error); ok {
			offset, why = begin+e.Offset, e.Reason
		}
		s.add(ruleJSON, offset, "", "not JSON: "+why, "")
		return begin, false
	}
	s.duplicates(begin + at)
	return begin + at, true
}

// duplicates reports repeated members of an object, anywhere in the file.
func (s *sheet) duplicates(at int) {
	walk := twins{text: s.text}
	_, _ = walk.value(at, 0)
	for _, t := range walk.found {
		s.add(ruleDuplicateKey, t.at, "", fmt.Sprintf("member %q is given twice in one object", t.key), "keep one of the two")
	}
}

// twins finds members with the same name in one object.
type twins struct {
	text  []byte
	found []twin
}

type twin struct {
	key string
	at  int
}

// maxTwins is how many are reported per file.
const maxTwins = 16

func (w *twins) value(i, depth int) (int, error) {
	i = jsonscan.Space(w.text, i)
	switch w.text[i] {
	case '{':
		var seen jsonscan.KeySet
		return jsonscan.Object(w.text, i, depth, func(key []byte, i int) (int, error) {
			if !seen.Add(key) && len(w.found) < maxTwins {
				w.found = append(w.found, twin{string(key), i})
			}
			return w.value(i, depth+1)
		})
	case '[':
		return jsonscan.Array(w.text, i, depth, func(i int) (int, error) { return w.value(i, depth+1) })
	}
	return jsonscan.ValueAt(w.text, i, depth)
}

// located is a member of an object and the offset of its value in the text.
type located struct {
	member
	at int
}

// locate returns the members of the valid object at text[at].
func locate(text []byte, at int) []located {
	var list []located
	_, _ = jsonscan.Object(text, at, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(text, i)
		if err == nil {
			list = append(list, located{member{string(key), text[i:end:end]}, i})
		}
		return end, err
	})
	return list
}

// named returns the last member called name, and whether it exists.
func named(list []located, name string) (located, bool) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name {
			return list[i], true
		}
	}
	return located{}, false
}

// each calls visit for each element of the valid array at text[at].
func each(text []byte, at int, visit func(place, at, end int)) {
	place := 0
	_, _ = jsonscan.Array(text, at, 0, func(i int) (int, error) {
		i = jsonscan.Space(text, i)
		end, err := jsonscan.Value(text, i)
		if err == nil {
			visit(place, i, end)
		}
		place++
		return end, err
	})
}

// kindOf returns the JSON type of a value in words.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// counted returns a count in words, such as "1 part" or "2 parts".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
