package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/slipway-mcp/slipway/stax/internal/edit"
	"github.com/slipway-mcp/slipway/stax/internal/tree"
)

// Ledger remembers what was written into the files of clients: which entries are
// ours, what they were, and what a file was before. It is a folder of this user:
// one file, and a copy of each file that was changed, as it was before the first
// change. It holds no secrets but those that the files held before.
type Ledger struct {
	dir   string
	files map[string]*record
	// killed are files during whose change a process was killed.
	killed []string
}

// record is one file of a client.
type record struct {
	Client string `json:"client"`
	Scope  Scope  `json:"scope"`
	// Created says that there was no file before. Otherwise there is a copy of it.
	Created bool `json:"created,omitempty"`
	// Made is the topmost folder above the file that was not there before.
	Made string `json:"made,omitempty"`
	// Mixed says that somebody else changed the file between two changes of ours, so
	// that the copy is not what the file would be without us.
	Mixed bool `json:"mixed,omitempty"`
	// After is the SHA-256 of the file as it was left.
	After   string             `json:"after"`
	Servers map[string]written `json:"servers"`
	// Next is what the record becomes when the file is written. It is there only
	// meanwhile, and when a process was killed meanwhile.
	Next *record `json:"next,omitempty"`
}

// written is one entry that is ours.
type written struct {
	Entry   json.RawMessage `json:"entry"`
	Sources []string        `json:"sources"`
}

// StateDir returns the folder of the ledger of this user: $SLIPWAY_STATE_DIR, or
// where the system keeps such things.
func StateDir() (string, error) {
	if dir := os.Getenv("SLIPWAY_STATE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "windows":
		if dir := os.Getenv("LOCALAPPDATA"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "slipway"), nil
		}
		return filepath.Join(home, "AppData", "Local", "slipway"), nil
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "slipway"), nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "slipway"), nil
	}
	return filepath.Join(home, ".local", "state", "slipway"), nil
}

