package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// child is the connection to a running [Command]. Its channels are closed in this order,
// except that the first three are independent of each other:
//
//	exited    the process has been reaped
//	outEnded  stdout has ended
//	errEnded  stderr has ended
//	settled   the unread part of stdin is known
//	stopped   everything has stopped
type child struct {
	// command is how the process was started.
	command *Command
	cmd     *exec.Cmd
	// group stops the process together with those that it started.
	group *process.Group
	in    *os.File // its stdin
	out   *os.File // its stdout
	// lines reads messages from out.
	lines *peer.LineReader
	// writer writes messages to in, so that a process that does not read blocks no caller.
	writer writer
	// stderr keeps the last lines on stderr, for errors.
	stderr stderrTail
	stray  stderrTail // lines of stdout that are not messages

	stopping context.Context // done when the child is to be stopped
	stop     context.CancelFunc
	hangs    atomic.Bool // it no longer answers

	// exited is closed when the process has been reaped.
	exited chan struct{}
	// outEnded and errEnded are closed at the end of stdout and of stderr, which other
	// processes may keep open after the exit.
	outEnded chan struct{}
	errEnded chan struct{}
	// settled is closed when no more output is expected, stopped when everything has been
	// released.
	settled chan struct{}
	stopped chan struct{}
}

// settleTime is how long the process may take to exit after its stdout ends, or stdout to
// end after the process exits.
const settleTime = 250 * time.Millisecond

// startChild starts a process with pipes for its three streams. The pipes are ours rather
// than those of package exec, whose Wait would close them before everything has been read.
func startChild(c *Command, cmd *exec.Cmd, tapped *tap.Stream) (*child, error) {
	ours, theirs, err := newPipes()
	if err != nil {
		return nil, err
	}
	enlargePipe(ours[1])
	cmd.Stdin = theirs[0]
	cmd.Stdout = theirs[1]
	cmd.Stderr = theirs[2]
	group, err := process.Start(cmd)
	closeFiles(theirs)
	if err != nil {
		closeFiles(ours)
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, permanent{&CommandError{fmt.Errorf("start %s: %w", c.Path, err)}}
	}
	ch := &child{
		command:  c,
		cmd:      cmd,
		group:    group,
		in:       ours[0],
		out:      ours[1],
		lines:    peer.NewLineReader(ours[1], cmp.Or(max(c.MaxMessage, 0), 64<<20)),
		exited:   make(chan struct{}),
		outEnded: make(chan struct{}),
		errEnded: make(chan struct{}),
		settled:  make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	ch.stopping, ch.stop = context.WithCancel(context.Background())
	ch.writer.start(ch.in, ch.stop)
	go func() {
		defer close(ch.exited)
		_ = cmd.Wait() // its status is in cmd.ProcessState
	}()
	go ch.readStderr(ours[2], tapped)
	go ch.supervise()
	return ch, nil
}

// newPipes returns both ends of the three pipes of a child.
func newPipes() (ours, theirs []*os.File, err error) {
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeFiles(ours)
			closeFiles(theirs)
			return nil, nil, err
		}
		if i == 0 {
			r, w = w, r
		}
		ours = append(ours, r)
		theirs = append(theirs, w)
	}
	return ours, theirs, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // a pipe: nothing can be lost
	}
}

// readStderr copies stderr to the tail, and to the tap and the writer of the command, if
// any.
func (c *child) readStderr(pipe *os.File, tapped *tap.Stream) {
	defer close(c.errEnded)
	defer pipe.Close()
	var r io.Reader = pipe
	shown := c.command.Stderr
	if tapped != nil {
		lines := c.command.tapStderr(tapped)
		defer flush(lines)
		r = io.TeeReader(pipe, lines)
	}
	if shown == nil {
		_, _ = io.Copy(&c.stderr, r)
		return
	}
	defer flush(shown)
	if len(c.command.Redact) > 0 {
		to := shown
		clean := redactor(c.command.Redact, func(line string) error {
			_, err := io.WriteString(to, line+"\n")
			return err
		})
		defer flush(clean)
		shown = clean
	}
	_, err := io.Copy(io.MultiWriter(&c.stderr, shown), r)
	if err != nil {
		_, _ = io.Copy(&c.stderr, r) // otherwise the pipe would fill up
	}
}

// flush writes the incomplete last line of a buffering writer.
func flush(w io.Writer) {
	if f, ok := w.(interface{ Flush() error }); ok {
		_ = f.Flush() // the process has exited: this was the last attempt
	}
}

