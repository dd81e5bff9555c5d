package sitelint

import (
	"bytes"
	"slices"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// repair is a possible repair of a finding.
type repair struct {
	does string // in words, as in "rename it to ..."
	file string // the path; empty for that of the file

	edits  []edit // of the bytes of the file, in order
	size   int    // of the file when the edits were computed
	rename string // where to move it, or empty
	create bool   // it is a new and empty file
}

// edit replaces text[begin:end].
type edit struct {
	// begin and end are the bytes that text replaces.
	begin, end int
	text       []byte
}

// insertMember returns the edit that adds a member at the start of the object at
// text[at], using the same white space between tokens.
func insertMember(text []byte, at int, name, value string) edit {
	before := text[at+1 : jsonscan.Space(text, at+1)]
	var colon, comma []byte // what follows them
	list := located{
		value: text[at:],
		at:    at,
	}.members()
	if len(list) > 0 {
		colon = text[bytes.LastIndexByte(text[:list[0].at], ':')+1 : list[0].at]
	}
	if len(list) > 1 && len(before) == 0 {
		end := jsonscan.Space(text, list[0].at+len(list[0].value)) + 1
		comma = text[end:jsonscan.Space(text, end)]
	}
	member := append(append([]byte(nil), before...), site.Quote(name)...)
	member = append(append(append(member, ':'), colon...), value...)
	if len(list) > 0 {
		member = append(append(member, ','), comma...)
	}
	return edit{at + 1, at + 1, member}
}

// reorderMembers returns the edit that reorders the members of the object at text[at].
// The text between them stays in place.
func reorderMembers(text []byte, at int, order []string) edit {
	type span struct {
		name       string
		begin, end int
	}
	var spans []span
	last := at + 1
	for _, m := range (located{
		value: text[at:],
		at:    at,
	}).members() {
		// A member begins with the quote of its name, after white space and the comma.
		begin := jsonscan.Space(text, last)
		if text[begin] == ',' {
			begin = jsonscan.Space(text, begin+1)
		}
		last = m.at + len(m.value)
		spans = append(spans, span{m.name, begin, last})
	}
	var out []byte
	from := spans[0].begin
	for i, name := range order {
		k := slices.IndexFunc(spans, func(s span) bool { return s.name == name })
		out = append(out, text[from:spans[i].begin]...)
		out = append(out, text[spans[k].begin:spans[k].end]...)
		from = spans[i].end
	}
	return edit{spans[0].begin, from, out}
}

// apply makes edits, which are in order and do not overlap.
func apply(text []byte, edits []edit) []byte {
	var out []byte
	from := 0
	for _, e := range edits {
		out = append(append(out, text[from:e.begin]...), e.text...)
		from = e.end
	}
	return append(out, text[from:]...)
}
