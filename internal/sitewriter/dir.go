package sitewriter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/staticmcp"
)

const (
	indexName   = staticmcp.IndexPath
	journalName = indexDir + "journal"
	lockName    = "lock" // in indexDir, while a write is in progress
)

// ForeignError reports existing files that Slipway did not write.
type ForeignError struct {
	Path string
	// Files is the number of such files; Path is the first.
	Files int
}

// Error implements the error interface.
func (e *ForeignError) Error() string {
	if e.Files > 1 {
		return fmt.Sprintf("%d files already exist and were not written by slipway, such as %s", e.Files, e.Path)
	}
	return e.Path + " already exists and was not written by slipway"
}

// BusyError reports that another process, or another write of this one, is writing to the folder Path.
type BusyError struct{ Path string }

// Error implements the error interface.
func (e *BusyError) Error() string { return "another build is writing " + e.Path }

// Dir returns an output that writes a folder, creating it if necessary.
//
// It writes only files whose contents differ, each under a temporary name first, and the
// manifest last. It deletes a file only if the index shows that an earlier write created
// it and its contents are unchanged since. Everything else in the folder is left alone.
// An interrupted write leaves a usable site, and the next write completes it.
//
// A folder that has a manifest but no Slipway index is refused, and so is an existing
// foreign file that would be overwritten, unless [Options.Adopt] is set. While a write is in
// progress, other writes fail with a [*BusyError].
func Dir(path string) Output { return &directory{path: path} }

type directory struct{ path string }

// begin opens the folder, and reads what an earlier write left in it.
func (d *directory) begin(o *Options) (target, error) {
	info, err := os.Stat(d.path)
	created := ""
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.DryRun:
		return &dirTarget{}, nil
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(d.path, 0o755); err != nil {
			return nil, err
		}
		created = d.path
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, pathError("write", d.path, errors.New("it is not a folder"))
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	t := &dirTarget{
		root:    root,
		created: created,
	}
	if !o.DryRun {
		err = t.hold(d.path)
	}
	if err == nil {
		err = t.open(o)
	}
	if err != nil {
		err = t.located(err)
		t.close()
		return nil, err
	}
	return t, nil
}

// hold locks the folder until the write ends. The system releases the lock of a process that exits. A
// folder that cannot be written has no lock: a site that is current can be built there, too.
func (t *dirTarget) hold(dir string) error {
	folder := strings.TrimSuffix(indexDir, "/")
	for {
		err := t.root.Mkdir(folder, 0o755)
		switch {
		case err == nil:
			t.heldIn = folder
		case !errors.Is(err, fs.ErrExist):
			return unlessReadOnly(err)
		}
		info, err := t.root.Lstat(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // another write has just removed it
		case err != nil:
			return err
		case !info.IsDir():
			return pathError("write", filepath.Join(dir, folder), errors.New("it is not a folder"))
		}
		t.lock, err = fsutil.TryLock(filepath.Join(dir, folder, lockName))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, fsutil.ErrLocked):
			return &BusyError{Path: dir}
		}
		return unlessReadOnly(err)
	}
}

// unlessReadOnly returns err unless it means that a folder cannot be written or locked at all.
// ENOLCK is from network file systems without locks.
func unlessReadOnly(err error) error {
	for _, unable := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOLCK, errors.ErrUnsupported} {
		if errors.Is(err, unable) {
			return nil
		}
	}
	return err
}

// release unlocks the folder, and removes what hold has made.
func (t *dirTarget) release() {
	if t.lock != nil {
		_ = t.lock.Remove() // if it remains, the next write takes it
		t.lock = nil
	}
	if t.heldIn != "" {
		_ = t.root.Remove(t.heldIn) // fails unless nothing was written
	}
}

// dirTarget is a folder during a write.
type dirTarget struct {
	root  *os.Root         // nil if the folder does not exist and will not be created
	index *staticmcp.Index // of the previous write, or nil
	// created is the path of the folder if this write has created it, or empty.
	created string
	// begun lists the files in the journal of an interrupted write.
	begun map[string]bool
	made  map[string]bool // folders known to exist
	// at is the folder called atDir, which is kept open because neighbouring files are
	// written one after the other.
	at      *os.Root
	atDir   string
	journal *os.File
	// lock excludes other writes, and heldIn is the folder with it if this write has created that.
	lock   *fsutil.Lock
	heldIn string

	comparison comparison
	copied     []byte // the buffer of put
}

func (t *dirTarget) dir() string {
	if t.root == nil {
		return ""
	}
	return t.root.Name()
}

func (t *dirTarget) close() {
	t.leave()
	if t.journal != nil {
		t.journal.Close()
	}
	if t.root != nil {
		t.release()
		t.root.Close()
	}
	if t.created != "" {
		_ = os.Remove(t.created) // fails unless nothing was written
	}
}

