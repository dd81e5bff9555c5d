package schema

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/decimal"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// errInvalid ends a quiet walk at the first problem, errBudget any walk.
var (
	errInvalid = errors.New("invalid")
	errBudget  = errors.New("budget exhausted")
)

// walker checks one text.
type walker struct {
	// doc is the text, and budget the work that is left for it, see budgetFor.
	doc    []byte
	budget int
	// stop, if not nil, ends the walk: errInvalid or errBudget.
	stop error
	// quiet, if not 0, requests only a verdict: no path is kept and no problem is worded.
	quiet int
	// again, if not 0, means that the value has been walked before: its syntax is known to
	// be valid, and repeated names have been reported.
	again   int
	deepest int // nesting of the arrays and objects so far

	path     []Segment
	problems []Problem
	more     int // problems not kept
}

// span is a value whose end is known, because it has been walked before.
type span struct{ start, end, depth int }

// text returns the bytes of a value.
func (w *walker) text(at span) []byte {
	return w.doc[at.start:at.end]
}

// value checks the value at i against n and returns its end. depth is the number of
// enclosing arrays and objects. The error is w.stop or a syntax error.
func (w *walker) value(n *node, i, depth int) (end int, err error) {
	i = jsonscan.Space(w.doc, i)
	if n == nil || i >= len(w.doc) {
		return w.anything(i, depth)
	}
	kind := kindOf(w.doc[i])
	if n.never || !n.types.accept(kind) {
		if w.reject() {
			return i, w.stop
		}
		if end, err = w.anything(i, depth); err == nil {
			w.failType(n, w.doc[i:end])
		}
		return end, err
	}
	switch kind {
	case kindObject:
		end, err = w.object(n.object, i, depth)
	case kindArray:
		end, err = w.array(n.array, i, depth)
	default:
		if end, err = jsonscan.ValueAt(w.doc, i, depth); err == nil {
			w.scalar(n, kind, w.doc[i:end])
		}
	}
	if err != nil {
		return end, err
	}
	at := span{i, end, depth}
	if n.enum != nil {
		w.enum(n.enum, kind, at)
	}
	if n.apply != nil {
		w.applied(n.apply, at)
	}
	if n.object != nil || n.array != nil {
		w.unevaluated(n, kind, at)
	}
	return end, w.stop
}

// accept reports whether a value that begins as kind may be in the set. Whether a number
// is an integer is checked later.
func (k kinds) accept(kind kinds) bool {
	return k == 0 || k&kind != 0 || kind == kindNumber && k&kindInteger != 0
}

// anything walks over an unconstrained value.
func (w *walker) anything(i, depth int) (int, error) {
	if w.again == 0 && i < len(w.doc) {
		switch w.doc[i] {
		case '{':
			return w.object(nil, i, depth)
		case '[':
			return w.array(nil, i, depth)
		}
	}
	return jsonscan.ValueAt(w.doc, i, depth)
}

// reject ends a quiet walk, and reports whether it did: then no message is needed.
func (w *walker) reject() bool {
	if w.quiet > 0 && w.stop == nil {
		w.stop = errInvalid
	}
	return w.quiet > 0
}

// unworded is reject, and counts a problem that is not kept: then no message is needed either. A text may have hundreds
// of thousands of problems.
func (w *walker) unworded() bool {
	if w.reject() {
		return true
	}
	if len(w.problems) < maxProblems {
		return false
	}
	w.more++
	return true
}

// fail reports a problem at the current path, or ends a quiet walk.
func (w *walker) fail(format string, args ...any) {
	if !w.unworded() {
		w.add(Problem{
			Path:    PathText(w.path),
			Pointer: pointerOf(w.path),
			Message: fmt.Sprintf(format, args...),
		})
	}
}

// failType reports a value that n does not accept by its type.
func (w *walker) failType(n *node, raw []byte) {
	switch {
	case n.never:
		w.fail("not allowed")
	case w.unworded():
	case n.enum != nil:
		w.fail("%s", n.enum.message(raw))
	default:
		w.fail("must be %s (got %s)", alternatives(n.types.texts()), Describe(raw))
	}
}

// failCount reports a count of items, members or characters outside its bounds. most is
// negative if there is none; suffix follows the noun.
func (w *walker) failCount(n, least, most int, noun, suffix string) {
	if n < least {
		w.fail("must have at least %s%s (got %d)", counted(least, noun), suffix, n)
	}
	if most >= 0 && n > most {
		w.fail("must have at most %s%s (got %d)", counted(most, noun), suffix, n)
	}
}

