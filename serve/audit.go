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
)

// Audit is a log of who did what: a line of JSON for each request that asks the
// Source to do something or to hand something out, for each that was refused, and
// for what happens to servers behind. It never holds arguments, results or
// tokens; docs/operations.md lists what it holds. It is safe for concurrent use,
// and Servers may share one.
//
// Lines are written whole, a hundredth of a second after they were made at the
// latest, and when the Audit is closed. If they cannot be written, a MiB of them
// is kept and tried again every second; what there are beyond that is counted,
// said in the log, and told to [Options.Logger]. Requests do not wait for any of it,
// unless AuditOptions.Required is set.
type Audit struct {
	path     string // "" if out is not a file of ours
	log      *slog.Logger
	required bool
	hashes   hashes

	writing sync.Mutex // held while something is written; guards what follows
	out     io.Writer
	file    *os.File
	checked time.Time // when the file was last known to be where it should be
	torn    bool      // the last line that was written is not whole
	failed  time.Time // when the log was last told that nothing can be written

	mu        sync.Mutex // guards what follows
	pending   []byte
	spare     []byte
	queued    uint64 // lines, ever
	written   uint64 // of those
	lost      uint64 // lines that were never queued, or not written at the end
	untold    uint64 // lost, and not yet said in the log
	err       error  // why the last attempt to write has failed
	timer     *time.Timer
	scheduled bool
	closed    bool
}

// AuditOptions configure an [Audit]. The zero value and nil are the defaults.
type AuditOptions struct {
	// Key is what arguments and session ids are hashed with (HMAC with SHA-256);
	// at least 16 bytes. Without one, a random one is made: hashes can then be
	// compared with each other only as long as the Audit is open.
	Key []byte
	// Required refuses requests that cannot be recorded: before a request is served
	// a line that it begins is written, and before its answer is sent, the line of
	// what came of it. A write that hangs holds up requests.
	Required bool
	// Logger is told when nothing can be written. Nil is nobody.
	Logger *slog.Logger
}

const (
	auditDelay  = 10 * time.Millisecond // how long a line may wait for others
	auditRetry  = time.Second           // between attempts to write
	auditCheck  = time.Second           // between looks whether the file was renamed
	auditUrgent = 64 << 10              // bytes that are not kept waiting
	auditKept   = 1 << 20               // bytes that are kept while nothing can be written
	auditClose  = 5 * time.Second       // how long closing may take
)

// OpenAudit opens the log in a file, to which it appends. A new file is readable
// for its owner only. If the file is renamed or removed, a new one is made within
// a second. Several processes may write to one file. Close the Audit at the end.
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

// NewAudit returns a log that is written to w, each time whole lines. w is not
// closed.
func NewAudit(w io.Writer, opts *AuditOptions) (*Audit, error) {
	a, err := newAudit(opts)
	if err != nil {
		return nil, err
	}
	a.out = w
	a.opened()
	return a, nil
}

func newAudit(opts *AuditOptions) (*Audit, error) {
	var o AuditOptions
	if opts != nil {
		o = *opts
	}
	if o.Key != nil && len(o.Key) < minAuditKey {
		return nil, fmt.Errorf("audit log: its key must have at least %d bytes", minAuditKey)
	}
	a := &Audit{required: o.Required, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	a.hashes.init(o.Key)
	return a, nil
}

// Reopen makes the log go on in the file that has its name now.
func (a *Audit) Reopen() error {
	a.writing.Lock()
	defer a.writing.Unlock()
	if a.path == "" {
		return nil
	}
	_ = a.flush() // what is older goes to the old file, if that takes it
	return a.reopen()
}

// reopen is for who holds writing, or has not told others of a yet.
func (a *Audit) reopen() error {
	f, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if a.file != nil {
		_ = a.file.Close() // all that was written is in it
	}
	a.file, a.out, a.checked, a.torn = f, f, time.Now(), false
	return nil
}

// Close writes what has not been written and ends the log. The error says that
// lines are lost.
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

// add puts a line, without its break, into the log. It returns the line's number,
// for sync, or 0 if the line is lost.
func (a *Audit) add(line []byte) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.pending) >= auditKept {
		a.lost++
		a.untold++
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

// due writes what there is, unless somebody does already.
func (a *Audit) due() {
	a.writing.Lock()
	defer a.writing.Unlock()
	_ = a.flush() // it has been told, and is tried again
}

// sync waits until the line with that number has been written, and returns the
// error if it cannot be.
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

// flush writes what there is. It is for who holds writing.
func (a *Audit) flush() error {
	a.mu.Lock()
	if a.untold > 0 && a.err == nil {
		a.pending = append(a.appendEvent(a.pending, "lost", a.untold), '\n')
		a.queued++
		a.untold = 0
	}
	batch := a.pending
	a.pending, a.spare = a.spare[:0], nil
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
	if (len(a.pending) > 0 || a.untold > 0) && !a.closed {
		a.scheduled = true
		a.scheduleLocked(auditDelay)
	}
	a.tellLocked(err, recovered)
	return err
}

// tellLocked says in the program's own log that lines cannot be written, or can
// again; the former at most once a minute.
func (a *Audit) tellLocked(err error, recovered bool) {
	switch {
	case recovered:
		a.failed = time.Time{}
		a.log.Warn("the audit log is written again", "lost", a.lost)
	case err != nil && time.Since(a.failed) > time.Minute:
		a.failed = time.Now()
		a.log.Error("the audit log cannot be written", "error", err, "lost", a.lost)
	}
}

// put writes whole lines with one write and returns how many bytes of whole lines
// have been written.
func (a *Audit) put(batch []byte) (int, error) {
	if a.path != "" && time.Since(a.checked) >= auditCheck && !a.inPlace() {
		if err := a.reopen(); err != nil {
			return 0, err
		}
	}
	before := 0
	if a.torn { // let the next line begin on its own
		batch, before = append([]byte{'\n'}, batch...), 1
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

// metrics adds the counts of lines.
func (a *Audit) metrics(t *exposition) {
	a.mu.Lock()
	written, lost := a.written, a.lost
	a.mu.Unlock()
	t.family("slipway_audit_lines_total", "counter", "Lines written to the audit log.")
	t.sample("slipway_audit_lines_total", float64(written))
	t.family("slipway_audit_lost_total", "counter", "Lines that could not be written to the audit log.")
	t.sample("slipway_audit_lost_total", float64(lost))
}
