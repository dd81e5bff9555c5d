package serve

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// checkEvery is how often a file in use is checked for changes.
const checkEvery = time.Second

// fileWatch detects changes of files. It has no goroutine: it checks when called, at most
// once per checkEvery. If a file is replaced via a symbolic link, as on container
// platforms, the target counts.
type fileWatch struct {
	// paths are watched together, as a certificate and its key.
	paths []string
	began time.Time
	next  atomic.Int64 // when to check next, in nanoseconds since began

	mu   sync.Mutex
	seen []os.FileInfo // nil for a file that did not exist
	// absent counts the checks in a row that did not find a file.
	absent int
}

// newFileWatch starts with the current state of the files.
func newFileWatch(paths ...string) *fileWatch {
	w := &fileWatch{
		paths: paths,
		began: time.Now(),
		seen:  make([]os.FileInfo, len(paths)),
	}
	w.check()
	w.next.Store(int64(checkEvery))
	return w
}

// refresh calls load if a file has changed since the last check. A removed file counts as
// changed when a second check does not find it either: it may be about to be replaced. Callers
// wait while another one checks and loads, so that none continues with outdated content.
func (w *fileWatch) refresh(load func()) {
	if int64(time.Since(w.began)) < w.next.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := int64(time.Since(w.began))
	if now < w.next.Load() {
		return // another caller has checked in the meantime
	}
	if w.check() {
		load()
	}
	w.next.Store(now + int64(checkEvery))
}

// check reports whether a file differs from when it was last seen, or is missing for the second
// time.
func (w *fileWatch) check() (changed bool) {
	missing := false
	for i, path := range w.paths {
		now, err := os.Stat(path)
		if err != nil {
			missing = missing || w.seen[i] != nil
			continue
		}
		was := w.seen[i]
		if was == nil ||
			!os.SameFile(was, now) ||
			!was.ModTime().Equal(now.ModTime()) ||
			was.Size() != now.Size() {
			changed = true
		}
		w.seen[i] = now
	}
	if !missing {
		w.absent = 0
		return changed
	}
	w.absent++
	return changed || w.absent == 2
}
