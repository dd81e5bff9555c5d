package live

import (
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
)

// child is a running [Command], as a connection.
type child struct {
	command *Command
	cmd     *exec.Cmd
	in      *os.File // its stdin
	out     *os.File // its stdout
	lines   *lineReader
	writer  writer
	stderr  stderrTail

	exited    chan struct{} // closed when the process has been reaped
	exit      error         // what Wait returned; set before exited is closed
	outEnded  chan struct{} // closed when stdout has been read to its end
	outOnce   sync.Once
	errEnded  chan struct{} // closed when stderr has been read to its end
	stopOnce  sync.Once
	stopping  chan struct{}
	stopDone  chan struct{} // closed when everything is gone
	hangs     atomic.Bool   // it does not answer any more
	settled   chan struct{} // closed when it is known what of its stdin it has not read
	killGrace time.Duration
}

// settle is how long the one end of a child may take to follow the other: the
// process after its stdout, or stdout after the process.
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
	ch.lines = newLineReader(ch.out, cmp.Or(max(c.MaxMessage, 0), 64<<20))
	ch.writer.start(ch.in, ch.stop)
	go ch.wait()
	go ch.readStderr(pipes.ours[2])
	go ch.supervise()
	return ch, nil
}

// pipes are the three of a child, each with our end and its own.
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
		_, _ = io.Copy(&c.stderr, r) // it must not fill the pipe because nobody takes it
	}
	_ = r.Close()
}

// flush passes on the last line of a writer that waits for its end.
func flush(w io.Writer) {
	if f, ok := w.(interface{ Flush() error }); ok {
		_ = f.Flush() // the process is gone: this was the last attempt
	}
}

// supervise ends the child when it is asked to, when its stdout ends or when
// the process does, whichever comes first, and leaves nothing of it.
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
	if c.hangs.Load() { // it does not see that its stdin ends
		c.end(0, ask)
	}
	c.countUnread()
	_ = c.in.Close()
	c.end(ask, insist)
	kill(c.cmd.Process) // whoever is left of the group
	c.writer.wait()
	// Somebody outside the group may hold the other ends still.
	if !c.within(settle, c.errEnded) {
		c.stderr.leave()
	}
	_ = c.out.Close()
}

// end waits for the process, then asks it to end, then insists.
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

// countUnread finds out what has been written and never read, once the process has
// ended: those requests can be made again without fear.
func (c *child) countUnread() {
	defer close(c.settled)
	if !c.hasExited() {
		return
	}
	kill(c.cmd.Process) // whoever is left of the group reads no more
	if n, known := unread(c.in); known {
		c.writer.unread(n)
	}
}

// within waits for done, no longer than d, and reports whether it came.
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

// ReadMessage returns the next message that the child writes. Once it has
// returned an error, the child is on its way out.
func (c *child) ReadMessage(context.Context) ([]byte, error) {
	line, err := c.lines.next()
	if err != nil {
		c.outOnce.Do(func() { close(c.outEnded) })
	}
	return line, err
}

// WriteMessage queues a message.
func (c *child) WriteMessage(msg []byte) error {
	_, err := c.writer.write(msg)
	return err
}

// write is WriteMessage that tells the place of the message.
func (c *child) write(msg []byte) (place int64, err error) { return c.writer.write(msg) }

// reached reports whether the message at a place may have reached the child.
func (c *child) reached(place int64) bool {
	if c.hasExited() {
		<-c.settled
	}
	return c.writer.reached(place)
}

// Close stops the child and waits until it is gone.
func (c *child) Close() error {
	c.stop()
	<-c.stopDone
	return nil
}

func (c *child) stop() { c.stopOnce.Do(func() { close(c.stopping) }) }

// pid returns the process id, for [State].
func (c *child) pid() int { return c.cmd.Process.Pid }

// junk takes a line of stdout that was no message.
func (c *child) junk(line []byte) {
	c.stderr.note(line)
	if c.command.Stray != nil {
		c.command.Stray(line)
	}
}

// why returns the error for those whose call the child will not answer any more,
// after readErr has ended the reading. It waits a moment for the exit status.
func (c *child) why(readErr error) error {
	c.within(settle, c.exited)
	c.within(settle/5, c.errEnded)
	text := "the server closed its stdout"
	switch {
	case errors.Is(readErr, errTooLong):
		text = readErr.Error()
	case c.hasExited():
		text = "the server ended: " + exitText(c.cmd.ProcessState)
	case readErr != nil && readErr != io.EOF && !errors.Is(readErr, os.ErrClosed):
		text = readErr.Error()
	}
	return &ExitError{Reason: text, Cause: c.command.redact(c.stderr.cause()), Stderr: c.words()}
}

// words returns the last lines of stderr, without secrets.
func (c *child) words() string { return c.command.redact(c.stderr.String()) }

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