// OpenLedger reads the ledger in a folder. A folder that is not there is an empty
// ledger; it is made when something is written.
func OpenLedger(dir string) (*Ledger, error) {
	l := &Ledger{dir: dir, files: map[string]*record{}}
	text, err := os.ReadFile(l.name())
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	var file struct {
		Version int                `json:"version"`
		Files   map[string]*record `json:"files"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", l.name(), err)
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("%s: version %d was written by another slipway", l.name(), file.Version)
	}
	for path, r := range file.Files {
		if r != nil {
			l.files[path] = r
			l.settle(path)
		}
	}
	return l, nil
}

func (l *Ledger) name() string { return filepath.Join(l.dir, "clients.json") }

// backup is where the copy of a file is.
func (l *Ledger) backup(path string) string {
	return filepath.Join(l.dir, "backups", digest([]byte(path))[:32])
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (l *Ledger) save() error {
	text, err := json.MarshalIndent(map[string]any{"version": 1, "files": l.files}, "", "  ")
	if err != nil {
		return err
	}
	return replace(l.name(), append(text, '\n'), 0o600)
}

// lockWait is how long another process may write.
const lockWait = 30 * time.Second

// lock keeps other processes from writing meanwhile, and waits for one that does.
// The system takes the lock away from a process that is killed; that its file
// stays means nothing.
func (l *Ledger) lock() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Join(l.dir, "backups"), 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(l.dir, "lock")
	type locked struct {
		unlock func()
		err    error
	}
	got, late := make(chan locked), make(chan struct{})
	go func() {
		unlock, err := lockedfile.MutexAt(name).Lock()
		select {
		case got <- locked{unlock, err}:
		case <-late:
			if err == nil {
				unlock()
			}
		}
	}()
	timer := time.NewTimer(lockWait)
	defer timer.Stop()
	select {
	case <-timer.C:
		close(late)
		return nil, fmt.Errorf("another slipway has been writing for %v: it holds %s", lockWait, name)
	case lock := <-got:
		if lock.err != nil {
			return nil, lock.err
		}
		unlock = lock.unlock
	}
	// Another process may have written since the ledger was read.
	fresh, err := OpenLedger(l.dir)
	if err != nil {
		unlock()
		return nil, err
	}
	l.files = fresh.files
	sweep(l.name())
	for _, path := range fresh.killed {
		sweep(l.backup(path))
		sweep(path)
	}
	return unlock, nil
}

// sweep takes away what a killed process has written of a file under another name:
// .NAME.tmp-123, beside it.
func sweep(path string) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	begin := "." + filepath.Base(path) + ".tmp-"
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), begin)
		if ok && e.Type().IsRegular() && strings.Trim(digits, "0123456789") == "" {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// announce says what a file is about to become.
func (l *Ledger) announce(path string, kept, next *record) error {
	now := record{Client: next.Client, Scope: next.Scope, Created: next.Created, Servers: map[string]written{}}
	if kept != nil {
		now = *kept
	}
	now.Next = next
	l.files[path] = &now
	return l.save()
}

// forget drops a file in which nothing is ours any more, and its copy.
func (l *Ledger) forget(path string) error {
	delete(l.files, path)
	if err := l.save(); err != nil {
		return err
	}
	if err := os.Remove(l.backup(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// settle finds out what became of a file that was announced to change, and not
// said to have changed.
func (l *Ledger) settle(path string) {
	r := l.files[path]
	if r == nil || r.Next == nil {
		return
	}
	next := r.Next
	r.Next = nil
	l.killed = append(l.killed, path)
	text, err := readFile(path)
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil && digest(text) == next.After, gone && next.After == "":
		r = next
	case err == nil && digest(text) == r.After, gone && !next.Created:
	case err == nil:
		r.adopt(next, text)
	}
	l.files[path] = r
	if len(r.Servers) == 0 && r.After == "" {
		delete(l.files, path)
	}
}

// adopt takes over what was written, of a file that others changed afterwards.
func (r *record) adopt(next *record, text []byte) {
	c, _ := ByID(r.Client)
	if c == nil {
		return
	}
	there, err := edit.Get(text, c.target())
	if err != nil {
		return
	}
	if r.Servers == nil {
		r.Servers = map[string]written{}
	}
	for name, w := range next.Servers {
		if next.pristine(name, entryOf(there, name)) {
			r.Servers[name], r.Mixed = w, true
		}
	}
}

// original returns the entry that had a name before ours took it, or nil.
func (l *Ledger) original(path string, c *Client, name string) *tree.Node {
	text, err := os.ReadFile(l.backup(path))
	if err != nil {
		return nil
	}
	there, _ := edit.Get(text, c.target())
	return entryOf(there, name)
}

// pristine reports whether an entry is ours and as we left it.
func (r *record) pristine(name string, entry *tree.Node) bool {
	if r == nil || entry == nil {
		return false
	}
	w, ok := r.Servers[name]
	return ok && same(w.Entry, entry)
}

// same compares an entry with one of the ledger.
func same(kept json.RawMessage, entry *tree.Node) bool {
	n, err := tree.FromJSON(kept)
	return err == nil && equal(n, entry)
}

// equal reports whether two values say the same. The order of members says
// nothing: programs that write their file anew have one of their own.
func equal(a, b *tree.Node) bool {
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !equal(a.Items[i], b.Items[i]) {
			return false
		}
	}
	for _, m := range a.Members {
		if other := b.Get(m.Key); other == nil || !equal(a.Get(m.Key), other) {
			return false
		}
	}
	for _, m := range b.Members {
		if a.Get(m.Key) == nil {
			return false
		}
	}
	return a.Kind == tree.Object || a.Kind == tree.Array || a.Text == b.Text
}

// Paths returns the files that were written to, sorted.
func (l *Ledger) Paths() []string { return slices.Sorted(maps.Keys(l.files)) }
