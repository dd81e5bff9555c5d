package schema

import (
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// applied checks a value against the other schemas that apply to it.
func (w *walker) applied(a *applyRules, at span) {
	w.over(a.ref, at)
	for _, n := range a.all {
		w.over(n, at)
	}
	if a.any != nil && !slices.ContainsFunc(a.any, func(n *node) bool {
		return w.accepts(n, at)
	}) {
		w.failForms(a.any, at)
	}
	if a.one != nil {
		w.oneOf(a.one, at)
	}
	if a.not != nil && w.accepts(a.not, at) && !a.not.unsure {
		if what := a.not.describe(); what != "" {
			w.fail("must not be %s (got %s)", what, Describe(w.text(at)))
		} else {
			w.fail("has a form that is not allowed")
		}
	}
	if a.when != nil {
		if !w.accepts(a.when, at) {
			w.over(a.or, at)
		} else if !a.when.unsure {
			w.over(a.then, at)
		}
	}
}

// oneOf requires exactly one match. Forms with keywords that are not verified may match
// too often, so only certain matches count as too many.
func (w *walker) oneOf(forms []*node, at span) {
	matched := 0
	sure := 0
	for _, n := range forms {
		if w.accepts(n, at) {
			matched++
			if !n.unsure {
				sure++
			}
		}
	}
	if matched == 0 {
		w.failForms(forms, at)
	} else if sure > 1 {
		w.fail("must match exactly one of %d forms, but matches %d", len(forms), sure)
	}
}

// failForms reports a value that none of forms accepts. If one form is clearly the
// intended one, its problems are reported.
func (w *walker) failForms(forms []*node, at span) {
	if w.stop != nil || w.unworded() {
		return
	}
	problems := w.closest(forms, at)
	if problems != nil || w.stop != nil {
		for _, p := range problems {
			w.add(p)
		}
		return
	}
	var texts []string
	for _, n := range forms {
		text := n.describe()
		if text == "" {
			w.fail("matches none of the %d accepted forms (got %s)", len(forms),
				Describe(w.text(at)))
			return
		}
		texts = append(texts, text)
	}
	w.fail("must be %s (got %s)", alternatives(texts), Describe(w.text(at)))
}

// closest returns the problems of the form with the fewest, among those that accept the
// value's type. It returns nil if several forms tie.
func (w *walker) closest(forms []*node, at span) []Problem {
	kind := kindOf(w.doc[at.start])
	var best []Problem
	isTie := false
	for _, n := range forms {
		if n.never || !n.resolved().types.accept(kind) {
			continue
		}
		sub := walker{
			doc:     w.doc,
			budget:  w.budget,
			again:   1,
			deepest: w.deepest,
			path:    w.path,
		}
		sub.over(n, at)
		w.budget = sub.budget
		w.stop = sub.stop
		switch {
		case w.stop != nil:
			return nil
		case best == nil || len(sub.problems) < len(best):
			best = sub.problems
			isTie = false
		case len(sub.problems) == len(best):
			isTie = true
		}
	}
	if isTie {
		return nil
	}
	return best
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

// unevaluated checks the members or items that neither n nor any other schema applied to
// the same value has evaluated.
func (w *walker) unevaluated(n *node, kind kinds, at span) {
	if kind == kindObject && n.object != nil && n.object.unevaluated != nil {
		w.unevaluatedMembers(n.object, w.others(nil, n, at), at)
	}
	if kind == kindArray && n.array != nil && n.array.unevaluated != nil {
		w.unevaluatedItems(n.array, w.others(nil, n, at), at)
	}
}

// others appends to found the nodes that n applies to a value and that accept it,
// recursively.
func (w *walker) others(found []*node, n *node, at span) []*node {
	for _, c := range w.inForce(n, at) {
		if c != nil && w.accepts(c, at) {
			found = w.others(append(found, c), c, at)
		}
	}
	return found
}

// inForce returns the nodes that n applies to a value, whether or not they accept it; some
// may be nil.
func (w *walker) inForce(n *node, at span) []*node {
	var nodes []*node
	if a := n.apply; a != nil {
		nodes = slices.Concat([]*node{a.ref}, a.all, a.any, a.one)
		if a.when != nil && w.accepts(a.when, at) {
			nodes = append(nodes, a.when, a.then)
		} else {
			nodes = append(nodes, a.or)
		}
	}
	if n.object != nil && w.doc[at.start] == '{' {
		for _, d := range n.object.needs {
			if d.schema != nil && w.hasMember(n.object.names[d.on].text, at) {
				nodes = append(nodes, d.schema)
			}
		}
	}
	return nodes
}

// hasMember reports whether the object at has a member of that name. It scans the object
// again, because only schemas with dependencies need it.
func (w *walker) hasMember(name string, at span) (found bool) {
	w.eachMember(at, func(key []byte, _ span) {
		found = found || string(key) == name
	})
	return found
}

// eachMember calls f for each member of an object, until the walk has to stop.
func (w *walker) eachMember(at span, f func(key []byte, value span)) {
	_, _ = jsonscan.Object(w.doc, at.start, at.depth, func(key []byte, i int) (int, error) {
		end, err := jsonscan.ValueAt(w.doc, i, at.depth+1)
		if err == nil {
			f(key, span{i, end, at.depth + 1})
		}
		return end, w.stop
	})
}

// eachItem calls f for each item of an array, until the walk has to stop.
func (w *walker) eachItem(at span, f func(index int, item span)) {
	n := 0
	_, _ = jsonscan.Array(w.doc, at.start, at.depth, func(i int) (int, error) {
		end, err := jsonscan.ValueAt(w.doc, i, at.depth+1)
		if err == nil {
			f(n, span{i, end, at.depth + 1})
		}
		n++
		return end, w.stop
	})
}

// unevaluatedMembers applies unevaluatedProperties, which depends on the schemas that were
// successfully applied to the same object (2020-12 core, section 11.3).
func (w *walker) unevaluatedMembers(o *objectRules, others []*node, at span) {
	w.eachMember(at, func(key []byte, value span) {
		if o.evaluates(key, false) {
			return
		}
		w.spend(64 * len(others))
		if slices.ContainsFunc(others, func(n *node) bool {
			return n.object != nil && n.object.evaluates(key, true)
		}) {
			return
		}
		w.enterMember(key)
		if o.unevaluated.never {
			w.failUnknown(o, key, value.depth)
		} else {
			w.over(o.unevaluated, value)
		}
		w.leave()
	})
}

// evaluates reports whether o evaluates the member key. If o is foreign, that includes
// its unevaluatedProperties.
func (o *objectRules) evaluates(key []byte, foreign bool) bool {
	if o.additional != nil || foreign && o.unevaluated != nil {
		return true
	}
	k := o.find(key)
	if k >= 0 && o.names[k].declared {
		return true
	}
	matches := func(p patternProperty) bool {
		return p.pattern.match.Match(key)
	}
	return o.hidden || slices.ContainsFunc(o.patterns, matches)
}

// unevaluatedItems applies unevaluatedItems (2020-12 core, section 11.2).
func (w *walker) unevaluatedItems(a *arrayRules, others []*node, at span) {
	w.eachItem(at, func(index int, item span) {
		isEvaluated := w.evaluatesItem(a, false, index, item) || slices.ContainsFunc(others, func(n *node) bool {
			return n.array != nil && w.evaluatesItem(n.array, true, index, item)
		})
		if !isEvaluated {
			w.enterItem(index)
			w.over(a.unevaluated, item)
			w.leave()
		}
	})
}

// evaluatesItem reports whether a evaluates the item at index. If a is foreign, that
// includes its unevaluatedItems. In 2020-12, contains evaluates the items that it accepts.
func (w *walker) evaluatesItem(a *arrayRules, foreign bool, index int, item span) bool {
	if a.items != nil || index < len(a.prefix) || foreign && a.unevaluated != nil {
		return true
	}
	return a.contains != nil && w.accepts(a.contains, item)
}

// array checks the array at i; a is nil if the schema does not constrain arrays.
func (w *walker) array(a *arrayRules, i, depth int) (int, error) {
	if a == nil && w.again > 0 {
		return jsonscan.ValueAt(w.doc, i, depth)
	}
	w.deepest = max(w.deepest, depth+1)
	n := 0
	end, err := jsonscan.Array(w.doc, i, depth, func(at int) (int, error) {
		w.enterItem(n)
		end, err := w.value(a.at(n), at, depth+1)
		w.leave()
		n++
		return end, err
	})
	if err == nil && a != nil {
		w.wholeArray(a, n, span{i, end, depth})
	}
	return end, err
}

// at returns the schema of the item at index n, or nil.
func (a *arrayRules) at(n int) *node {
	switch {
	case a == nil:
		return nil
	case n < len(a.prefix):
		return a.prefix[n]
	}
	return a.items
}

// wholeArray checks the rules that need all items.
func (w *walker) wholeArray(a *arrayRules, n int, at span) {
	w.failCount(n, a.min, a.max, "item", "")
	if a.contains != nil {
		w.contains(a, at)
	}
	if !a.unique || n < 2 {
		return
	}
	raw := w.text(at)
	w.spend(8 * w.passes(kindArray, len(raw), at.depth))
	if w.stop != nil {
		return
	}
	if i, j, found := repeated(jsonscan.Elements(raw)); found {
		w.fail("items must differ, but those at %d and %d are the same", i, j)
	}
}

// contains applies contains with minContains and maxContains (2020-12 core, section
// 10.3.1.3).
func (w *walker) contains(a *arrayRules, at span) {
	matched := 0
	w.eachItem(at, func(_ int, item span) {
		if w.accepts(a.contains, item) {
			matched++
		}
	})
	most := a.maxContains
	if a.contains.unsure {
		most = -1
	}
	if matched >= a.minContains && (most < 0 || matched <= most) {
		return
	}
	suffix := " of a certain form"
	if what := a.contains.describe(); what != "" {
		suffix = fmt.Sprintf("%s: %s", suffix, what)
	}
	w.failCount(matched, a.minContains, most, "item", suffix)
}
