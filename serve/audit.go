package serve

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Audit is an audit log in JSON lines: one line for each request that makes the Source do
// or return something, for each refused request, and for events of upstream servers and of
// callers' logins to them. It never contains arguments, results or tokens;
// docs/reference/operations.md lists its contents. It is safe for concurrent use, and several
// Servers may share one.
//
// Lines are written whole, at most 10 ms after they were created, and when the Audit is
// closed. If writing fails, up to 1 MiB of lines is kept and retried every second;
// further lines are counted as lost, and the loss is recorded in the audit log and
// reported to [AuditOptions.Logger]. Requests do not wait for writes, unless
// AuditOptions.Required is set.
type Audit struct {
	path     string // "" if out is not a file opened by the Audit
	log      *slog.Logger
	required bool
	hashes   hashes

	writing sync.Mutex // held while writing; guards the fields below
	out     io.Writer
	file    *os.File
	checked time.Time // when the path was last verified
	torn    bool      // the last written line is incomplete
	failed  time.Time // when the write failure was last logged

	mu sync.Mutex // guards the fields below
	// pending are the lines to write next. spare is the buffer of the last write, to be used again.
	pending    []byte
	spare      []byte
	queued     uint64 // lines in total
	written    uint64 // of those queued
	lost       uint64 // lines that were never queued, or not written by the end
	unreported uint64 // lost lines not yet recorded in the log
	err        error  // of the last write, if it failed
	// timer starts the next write if one is scheduled, or retries one that failed.
	timer     *time.Timer
	scheduled bool
	closed    bool
}

// AuditOptions configure an [Audit]. The zero value and nil mean the defaults.
type AuditOptions struct {
	// Key is the key for hashing arguments and session ids (HMAC with SHA-256); at least 16
	// bytes. Without one, a random key is used: hashes can then be compared only while the
	// Audit is open.
	Key []byte
	// Required refuses requests that cannot be recorded: a line is written before a request
	// is served, and the line with its outcome before its answer is sent. A write that hangs
	// blocks requests.
	Required bool
	// Logger receives errors when the log cannot be written. Nil discards them.
	Logger *slog.Logger
}

const (
	auditDelay  = 10 * time.Millisecond // how long a line may wait for more lines
	auditRetry  = time.Second           // between attempts to write
	auditCheck  = time.Second           // between checks whether the file was renamed
	auditUrgent = 64 << 10              // this many bytes are written without delay
	auditKept   = 1 << 20               // bytes that are kept while writing fails
	auditClose  = 5 * time.Second       // how long closing may take
)

// OpenAudit opens the log in a file and appends to it. A new file is readable only by its
// owner. If the file is renamed or removed, a new one is created within a second. Several
// processes may write to one file. Close the Audit when done.
func OpenAudit(path string, opts *AuditOptions) (*Audit, error) {
	a, err := newAudit(opts)
	if err != nil {
		return nil, err
	}
	a.path = path
	if err := a.reopen(); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	a.opened()
	return a, nil
}

// NewAudit returns a log that is written to w, whole lines at a time. w is not closed, and
// is used by one goroutine at a time. The error is a Key that is too short.
func NewAudit(w io.Writer, opts *AuditOptions) (*Audit, error) {
	a, err := newAudit(opts)
	if err != nil {
		return nil, err
	}
	a.out = w
	a.opened()
	return a, nil
}

// newAudit returns a log that has no file or writer yet.
func newAudit(opts *AuditOptions) (*Audit, error) {
	var o AuditOptions
	if opts != nil {
		o = *opts
	}
	if o.Key != nil && len(o.Key) < minAuditKey {
		return nil, fmt.Errorf("audit log: its key must have at least %d bytes", minAuditKey)
	}
	a := &Audit{
		required: o.Required,
		log:      cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
	}
	a.hashes.init(o.Key)
	return a, nil
}

// Reopen continues the log in the file that now has its name, creating it if necessary, as
// after a rotation. Without a file it does nothing. If the file cannot be opened, the error
// is that of the file system.
func (a *Audit) Reopen() error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.path == "" {
		return nil
	}
	_ = a.flush() // older lines go to the old file, if possible
	return a.reopen()
}

// reopen requires that the caller holds writing, or that a is not yet shared.
func (a *Audit) reopen() error {
	f, err := fsutil.OpenShared(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if a.file != nil {
		_ = a.file.Close() // all written lines are in it
	}
	a.file, a.out, a.checked, a.torn = f, f, time.Now(), false
	return nil
}

// Close writes the pending lines and closes the log. An error means that lines were lost.
func (a *Audit) Close() error {
	a.event("closed", 0)
	a.mu.Lock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		a.writing.Lock()
		defer a.writing.Unlock()
		err := a.flush()
		if a.file != nil {
			err = errors.Join(err, a.file.Close())
		}
		done <- err
	}()
	limit := time.NewTimer(auditClose)
	defer limit.Stop()
	select {
	case err := <-done:
		return err
	case <-limit.C:
		return fmt.Errorf("audit log: it could not be written within %v", auditClose)
	}
}

