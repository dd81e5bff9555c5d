package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
	"github.com/slipway-mcp/slipway/stax/internal/tree"
)

func (r *record) entry(name string) *tree.Node {
	n, err := tree.FromJSON(r.Servers[name].Entry)
	if err != nil {
		return &tree.Node{Kind: tree.Object}
	}
	return n
}

// Removal is a plan to take entries out again that are ours.
type Removal struct {
	Files []*FilePlan `json:"files"`

	ledger *Ledger
}

// Remove plans to take out entries that were written and not changed since. One
// that was changed is a conflict and stays. A file of which nobody changed
// anything becomes, byte for byte, what it was before the first change; one that
// was not there before goes.
func (l *Ledger) Remove(s *Selection) *Removal {
	plan := &Removal{ledger: l}
	for _, path := range l.Paths() {
		if r := l.files[path]; s.file(r) {
			plan.Files = append(plan.Files, l.removeFrom(path, r, s))
		}
	}
	return plan
}

func (l *Ledger) removeFrom(path string, r *record, s *Selection) *FilePlan {
	f := &FilePlan{Client: r.Client, Name: r.Client, Scope: r.Scope, Path: path}
	f.client, _ = ByID(r.Client)
	if f.client == nil {
		f.Problem = "this program does not know the client any more"
		return f
	}
	f.Name = f.client.Name
	text, err := os.ReadFile(path)
	f.Exists = err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.Problem = fsutil.Reason(err)
		return f
	}
	f.before, f.after = text, text
	there, err := edit.Get(text, f.client.target())
	if err != nil {
		f.Problem = "the file cannot be read: " + err.Error()
		return f
	}
	all := true
	for _, name := range slices.Sorted(maps.Keys(r.Servers)) {
		if !s.server(name) {
			all = false
			continue
		}
		entry := entryOf(there, name)
		switch {
		case entry == nil:
			f.Steps = append(f.Steps, Step{Server: name, Action: Unchanged, Why: "it is gone already"})
			continue
		case !r.pristine(name, entry):
			f.Steps = append(f.Steps, Step{Server: name, Action: Conflict, Why: "it was changed since it was written", Fields: differing(r.entry(name), entry)})
			all = false
			continue
		}
		f.Steps = append(f.Steps, Step{Server: name, Action: Delete})
		if f.after, err = edit.Remove(f.after, f.client.target(), name); err != nil {
			f.Problem, f.after = err.Error(), f.before
			return f
		}
	}
	if all && f.Exists && digest(text) == r.After {
		f.after = nil
		if !r.Created {
			if f.after, err = os.ReadFile(l.backup(path)); err != nil {
				f.Problem = fmt.Sprintf("the copy of the file cannot be read: %s", fsutil.Reason(err))
				return f
			}
		}
	}
	f.Diff = unified(f.Short(), f.before, f.after)
	return f
}

// Apply does what the plan says.
func (p *Removal) Apply() (err error) {
	unlock, err := p.ledger.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	var faults []error
	for _, f := range p.Files {
		if f.Problem == "" {
			if err := p.write(f); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", f.Path, err))
			}
		}
	}
	return errors.Join(faults...)
}

func (p *Removal) write(f *FilePlan) error {
	r := p.ledger.files[f.Path]
	switch {
	case f.Exists && f.after == nil && r.Created:
		if now, err := os.ReadFile(f.Path); err != nil || string(now) != string(f.before) {
			return errChanged
		}
		if err := os.Remove(f.Path); err != nil {
			return err
		}
	case f.Exists && f.Changes():
		if err := p.ledger.put(f.Path, f.before, f.after, f.Scope, false); err != nil {
			return err
		}
		r.After = digest(f.after)
	}
	for _, s := range f.Steps {
		if s.Action != Conflict {
			delete(r.Servers, s.Server)
		}
	}
	if len(r.Servers) == 0 {
		delete(p.ledger.files, f.Path)
		if err := os.Remove(p.ledger.backup(f.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return p.ledger.save()
}

// Conflicts returns how many entries stay because they were changed.
func (p *Removal) Conflicts() int { return (&Plan{Files: p.Files}).Conflicts() }
