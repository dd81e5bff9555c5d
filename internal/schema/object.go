package schema

import (
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// noRules are the rules for an object without constraints.
var noRules = &objectRules{max: -1}

// seenSet records the members of one object: those that the schema mentions by index, the
// others by name.
type seenSet struct {
	// count is the number of members so far, repeated ones included.
	count  int
	named  jsonscan.IndexSet
	others jsonscan.KeySet
}

// add reports whether the member is new. place is negative if the schema does not mention
// it.
func (s *seenSet) add(place int, key []byte) bool {
	s.count++
	if place >= 0 {
		return s.named.Add(place)
	}
	return s.others.Add(key)
}

// object checks the object at i; o is nil if the schema does not constrain objects.
func (w *walker) object(o *objectRules, i, depth int) (int, error) {
	if o == nil {
		if w.again > 0 {
			return jsonscan.ValueAt(w.doc, i, depth)
		}
		o = noRules
	}
	w.deepest = max(w.deepest, depth+1)
	var seen seenSet
	end, err := jsonscan.Object(w.doc, i, depth, func(key []byte, at int) (int, error) {
		w.enterMember(key)
		end, err := w.member(o, &seen, key, at, depth+1)
		w.leave()
		return end, err
	})
	if err == nil && o != noRules {
		w.wholeObject(o, &seen, span{i, end, depth})
	}
	return end, err
}

// member checks the member key, whose value begins at i.
func (w *walker) member(
	o *objectRules,
	seen *seenSet,
	key []byte,
	i, depth int,
) (end int, err error) {
	place := o.find(key)
	if !seen.add(place, key) && w.again == 0 {
		w.fail("given twice")
	}
	if o.propertyNames != nil {
		w.memberName(o.propertyNames, key)
	}
	known := place >= 0 && o.names[place].declared
	if known {
		end, err = w.value(o.names[place].schema, i, depth)
	}
	for _, p := range o.patterns {
		w.spend(len(key) * p.pattern.cost)
		switch {
		case err != nil || w.stop != nil || !p.pattern.match.Match(key):
		case known:
			w.over(p.schema, span{i, end, depth})
		default:
			known = true
			end, err = w.value(p.schema, i, depth)
		}
	}
	switch {
	case w.stop != nil:
		return i, w.stop
	case known:
		return end, err
	case o.hidden || o.additional == nil:
		return w.anything(i, depth)
	case o.additional.never:
		w.failUnknown(o, key, depth)
		if w.stop != nil {
			return i, w.stop
		}
		return w.anything(i, depth)
	}
	return w.value(o.additional, i, depth)
}

// failUnknown reports a member that is not allowed.
func (w *walker) failUnknown(o *objectRules, key []byte, depth int) {
	if w.unworded() {
		return
	}
	noun := "argument"
	if depth > 1 {
		noun = "member"
	}
	var names, accepted []string
	for _, name := range o.names {
		if name.declared {
			names = append(names, name.text)
			accepted = append(accepted, quotedUnlessPlain(name.text))
		}
	}
	near := ""
	list := ""
	if name := nearest.DidYouMean(string(key), names); name != "" {
		near = fmt.Sprintf(", did you mean %s?", Quote(name))
	}
	if len(accepted) > 0 {
		list = " (accepted: " + listed(accepted) + ")"
	} else if len(o.patterns) == 0 {
		list = " (none is accepted)"
	}
	w.fail("unknown %s%s%s", noun, near, list)
}

// quotedUnlessPlain quotes a name that could be taken for a part of the sentence.
func quotedUnlessPlain(name string) string {
	if isPlain(name) {
		return name
	}
	return Quote(name)
}

// memberName checks the name of a member as a string value.
func (w *walker) memberName(n *node, key []byte) {
	sub := walker{
		doc:    jsonscan.AppendQuote(nil, key),
		budget: w.budget - 64 - len(key),
		quiet:  w.quiet,
	}
	_, _ = sub.value(n, 0, 0)
	w.budget = sub.budget
	for _, p := range sub.problems {
		w.fail("its name %s", p.Message)
	}
	if w.stop == nil {
		w.stop = sub.stop
	}
}

// wholeObject checks the rules that need all members.
func (w *walker) wholeObject(o *objectRules, seen *seenSet, at span) {
	for k := range o.names {
		if o.names[k].required && !seen.named.Has(k) {
			w.failMissing(o, k, "required", at)
		}
	}
	for _, d := range o.needs {
		if !seen.named.Has(d.on) {
			continue
		}
		for _, k := range d.members {
			if !seen.named.Has(k) {
				w.failMissing(o, k,
					"required when "+Quote(o.names[d.on].text)+" is given", at)
			}
		}
		w.over(d.schema, at)
	}
	w.failCount(seen.count, o.min, o.max, "member", "")
}

// failMissing reports that names[k] is missing from an object. If an undeclared member has
// a similar name, that is the likely mistake.
func (w *walker) failMissing(o *objectRules, k int, message string, at span) {
	if w.unworded() {
		return
	}
	name := o.names[k].text
	// Otherwise the other name is reported as well.
	if o.additional == nil || !o.additional.never {
		if near := nearest.DidYouMean(name, w.undeclared(o, at)); near != "" {
			message = fmt.Sprintf("%s (did you write %s for it?)", message, Quote(near))
		}
	}
	w.enterMember([]byte(name))
	w.fail("%s", message)
	w.leave()
}

// undeclared returns the names of members that the schema does not mention.
func (w *walker) undeclared(o *objectRules, at span) (names []string) {
	w.eachMember(at, func(key []byte, _ span) {
		if o.find(key) < 0 && len(names) < 100 {
			names = append(names, string(key))
		}
	})
	return names
}
