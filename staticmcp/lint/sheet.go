package lint

import (
	"bytes"
	"fmt"

	"github.com/slipway-mcp/slipway/staticmcp/internal/site"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// sheet collects the findings about one file.
type sheet struct {
	check.Reporter
	path string
	// text is the unmodified file; offsets count from its start.
	text []byte

	fixing  bool
	repairs []repair
}

func (c *checker) sheet(path string, text []byte) *sheet {
	s := &sheet{
		Reporter: c.in(path),
		path:     path,
		fixing:   c.fixing,
	}
	s.Report = &check.Report{Limit: c.report.Limit}
	s.setText(text)
	return s
}

// setText sets the text, in which findings have positions. It may be nil.
func (s *sheet) setText(text []byte) {
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

// take moves the findings and repairs of a sheet to the report.
func (c *checker) take(s *sheet) {
	c.report.Merge(s.Report)
	c.repairs = append(c.repairs, s.repairs...)
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

// whole checks that the file is one JSON value and returns where it begins. If it is not,
// the finding is added and ok is false.
func (s *sheet) whole() (begin int, ok bool) {
	if bytes.HasPrefix(s.text, site.ByteOrderMark) {
		begin = len(site.ByteOrderMark)
		s.At(0).Add(ruleBOM, "", "write it without one", "the file begins with a byte order mark")
		s.repair(repair{
			does:  "remove the byte order mark",
			edits: []edit{{0, begin, nil}},
		})
	}
	body := s.text[begin:]
	at := jsonscan.Space(body, 0)
	switch {
	case at == len(body):
		s.At(begin).Add(ruleJSON, "", "", "the file is empty")
		return begin, false
	case body[at] == '<' && s.path != site.ManifestName:
		s.At(begin+at).Add(ruleHTML, "", "", "the file is a web page, not JSON: readers take it for missing")
		return begin, false
	}
	if err := jsonscan.Valid(body); err != nil {
		offset := begin + at
		why := err.Error()
		if e, ok := err.(*jsonscan.Error); ok {
			offset = begin + e.Offset
			why = e.Reason
		}
		s.At(offset).Add(ruleJSON, "", "", "not JSON: %s", why)
		return begin, false
	}
	s.duplicates(begin + at)
	return begin + at, true
}

// duplicates reports repeated members of an object, anywhere in the file.
func (s *sheet) duplicates(at int) {
	walk := duplicateFinder{text: s.text}
	_, _ = walk.value(at, 0)
	for _, t := range walk.found {
		s.At(t.at).Add(ruleDuplicateKey, "", "keep one of the two", "member %q is given twice in one object", t.key)
	}
}

// duplicateFinder finds members with the same name in one object.
type duplicateFinder struct {
	text  []byte
	found []twin
}

type twin struct {
	key string
	at  int
}

// maxTwins is how many are reported per file.
const maxTwins = 16

func (w *duplicateFinder) value(i, depth int) (int, error) {
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
		return jsonscan.Array(w.text, i, depth, func(i int) (int, error) {
			return w.value(i, depth+1)
		})
	}
	return jsonscan.ValueAt(w.text, i, depth)
}

// located is a member of an object and the offset of its value in the text.
type located struct {
	name  string
	value []byte
	at    int
}

// locate returns the members of the valid object at text[at].
func locate(text []byte, at int) []located {
	var list []located
	_, _ = jsonscan.Object(text, at, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(text, i)
		if err == nil {
			list = append(list, located{string(key), text[i:end:end], i})
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
