package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Apply executes the plan file by file, each atomically. The state keeps the content of
// a file before its first change. A file that was modified since the plan was made is
// planned again; one that cannot be written is left unchanged and reported in the error
// and in its Problem.
// If the process is killed, every file is either old or new, and the state can determine
// which.
func (p *Plan) Apply() error {
	return p.state.writeAll(p.Files, func(f *FilePlan) error {
		if !f.Changes() && p.state.files[f.Path] == nil {
			return nil
		}
		return p.write(f)
	})
}

// writeAll writes the files without a Problem while it holds the lock. A failure becomes
// the Problem of its file and part of the error, and does not stop the others.
func (l *State) writeAll(files []*FilePlan, write func(*FilePlan) error) error {
	unlock, err := l.lock()
	if err != nil {
		return err
	}
	defer unlock()
	var faults []error
	for _, f := range files {
		if f.Problem != "" {
			continue
		}
		if err := write(f); err != nil {
			err = fsutil.Cause(err)
			f.Problem = err.Error()
			faults = append(faults, fmt.Errorf("%s: %w", f.Path, err))
		}
	}
	return errors.Join(faults...)
}

// write writes a file and its record. If another program modified the file in the
// meantime, as those that store other data in it do, the file is planned again from its
// current content.
func (p *Plan) write(f *FilePlan) error {
	for attempt := 0; ; attempt++ {
		next := p.next(f)
		if !f.Changes() {
			p.state.files[f.Path] = next
			return p.state.save()
		}
		err := p.state.put(f, next)
		if !errors.Is(err, errChanged) || attempt == 2 {
			return err
		}
		if f.before, err = readFile(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if p.file(f); f.Problem != "" {
			return errors.New(f.Problem)
		}
		if !f.Changes() && p.state.files[f.Path] == nil {
			return nil
		}
	}
}

// next returns the state's record of a file after it is written.
func (p *Plan) next(f *FilePlan) *record {
	kept := p.state.files[f.Path]
	if kept == nil {
		kept = &record{
			Client: f.Client,
			Scope:  f.Scope,
			After:  digest(f.before),
		}
	}
	next := *kept
	next.Servers = maps.Clone(kept.Servers)
	if next.Servers == nil {
		next.Servers = map[string]written{}
	}
	for _, s := range f.Steps {
		w, ours := next.Servers[s.Server]
		switch {
		case s.Action == Create, s.Action == Update:
			next.Servers[s.Server] = written{s.entry.AppendJSON(nil), p.sources}
		case s.Action == Delete:
			delete(next.Servers, s.Server)
		case s.Action == Unchanged && ours && s.entry != nil && same(w.Entry, s.entry):
			next.Servers[s.Server] = written{w.Entry, p.sources}
		}
	}
	for name, w := range next.Servers { // in neither the definitions nor the file
		if p.manages(name, w) &&
			!slices.ContainsFunc(f.Steps, func(s Step) bool {
				return s.Server == name
			}) {
			delete(next.Servers, name)
		}
	}
	if f.Changes() {
		next.Mixed = kept.Mixed || digest(f.before) != kept.After
		next.After = digest(f.after)
	}
	return &next
}

// errChanged is returned when a file was modified concurrently.
var errChanged = errors.New("it was changed in the meantime, so it was not written")

// unchanged returns [errChanged] unless the file has the content that the plan is based on. missing
// reports whether it does not exist.
func (f *FilePlan) unchanged() (missing bool, err error) {
	now, err := readFile(f.Path)
	missing = errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return false, err
	}
	if string(now) != string(f.before) {
		return missing, errChanged
	}
	return missing, nil
}

// put replaces a file, provided it still has the content that the plan is based on, and
// reads it back. Mode, owner and symbolic links are kept. The state records the intent
// before the write and the outcome after it. As that takes a while, the content is compared again last.
func (l *State) put(f *FilePlan, next *record) error {
	missing, err := f.unchanged()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if f.Scope == User {
		mode = 0o600
	}
	owner, _ := os.Stat(f.Path)
	if owner != nil {
		mode = owner.Mode().Perm()
	}
	kept := l.files[f.Path]
	switch {
	case missing: // even if it existed once
		next.Created = true
		next.Mixed = false
		made, err := makeDirs(f.Path, dirMode(f.Scope))
		if err != nil {
			return err
		}
		if made != "" {
			next.Made = made
		}
	case kept == nil:
		if err := replace(l.backup(f.Path), f.before, 0o600); err != nil {
			return err
		}
	}
	if err := l.announce(f.Path, kept, next); err != nil {
		return err
	}
	err = fsutil.ReplaceIf(f.Path, mode, fsutil.Content(f.after), func() error {
		_, err := f.unchanged()
		return err
	})
	if err == nil && owner != nil {
		err = keepOwner(f.Path, owner)
	}
	if now, readErr := readFile(f.Path); err == nil && (readErr != nil || string(now) != string(f.after)) {
		err = errChanged
	}
	if err != nil {
		l.settle(f.Path)
		if unsaved := l.save(); unsaved != nil { // %v, because the path of the record must stay
			return fmt.Errorf("%w; nor can the record of it be saved: %v", fsutil.Cause(err), unsaved)
		}
		return err
	}
	l.files[f.Path] = next
	return l.save()
}
