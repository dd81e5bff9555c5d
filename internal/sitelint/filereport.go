package sitelint

import (
	"bytes"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// fileReport collects the findings about one file.
type fileReport struct {
	check.Reporter
	// path is the file in the site, for findings.
	path string
	// text is the unmodified file; offsets count from its start.
	text []byte

	// fixing is as in checker. repairs are those for this file.
	fixing  bool
	repairs []repair
}

// newFileReport returns a report for the file at path. Its findings are in the report after
// [checker.take].
func (c *checker) newFileReport(path string, text []byte) *fileReport {
	s := &fileReport{
		Reporter: c.in(path),
		path:     path,
		fixing:   c.fixing,
	}
	s.Report = &check.Report{Limit: c.report.Limit}
	s.setText(text)
	return s
}

// setText sets the text, in which findings have positions. It may be nil.
func (s *fileReport) setText(text []byte) {
	s.text = text
	s.Document = nil
	if text != nil {
		s.Document = &check.Document{Text: text}
	}
}

// in returns a reporter for a whole file.
func (c *checker) in(path string) check.Reporter {
	return check.Reporter{
		Report: c.report,
		File:   c.opts.Name + path,
	}
}

// take moves the findings and repairs of a file to the report.
func (c *checker) take(s *fileReport) {
	c.report.Merge(s.Report)
	c.repairs = append(c.repairs, s.repairs...)
}

// repair records a repair for a finding if fixing.
func (s *fileReport) repair(r repair) {
	if s.fixing {
		if r.file == "" {
			r.file = s.path
		}
		r.size = len(s.text)
		s.repairs = append(s.repairs, r)
	}
}

// whole checks that the file is one JSON value, and returns it. If it is not, the finding
// is added and ok is false.
func (s *fileReport) whole() (root located, ok bool) {
	begin := 0
	if bytes.HasPrefix(s.text, site.ByteOrderMark) {
		begin = len(site.ByteOrderMark)
		s.At(0).Add(ruleBOM, "", "save the file without it",
			"the file begins with a byte order mark")
		s.repair(repair{
			does:  "remove the byte order mark",
			edits: []edit{{0, begin, nil}},
		})
	}
	body := s.text[begin:]
	at := jsonscan.Space(body, 0)
	root = located{
		value: body[at:],
		at:    begin + at,
	}
	switch {
	case at == len(body):
		s.At(begin).Add(ruleJSON, "", "", "the file is empty")
		return root, false
	case root.is('<') && s.path != site.ManifestName:
		s.At(root.at).Add(ruleHTML, "", "",
			"the file is a web page, not JSON; readers treat it as missing")
		return root, false
	}
	if err := jsonscan.Valid(body); err != nil {
		offset := root.at
		why := err.Error()
		if e, ok := err.(*jsonscan.Error); ok {
			offset = begin + e.Offset
			why = e.Reason
		}
		s.At(offset).Add(ruleJSON, "", "", "not JSON: %s", why)
		return root, false
	}
	s.reportDuplicates(root.at)
	return root, true
}

// reportDuplicates reports repeated members of an object, anywhere in the file.
func (s *fileReport) reportDuplicates(at int) {
	walk := duplicateFinder{text: s.text}
	_, _ = walk.value(at, 0)
	for _, m := range walk.found {
		s.At(m.at).Add(ruleDuplicateKey, "", "remove one of them",
			"duplicate member %q", m.name)
	}
}

// duplicateFinder finds members with the same name in one object.
type duplicateFinder struct {
	// text is the document, and found are the members that repeat an earlier key.
	text  []byte
	found []located
}

// maxDuplicates is how many repeated members are reported per file.
const maxDuplicates = 16

// value visits the value at text[i] and returns its end. depth is as in [jsonscan.Object].
func (w *duplicateFinder) value(i, depth int) (int, error) {
	i = jsonscan.Space(w.text, i)
	switch w.text[i] {
	case '{':
		var seen jsonscan.KeySet
		return jsonscan.Object(w.text, i, depth, func(key []byte, i int) (int, error) {
			if !seen.Add(key) && len(w.found) < maxDuplicates {
				w.found = append(w.found, located{
					name: string(key),
					at:   i,
				})
			}
			return w.value(i, depth+1)
		})
	case '[':
		return jsonscan.Array(w.text, i, depth, func(i int) (int, error) {
			return w.value(i, depth+1)
		})
	}
	return jsonscan.ValueAt(w.text, i, depth)
}

// located is a valid JSON value with its offset in the file. The zero value is a missing
// member.
type located struct {
	name string // of the member
	// value is a part of the text of the file, and at its offset there.
	value []byte
	at    int
}

// is reports whether the value exists and begins with c, such as '{' for an object.
func (v located) is(c byte) bool {
	return len(v.value) > 0 && v.value[0] == c
}

// missing reports whether the member does not exist.
func (v located) missing() bool { return v.value == nil }

// isTrue reports whether the value is true.
func (v located) isTrue() bool { return v.is('t') }

// text returns the text of a string, and "" for other values.
func (v located) text() string {
	if !v.is('"') {
		return ""
	}
	text, _ := jsonscan.Unquote(v.value)
	return text
}

// kind returns the JSON type of the value in words.
func (v located) kind() string {
	switch v.value[0] {
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

// members are the members of an object, in the order of the file.
type members []located

// members returns the members of an object, and nil for other values.
func (v located) members() members {
	if !v.is('{') {
		return nil
	}
	var list members
	_, _ = jsonscan.Object(v.value, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(v.value, i)
		if err == nil {
			list = append(list, located{
				name:  string(key),
				value: v.value[i:end:end],
				at:    v.at + i,
			})
		}
		return end, err
	})
	return list
}

// get returns the last member called name, or the zero value.
func (list members) get(name string) located {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name {
			return list[i]
		}
	}
	return located{}
}

// each calls visit for each element of an array, with its index.
func (v located) each(visit func(i int, element located)) {
	if !v.is('[') {
		return
	}
	index := 0
	_, _ = jsonscan.Array(v.value, 0, 0, func(at int) (int, error) {
		at = jsonscan.Space(v.value, at)
		end, err := jsonscan.Value(v.value, at)
		if err == nil {
			visit(index, located{
				value: v.value[at:end:end],
				at:    v.at + at,
			})
		}
		index++
		return end, err
	})
}

// requireKind reports a value that is not of the wanted kind, such as "an object", and
// returns whether it is. what names the value in the message.
func (s *fileReport) requireKind(rule check.Rule, v located, pointer, what, want string) bool {
	got := v.kind()
	if got != want {
		s.At(v.at).Add(rule, pointer, "", "%s is %s, not %s", what, got, want)
	}
	return got == want
}

// counted returns a count in words, such as "1 part" or "2 parts".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