// open reads the state left by earlier writes.
func (t *dirTarget) open(o *Options) error {
	t.made = make(map[string]bool)
	t.begun = make(map[string]bool)
	journal, err := t.root.ReadFile(journalName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(journal)) {
		// A line without a line break was cut off by an interruption.
		name, whole := strings.CutSuffix(line, "\n")
		if whole && name != "" {
			t.begun[name] = true
		}
	}
	if !o.DryRun {
		t.sweep()
	}
	if t.index, err = t.readIndex(); err != nil {
		return err
	}
	if _, err := t.root.Lstat(manifestName); err == nil && t.index == nil && journal == nil && !o.Adopt {
		return &ForeignError{Path: filepath.Join(t.root.Name(), manifestName)}
	}
	return nil
}

// temporary is the name under which files are written before they are renamed.
const temporary = ".slipway-tmp"

// sweep deletes partial files of an interrupted write.
func (t *dirTarget) sweep() {
	seen := make(map[string]bool)
	for name := range t.begun {
		dir := path.Dir(name)
		if fs.ValidPath(name) && !seen[dir] {
			seen[dir] = true
			// Usually does not exist.
			_ = t.root.Remove(filepath.Join(filepath.FromSlash(dir), temporary))
		}
	}
}

// readIndex reads which files an earlier write has made; nil if there was none.
func (t *dirTarget) readIndex() (*staticmcp.Index, error) {
	data, err := t.root.ReadFile(indexName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	index := &staticmcp.Index{}
	if err := json.Unmarshal(data, index); err != nil {
		return nil, fmt.Errorf("read %s: %w", indexName, err)
	}
	if index.Format != indexFormat {
		return nil, fmt.Errorf("read %s: format %d is unknown to this program",
			indexName, index.Format)
	}
	return index, nil
}

// entries calls visit with the entry of each file in the index, in path order.
func (t *dirTarget) entries(visit func(*staticmcp.IndexEntry) error) error {
	return t.listed(func(e *staticmcp.IndexEntry) error {
		if e.Packed {
			return nil // its pack is a file
		}
		return visit(e)
	})
}

// listed calls visit with each entry of the index, in path order.
func (t *dirTarget) listed(visit func(*staticmcp.IndexEntry) error) error {
	if t.index == nil {
		return nil
	}
	each := func(list []staticmcp.IndexEntry) error {
		for i := range list {
			if err := visit(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(t.index.Files); err != nil {
		return err
	}
	for _, shard := range t.index.Shards {
		list, err := t.shard(shard.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its files can no longer be identified as ours
		}
		if err := errors.Join(err, each(list)); err != nil {
			return err
		}
	}
	return nil
}

// shard returns the entries in a part of the index.
func (t *dirTarget) shard(name string) (list []staticmcp.IndexEntry, err error) {
	data, err := t.root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return list, nil
}

// state is the state of a file relative to the new site.
type state uint8

const (
	same state = iota
	absent
	differs
)

// commit brings the folder up to date.
func (t *dirTarget) commit(ctx context.Context, w *writer) error {
	plan, err := t.compare(ctx, w)
	if err != nil {
		return t.located(err)
	}
	for i := range plan.states {
		switch plan.states[i] {
		case same:
			w.result.Unchanged++
		case absent:
			w.result.note(Create, plan.file(i).path)
		case differs:
			w.result.note(Update, plan.file(i).path)
		}
	}
	for _, name := range plan.gone {
		w.result.note(Delete, name)
	}
	w.result.Kept = plan.kept
	if w.opts.DryRun {
		return nil
	}
	return t.located(t.apply(ctx, w, plan))
}

// located names the folder in an error about a path in it.
func (t *dirTarget) located(err error) error {
	var failed *fs.PathError
	if dir := t.dir(); dir != "" && errors.As(err, &failed) && !strings.HasPrefix(failed.Path, dir) {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	return err
}

// dirPlan lists the changes to a folder.
type dirPlan struct {
	w      *writer
	states []state  // of the files of the site, then of those below .staticmcp
	gone   []string // files to delete
	kept   []string // obsolete files that are kept because they were modified
}

// compare plans the changes without making any.
func (t *dirTarget) compare(ctx context.Context, w *writer) (*dirPlan, error) {
	plan := &dirPlan{
		w:      w,
		states: make([]state, len(w.files)+len(w.inner)),
	}
	ours, err := t.ours(w, plan)
	if err != nil {
		return nil, err
	}
	var foreign ForeignError
	for i := range plan.states {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := plan.file(i)
		var stamp fsutil.Stamp
		if plan.states[i], stamp, err = t.state(w, f); err != nil {
			return nil, err
		}
		if w.stamps != nil {
			w.stamps = append(w.stamps, stamp)
		}
		inner := i >= len(w.files)
		if plan.states[i] == differs && !inner && !ours[i] && !t.begun[f.path] &&
			!w.opts.Adopt {
			foreign.Path = cmp.Or(foreign.Path,
				filepath.Join(t.root.Name(), filepath.FromSlash(f.path)))
			foreign.Files++
		}
		w.progress("comparing", i+1, len(plan.states), 0)
	}
	if foreign.Files > 0 {
		return nil, &foreign
	}
	plan.keepRecord(len(w.files), w.opts.Record)
	return plan, nil
}

// keepRecord leaves the record unchanged if nothing else changes, so that its time is
// that of the last change.
func (p *dirPlan) keepRecord(answers int, record map[string][]byte) {
	if len(p.gone) > 0 || slices.ContainsFunc(p.states[:answers], func(s state) bool {
		return s != same
	}) {
		return
	}
	for i := answers; i < len(p.states); i++ {
		_, ok := record[strings.TrimPrefix(p.file(i).path, indexDir)]
		if ok && p.states[i] == differs {
			p.states[i] = same
		}
	}
}

// ours reports which files of the site the index lists, and adds the listed files that no
// longer belong to the site to the plan.
func (t *dirTarget) ours(w *writer, plan *dirPlan) ([]bool, error) {
	ours := make([]bool, len(plan.states))
	at := 0
	wanted := func(name string) bool {
		for at < len(w.files) && w.files[at].path < name {
			at++
		}
		return at < len(w.files) && w.files[at].path == name
	}
	listed := make(map[string]bool) // files of begun that the index lists
	err := t.entries(func(e *staticmcp.IndexEntry) error {
		if t.begun[e.Path] {
			listed[e.Path] = true
		}
		if wanted(e.Path) {
			ours[at] = true
			return nil
		}
		return t.obsolete(plan, e.Path, e.SHA256)
	})
	if err != nil {
		return nil, err
	}
	for name := range t.begun {
		if !listed[name] && !w.has(name) && !strings.HasPrefix(name, indexDir) {
			if err := t.obsolete(plan, name, ""); err != nil {
				return nil, err
			}
		}
	}
	return ours, t.obsoleteInner(w, plan)
}

// obsolete plans the deletion of a file that no longer belongs to the site. A file
// modified since it was written is kept. sum is empty for a file of an interrupted write,
// whose contents are unknown.
func (t *dirTarget) obsolete(plan *dirPlan, name, sum string) error {
	if !fs.ValidPath(name) {
		return nil
	}
	data, err := t.root.ReadFile(filepath.FromSlash(name))
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	got := sha256.Sum256(data)
	if sum != "" && hex.EncodeToString(got[:]) != sum && !t.begun[name] {
		plan.kept = append(plan.kept, name)
		return nil
	}
	plan.gone = append(plan.gone, name)
	return nil
}

// obsoleteInner plans the deletion of obsolete index shards.
func (t *dirTarget) obsoleteInner(w *writer, plan *dirPlan) error {
	if t.index == nil {
		return nil
	}
	needed := make(map[string]bool)
	for i := range w.inner {
		needed[w.inner[i].path] = true
	}
	for _, shard := range t.index.Shards {
		if path.Dir(shard.Path)+"/" == indexDir+"index/" && !needed[shard.Path] {
			plan.gone = append(plan.gone, shard.Path)
		}
	}
	return nil
}

// state compares a file with the folder. The stamp is that of the file before it was read.
func (t *dirTarget) state(w *writer, f *file) (is state, stamp fsutil.Stamp, err error) {
	if t.root == nil {
		return absent, stamp, nil
	}
	name := filepath.FromSlash(f.path)
	info, err := t.root.Stat(name)
	if isAbsent(err) {
		return absent, stamp, nil
	}
	if err != nil {
		return 0, stamp, err
	}
	if !info.Mode().IsRegular() {
		return 0, stamp, pathError("write", filepath.Join(t.root.Name(), name),
			errors.New("it exists and is not a file"))
	}
	stamp = fsutil.StampOf(info)
	if info.Size() != f.size {
		return differs, stamp, nil
	}
	there, err := t.root.Open(name)
	if err != nil {
		return 0, stamp, err
	}
	defer there.Close()
	made, err := w.spool.reader(f.at, f.size)
	if err != nil {
		return 0, stamp, err
	}
	equal, err := t.comparison.equal(made, there)
	if err != nil || equal {
		return same, stamp, err
	}
	return differs, stamp, nil
}

// isAbsent reports whether err means that a file does not exist.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// apply carries out the plan. The journal names every file before it is created, so that
// the next write recognizes it even if this one is interrupted before it writes the
// index.
func (t *dirTarget) apply(ctx context.Context, w *writer, plan *dirPlan) error {
	if len(plan.gone) == 0 && !plan.writes() {
		return t.endJournal()
	}
	if err := t.beginJournal(plan); err != nil {
		return err
	}
	last := -1
	done := 0
	total := w.result.Created + w.result.Changed
	var bytes int64
	write := func(i int) error {
		if i < 0 || plan.states[i] == same { // a patch leaves the manifest out
			return nil
		}
		f := plan.file(i)
		done++
		bytes += f.size
		w.progress("writing", done, total, bytes)
		if err := errors.Join(ctx.Err(), t.put(w, f)); err != nil || w.stamps == nil {
			return err
		}
		info, err := t.root.Lstat(filepath.FromSlash(f.path))
		if err == nil {
			w.stamps[i] = fsutil.StampOf(info)
		}
		return err
	}
	for i := range plan.states {
		if plan.file(i).path == manifestName && i < len(w.files) {
			last = i
			continue
		}
		if i == len(w.files) {
			// All answers exist: the manifest may refer to them now, and files it no
			// longer refers to can be deleted.
			err := errors.Join(write(last), t.remove(ctx, plan.gone))
			if err != nil {
				return err
			}
			last = -1
		}
		if err := write(i); err != nil {
			return err
		}
	}
	if last >= 0 {
		err := errors.Join(write(last), t.remove(ctx, plan.gone))
		if err != nil {
			return err
		}
	}
	return t.endJournal()
}

// file returns the file of states[i]. The index is last.
func (p *dirPlan) file(i int) *file {
	if n := len(p.w.files); i >= n {
		return &p.w.inner[i-n]
	}
	return &p.w.files[i]
}

func (p *dirPlan) writes() bool {
	return slices.ContainsFunc(p.states, func(s state) bool {
		return s != same
	})
}

// beginJournal records what is about to change, so that a write after an interrupted one
// knows which files are its own.
func (t *dirTarget) beginJournal(plan *dirPlan) error {
	if err := t.mkdir(strings.TrimSuffix(indexDir, "/")); err != nil {
		return err
	}
	var err error
	t.journal, err = t.root.OpenFile(filepath.FromSlash(journalName),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	// Starts a new line, in case an interrupted write left an incomplete one.
	b.WriteByte('\n')
	for i := range plan.states {
		if plan.states[i] != same {
			b.WriteString(plan.file(i).path)
			b.WriteByte('\n')
		}
	}
	_, err = io.Copy(t.journal, &b)
	return err
}

// endJournal removes the journal once the index describes the folder again.
func (t *dirTarget) endJournal() error {
	if t.journal != nil {
		if err := t.journal.Close(); err != nil {
			return err
		}
		t.journal = nil
	}
	err := t.root.Remove(filepath.FromSlash(journalName))
	if isAbsent(err) {
		return nil
	}
	return err
}

// enter returns a folder of the site, which is created if necessary, and stays valid until
// the next call.
func (t *dirTarget) enter(dir string) (*os.Root, error) {
	if dir == "." {
		return t.root, nil
	}
	if t.at != nil && t.atDir == dir {
		return t.at, nil
	}
	t.leave()
	if err := t.mkdir(dir); err != nil {
		return nil, err
	}
	at, err := t.root.OpenRoot(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	t.at = at
	t.atDir = dir
	return at, nil
}

// leave closes the folder that is kept open.
func (t *dirTarget) leave() {
	if t.at != nil {
		t.at.Close()
		t.at = nil
	}
}

// put writes one file under a temporary name and renames it.
func (t *dirTarget) put(w *writer, f *file) (err error) {
	dir, name := path.Split(f.path)
	folder, err := t.enter(path.Clean(dir))
	if err != nil {
		return err
	}
	from, err := w.spool.reader(f.at, f.size)
	if err != nil {
		return err
	}
	into, err := folder.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if t.copied == nil {
		t.copied = make([]byte, 1<<16)
	}
	// Without the methods of a file, which allocate a buffer for each copy.
	_, err = io.CopyBuffer(struct{ io.Writer }{into}, struct{ io.Reader }{from}, t.copied)
	if f.path == manifestName || f.path == indexName {
		err = errors.Join(err, into.Sync())
	}
	if err = errors.Join(err, into.Close()); err == nil {
		err = folder.Rename(temporary, name)
	}
	if err != nil {
		folder.Remove(temporary)
	}
	return err
}

// mkdir creates a folder, once.
func (t *dirTarget) mkdir(dir string) error {
	if dir == "." || t.made[dir] {
		return nil
	}
	if err := t.root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
		return err
	}
	t.made[dir] = true
	return nil
}

// remove deletes files, and folders that become empty.
func (t *dirTarget) remove(ctx context.Context, names []string) error {
	t.leave() // it may become empty
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.root.Remove(filepath.FromSlash(name)); err != nil && !isAbsent(err) {
			return err
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if t.root.Remove(filepath.FromSlash(dir)) != nil {
				break
			}
		}
	}
	return nil
}
