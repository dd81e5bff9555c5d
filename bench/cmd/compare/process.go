package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/system"
)

// process is a started peer, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	in     *os.File // of a stdio peer
	out    *os.File
	errors tail
	ended  chan struct{} // closed when the process was waited for
}

// start starts the peer for the workload. It is killed when ctx ends, and
// must be stopped.
func start(ctx context.Context, p installedPeer, w fix.Workload, addr string) (*process, error) {
	cfg := contract.For(w, addr)
	if p.with != "" {
		cfg.With = p.with
	}
	args := append(p.command[1:len(p.command):len(p.command)], cfg.Args()...)
	proc := &process{cmd: exec.CommandContext(ctx, p.command[0], args...), ended: make(chan struct{})}
	proc.cmd.Env = append(os.Environ(), cfg.Env()...)
	proc.cmd.Stderr = &proc.errors
	proc.cmd.WaitDelay = time.Second
	system.OwnGroup(proc.cmd)
	startIt := proc.cmd.Start
	if addr == stdio {
		startIt = proc.startOnPipes
	}
	if err := startIt(); err != nil {
		return nil, err
	}
	go func() {
		defer close(proc.ended)
		proc.cmd.Wait() // how it ended is in ProcessState
	}()
	return proc, nil
}

// stdio is the address of a peer on its standard streams.
const stdio = "stdio"

func (p *process) startOnPipes() error {
	childIn, in, err := system.Pipe()
	if err != nil {
		return err
	}
	defer childIn.Close()
	out, childOut, err := system.Pipe()
	if err != nil {
		in.Close()
		return err
	}
	defer childOut.Close()
	p.in, p.out = in, out
	p.cmd.Stdin, p.cmd.Stdout = childIn, childOut
	if err := p.cmd.Start(); err != nil {
		p.closePipes()
		return err
	}
	return nil
}

func (p *process) closePipes() {
	if p.in != nil {
		p.in.Close()
		p.out.Close()
	}
}

// stop kills the whole group and waits for its end.
func (p *process) stop() {
	select {
	case <-p.ended:
	default:
		p.cmd.Cancel() // fails when it has just ended by itself
	}
	<-p.ended
	p.closePipes()
}

// explain adds to err what the peer wrote to standard error.
func (p *process) explain(err error) error {
	if said := p.errors.String(); said != "" {
		return fmt.Errorf("%w; the peer says: %s", err, lastLine(said))
	}
	return err
}

// freeAddr returns a loopback address on which nothing listens.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// waitListening returns when the process accepts connections at addr, and
// with an error when it ends before.
func (p *process) waitListening(addr string) error {
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.ended:
			return errors.New("the peer ended before it listened")
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// tail keeps the last part of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
