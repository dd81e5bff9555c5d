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

	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// State records what was written to client configuration files: which entries are ours,
// their values, and the original content of each file. It is a folder of the current user
// with one index file and a copy of each changed file from before the first change. It
// contains no secrets except those that the files already contained.
type State struct {
	// dir is the folder of the state, and files the records by path.
	dir   string
	files map[string]*record
	// killed lists files for which a killed process left a change unfinished.
	killed []string
}

// record describes one client file.
type record struct {
	// Client and Scope identify the program and its file.
	Client string `json:"client"`
	Scope  Scope  `json:"scope"`
	// Created reports whether we created the file. Otherwise, a copy of the original exists.
	Created bool `json:"created,omitempty"`
	// Made is the topmost parent folder that we created.
	Made string `json:"made,omitempty"`
	// Mixed reports whether another program changed the file between two of our changes, so
	// that the copy is not what the file would be without us.
	Mixed bool `json:"mixed,omitempty"`
	// After is the SHA-256 of the file after our last change.
	After string `json:"after"`
	// Servers are the entries that are ours, as last written.
	Servers map[string]written `json:"servers"`
	// Next is the record after a pending write. It exists only during the write, or after a
	// process was killed during it.
	Next *record `json:"next,omitempty"`
}

// written is one entry of ours.
type written struct {
	// Entry is the entry as JSON, to detect changes, and Sources the definitions it was
	// written from.
	Entry   json.RawMessage `json:"entry"`
	Sources []string        `json:"sources"`
}

// StateDir returns the absolute path of the state folder of the current user:
// $SLIPWAY_STATE_DIR, or slipway in the system's default location, such as
// $XDG_STATE_HOME, ~/.local/state or %LOCALAPPDATA%. The folder may not exist.
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

// DefinitionsFile returns the definitions of the current user's servers, which slipway add
// writes: slipway/servers.yaml in the system's default location for configuration. The
// file may not exist.
func DefinitionsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "slipway", "servers.yaml"), nil
}

// OpenState reads the state in a folder. A missing folder is an empty state and is created
// on the first write. Interrupted changes of files are settled first. The error is that of
// reading, or of a file that is damaged or was written by a newer version.
func OpenState(dir string) (*State, error) {
	l := &State{
		dir:   dir,
		files: map[string]*record{},
	}
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
		return nil, fmt.Errorf("%s: version %d was written by another slipway",
			l.name(), file.Version)
	}
	for path, r := range file.Files {
		if r != nil {
			l.files[path] = r
			l.settle(path)
		}
	}
	return l, nil
}

// name returns the path of the index file.
func (l *State) name() string {
	return filepath.Join(l.dir, "clients.json")
}

// backup returns the path of the copy of a file.
func (l *State) backup(path string) string {
	return filepath.Join(l.dir, "backups", digest([]byte(path))[:32])
}

// digest returns the SHA-256 of a text in hexadecimal digits.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// save replaces the state file. Only the user can read it, since entries may contain
// literal values.
func (l *State) save() error {
	text, err := json.MarshalIndent(map[string]any{
		"version": 1,
		"files":   l.files,
	}, "", "  ")
	if err != nil {
		return err
	}
	return replace(l.name(), append(text, '\n'), 0o600)
}

// lockWait limits how long to wait for another process that is writing.
const lockWait = 30 * time.Second

// lock keeps other processes from writing and waits for one that is. The system releases
// the lock of a killed process; a leftover lock file is harmless.
func (l *State) lock() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Join(l.dir, "backups"), 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(l.dir, "lock")
	type locked struct {
		unlock func()
		err    error
	}
	got := make(chan locked)
	late := make(chan struct{})
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
		return nil, fmt.Errorf("another slipway has been writing for %v: it has locked %s", lockWait, name)
	case lock := <-got:
		if lock.err != nil {
			return nil, lock.err
		}
		unlock = lock.unlock
	}
	// Another process may have written since the state was read.
	fresh, err := OpenState(l.dir)
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

// sweep removes temporary files that a killed process left next to a file: .NAME.tmp-123.
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

// announce records the intended change of a file.
func (l *State) announce(path string, kept, next *record) error {
	now := record{
		Client:  next.Client,
		Scope:   next.Scope,
		Created: next.Created,
		Servers: map[string]written{},
	}
	if kept != nil {
		now = *kept
	}
	now.Next = next
	l.files[path] = &now
	return l.save()
}

// forget drops a file without entries of ours, and its copy.
func (l *State) forget(path string) error {
	delete(l.files, path)
	if err := l.save(); err != nil {
		return err
	}
	if err := os.Remove(l.backup(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// settle determines the outcome of a change that was announced but not confirmed.
func (l *State) settle(path string) {
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

// adopt records our entries in a file that another program changed afterwards.
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
			r.Servers[name] = w
			r.Mixed = true
		}
	}
}

// original returns the entry that our entry of that name replaced, or nil.
func (l *State) original(path string, c *Client, name string) *tree.Node {
	text, err := os.ReadFile(l.backup(path))
	if err != nil {
		return nil
	}
	there, _ := edit.Get(text, c.target())
	return entryOf(there, name)
}

// pristine reports whether an entry is ours and unchanged.
func (r *record) pristine(name string, entry *tree.Node) bool {
	if r == nil || entry == nil {
		return false
	}
	w, ok := r.Servers[name]
	return ok && same(w.Entry, entry)
}

// same compares an entry with a recorded one.
func same(kept json.RawMessage, entry *tree.Node) bool {
	n, err := tree.FromJSON(kept)
	return err == nil && equal(n, entry)
}

// equal reports whether two values are equal. The order of members is ignored: programs
// that rewrite their file may reorder them.
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
		other := b.Get(m.Key)
		if other == nil || !equal(a.Get(m.Key), other) {
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
func (l *State) Paths() []string {
	return slices.Sorted(maps.Keys(l.files))
}
