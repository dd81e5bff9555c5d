// Package archtest holds the shape of the house: which package stands on which
// floor, which outside module is invited into which room, and the few habits
// that keep a package findable. [House] is the plan, [Check] compares a source
// tree with it, and the package's own test does so for this module.
//
//	problems, err := archtest.Check(os.DirFS("."), archtest.House())
//
// The sources are read with go/parser. A "go list" child would see the same
// facts, but the files it reads are unknown to the test cache, so a cached "ok"
// would outlive the change that broke the rule.
package archtest

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Plan is what a tree is compared with.
type Plan struct {
	// Floors lists the rooms of each floor, the lowest floor first, as folders
	// relative to the module root. A folder below a room belongs to that room
	// unless it is listed itself. A room need not exist yet.
	Floors [][]string
	// Guests are the outside modules that may be imported.
	Guests []Guest
}

// Guest is an outside module and why it is invited.
type Guest struct {
	// Module is its path.
	Module string
	// Rooms may import it. Their folders below may, too.
	Rooms []string
	// Tests says that every test file may import it.
	Tests bool
	// Saves says what we would have to write or maintain without it.
	Saves string
	// Brings lists the modules that stand in go.mod on its behalf.
	Brings []string
}

// Problem is one place where a tree departs from its plan.
type Problem struct {
	Path string // a file or folder relative to the module root
	Rule string // a slug: the same for all problems of one kind
	Text string // what is wrong and what to do about it
}

// String returns the problem on one line.
func (p Problem) String() string { return fmt.Sprintf("%s: %s: %s", p.Path, p.Rule, p.Text) }

// Check compares the module in fsys, whose root holds its go.mod, with plan and
// returns all problems sorted by path. Nested modules, testdata and folders
// whose names begin with a dot or an underscore are left out, as the go command
// does. The error says that the tree could not be read or parsed.
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
		checkCycles,
		checkGuests,
		checkRequirements,
		checkInit,
		checkGlobals,
	} {
		problems = append(problems, check(t, plan)...)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Rule, b.Rule))
	})
	return problems, nil
}

// room returns the listed folder that dir belongs to and its floor. ok reports
// whether there is one.
func (p *Plan) room(dir string) (room string, floor int, ok bool) {
	for at, rooms := range p.Floors {
		for _, r := range rooms {
			if within(dir, r) && len(r) > len(room) {
				room, floor, ok = r, at, true
			}
		}
	}
	return room, floor, ok
}

// within reports whether the slash-separated path is root or below it.
func within(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == '/')
}
