package arch

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Problem is one violation of the plan.
type Problem struct {
	Path string // a file or folder relative to the module root
	Rule string // a slug: the same for all problems of one kind
	Text string // what is wrong and how to fix it
}

// String returns the problem on one line.
func (p Problem) String() string { return fmt.Sprintf("%s: %s: %s", p.Path, p.Rule, p.Text) }

// Check compares the module in fsys, which has its go.mod at the root, with plan and
// returns all problems sorted by path. Like the go command, it skips nested modules,
// testdata, and folders whose names begin with a dot or an underscore. The error reports
// a tree that cannot be read or parsed.
func Check(fsys fs.FS, plan *Plan) ([]Problem, error) {
	t, err := load(fsys)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, check := range []func(*tree, *Plan) []Problem{
		checkRoot,
		checkNames,
		checkComments,
		checkFloors,
		checkMissing,
		checkCycles,
		checkDepth,
		checkGuests,
		checkRequirements,
		checkInit,
		checkRegexps,
		checkTemplates,
		checkGlobals,
	} {
		problems = append(problems, check(t, plan)...)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Rule, b.Rule))
	})
	return problems, nil
}

// floor returns the floor of the package in dir. ok reports whether it has one.
func (p *Plan) floor(dir string) (floor int, ok bool) {
	for at, rooms := range p.Floors {
		if slices.Contains(rooms, dir) {
			return at, true
		}
	}
	return 0, false
}

// within reports whether the slash-separated path is root or below it.
func within(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == '/')
}
