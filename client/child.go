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
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
)

// child is the connection to a running [Command].
type child struct {
	command *Command
	cmd     *exec.Cmd
	in      *os.File // its stdin
	out     *os.File // its stdout
	lines   *peer.LineReader
	writer  writer
	stderr  stderrTail

	exited    chan struct{} // closed when the process has been reaped
	exit      error         // error from Wait; set before exited is closed
	outEnded  chan struct{} // closed at the end of stdout
	outOnce   sync.Once
	errEnded  chan struct{} // closed at the end of stderr
	stopOnce  sync.Once
	stopping  chan struct{}
	stopDone  chan struct{} // closed when everything has stopped
	hangs     atomic.Bool   // it no longer answers
	settled   chan struct{} // closed when the unread part of its stdin is known
	killGrace time.Duration
}

// settle is how long the process may take to exit after its stdout ends, or stdout to end
// after the process exits.
const settle = 250 * time.Millisecond

func startChild(c *Command, cmd *exec.Cmd) (*child, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	enlarge(pipes.ours[1])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.theirs[0], pipes.theirs[1], pipes.theirs[2]
	err = cmd.Start()
	closeFiles(pipes.theirs[:])
	if err != nil {
		closeFiles(pipes.ours[:])
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, permanent{&CommandError{fmt.Errorf("start %s: %w", c.Path, err)}}
	}
	ch := &child{
		command:   c,
		cmd:       cmd,
		in:        pipes.ours[0],
		out:       pipes.ours[1],
		exited:    make(chan struct{}),
		outEnded:  make(chan struct{}),
		errEnded:  make(chan struct{}),
		stopping:  make(chan struct{}),
		stopDone:  make(chan struct{}),
		settled:   make(chan struct{}),
		killGrace: cmp.Or(max(c.StopTimeout, 0), 5*time.Second),
	}
	ch.lines = peer.NewLineReader(ch.out, cmp.Or(max(c.MaxMessage, 0), 64<<20))
	ch.writer.start(ch.in, ch.stop)
	go ch.wait()
	go ch.readStderr(pipes.ours[2])
	go ch.supervise()
	return ch, nil
}

// pipes are the three pipes of a child, with both ends.
type pipes struct{ ours, theirs [3]*os.File }

func newPipes() (*pipes, error) {
	p := &pipes{}
	for i := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeFiles(p.ours[:])
			closeFiles(p.theirs[:])
			return nil, err
		}
		p.ours[i], p.theirs[i] = r, w
		if i == 0 {
			p.ours[i], p.theirs[i] = w, r
		}
	}
	return p, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // a pipe: nothing can be lost
		}
	}
}

func (c *child) wait() {
	c.exit = c.cmd.Wait()
	close(c.exited)
}

func (c *child) readStderr(r *os.File) {
	defer close(c.errEnded)
	var w io.Writer = &c.stderr
	switch {
	case c.command.Stderr != nil && len(c.command.Redact) > 0:
		clean := redactor(c.command.Stderr, c.command.Redact)
		defer flush(c.command.Stderr)
		defer flush(clean)
		w = io.MultiWriter(&c.stderr, clean)
	case c.command.Stderr != nil:
		defer flush(c.command.Stderr)
		w = io.MultiWriter(&c.stderr, c.command.Stderr)
	}
	if _, err := io.Copy(w, r); err != nil && c.command.Stderr != nil {
		_, _ = io.Copy(&c.stderr, r) // otherwise the pipe would fill up
	}
	_ = r.Close()
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
	defer close(c.stopDone)
	select {
	case <-c.exited:
		c.within(settle, c.outEnded)
	case <-c.outEnded:
		c.within(settle, c.exited)
	case <-c.stopping:
	}
	c.writer.stop()
	ask, insist := c.killGrace/5, c.killGrace-c.killGrace/5
	if c.hangs.Load() { // it does not notice the end of its stdin
		c.end(0, ask)
	}
	c.countUnread()
	_ = c.in.Close()
	c.end(ask, insist)
	kill(c.cmd.Process) // the rest of the group
	c.writer.wait()
	// A process outside the group may still hold the other ends.
	if !c.within(settle, c.errEnded) {
		c.stderr.leave()
	}
	_ = c.out.Close()
}

// end waits for the process, then terminates and finally kills it.
func (c *child) end(ask, insist time.Duration) {
	if c.within(ask, c.exited) {
		return
	}
	terminate(c.cmd.Process)
	if !c.within(insist, c.exited) {
		kill(c.cmd.Process)
		<-c.exited
	}
}

// countUnread determines how much of the child's input was never read, once the process
// has exited: those requests can be retried safely.
func (c *child) countUnread() {
	defer close(c.settled)
	if !c.hasExited() {
		return
	}
	kill(c.cmd.Process) // the rest of the group stops reading
	if n, known := unread(c.in); known {
		c.writer.unread(n)
	}
}

// within waits for done for at most d, and reports whether it is closed.
func (c *child) within(d time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
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

// ReadMessage returns the next message from the child. After an error, the child is being
// stopped.
func (c *child) ReadMessage(context.Context) ([]byte, error) {
	line, err := c.lines.Next()
	if err != nil {
		c.outOnce.Do(func() { close(c.outEnded) })
	}
	return bytes.TrimSpace(line), err
}

// WriteMessage queues a message.
func (c *child) WriteMessage(msg []byte) error {
	_, err := c.writer.write(msg)
	return err
}

// write is WriteMessage, but returns the position of the message.
func (c *child) write(msg []byte) (place int64, err error) { return c.writer.write(msg) }

// reached reports whether the message at a position may have reached the child.
func (c *child) reached(place int64) bool {
	if c.hasExited() {
		<-c.settled
	}
	return c.writer.reached(place)
}

// Close stops the child and waits until it has stopped.
func (c *child) Close() error {
	c.stop()
	<-c.stopDone
	return nil
}

func (c *child) stop() { c.stopOnce.Do(func() { close(c.stopping) }) }

// pid returns the process id, for [State].
// pid returns the process id, or 0 if c is nil.
func (c *child) pid() int {
	if c == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

// junk handles a line of stdout that is not a message.
func (c *child) junk(line []byte) {
	c.stderr.note(line)
	if c.command.Stray != nil {
		c.command.Stray(line)
	}
}

// why returns the error for calls that the child will not answer, after reading ended
// with readErr. It waits briefly for the exit status.
func (c *child) why(readErr error) error {
	c.within(settle, c.exited)
	c.within(settle/5, c.errEnded)
	text := "the server closed its stdout"
	switch {
	case errors.Is(readErr, peer.ErrTooLong):
		text = readErr.Error()
	case c.hasExited():
		text = "the server ended: " + exitText(c.cmd.ProcessState)
	case readErr != nil && readErr != io.EOF && !errors.Is(readErr, os.ErrClosed):
		text = readErr.Error()
	}
	return &ExitError{Reason: text, Cause: c.command.redact(c.stderr.cause()), Stderr: c.lastLines()}
}

// lastLines returns the last stderr lines, without secrets.
func (c *child) lastLines() string { return c.command.redact(c.stderr.String()) }

func (c *child) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

func exitText(s *os.ProcessState) string {
	if s == nil {
		return "its exit status is unknown"
	}
	return s.String()
}
