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
	doc    []byte
	budget int
	// quiet, if not 0, requests only a verdict: no path is kept and no problem is worded.
	quiet int
	// again, if not 0, means that the value has been walked before: its syntax is known to
	// be valid, and repeated names have been reported.
	again   int
	deepest int // nesting of the arrays and objects so far

	path     []segment
	problems []Problem
	more     int // problems not kept
}

// value checks the value at i against n and returns its end. depth is the number of
// enclosing arrays and objects.
func (w *walker) value(n *node, i, depth int) (end int, err error) {
	i = jsonscan.Space(w.doc, i)
	if n == nil || i >= len(w.doc) {
		return w.anything(i, depth)
	}
	if n.never {
		if err := w.fail(func() string { return "not allowed" }); err != nil {
			return i, err
		}
		return w.anything(i, depth)
	}
	kind := kindOf(w.doc[i])
	if ok := n.types.accept(kind); !ok {
		return w.wrongType(n, i, depth)
	}
	switch kind {
	case kindObject:
		end, err = w.object(n.object, i, depth)
	case kindArray:
		end, err = w.array(n.array, i, depth)
	default:
		if end, err = jsonscan.ValueAt(w.doc, i, depth); err == nil {
			err = w.scalar(n, kind, w.doc[i:end])
		}
	}
	if err == nil && n.enum != nil {
		err = w.enum(n.enum, kind, i, end, depth)
	}
	if err == nil && n.apply != nil {
		err = w.applied(n.apply, i, end, depth)
	}
	if err == nil && (kind == kindObject || kind == kindArray) {
		err = w.unevaluated(n, kind, i, end, depth)
	}
	return end, err
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

func (w *walker) wrongType(n *node, i, depth int) (int, error) {
	if w.quiet > 0 {
		return i, errInvalid
	}
	end, err := w.anything(i, depth)
	if err == nil {
		err = w.failType(n, w.doc[i:end])
	}
	return end, err
}

func (w *walker) failType(n *node, raw []byte) error {
	return w.fail(func() string {
		if n.enum != nil {
			return n.enum.message(raw)
		}
		return fmt.Sprintf("must be %s (got %s)", alternatives(n.types.texts()), got(raw))
	})
}

// fail records a problem at the current path, or ends a quiet walk.
func (w *walker) fail(message func() string) error {
	if w.quiet > 0 {
		return errInvalid
	}
	p := Problem{Path: pathText(w.path), Message: message()}
	w.add(p)
	return nil
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

// enter and leave maintain the path, unless the walk is quiet.
func (w *walker) enter(s segment) {
	if w.quiet == 0 {
		w.path = append(w.path, s)
	}
}

func (w *walker) leave() {
	if w.quiet == 0 {
		w.path = w.path[:len(w.path)-1]
	}
}

// spend deducts work from the budget.
func (w *walker) spend(work int) error {
	if w.budget -= work; w.budget < 0 {
		return errBudget
	}
	return nil
}

// over checks doc[i:end], which has been walked before, against n as well.
func (w *walker) over(n *node, i, end, depth int) error {
	if n == nil {
		return nil
	}
	if err := w.spend(64 + end - i); err != nil {
		return err
	}
	w.again++
	_, err := w.value(n, i, depth)
	w.again--
	return err
}

// accepts reports whether n accepts doc[i:end], which has been walked before. The error
// can only be errBudget.
func (w *walker) accepts(n *node, i, end, depth int) (bool, error) {
	w.quiet++
	err := w.over(n, i, end, depth)
	w.quiet--
	if errors.Is(err, errInvalid) {
		return false, nil
	}
	return err == nil, err
}

func (w *walker) enum(e *enumRule, kind kinds, i, end, depth int) error {
	raw := w.doc[i:end]
	if e.texts == nil || kind != kindString {
		if err := w.spend(len(e.values) * w.passes(kind, len(raw), depth)); err != nil {
			return err
		}
	}
	if e.accepts(raw, kind) {
		return nil
	}
	return w.fail(func() string { return e.message(raw) })
}

// passes returns the approximate cost of comparing a value of that length.
func (w *walker) passes(kind kinds, length, depth int) int {
	if kind == kindObject || kind == kindArray {
		return length * (1 + max(0, w.deepest-depth))
	}
	return 8
}

// scalar checks a value other than an array or object.
func (w *walker) scalar(n *node, kind kinds, raw []byte) error {
	switch kind {
	case kindNumber:
		wantInteger := n.types&kindInteger != 0 && n.types&kindNumber == 0
		if !wantInteger && n.number == nil {
			return nil
		}
		d := decimal.Parse(raw)
		if wantInteger && !d.Integer() {
			return w.failType(n, raw)
		}
		if n.number != nil {
			return w.number(n.number, &d, raw)
		}
	case kindString:
		if n.text != nil {
			return w.text(n.text, raw)
		}
	}
	return nil
}

func (w *walker) number(r *numberRules, d *decimal.Number, raw []byte) error {
	for k := range r.bounds {
		b := &r.bounds[k]
		if c := d.Compare(&b.Number); c == b.beyond || c == 0 && b.strict {
			if err := w.fail(func() string {
				return fmt.Sprintf("must be %s %s (got %s)", b.words, b.text, got(raw))
			}); err != nil {
				return err
			}
		}
	}
	if r.multiple != nil && !r.multiple.Divides(d) {
		return w.fail(func() string {
			return fmt.Sprintf("must be a multiple of %s (got %s)", r.multiple.Text, got(raw))
		})
	}
	return nil
}

func (w *walker) text(r *textRules, raw []byte) error {
	text, _ := jsonscan.UnquoteBytes(raw)
	n := utf8.RuneCount(text)
	if n < r.min {
		if err := w.fail(func() string { return tooShort(r.min, n) }); err != nil {
			return err
		}
	}
	if r.max >= 0 && n > r.max {
		if err := w.fail(func() string {
			return fmt.Sprintf("must have at most %s (got %d)", counted(r.max, "character"), n)
		}); err != nil {
			return err
		}
	}
	if r.pattern == nil {
		return nil
	}
	if err := w.spend(len(text) * r.pattern.cost); err != nil {
		return err
	}
	if r.pattern.match.Match(text) {
		return nil
	}
	return w.fail(func() string {
		return fmt.Sprintf("must match the pattern %s (got %s)", r.pattern.source, got(raw))
	})
}

func tooShort(least, n int) string {
	if least == 1 {
		return "must not be empty"
	}
	return fmt.Sprintf("must have at least %s (got %d)", counted(least, "character"), n)
}
