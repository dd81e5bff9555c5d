package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkFloors reports packages without a floor, and imports that do not lead to a lower
// floor. On the lowest floor, packages may import each other. Test files may import any
// package, since their imports do not reach importers of the package.
func checkFloors(t *tree, plan *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		if p.dir == "." {
			continue // reported by checkRoot
		}
		floor, ok := plan.floor(p.dir)
		if !ok {
			problems = append(problems, Problem{p.dir, "no-floor",
				"the package has no floor; give it one in internal/test/arch/layers_test.go"})
			continue
		}
		for _, f := range p.files {
			for _, imported := range f.imports {
				dir, ours := t.ours(imported)
				if !ours {
					continue
				}
				if text := climbs(plan, p.dir, floor, dir); text != "" {
					problems = append(problems, Problem{f.path, "floor", text})
				}
			}
		}
	}
	return problems
}

// climbs returns why a file of the package room, which is on floor, may not import dir,
// or "".
func climbs(plan *Plan, room string, floor int, dir string) string {
	at, ok := plan.floor(dir)
	switch {
	case !ok, at < floor, at == 0 && floor == 0:
		return "" // a package without a floor is reported itself
	case at == floor:
		return fmt.Sprintf("%s imports %s: both are on floor %d; what neighbours share moves down", room, dir, floor)
	default:
		return fmt.Sprintf("%s (floor %d) imports %s (floor %d); imports go downwards only", room, floor, dir, at)
	}
}

// checkMissing reports listed packages that do not exist.
func checkMissing(t *tree, plan *Plan) []Problem {
	var problems []Problem
	for _, room := range slices.Concat(plan.Floors...) {
		if !slices.ContainsFunc(t.packages, func(p *pkg) bool { return p.dir == room }) {
			problems = append(problems, Problem{room, "missing",
				"the package is listed in internal/test/arch/layers_test.go and does not exist"})
		}
	}
	return problems
}

// checkDepth reports the longest chain of imports if it exceeds the plan's depth.
func checkDepth(t *tree, plan *Plan) []Problem {
	uses := map[string][]string{}
	for _, p := range t.packages {
		uses[p.dir] = t.used(p)
	}
	chains := map[string][]string{} // the longest chain from each package, itself included
	var longest func(dir string) []string
	longest = func(dir string) []string {
		if chain, ok := chains[dir]; ok {
			return chain
		}
		chains[dir] = []string{dir} // ends a cycle, which checkCycles reports
		var below []string
		for _, next := range uses[dir] {
			if chain := longest(next); len(chain) > len(below) {
				below = chain
			}
		}
		chains[dir] = slices.Concat([]string{dir}, below)
		return chains[dir]
	}
	var deepest []string
	for _, p := range t.packages {
		if chain := longest(p.dir); len(chain) > len(deepest) {
			deepest = chain
		}
	}
	if len(deepest)-1 <= plan.Depth {
		return nil
	}
	return []Problem{{deepest[0], "depth", fmt.Sprintf("a chain of %d imports, want at most %d: %s",
		len(deepest)-1, plan.Depth, strings.Join(deepest, " -> "))}}
}

// checkCycles reports import cycles on the lowest floor. Higher floors cannot have any,
// because imports only lead downwards.
func checkCycles(t *tree, plan *Plan) []Problem {
	uses := map[string][]string{}
	for _, p := range t.packages {
		if floor, ok := plan.floor(p.dir); ok && floor == 0 {
			uses[p.dir] = t.used(p)
		}
	}
	var problems []Problem
	for _, start := range slices.Sorted(maps.Keys(uses)) {
		if slices.Contains(reach(uses, start), start) {
			problems = append(problems, Problem{start, "cycle", "the package imports itself by way of other leaves"})
		}
	}
	return problems
}

// used returns the folders of this module that the package imports, excluding tests.
func (t *tree) used(p *pkg) []string {
	var dirs []string
	for _, f := range p.files {
		for _, imported := range f.imports {
			if dir, ours := t.ours(imported); ours {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// reach returns everything reachable from start in one or more steps.
func reach(uses map[string][]string, start string) []string {
	var found []string
	todo := slices.Clone(uses[start])
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if slices.Contains(found, next) {
			continue
		}
		found = append(found, next)
		todo = append(todo, uses[next]...)
	}
	return found
}

// checkGuests reports imports of modules that are not listed, or not listed for this
// room. Cgo's C counts as a module, since the binary is static.
func checkGuests(t *tree, plan *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		for i, f := range p.all() {
			isTest := i >= len(p.files)
			for _, imported := range f.imports {
				if _, ours := t.ours(imported); ours || standard(imported) {
					continue
				}
				if text := intrudes(plan, p.dir, imported, isTest); text != "" {
					problems = append(problems, Problem{f.path, "guest", text})
				}
			}
		}
	}
	return problems
}

func intrudes(plan *Plan, dir, imported string, isTest bool) string {
	i := slices.IndexFunc(plan.Guests, func(g Guest) bool { return within(imported, g.Module) })
	if i < 0 {
		return fmt.Sprintf("imports %s, which is not on the guest list in internal/test/arch/layers_test.go", imported)
	}
	guest := plan.Guests[i]
	if isTest && guest.Tests || slices.Contains(guest.Rooms, dir) {
		return ""
	}
	return fmt.Sprintf("imports %s, which is invited elsewhere, not here", imported)
}

// standard reports whether the import path is in the standard library.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return imported != "C" && !strings.Contains(first, ".")
}

// checkRequirements compares go.mod with the guest list in both directions: it reports
// required modules that are not listed, and listed modules that are not required.
func checkRequirements(t *tree, plan *Plan) []Problem {
	expected := map[string]bool{}
	for _, g := range plan.Guests {
		expected[g.Module] = true
		for _, brought := range g.Brings {
			expected[brought] = true
		}
	}
	var problems []Problem
	for _, module := range t.requires {
		if !expected[module] {
			problems = append(problems, Problem{"go.mod", "guest",
				fmt.Sprintf("requires %s, which no guest in internal/test/arch/layers_test.go is or brings", module)})
		}
		delete(expected, module)
	}
	for _, module := range slices.Sorted(maps.Keys(expected)) {
		problems = append(problems, Problem{"go.mod", "guest",
			fmt.Sprintf("does not require %s, which is still on the guest list in internal/test/arch/layers_test.go", module)})
	}
	return problems
}
