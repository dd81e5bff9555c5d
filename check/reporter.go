package check

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Reporter reports findings about one file to a [Report]. It is a small value: copy it to
// report about another place, with [Reporter.At], [Reporter.AtLine], [Reporter.In] or
// [Reporter.Under]. Like
// its report, it is not safe for concurrent use.
type Reporter struct {
	// Report receives the findings.
	Report *Report
	// File is the file of the findings.
	File string
	// Document finds lines and columns. If it is nil, the findings have none.
	Document *Document
	// Redact removes secrets from messages and hints. Nil keeps them as they are.
	Redact func(string) string

	prefix       string // of pointers
	offset       int    // in the text of the document, if placed
	placed       bool
	line, column int // if not zero, the place
}

// At returns a reporter for the byte of the document at offset. Otherwise, the pointers
// of findings are looked up.
func (r Reporter) At(offset int) Reporter {
	r.offset = offset
	r.placed = true
	return r
}

// AtLine returns a reporter for a place that is known, with or without a document. A
// column of 0 means none.
func (r Reporter) AtLine(line, column int) Reporter {
	r.line = line
	r.column = column
	return r
}

// In returns a reporter for another file, without positions.
func (r Reporter) In(file string) Reporter {
	r.File = file
	r.Document = nil
	return r
}

// Under returns a reporter that prefixes pointers.
func (r Reporter) Under(pointer string) Reporter {
	r.prefix += pointer
	return r
}

// Add reports a violation of rule by the value at pointer. The message is formatted as by
// fmt.Sprintf. An empty hint means that of the rule. Findings over the limit of the
// report are only counted, so their positions are not computed.
func (r Reporter) Add(rule Rule, pointer, hint, format string, args ...any) {
	if r.Report.full(rule.Severity) {
		r.Report.counts[rule.Severity]++
		return
	}
	r.Report.Add(r.Finding(rule, pointer, hint, format, args...))
}

// Finding returns what [Reporter.Add] adds.
func (r Reporter) Finding(rule Rule, pointer, hint, format string, args ...any) Finding {
	f := Finding{
		Rule:     rule,
		Severity: rule.Severity,
		File:     r.File,
		Pointer:  r.prefix + pointer,
		Message:  fmt.Sprintf(format, args...),
		Hint:     cmp.Or(hint, rule.Hint),
	}
	if r.Redact != nil {
		f.Message, f.Hint = r.Redact(f.Message), r.Redact(f.Hint)
	}
	r.setPosition(&f)
	return f
}

// Include adds a finding that was made without a place, such as one of a check of names,
// as a finding about the value at pointer.
func (r Reporter) Include(f Finding, pointer string) {
	f.File = r.File
	f.Pointer = r.prefix + pointer
	r.setPosition(&f)
	r.Report.Add(f)
}

// setPosition sets the position of a finding in the document.
func (r Reporter) setPosition(f *Finding) {
	f.Line = r.line
	f.Column = r.column
	f.EndColumn = 0
	if r.line > 0 || r.Document == nil {
		return
	}
	offset := r.offset
	if !r.placed {
		offset = r.Document.find(f.Pointer)
	}
	f.Line, f.Column = r.Document.Position(offset)
	if n := r.Document.width(offset); n > 0 {
		f.EndColumn = f.Column + n
	}
}

// Document is a text in which findings have lines and columns.
type Document struct {
	// Text is the text as it is in the file.
	Text []byte
	// Find returns the offset of the value at a JSON pointer or, if that does not exist, of
	// its deepest existing ancestor. Default: [Offset] of the text, which must be JSON.
	Find func(pointer string) int

	// The last position is kept, as most findings are in the order of the text: the next one
	// is a short scan away, also in a text of many megabytes.
	last struct{ offset, line, column int }
}

func (d *Document) find(pointer string) int {
	if d.Find != nil {
		return d.Find(pointer)
	}
	body := bytes.TrimPrefix(d.Text, []byte(byteOrderMark))
	offset, _ := Offset(body, pointer)
	return offset + len(d.Text) - len(body)
}

// maxWidth is the length in bytes of the longest value whose end is looked up.
const maxWidth = 1 << 10

// width returns the number of characters of the JSON value at offset, or 0 if the value is
// long, does not end on its line, or is not JSON.
func (d *Document) width(offset int) int {
	if d.Find != nil || offset >= len(d.Text) {
		return 0
	}
	rest := d.Text[offset:min(len(d.Text), offset+maxWidth)]
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	end, err := jsonscan.Value(line, 0)
	if err != nil || end == maxWidth {
		return 0
	}
	return utf8.RuneCount(line[:end])
}

// Position is [LineColumn] for the text, but fast for increasing offsets.
func (d *Document) Position(offset int) (line, column int) {
	offset = max(0, min(offset, len(d.Text)))
	p := &d.last
	if offset < p.offset || p.offset < len(byteOrderMark) {
		p.offset = offset
		p.line, p.column = LineColumn(d.Text, offset)
		return p.line, p.column
	}
	between := d.Text[p.offset:offset]
	if lines := bytes.Count(between, []byte{'\n'}); lines > 0 {
		p.line += lines
		p.column = 1
		between = between[bytes.LastIndexByte(between, '\n')+1:]
	}
	p.column += utf8.RuneCount(between)
	p.offset = offset
	return p.line, p.column
}
