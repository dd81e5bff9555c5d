package serve

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lookEvery is how often a file that may change is looked at, while it is in use.
const lookEvery = time.Second

// fileWatch notices that files have changed. It has no goroutine: it looks when
// it is asked, and not more often than lookEvery. Where a file is replaced by
// way of a symbolic link, as container platforms do it, it is the target that
// counts.
type fileWatch struct {
	paths []string
	began time.Time
	next  atomic.Int64 // when to look again, in nanoseconds since began

	mu   sync.Mutex
	seen []os.FileInfo // nil for one that was not there
}

// newFileWatch begins with the files as they are now.
func newFileWatch(paths ...string) *fileWatch {
	w := &fileWatch{paths: paths, began: time.Now(), seen: make([]os.FileInfo, len(paths))}
	w.look()
	w.next.Store(int64(lookEvery))
	return w
}

// refresh calls load if a file has changed since the last time. One that has gone
// has not: it is probably being replaced. Callers wait while another one looks and
// loads, so that none of them goes on with what the file said before.
func (w *fileWatch) refresh(load func()) {
	if int64(time.Since(w.began)) < w.next.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := int64(time.Since(w.began))
	if now < w.next.Load() {
		return // another caller has looked meanwhile
	}
	if w.look() {
		load()
	}
	w.next.Store(now + int64(lookEvery))
}

func (w *fileWatch) look() (changed bool) {
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
