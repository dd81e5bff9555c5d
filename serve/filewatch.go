package serve

import (
	"io"
	"os"
	"sync"
	"time"

	"fmt"
)

// lookEvery is how often a file that may change is looked at, while it is in use.
const lookEvery = time.Second

// fileWatch notices that files have changed. It has no goroutine: it looks when
// it is asked, and not more often than lookEvery. Where a file is replaced by
// way of a symbolic link, as container platforms do it, it is the target that
// counts.
type fileWatch struct {
	paths []string

	mu     sync.Mutex
	looked time.Time
	seen   []os.FileInfo // nil for one that was not there
}

// newFileWatch begins with the files as they are now.
func newFileWatch(paths ...string) *fileWatch {
	w := &fileWatch{paths: paths, seen: make([]os.FileInfo, len(paths))}
	w.look()
	return w
}

// changed reports whether a file has changed since the last time that it
// reported so. One that has gone has not: it is probably being replaced.
func (w *fileWatch) changed() bool {
	if !w.mu.TryLock() {
		return false // somebody else is looking
	}
	defer w.mu.Unlock()
	if time.Since(w.looked) < lookEvery {
		return false
	}
	return w.look()
}

func (w *fileWatch) look() (changed bool) {
	w.looked = time.Now()
	for i, path := range w.paths {
		now, err := os.Stat(path)
		if err != nil {
			continue
		}
		was := w.seen[i]
		if was == nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) || was.Size() != now.Size() {
			changed = true
		}
		w.seen[i] = now
	}
	return changed
}

// readLimited reads a file of at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("read %s: larger than %d bytes", path, limit)
	}
	return text, err
}