// add keeps a problem, or only counts it if there are too many.
func (w *walker) add(p Problem) {
	switch {
	case slices.Contains(w.problems, p):
	case len(w.problems) < maxProblems:
		w.problems = append(w.problems, p)
	default:
		w.more++
	}
}

// enterMember, enterItem and leave maintain the path, unless the walk is quiet.
func (w *walker) enterMember(key []byte) {
	if w.quiet == 0 {
		w.path = append(w.path, Segment{Name: string(key)})
	}
}

// enterItem adds an index to the path of problems. Every call is paired with leave.
func (w *walker) enterItem(index int) {
	if w.quiet == 0 {
		w.path = append(w.path, Segment{Index: index + 1})
	}
}

// leave removes the last step from the path.
func (w *walker) leave() {
	if w.quiet == 0 {
		w.path = w.path[:len(w.path)-1]
	}
}

// spend deducts work from the budget.
func (w *walker) spend(work int) {
	if w.budget -= work; w.budget < 0 && w.stop == nil {
		w.stop = errBudget
	}
}

// over checks a value against n as well.
func (w *walker) over(n *node, at span) {
	if n == nil {
		return
	}
	w.spend(64 + at.end - at.start)
	if w.stop != nil {
		return
	}
	w.again++
	_, _ = w.value(n, at.start, at.depth) // the syntax is valid
	w.again--
}

// accepts reports whether n accepts a value. It returns false if the walk has to stop.
func (w *walker) accepts(n *node, at span) bool {
	if w.stop != nil {
		return false
	}
	w.quiet++
	w.over(n, at)
	w.quiet--
	accepted := w.stop == nil
	if w.stop == errInvalid {
		w.stop = nil
	}
	return accepted
}

// enum checks a value against the values of an enum. It charges for each comparison unless
// the value is looked up in a set.
func (w *walker) enum(e *enumRule, kind kinds, at span) {
	raw := w.text(at)
	if e.texts == nil || kind != kindString {
		w.spend(len(e.values) * w.passes(kind, len(raw), at.depth))
	}
	if !e.accepts(raw, kind) && !w.unworded() {
		w.fail("%s", e.message(raw))
	}
}

// passes returns the approximate cost of comparing a value of that length.
func (w *walker) passes(kind kinds, length, depth int) int {
	if kind == kindObject || kind == kindArray {
		return length * (1 + max(0, w.deepest-depth))
	}
	return 8
}

// scalar checks a value other than an array or object.
func (w *walker) scalar(n *node, kind kinds, raw []byte) {
	switch {
	case kind == kindNumber:
		wantInteger := n.types&kindInteger != 0 && n.types&kindNumber == 0
		if !wantInteger && n.number == nil {
			return
		}
		d := decimal.Parse(raw)
		if wantInteger && !d.Integer() {
			w.failType(n, raw)
		} else if n.number != nil {
			w.number(n.number, &d, raw)
		}
	case kind == kindString && n.text != nil:
		w.string(n.text, raw)
	}
}

// number checks a number against all rules, so that each broken one is reported.
func (w *walker) number(r *numberRules, d *decimal.Number, raw []byte) {
	for k := range r.bounds {
		b := &r.bounds[k]
		c := d.Compare(&b.Number)
		if c == b.beyond || c == 0 && b.strict {
			w.fail("must be %s %s (got %s)", b.words, b.text, Describe(raw))
		}
	}
	if r.multiple != nil && !r.multiple.Divides(d) {
		w.fail("must be a multiple of %s (got %s)", r.multiple.Text, Describe(raw))
	}
}

// string checks the length of a string in code points and its pattern. The pattern is matched
// only while the budget lasts, as its cost grows with the text.
func (w *walker) string(r *textRules, raw []byte) {
	text, _ := jsonscan.UnquoteBytes(raw)
	if n := utf8.RuneCount(text); n == 0 && r.min == 1 {
		w.fail("must not be empty")
	} else {
		w.failCount(n, r.min, r.max, "character", "")
	}
	if r.pattern == nil {
		return
	}
	w.spend(len(text) * r.pattern.cost)
	if w.stop == nil && !r.pattern.match.Match(text) {
		w.fail("must match the pattern %s (got %s)", r.pattern.source, Describe(raw))
	}
}
