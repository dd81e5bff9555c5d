package schema

import (
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// array checks the array at i; a is nil if the schema does not constrain arrays.
func (w *walker) array(a *arrayRules, i, depth int) (int, error) {
	if a == nil && w.again > 0 {
		return jsonscan.ValueAt(w.doc, i, depth)
	}
	w.deepest = max(w.deepest, depth+1)
	n := 0
	end, err := jsonscan.Array(w.doc, i, depth, func(at int) (int, error) {
		w.enter(segment{place: n})
		var item *node
		if a != nil {
			item = a.at(n)
		}
		end, err := w.value(item, at, depth+1)
		w.leave()
		n++
		return end, err
	})
	if err != nil || a == nil {
		return end, err
	}
	return end, w.wholeArray(a, n, i, end, depth)
}

// at returns the schema of the item at index n.
func (a *arrayRules) at(n int) *node {
	if n < len(a.prefix) {
		return a.prefix[n]
	}
	return a.items
}

func (w *walker) wholeArray(a *arrayRules, n, i, end, depth int) error {
	if n < a.min {
		if err := w.fail(func() string {
			return fmt.Sprintf("must have at least %s (got %d)", counted(a.min, "item"), n)
		}); err != nil {
			return err
		}
	}
	if a.max >= 0 && n > a.max {
		if err := w.fail(func() string {
			return fmt.Sprintf("must have at most %s (got %d)", counted(a.max, "item"), n)
		}); err != nil {
			return err
		}
	}
	if a.hasContains {
		if err := w.contains(a, i, depth); err != nil {
			return err
		}
	}
	if a.unique && n > 1 {
		return w.unique(i, end, depth)
	}
	return nil
}

func (w *walker) contains(a *arrayRules, i, depth int) error {
	matched := 0
	_, err := jsonscan.Array(w.doc, i, depth, func(at int) (int, error) {
		end, ok, err := w.acceptsAt(a.contains, at, depth+1)
		if ok {
			matched++
		}
		return end, err
	})
	if err != nil {
		return err
	}
	what := a.contains.describe()
	if what != "" {
		what = ": " + what
	}
	if matched < a.minContains {
		if err := w.fail(func() string {
			return fmt.Sprintf("must have at least %s of a certain form%s (got %d)",
				counted(a.minContains, "item"), what, matched)
		}); err != nil {
			return err
		}
	}
	if a.maxContains >= 0 && matched > a.maxContains && !a.contains.isUnsure() {
		return w.fail(func() string {
			return fmt.Sprintf("must have at most %s of a certain form%s (got %d)",
				counted(a.maxContains, "item"), what, matched)
		})
	}
	return nil
}

// acceptsAt is accepts for a value whose end is not known.
func (w *walker) acceptsAt(n *node, i, depth int) (end int, ok bool, err error) {
	i = jsonscan.Space(w.doc, i)
	if end, err = jsonscan.ValueAt(w.doc, i, depth); err == nil {
		ok, err = w.accepts(n, i, end, depth)
	}
	return end, ok, err
}

func (w *walker) unique(i, end, depth int) error {
	raw := w.doc[i:end]
	if err := w.spend(8 * w.passes(kindArray, len(raw), depth)); err != nil {
		return err
	}
	a, b, found := repeated(jsonscan.Elements(raw))
	if !found {
		return nil
	}
	return w.fail(func() string {
		return fmt.Sprintf("items must differ, but those at %d and %d are the same", a, b)
	})
}