// add queues a line, without its line break. It returns the line's number, for sync, or 0
// if the line is lost.
func (a *Audit) add(line []byte) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.pending) >= auditKept {
		a.lost++
		a.unreported++
		return 0
	}
	a.pending = append(append(a.pending, line...), '\n')
	a.queued++
	switch {
	case !a.scheduled:
		a.scheduled = true
		a.scheduleLocked(auditDelay)
	case a.err == nil && len(a.pending) > auditUrgent && len(a.pending)-len(line) <= auditUrgent+1:
		a.timer.Reset(0)
	}
	return a.queued
}

// scheduleLocked schedules the next write; after a failure, later. mu is held.
func (a *Audit) scheduleLocked(delay time.Duration) {
	if a.err != nil {
		delay = auditRetry
	}
	if a.timer == nil {
		a.timer = time.AfterFunc(delay, a.due)
		return
	}
	a.timer.Reset(delay)
}

// due writes the pending lines, waiting for a write in progress.
func (a *Audit) due() {
	a.writing.Lock()
	defer a.writing.Unlock()
	_ = a.flush() // the error was logged, and the write is retried
}

// sync waits until the line with that number has been written, and returns the error if
// writing fails.
func (a *Audit) sync(line uint64) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	done := line > 0 && a.written >= line
	a.mu.Unlock()
	if done {
		return nil
	}
	err := a.flush()
	if err == nil && line == 0 {
		err = errors.New("the line was lost")
	}
	return err
}

// flush writes the pending lines. The caller holds writing.
func (a *Audit) flush() error {
	a.mu.Lock()
	if a.unreported > 0 && a.err == nil {
		a.pending = append(a.appendEvent(a.pending, "lost", a.unreported), '\n')
		a.queued++
		a.unreported = 0
	}
	batch := a.pending
	a.pending = a.spare[:0]
	a.spare = nil
	a.scheduled = false
	a.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	n, err := a.put(batch)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written += uint64(bytes.Count(batch[:n], []byte{'\n'}))
	recovered := err == nil && a.err != nil
	a.err = err
	switch {
	case err != nil:
		a.pending = append(bytes.Clone(batch[n:]), a.pending...)
	case cap(batch) <= auditUrgent*4:
		a.spare = batch[:0]
	}
	if (len(a.pending) > 0 || a.unreported > 0) && !a.closed {
		a.scheduled = true
		a.scheduleLocked(auditDelay)
	}
	a.reportLocked(err, recovered)
	return err
}

// reportLocked logs that lines cannot be written, at most once a minute, or that writing
// works again.
func (a *Audit) reportLocked(err error, recovered bool) {
	switch {
	case recovered:
		a.failed = time.Time{}
		a.log.Warn("the audit log is written again", "lost", a.lost)
	case err != nil && time.Since(a.failed) > time.Minute:
		a.failed = time.Now()
		a.log.Error("the audit log cannot be written", "error", err, "lost", a.lost)
	}
}

// put writes whole lines in a single write and returns how many bytes of whole lines have
// been written.
func (a *Audit) put(batch []byte) (int, error) {
	if a.path != "" && time.Since(a.checked) >= auditCheck && !a.inPlace() {
		if err := a.reopen(); err != nil {
			return 0, err
		}
	}
	before := 0
	if a.torn { // start on a new line
		batch = append([]byte{'\n'}, batch...)
		before = 1
	}
	n, err := a.out.Write(batch)
	if err == nil && n < len(batch) {
		err = io.ErrShortWrite
	}
	if n == 0 {
		return 0, err
	}
	whole := bytes.LastIndexByte(batch[:n], '\n') + 1
	a.torn = n > whole
	return max(whole-before, 0), err
}

// inPlace reports whether the file still has its name.
func (a *Audit) inPlace() bool {
	named, err := os.Stat(a.path)
	if err != nil {
		return false
	}
	open, err := a.file.Stat()
	if err != nil || !os.SameFile(named, open) {
		return false
	}
	a.checked = time.Now()
	return true
}

// metrics adds the line counts.
func (a *Audit) metrics(t *exposition) {
	a.mu.Lock()
	written := a.written
	lost := a.lost
	a.mu.Unlock()
	t.counter("slipway_audit_lines_total", "Lines written to the audit log.", float64(written))
	t.counter("slipway_audit_lost_total", "Lines that could not be written to the audit log.", float64(lost))
}
