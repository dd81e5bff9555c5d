package open

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// maxWatches bounds the folders that are watched for one input. Linux permits 8,192 and more
// watches to a user in all.
const maxWatches = 4096

// notifier reports changes of files as the system announces them. Its events are hints: what
// changed, and whether it matters, is for a [fsutil.Snapshot] to find out.
type notifier struct {
	system *fsnotify.Watcher
	roots  []string
	// changed has a value after changes.
	changed chan struct{}
}

// newNotifier watches the files at paths, and all folders below those that are folders. It
// returns an error if the system cannot watch them all: there are too many, or the system
// needs an open file for each.
func newNotifier(paths []string) (*notifier, error) {
	switch runtime.GOOS {
	case "linux", "windows":
	default:
		return nil, errors.ErrUnsupported
	}
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	n := &notifier{
		system:  system,
		roots:   paths,
		changed: make(chan struct{}, 1),
	}
	if err := n.watchAll(); err != nil {
		return nil, errors.Join(err, system.Close())
	}
	go n.forward() // ends with close
	return n, nil
}

// watchAll adds the folders that are not watched yet. A file is watched by its folder, as
// editors replace files, and an optional one may not exist yet.
func (n *notifier) watchAll() error {
	watched := make(map[string]bool)
	for _, dir := range n.system.WatchList() {
		watched[dir] = true
	}
	for _, path := range n.roots {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			if err := n.add(watched, filepath.Dir(path)); err != nil {
				return err
			}
			continue
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || !d.IsDir():
				return nil
			case name != path && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			}
			return n.add(watched, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add watches a folder, unless it is watched. One that was deleted in the meantime is no error.
func (n *notifier) add(watched map[string]bool, dir string) error {
	dir = filepath.Clean(dir)
	switch {
	case watched[dir]:
		return nil
	case len(watched) >= maxWatches:
		return errors.New("too many folders")
	}
	err := n.system.Add(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	watched[dir] = err == nil
	return err
}

// forward turns events into values of changed, until the notifier is closed. After an error
// of the system, events may have been lost.
func (n *notifier) forward() {
	defer close(n.changed)
	for {
		select {
		case e, ok := <-n.system.Events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
		case _, ok := <-n.system.Errors:
			if !ok {
				return
			}
		}
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}
}

// close ends the notifications, and returns when no more are sent.
func (n *notifier) close() {
	_ = n.system.Close() // it only returns errors of an earlier close
	for range n.changed {
	}
}