// supervise stops the child when requested, when its stdout ends or when the process
// exits, whichever comes first, and cleans up after it.
func (c *child) supervise() {
	defer close(c.stopped)
	select {
	case <-c.exited:
		closesWithin(settleTime, c.outEnded)
	case <-c.outEnded:
		closesWithin(settleTime, c.exited)
	case <-c.stopping.Done():
	}
	c.writer.stop()
	all := c.command.stopTimeout()
	patient := all / 5
	if c.hangs.Load() { // it does not notice the end of its stdin
		c.endProcess(0, patient)
	}
	c.countUnread()
	_ = c.in.Close()
	c.endProcess(patient, all-patient)
	c.group.Close() // and the rest of it
	c.writer.wait()
	// A process outside the group may still hold the other ends.
	if !closesWithin(settleTime, c.errEnded) {
		c.stderr.ignoreWrites()
	}
	closesWithin(settleTime, c.outEnded) // what it printed last may not have been read yet
	_ = c.out.Close()
}

// endProcess waits for the process, then terminates and finally kills it.
func (c *child) endProcess(beforeTerm, beforeKill time.Duration) {
	if closesWithin(beforeTerm, c.exited) {
		return
	}
	c.group.Terminate()
	if !closesWithin(beforeKill, c.exited) {
		c.group.Kill()
		<-c.exited
	}
}

// countUnread determines how much of the child's input was never read, once the process
// has exited: those requests can be retried safely.
func (c *child) countUnread() {
	defer close(c.settled)
	if !isClosed(c.exited) {
		return
	}
	c.group.Kill() // the rest of it stops reading
	if n, known := unread(c.in); known {
		c.writer.subtractUnread(n)
	}
}

// closesWithin waits for done for at most d, and reports whether it is closed.
func closesWithin(d time.Duration, done <-chan struct{}) bool {
	if isClosed(done) {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// isClosed reports without blocking whether done is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// ReadMessage returns the next message from the child. It is not called again after an
// error: the child is then being stopped.
func (c *child) ReadMessage(context.Context) ([]byte, error) {
	line, err := c.lines.Next()
	if err != nil {
		close(c.outEnded)
	}
	return bytes.TrimSpace(line), err
}

// WriteMessage queues a message.
func (c *child) WriteMessage(msg []byte) error {
	_, err := c.writer.write(msg)
	return err
}

// mayHaveRead reports whether the child may have read the message at a position.
func (c *child) mayHaveRead(position int64) bool {
	if isClosed(c.exited) {
		<-c.settled
	}
	return c.writer.mayHaveSent(position)
}

// Close stops the child and waits until it has stopped.
func (c *child) Close() error {
	c.stop()
	<-c.stopped
	return nil
}

// pid returns the process id, or 0 if c is nil.
func (c *child) pid() int {
	if c == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

// maxStray is how many bytes of a line that is not a message are kept.
const maxStray = 200

// noteStray handles a line of stdout that is not a message: it often explains an exit.
func (c *child) noteStray(line []byte) {
	start := redactCut(string(line[:min(len(line), maxStray)]), c.command.Redact, false, len(line) > maxStray)
	_, _ = c.stray.Write([]byte(start + "\n")) // never fails
	if c.command.Stray != nil {
		c.command.Stray(line)
	}
}

// exitError returns the error for calls that the child will not answer, after reading
// ended with readErr. It waits briefly for the exit status.
func (c *child) exitError(readErr error) error {
	closesWithin(settleTime, c.exited)
	closesWithin(settleTime/5, c.errEnded)
	text := "the server closed its stdout"
	switch {
	case errors.Is(readErr, peer.ErrTooLong):
		text = readErr.Error()
	case isClosed(c.exited):
		text = "the server ended: its exit status is unknown"
		if status := c.cmd.ProcessState; status != nil {
			text = "the server ended: " + status.String()
		}
	case readErr != nil && readErr != io.EOF && !errors.Is(readErr, os.ErrClosed):
		text = readErr.Error()
	}
	return &ExitError{
		Reason: text,
		Cause:  cmp.Or(c.stderr.cause(c.command.Redact), c.stray.cause(c.command.Redact)),
		Stderr: c.stderr.lastLines(c.command.Redact),
		Stdout: c.stray.lastLines(c.command.Redact),
	}
}

// lastLines returns what the child has printed last, without secrets, for the end of an error.
func (c *child) lastLines() string {
	return printed(c.stderr.lastLines(c.command.Redact), c.stray.lastLines(c.command.Redact))
}
