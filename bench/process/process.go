// Package process runs the measured programs, each in a separate process group, and keeps
// the end of their stderr.
package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slipway-mcp/slipway/bench/system"
)

// Process is a program. The caller must stop it once it has started.
type Process struct {
	*exec.Cmd
	In  *os.File // its standard streams, if it was started on pipes
	Out *os.File

	Began time.Time // just before the spawn

	// errors are the last messages of the program, and exit is how it ended.
	errors tail
	exit   error
	ended  chan struct{} // closed after the process has been waited for
}

// New returns a process that has not started. It has env in addition to our own
// environment, and is killed when ctx ends.
func New(ctx context.Context, argv, env []string) *Process {
	p := &Process{
		Cmd:   exec.CommandContext(ctx, argv[0], argv[1:]...),
		ended: make(chan struct{}),
	}
	p.Env = append(os.Environ(), env...)
	p.Stderr = &p.errors
	p.WaitDelay = time.Second
	system.OwnGroup(p.Cmd)
	return p
}

// Start starts a program.
func Start(ctx context.Context, argv, env []string) (*Process, error) {
	p := New(ctx, argv, env)
	return p, p.Begin()
}

// StartListening starts a program with an unused address in its command line, and waits
// until it listens there.
func StartListening(
	ctx context.Context,
	env []string,
	commandLine func(addr string) ([]string, error),
) (p *Process, addr string, err error) {
	if addr, err = FreeAddr(); err != nil {
		return nil, "", err
	}
	argv, err := commandLine(addr)
	if err != nil {
		return nil, "", err
	}
	if p, err = Start(ctx, argv, env); err != nil {
		return nil, "", err
	}
	if err := p.WaitListening(addr); err != nil {
		p.Stop()
		return nil, "", p.Explain(err)
	}
	return p, addr, nil
}

// StartOnPipes is Start for a program that serves on its standard streams.
func StartOnPipes(ctx context.Context, argv, env []string) (*Process, error) {
	p := New(ctx, argv, env)
	childIn, in, err := system.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := system.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()
	p.In = in
	p.Out = out
	p.Stdin = childIn
	p.Stdout = childOut
	if err := p.Begin(); err != nil {
		p.closePipes()
		return nil, err
	}
	return p, nil
}

// Begin starts the process.
func (p *Process) Begin() error {
	p.Began = time.Now()
	if err := p.Cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(p.ended)
		p.exit = p.Wait()
	}()
	return nil
}

// closePipes closes the streams of a program that was started on pipes.
func (p *Process) closePipes() {
	if p.In != nil {
		p.In.Close()
		p.Out.Close()
	}
}

// Terminate sends SIGTERM.
func (p *Process) Terminate() error {
	return p.Cmd.Process.Signal(syscall.SIGTERM)
}

// AwaitExit waits for the exit, whose status must be 0.
func (p *Process) AwaitExit(within time.Duration) error {
	select {
	case <-p.ended:
		return p.exit
	case <-time.After(within):
		return fmt.Errorf("the process is still running after %v", within)
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.Cmd.Process.Pid }

// Stop kills the whole group and waits for its exit.
func (p *Process) Stop() {
	select {
	case <-p.ended:
	default:
		_ = p.Cancel() // fails if it has just exited by itself
	}
	<-p.ended
	p.closePipes()
}

// Explain adds the last line of the program's stderr to err, if that is not nil.
func (p *Process) Explain(err error) error {
	said := p.errors.String()
	if err != nil && said != "" {
		return fmt.Errorf("%w; last line on stderr: %s", err, LastLine(said))
	}
	return err
}

// LastLine returns the last line of a text.
func LastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// FreeAddr returns an unused loopback address.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// WaitListening returns when the process accepts connections at addr. It returns an error
// if the process exits before that.
func (p *Process) WaitListening(addr string) error {
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.ended:
			return errors.New("the program exited before it listened")
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// tail keeps the last part of what is written to it.
type tail struct {
	// mu guards kept, since the program writes while a failure is reported.
	mu   sync.Mutex
	kept []byte
}

// tailSize is how many bytes of the messages are kept.
const tailSize = 2048

// Write keeps the last tailSize bytes. It is safe for concurrent use.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	return len(p), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
