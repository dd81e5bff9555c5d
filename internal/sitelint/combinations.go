package sitelint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"
)

// combinations are the combinations of values of several enums that have answers. It is
// nil if fewer than two required arguments have an enum.
type combinations struct {
	// claims are the arguments with enum values.
	claims []*claim
	names  []string // of the arguments, in the order of claims
	at     []int    // their indexes in a path
	// seen has the combinations of found answers, as joined parts of their paths.
	seen map[string]bool
}

const (
	// With fewer combinations, a missing one cannot be called an exception.
	minCombinations = 6
	// With more combinations, none is tracked.
	maxCombinations = 100_000
)

// combinationsOf returns the combinations to track for the answers of a tool, or nil.
func combinationsOf(t *listedTool) *combinations {
	all := &combinations{seen: make(map[string]bool)}
	count := 1
	for i := range t.claims {
		p := &t.params[i]
		if !p.Required || p.Default != nil {
			break // beyond this, which part belongs to which argument is uncertain
		}
		if claim := &t.claims[i]; len(claim.names) > 1 {
			all.claims = append(all.claims, claim)
			all.at = append(all.at, i)
			all.names = append(all.names, t.params[i].Name)
			count *= min(len(claim.names), maxCombinations)
		}
		if count > maxCombinations {
			return nil
		}
	}
	if len(all.claims) < 2 || count < minCombinations {
		return nil
	}
	return all
}

// add records the answer whose path has these parts.
func (all *combinations) add(parts []string) {
	if all == nil || len(parts) <= all.at[len(all.at)-1] {
		return
	}
	names := make([]string, len(all.at))
	for i, at := range all.at {
		names[i] = site.EncodeName(parts[at])
		if !all.claims[i].seen[names[i]] {
			return
		}
	}
	all.seen[strings.Join(names, "/")] = true
}

// missing returns the combinations without an answer if they are exceptions: at most one
// in ten, or a single one. Values without any answer do not count. Neither do
// combinations of equal values if none of them has an answer, because a tool that
// compares two things need not compare a thing with itself.
func (all *combinations) missing() []string {
	var list, equal []string
	count := 0
	answered := 0
	all.each(func(names []string, words string) {
		has := all.seen[strings.Join(names, "/")]
		if slices.Max(names) == slices.Min(names) {
			if has {
				answered++
			} else {
				equal = append(equal, words)
			}
			count++
			return
		}
		count++
		if !has {
			list = append(list, words)
		}
	})
	if answered > 0 {
		list = append(list, equal...)
	} else {
		count -= len(equal)
	}
	if count < minCombinations || len(list) > max(1, count/10) {
		return nil
	}
	return list
}

// each calls visit with every combination of values that have answers.
func (all *combinations) each(visit func(names []string, words string)) {
	names := make([]string, len(all.claims))
	words := make([]string, len(all.claims))
	var choose func(i int)
	choose = func(i int) {
		if i == len(all.claims) {
			visit(names, strings.Join(words, " with "))
			return
		}
		for k, name := range all.claims[i].names {
			if all.claims[i].seen[name] {
				names[i], words[i] = name, fmt.Sprintf("%s %q", all.names[i],
					all.claims[i].wanted[k])
				choose(i + 1)
			}
		}
	}
	choose(0)
}

// missingCombinations reports the few combinations of values that have no file.
func (c *checker) missingCombinations(t *listedTool) {
	if t.combinations == nil {
		return
	}
	missing := t.combinations.missing()
	if len(missing) == 0 {
		return
	}
	missing, more := fewKnown(missing)
	c.site.fileReport.At(t.entry.at).Add(ruleAnswerMissing, t.entry.path()+"/inputSchema",
		"the schema lists the values, so clients will send them together",
		"tool %q has no answer for %s%s, and has answers for the other combinations",
		t.name, strings.Join(missing, ", "), more)
}
