package schema

import (
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// applied checks the value doc[i:end] against the other schemas that apply to it.
func (w *walker) applied(a *applyRules, i, end, depth int) error {
	if err := w.over(a.ref, i, end, depth); err != nil {
		return err
	}
	for _, n := range a.all {
		if err := w.over(n, i, end, depth); err != nil {
			return err
		}
	}
	if a.hasAny {
		if err := w.anyOf(a.any, i, end, depth); err != nil {
			return err
		}
	}
	if a.hasOne {
		if err := w.oneOf(a.one, i, end, depth); err != nil {
			return err
		}
	}
	if a.hasNot {
		if err := w.not(a.not, i, end, depth); err != nil {
			return err
		}
	}
	if a.hasIf {
		return w.conditional(a, i, end, depth)
	}
	return nil
}

func (w *walker) anyOf(forms []*node, i, end, depth int) error {
	for _, n := range forms {
		if ok, err := w.accepts(n, i, end, depth); ok || err != nil {
			return err
		}
	}
	return w.noForm(forms, i, end, depth)
}

func (w *walker) oneOf(forms []*node, i, end, depth int) error {
	matched, sure := 0, 0
	for _, n := range forms {
		ok, err := w.accepts(n, i, end, depth)
		if err != nil {
			return err
		}
		if ok {
			matched++
			if !n.isUnsure() {
				sure++
			}
		}
	}
	switch {
	case matched == 0:
		return w.noForm(forms, i, end, depth)
	case sure > 1:
		return w.fail(func() string {
			return fmt.Sprintf("must match exactly one of %d forms, but matches %d", len(forms), sure)
		})
	}
	return nil
}

func (w *walker) not(n *node, i, end, depth int) error {
	ok, err := w.accepts(n, i, end, depth)
	if err != nil || !ok || n.isUnsure() {
		return err
	}
	return w.fail(func() string {
		if what := n.describe(); what != "" {
			return fmt.Sprintf("must not be %s (got %s)", what, got(w.doc[i:end]))
		}
		return "has a form that is not allowed"
	})
}

func (w *walker) conditional(a *applyRules, i, end, depth int) error {
	ok, err := w.accepts(a.when, i, end, depth)
	switch {
	case err != nil:
		return err
	case !ok:
		return w.over(a.or, i, end, depth)
	case a.when.isUnsure():
		return nil
	}
	return w.over(a.then, i, end, depth)
}

// noForm reports a value that none of forms accepts. If one form is clearly the intended
// one, its problems are reported.
func (w *walker) noForm(forms []*node, i, end, depth int) error {
	if w.quiet > 0 {
		return errInvalid
	}
	problems, err := w.closest(forms, i, end, depth)
	if err != nil {
		return err
	}
	if problems != nil {
		for _, p := range problems {
			w.add(p)
		}
		return nil
	}
	return w.fail(func() string {
		var texts []string
		for _, n := range forms {
			text := n.describe()
			if text == "" {
				return fmt.Sprintf("matches none of the %d accepted forms (got %s)", len(forms), got(w.doc[i:end]))
			}
			texts = append(texts, text)
		}
		return fmt.Sprintf("must be %s (got %s)", alternatives(texts), got(w.doc[i:end]))
	})
}

// closest returns the problems of the form with the fewest, among those that accept the
// value's type. It returns nil if several forms tie.
func (w *walker) closest(forms []*node, i, end, depth int) ([]Problem, error) {
	kind := kindOf(w.doc[i])
	best, tie := []Problem(nil), false
	for _, n := range forms {
		if n == nil || n.never || !n.resolved().types.accept(kind) {
			continue
		}
		sub := walker{doc: w.doc, budget: w.budget, again: 1, deepest: w.deepest, path: w.path}
		err := sub.over(n, i, end, depth)
		w.budget = sub.budget
		switch {
		case err != nil:
			return nil, err
		case best == nil || len(sub.problems) < len(best):
			best, tie = sub.problems, false
		case len(sub.problems) == len(best):
			tie = true
		}
	}
	if tie {
		return nil, nil
	}
	return best, nil
}

// resolved follows n to the node that holds its type, if n is only a reference.
func (n *node) resolved() *node {
	for range MaxDepth {
		if n.types != 0 || n.apply == nil || n.apply.ref == nil {
			break
		}
		n = n.apply.ref
	}
	return n
}

func (n *node) isUnsure() bool { return n != nil && n.unsure }

// unevaluated checks the members or items that neither n nor any other schema applied to
// the same value has evaluated.
func (w *walker) unevaluated(n *node, kind kinds, i, end, depth int) error {
	members := kind == kindObject && n.object != nil && n.object.hasUnevaluated
	items := kind == kindArray && n.array != nil && n.array.hasUnevaluated
	if !members && !items {
		return nil
	}
	others, err := w.others(nil, n, i, end, depth)
	if err != nil {
		return err
	}
	if members {
		return w.unevaluatedMembers(n.object, others, i, depth)
	}
	return w.unevaluatedItems(n.array, others, i, depth)
}

// others appends to found the nodes that n applies to the value doc[i:end] and that
// accept it, recursively.
func (w *walker) others(found []*node, n *node, i, end, depth int) ([]*node, error) {
	candidates, err := w.inForce(n, i, end, depth)
	if err != nil {
		return nil, err
	}
	for _, c := range candidates {
		if c == nil {
			continue
		}
		ok, err := w.accepts(c, i, end, depth)
		if err == nil && ok {
			found, err = w.others(append(found, c), c, i, end, depth)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// inForce returns the nodes that n applies to the value doc[i:end], whether or not they
// accept it.
func (w *walker) inForce(n *node, i, end, depth int) ([]*node, error) {
	var nodes []*node
	if a := n.apply; a != nil {
		nodes = slices.Concat([]*node{a.ref}, a.all, a.any, a.one)
		if a.hasIf {
			ok, err := w.accepts(a.when, i, end, depth)
			if err != nil {
				return nil, err
			}
			if ok {
				nodes = append(nodes, a.when, a.then)
			} else {
				nodes = append(nodes, a.or)
			}
		}
	}
	if n.object != nil && w.doc[i] == '{' {
		for _, d := range n.object.needs {
			if d.schema != nil && w.hasMember(n.object.names[d.on].text, i, depth) {
				nodes = append(nodes, d.schema)
			}
		}
	}
	return nodes, nil
}

func (w *walker) hasMember(name string, i, depth int) (found bool) {
	_, _ = jsonscan.Object(w.doc, i, depth, func(key []byte, at int) (int, error) {
		found = found || string(key) == name
		return jsonscan.ValueAt(w.doc, at, depth+1)
	})
	return found
}

func (w *walker) unevaluatedMembers(o *objectRules, others []*node, i, depth int) error {
	_, err := jsonscan.Object(w.doc, i, depth, func(key []byte, at int) (int, error) {
		end, err := jsonscan.ValueAt(w.doc, at, depth+1)
		if err != nil || o.evaluates(key, false) {
			return end, err
		}
		if err := w.spend(64 * len(others)); err != nil {
			return end, err
		}
		for _, n := range others {
			if n.object != nil && n.object.evaluates(key, true) {
				return end, nil
			}
		}
		w.enter(segment{key: key})
		defer w.leave()
		if o.unevaluated != nil && o.unevaluated.never {
			return end, w.fail(func() string { return o.unknown(string(key), depth+1) })
		}
		return end, w.over(o.unevaluated, at, end, depth+1)
	})
	return err
}

// evaluates reports whether o evaluates the member key. If o is foreign, that includes
// its unevaluatedProperties.
func (o *objectRules) evaluates(key []byte, foreign bool) bool {
	if o.hasAdditional || foreign && o.hasUnevaluated {
		return true
	}
	if k := o.find(key); k >= 0 && o.names[k].declared {
		return true
	}
	for _, p := range o.patterns {
		if p.pattern.match.Match(key) {
			return true
		}
	}
	return o.hidden
}

func (w *walker) unevaluatedItems(a *arrayRules, others []*node, i, depth int) error {
	k := 0
	_, err := jsonscan.Array(w.doc, i, depth, func(at int) (int, error) {
		place := k
		k++
		at = jsonscan.Space(w.doc, at)
		end, err := jsonscan.ValueAt(w.doc, at, depth+1)
		if err != nil {
			return end, err
		}
		done, err := w.evaluatesItem(a, false, place, at, end, depth+1)
		for _, n := range others {
			if err != nil || done {
				break
			}
			if n.array != nil {
				done, err = w.evaluatesItem(n.array, true, place, at, end, depth+1)
			}
		}
		if err != nil || done {
			return end, err
		}
		w.enter(segment{place: place})
		defer w.leave()
		return end, w.over(a.unevaluated, at, end, depth+1)
	})
	return err
}

func (w *walker) evaluatesItem(a *arrayRules, foreign bool, place, i, end, depth int) (bool, error) {
	if a.hasItems || place < len(a.prefix) || foreign && a.hasUnevaluated {
		return true, nil
	}
	if !a.hasContains {
		return false, nil
	}
	return w.accepts(a.contains, i, end, depth)
}
