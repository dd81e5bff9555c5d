package schema

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// noRules are the rules for an object without constraints.
var noRules = &objectRules{max: -1}

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
	seen.init(len(o.names))
	end, err := jsonscan.Object(w.doc, i, depth, func(key []byte, at int) (int, error) {
		seen.count++
		w.enter(segment{key: key})
		end, err := w.member(o, &seen, key, at, depth+1)
		w.leave()
		return end, err
	})
	if err != nil {
		return end, err
	}
	if o == noRules {
		return end, nil
	}
	return end, w.wholeObject(o, &seen, i, end, depth)
}

// member checks the member key, whose value begins at i.
func (w *walker) member(o *objectRules, seen *seenSet, key []byte, i, depth int) (int, error) {
	place := o.find(key)
	if !seen.add(place, key) && w.again == 0 {
		if err := w.fail(func() string { return "given twice" }); err != nil {
			return i, err
		}
	}
	if o.propertyNames != nil {
		if err := w.memberName(o.propertyNames, key); err != nil {
			return i, err
		}
	}
	end, known := 0, false
	var err error
	if place >= 0 && o.names[place].declared {
		known = true
		if end, err = w.value(o.names[place].schema, i, depth); err != nil {
			return end, err
		}
	}
	for _, p := range o.patterns {
		if err := w.spend(len(key) * p.pattern.cost); err != nil {
			return i, err
		}
		if !p.pattern.match.Match(key) {
			continue
		}
		if known {
			err = w.over(p.schema, i, end, depth)
		} else {
			known = true
			end, err = w.value(p.schema, i, depth)
		}
		if err != nil {
			return end, err
		}
	}
	if known {
		return end, nil
	}
	if !o.hasAdditional || o.hidden {
		return w.anything(i, depth)
	}
	if o.additional != nil && o.additional.never {
		if err := w.fail(func() string { return o.unknown(string(key), depth) }); err != nil {
			return i, err
		}
		return w.anything(i, depth)
	}
	return w.value(o.additional, i, depth)
}

// unknown returns the message for a member that is not allowed.
func (o *objectRules) unknown(key string, depth int) string {
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
	text := "unknown " + noun
	if near := nearest.DidYouMean(key, names); near != "" {
		text += fmt.Sprintf(", did you mean %s?", quoted(near))
	}
	switch {
	case len(accepted) > 0:
		return text + " (accepted: " + listed(accepted) + ")"
	case len(o.patterns) == 0:
		return text + " (none is accepted)"
	}
	return text
}

func quotedUnlessPlain(name string) string {
	if isPlain([]byte(name)) {
		return name
	}
	return quoted(name)
}

// memberName checks the name of a member as a string value.
func (w *walker) memberName(n *node, key []byte) error {
	sub := walker{doc: jsonscan.AppendQuote(nil, key), budget: w.budget - 64 - len(key), quiet: w.quiet}
	_, err := sub.value(n, 0, 0)
	w.budget = sub.budget
	for _, p := range sub.problems {
		if err := w.fail(func() string { return "its name " + p.Message }); err != nil {
			return err
		}
	}
	return err
}

// wholeObject checks the rules that need all members.
func (w *walker) wholeObject(o *objectRules, seen *seenSet, i, end, depth int) error {
	for k := range o.names {
		if o.names[k].required && !seen.has(k) {
			if err := w.missing(o, k, "required", i, depth); err != nil {
				return err
			}
		}
	}
	for _, d := range o.needs {
		if !seen.has(d.on) {
			continue
		}
		for _, k := range d.members {
			if seen.has(k) {
				continue
			}
			if err := w.missing(o, k, "required when "+quoted(o.names[d.on].text)+" is given", i, depth); err != nil {
				return err
			}
		}
		if err := w.over(d.schema, i, end, depth); err != nil {
			return err
		}
	}
	if seen.count < o.min {
		if err := w.fail(func() string {
			return fmt.Sprintf("must have at least %s (got %d)", counted(o.min, "member"), seen.count)
		}); err != nil {
			return err
		}
	}
	if o.max >= 0 && seen.count > o.max {
		return w.fail(func() string {
			return fmt.Sprintf("must have at most %s (got %d)", counted(o.max, "member"), seen.count)
		})
	}
	return nil
}

// missing reports that names[k] is missing from the object at i. If an undeclared member
// has a similar name, that is the likely mistake.
func (w *walker) missing(o *objectRules, k int, message string, i, depth int) error {
	if w.quiet > 0 {
		return errInvalid
	}
	name := o.names[k].text
	w.enter(segment{key: []byte(name)})
	defer w.leave()
	return w.fail(func() string {
		if o.additional != nil && o.additional.never {
			return message // the other name is reported as well
		}
		if near := nearest.DidYouMean(name, w.undeclared(o, i, depth)); near != "" {
			return fmt.Sprintf("%s (did you write %s for it?)", message, quoted(near))
		}
		return message
	})
}

// undeclared returns the names of members that the schema does not mention.
func (w *walker) undeclared(o *objectRules, i, depth int) []string {
	var names []string
	_, _ = jsonscan.Object(w.doc, i, depth, func(key []byte, at int) (int, error) {
		if o.find(key) < 0 && len(names) < 100 {
			names = append(names, strings.Clone(string(key)))
		}
		return jsonscan.ValueAt(w.doc, at, depth+1)
	})
	return names
}

// seenSet records the members of one object: those that the schema mentions by index, the
// others by name.
type seenSet struct {
	count int

	small [2]uint64
	bits  []uint64 // replaces small if there are many names

	others jsonscan.KeySet
}

func (s *seenSet) init(names int) {
	if names > 64*len(s.small) {
		s.bits = make([]uint64, (names+63)/64)
	}
}

func (s *seenSet) word(place int) *uint64 {
	if s.bits != nil {
		return &s.bits[place/64]
	}
	return &s.small[place/64]
}

func (s *seenSet) has(place int) bool { return *s.word(place)>>(place%64)&1 == 1 }

// add reports whether the member is new. place is negative if the schema does not mention
// it.
func (s *seenSet) add(place int, key []byte) bool {
	if place >= 0 {
		isNew := !s.has(place)
		*s.word(place) |= 1 << (place % 64)
		return isNew
	}
	return s.others.Add(key)
}
