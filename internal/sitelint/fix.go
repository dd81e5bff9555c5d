package sitelint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// FixOptions configure the repair of a site. A nil *FixOptions and the zero value mean
// the defaults.
type FixOptions struct {
	// Check configures the check that finds the problems.
	Check *Options
	// DryRun only reports the repairs, without changing files.
	DryRun bool
}

// Repair is one repair that [Fix] made, or would make.
type Repair struct {
	File string `json:"file"` // as in findings, before the repair
	Does string `json:"does"` // as in "rename it to tools/get_page/intro.json"
}

// Fix repairs the site in the folder dir as far as no data can be lost: it renames files
// to the standard's names, fills in members known from another file, removes one of two
// entries that are identical byte for byte, and creates a missing .nojekyll. It returns
// the repairs it made and a report on the remaining findings.
//
// Only the affected bytes of a file change, and each file is replaced atomically. Files
// are never overwritten or deleted; folders left empty remain. If an error occurs after
// some repairs, those are returned, too.
func Fix(ctx context.Context, dir string, opts *FixOptions) ([]Repair, *check.Report, error) {
	if opts == nil {
		opts = &FixOptions{}
	}
	var all []Repair
	// Files that a repair moves or changes can only be checked in another round.
	for range maxFixRounds {
		c, err := checkForRepair(ctx, dir, opts.Check)
		if err != nil {
			return all, nil, err
		}
		if opts.DryRun {
			for _, r := range c.feasible() {
				all = append(all, Repair{c.opts.Name + r.file, r.does})
			}
			return all, c.report, nil
		}
		done, err := c.repairAll(dir)
		all = append(all, done...)
		if err != nil || len(done) == 0 {
			return all, c.report, err
		}
	}
	c, err := checkForRepair(ctx, dir, opts.Check)
	if err != nil {
		return all, nil, err
	}
	return all, c.report, nil
}

// maxFixRounds bounds the rounds: repairs must not trigger each other forever.
const maxFixRounds = 8

// checkForRepair checks the site in a folder and collects the possible repairs.
func checkForRepair(ctx context.Context, dir string, opts *Options) (*checker, error) {
	c, err := newChecker(opts, inside(dir))
	if err != nil {
		return nil, err
	}
	c.fixing = true
	f, err := site.OpenFolder(dir, c.reading())
	if err != nil {
		return nil, &staticmcp.SiteError{
			Op:  "check site",
			Err: err,
		}
	}
	_, err = c.folder(ctx, f)
	return c, err
}

// repairAll makes the repairs of one check: first edits, then renames, with the deepest
// files before the folders they are in.
func (c *checker) repairAll(dir string) ([]Repair, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var done []Repair
	note := func(r repair) {
		done = append(done, Repair{c.opts.Name + r.file, r.does})
	}
	if err := editAll(root, c.repairs, note); err != nil {
		return done, err
	}
	rest := slices.DeleteFunc(c.feasible(), func(r repair) bool {
		return len(r.edits) > 0
	})
	order.StableBy(rest, func(a, b repair) int {
		return cmp.Compare(strings.Count(b.file, "/"), strings.Count(a.file, "/"))
	})
	for _, r := range rest {
		act := move
		if r.create {
			act = makeEmpty
		}
		switch err := act(root, r); {
		case errors.Is(err, fs.ErrExist):
			continue // the name is taken: the finding remains
		case err != nil:
			return done, err
		}
		note(r)
	}
	return done, nil
}

// feasible returns the repairs without those that would give two files the same name: one
// file would answer for both.
func (c *checker) feasible() []repair {
	wanted := make(map[string]int)
	for _, r := range c.repairs {
		wanted[r.rename]++
	}
	return slices.DeleteFunc(slices.Clone(c.repairs),
		func(r repair) bool {
			l := c.tree.find(r.file)
			packed := l != nil && l.pack != ""
			return packed || r.rename != "" && wanted[r.rename] > 1
		})
}

// editAll makes the edits of all files, each file in one write.
func editAll(root *os.Root, repairs []repair, note func(repair)) error {
	byFile := make(map[string][]repair)
	var files []string
	for _, r := range repairs {
		if len(r.edits) == 0 {
			continue
		}
		if byFile[r.file] == nil {
			files = append(files, r.file)
		}
		byFile[r.file] = append(byFile[r.file], r)
	}
	for _, file := range files {
		list := byFile[file]
		order.StableBy(list, func(a, b repair) int {
			return cmp.Compare(a.edits[0].begin, b.edits[0].begin)
		})
		if err := editFile(root, file, list, note); err != nil {
			return err
		}
	}
	return nil
}

// editFile makes the edits that do not overlap. The others wait for the next round.
func editFile(root *os.Root, file string, list []repair, note func(repair)) error {
	text, err := root.ReadFile(file)
	if err != nil {
		return err
	}
	info, err := root.Stat(file)
	if err != nil {
		return err
	}
	var edits []edit
	var made []repair
	end := -1
	for _, r := range list {
		if r.edits[0].begin > end || end < 0 {
			edits = append(edits, r.edits...)
			end = r.edits[len(r.edits)-1].end
			made = append(made, r)
		}
	}
	if len(text) != list[0].size {
		return fmt.Errorf("%s: the file was changed in the meantime", file)
	}
	changed := apply(text, edits)
	err = fsutil.Replace(filepath.Join(root.Name(), filepath.FromSlash(file)),
		info.Mode().Perm(), func(w io.Writer) error {
			_, err := w.Write(changed)
			return err
		})
	if err != nil {
		return err
	}
	for _, r := range made {
		note(r)
	}
	return nil
}

// move renames a file or a folder, unless the name is taken.
func move(root *os.Root, r repair) error {
	if info, err := root.Lstat(r.rename); err == nil {
		// On a case-insensitive file system it may be the file itself.
		old, err := root.Lstat(r.file)
		if err != nil || !os.SameFile(info, old) {
			return fs.ErrExist
		}
	}
	if dir := path.Dir(r.rename); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return root.Rename(r.file, r.rename)
}

// makeEmpty creates an empty file, which must not exist.
func makeEmpty(root *os.Root, r repair) error {
	f, err := root.OpenFile(r.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}
