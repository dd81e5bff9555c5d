package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax/internal/tree"
)

// Ledger remembers what was written into the files of clients: which entries are
// ours, what they were, and what a file was before. It is a folder of this user:
// one file, and a copy of each file that was changed, as it was before the first
// change. It holds no secrets but those that the files held before.
type Ledger struct {
	dir   string
	files map[string]*record
}

// record is one file of a client.
type record struct {
	Client string `json:"client"`
	Scope  Scope  `json:"scope"`
	// Created says that there was no file before. Otherwise there is a copy of it.
	Created bool `json:"created,omitempty"`
	// After is the SHA-256 of the file as it was left.
	After   string             `json:"after"`
	Servers map[string]written `json:"servers"`
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

func replace(name string, text []byte, mode fs.FileMode) error {
	return fsutil.Replace(name, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// staleLock is how long nobody writes.
const staleLock = time.Minute

// lock keeps other processes from writing meanwhile. A lock that is left behind
// by one that was killed counts nothing after a minute.
func (l *Ledger) lock() (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Join(l.dir, "backups"), 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(l.dir, "lock")
	if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > staleLock {
		_ = os.Remove(name)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("another slipway is writing: %s is there", name)
		}
		return nil, err
	}
	// Another process may have written since the ledger was read.
	fresh, err := OpenLedger(l.dir)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(name))
	}
	l.files = fresh.files
	return func() error { return errors.Join(f.Close(), os.Remove(name)) }, nil
}

// pristine reports whether an entry is ours and as we left it.
func (r *record) pristine(name string, entry *tree.Node) bool {
	if r == nil || entry == nil {
		return false
	}
	w, ok := r.Servers[name]
	return ok && same(w.Entry, entry)
}

// same compares an entry with one of the ledger, whose white space may differ.
func same(kept json.RawMessage, entry *tree.Node) bool {
	n, err := tree.FromJSON(kept)
	return err == nil && bytes.Equal(n.AppendJSON(nil), entry.AppendJSON(nil))
}

// Paths returns the files that were written to, sorted.
func (l *Ledger) Paths() []string { return slices.Sorted(maps.Keys(l.files)) }
