package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// entry returns what was last written for a server.
func (r *record) entry(name string) *tree.Node {
	n, err := tree.FromJSON(r.Servers[name].Entry)
	if err != nil {
		return &tree.Node{Kind: tree.Object}
	}
	return n
}

// Removal is a plan to remove our entries.
type Removal struct {
	// Files are the files with entries to remove.
	Files []*FilePlan `json:"files"`

	// state is updated when the removal is applied.
	state     *State
	selection *Selection
}

// Remove plans the removal of entries that were written by us:
//
//   - An entry that was changed since is a conflict and stays.
//   - A file that only we changed is restored byte for byte, or deleted if we created it.
//   - In a file that other programs changed too, only our entries are removed, and the
//     entries they had replaced are restored.
func (l *State) Remove(s *Selection) *Removal {
	plan := &Removal{
		state:     l,
		selection: s,
		Files:     []*FilePlan{},
	}
	for _, path := range l.Paths() {
		r := l.files[path]
		if s.file(r) && s.any(r) {
			plan.Files = append(plan.Files, l.removeFrom(path, r, s))
		}
	}
	return plan
}

// removeFrom plans the removal from one file. If nothing else has changed the file since,
// the original is restored byte for byte.
func (l *State) removeFrom(path string, r *record, s *Selection) *FilePlan {
	f := &FilePlan{
		Client: r.Client,
		Name:   r.Client,
		Scope:  r.Scope,
		Path:   path,
		Steps:  []Step{},
	}
	f.client, _ = ByID(r.Client)
	if f.client == nil {
		f.Problem = "this version of slipway does not support the client"
		return f
	}
	f.Name = f.client.Name
	if f.Problem = fsutil.ReadOnly(path); f.Problem != "" {
		return f
	}
	text, err := readFile(path)
	f.Exists = err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.Problem = fsutil.Reason(err)
		return f
	}
	f.before = text
	f.after = text
	there, err := edit.Get(text, f.client.target())
	if err != nil {
		f.Problem = "the file cannot be read: " + err.Error()
		return f
	}
	all := l.steps(f, r, s, there)
	if f.Problem != "" {
		return f
	}
	if all && f.Exists && !r.Mixed && digest(text) == r.After {
		f.after = nil
		if !r.Created {
			if f.after, err = os.ReadFile(l.backup(path)); err != nil {
				f.Problem = fmt.Sprintf("the copy of the file cannot be read: %s",
					fsutil.Reason(err))
				return f
			}
		}
	}
	f.Diff = unified(f, f.before, f.after)
	return f
}

// steps removes our entries from the text of a file and reports whether none is left.
// Entries that ours had replaced are restored.
func (l *State) steps(f *FilePlan, r *record, s *Selection, there []edit.Entry) (all bool) {
	all = true
	for _, name := range slices.Sorted(maps.Keys(r.Servers)) {
		if !s.server(name, r.Servers[name]) {
			all = false
			continue
		}
		entry := entryOf(there, name)
		switch {
		case entry == nil:
			f.Steps = append(f.Steps, Step{
				Server: name,
				Action: Unchanged,
				Why:    "already removed",
			})
			continue
		case !r.pristine(name, entry):
			f.Steps = append(f.Steps, Step{
				Server: name,
				Action: Conflict,
				Why:    "it was changed since it was written",
				Fields: differing(r.entry(name), entry),
			})
			all = false
			continue
		}
		step := Step{
			Server: name,
			Action: Delete,
		}
		text := []byte(nil)
		err := error(nil)
		if old := l.original(f.Path, f.client, name); old != nil && !r.Created {
			step = Step{
				Server: name,
				Action: Update,
				Why:    "its previous content is restored",
				Fields: differing(entry, old),
			}
			text, err = edit.Set(f.after, f.client.target(), name, old)
		} else {
			text, err = edit.Remove(f.after, f.client.target(), name)
		}
		if err != nil {
			f.Problem = err.Error()
			f.after = f.before
			return false
		}
		f.Steps = append(f.Steps, step)
		f.after = text
	}
	if f.Changes() && (r.Created || !l.hadRoot(f)) {
		f.after = edit.Prune(f.after, f.client.target())
	}
	return all
}

// hadRoot reports whether a file had the member for servers before our first change, or
// may have had it.
func (l *State) hadRoot(f *FilePlan) bool {
	text, err := os.ReadFile(l.backup(f.Path))
	return err != nil || edit.Has(text, f.client.target())
}

// Apply executes the plan, one file at a time, each atomically, and updates the state. A
// file that was modified since the plan was made is planned again. A failure does not stop
// the others: the error joins those of all files, and Problem of each file has its own.
func (p *Removal) Apply() error {
	return p.state.writeAll(p.Files, p.write)
}

// write removes the entries of one file. If the file changes at the same time, it plans
// again, up to three times in total.
func (p *Removal) write(f *FilePlan) error {
	for attempt := 0; ; attempt++ {
		r := p.state.files[f.Path]
		if r == nil {
			return nil // another process has done it
		}
		next := *r
		next.Servers = maps.Clone(r.Servers)
		for _, s := range f.Steps {
			if s.Action != Conflict {
				delete(next.Servers, s.Server)
			}
		}
		err := p.put(f, r, &next)
		if err == nil && len(next.Servers) == 0 {
			return p.state.forget(f.Path)
		}
		if !errors.Is(err, errChanged) || attempt == 2 {
			return err
		}
		if r = p.state.files[f.Path]; r == nil {
			return nil
		}
		if *f = *p.state.removeFrom(f.Path, r, p.selection); f.Problem != "" {
			return errors.New(f.Problem)
		}
	}
}

// put writes the planned content of a file.
func (p *Removal) put(f *FilePlan, r, next *record) error {
	switch {
	case !f.Exists || !f.Changes():
		p.state.files[f.Path] = next
		return p.state.save()
	case f.after == nil && r.Created:
		if now, err := readFile(f.Path); err != nil || string(now) != string(f.before) {
			return errChanged
		}
		next.After = ""
		if err := p.state.announce(f.Path, r, next); err != nil {
			return err
		}
		if err := os.Remove(f.Path); err != nil {
			return err
		}
		dropDirs(f.Path, r.Made)
		return nil
	}
	next.Mixed = r.Mixed || digest(f.before) != r.After
	next.After = digest(f.after)
	return p.state.put(f, next)
}

// Conflicts returns the number of entries that stay because they were changed.
func (p *Removal) Conflicts() int {
	return (&Plan{Files: p.Files}).Conflicts()
}
