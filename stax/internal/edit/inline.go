package edit

import (
	"bytes"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// maxTries limits how many positions are tried as the end of a value in braces.
const maxTries = 256

// inline is a holder in braces: an inline table of TOML, or a flow mapping of YAML. Their
// parsers do not report where values end, so all possible positions are tried until the
// edit parses as intended.
type inline struct {
	// text is the file, and old what it contains.
	text       []byte
	t          Target
	old        *tree.Node
	start, end int // the braces are in this range
}

// inlineHolder returns the holder if it is in braces.
func inlineHolder(text []byte, old *tree.Node, t Target) (inline, bool) {
	m := old.Member(t.Root)
	if m == nil || m.Value.Kind != tree.Object || t.List ||
		t.Format == tree.YAML && !plainKey(text, m) {
		return inline{}, false
	}
	in := inline{
		text:  text,
		t:     t,
		old:   old,
		start: m.KeyEnd,
		end:   len(text),
	}
	if t.Format == tree.TOML {
		all := expressions(text)
		i := slices.IndexFunc(all, func(e expression) bool {
			return !e.header && slices.Equal(e.path, []string{t.Root})
		})
		if i < 0 {
			return inline{}, false
		}
		if i+1 < len(all) {
			in.end = all[i+1].start
		}
	}
	if t.Format == tree.YAML {
		for _, other := range old.Members {
			if other.KeyStart > m.KeyStart {
				in.end = min(in.end, other.KeyStart)
			}
		}
	}
	open := bytes.IndexByte(text[in.start:in.end], '{')
	separator := bytes.TrimSpace(text[in.start:max(in.start, in.start+open)])
	if open < 0 || len(separator) > 1 ||
		t.Format == tree.YAML && m.Value.Start != in.start+open {
		return inline{}, false
	}
	in.start += open + 1
	inside := func(e tree.Member) bool {
		return e.KeyStart >= in.start && e.KeyEnd <= in.end
	}
	for _, e := range m.Value.Members {
		if !inside(e) {
			return inline{}, false // merged from elsewhere
		}
	}
	return in, true
}

// entry returns an entry on one line, as the braces need it.
func (in *inline) entry(name string, value *tree.Node) string {
	if in.t.Format == tree.TOML {
		return tomlKey(name) + " = " + tomlValue(value)
	}
	return string(jsonscan.AppendQuote(nil, name)) + ": " + string(value.AppendJSON(nil))
}

// try returns the first of splices that makes exactly the intended change.
func (in *inline) try(name string, value *tree.Node, tries [][]splice) ([]splice, error) {
	for _, s := range tries[:min(len(tries), maxTries)] {
		_, err := verified(in.text, s, in.old, in.t, name, value)
		if err == nil {
			return s, nil
		}
	}
	return nil, ErrShape
}

// ends returns the positions at or after from where a value may end.
func (in *inline) ends(from int, marks string) (all []int) {
	for i := from; i < in.end; i++ {
		if bytes.IndexByte([]byte(marks), in.text[i]) >= 0 {
			all = append(all, i)
		}
	}
	return all
}

// back skips white space before a position.
func (in *inline) back(at int) int {
	return len(bytes.TrimRight(in.text[:at], " \t\r\n"))
}

// set adds or replaces an entry between braces. It is not known where values end, as the
// parsers report only where they begin, so each possible end is tried.
func (in *inline) set(name string, value *tree.Node) ([]splice, error) {
	var tries [][]splice
	with := in.entry(name, value)
	holder := in.old.Get(in.t.Root)
	if m := holder.Member(name); m != nil {
		for _, at := range in.ends(m.KeyEnd, ",}") {
			tries = append(tries, []splice{{m.KeyStart, in.back(at), with}})
		}
		return in.try(name, value, tries)
	}
	for _, at := range slices.Backward(in.ends(in.start, "}")) {
		behind := in.back(at)
		if len(holder.Members) == 0 {
			tries = append(tries, []splice{{behind, at, " " + with + " "}})
			continue
		}
		tries = append(tries,
			[]splice{{behind, behind, ", " + with}},
			[]splice{{behind, behind, " " + with}})
	}
	return in.try(name, value, tries)
}

// remove removes an entry with one comma, by trying each possible end.
func (in *inline) remove(name string) ([]splice, error) {
	m := in.old.Get(in.t.Root).Member(name)
	var tries [][]splice
	for _, at := range in.ends(m.KeyEnd, ",}") {
		before := in.back(m.KeyStart)
		end := in.back(at)
		switch {
		case in.text[before-1] == ',':
			tries = append(tries, []splice{{before - 1, end, ""}})
		case in.text[at] == ',':
			next := at + 1
			for next < in.end && in.text[next] == ' ' {
				next++
			}
			tries = append(tries, []splice{{m.KeyStart, next, ""}})
		default:
			tries = append(tries, []splice{{before, at, ""}})
		}
	}
	return in.try(name, nil, tries)
}
