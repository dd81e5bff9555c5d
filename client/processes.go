package client

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Processes counts the processes of all [Isolated] servers of a program, and limits them
// together. The zero value counts only. It is safe for concurrent use; a nil Processes counts
// nothing. Connections to servers at a URL do not count.
type Processes struct {
	// Max is the maximum number; 0 means no limit. Set it before use. At the limit, the longest idle process of
	// the same server is stopped for each request that needs another one, which waits until it has exited, and
	// takes its place. With no process of the server left to stop, or to wait for, the request is refused with
	// [mcp.CodeToolBusy].
	Max int

	running  atomic.Int64
	sessions atomic.Int64 // open servers with a process for each session
	guard    atomic.Pointer[func(ctx context.Context, principal string) (leave func(), err error)]

	mu           sync.Mutex
	perPrincipal map[*Isolated]struct{} // open servers with a process for each principal
}

// Running returns how many processes run.
func (p *Processes) Running() int { return int(p.running.Load()) }

// PerSession reports whether a server has a process for each session.
func (p *Processes) PerSession() bool { return p.sessions.Load() > 0 }

// PerPrincipal reports whether a server has a process for each principal.
func (p *Processes) PerPrincipal() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.perPrincipal) > 0
}

// Guard makes servers with a process for each principal call guard before a request uses or starts the process of its
// principal; "" is that of requests without one. An error refuses the request; otherwise leave is called after it. So
// a principal can have its process at one of several replicas only.
func (p *Processes) Guard(guard func(ctx context.Context, principal string) (leave func(), err error)) {
	p.guard.Store(&guard)
}

// RunsFor reports whether a process of a principal runs.
func (p *Processes) RunsFor(principal string) bool {
	for _, i := range p.isolated() {
		if i.runsFor(principal) {
			return true
		}
	}
	return false
}

// StopFor stops the processes of a principal, whose requests in flight fail, and waits until they have stopped or
// ctx ends.
func (p *Processes) StopFor(ctx context.Context, principal string) {
	for _, i := range p.isolated() {
		for _, stopped := range i.stopFor(principal) {
			select {
			case <-stopped:
			case <-ctx.Done():
			}
		}
	}
}

// isolated returns the open servers with a process for each principal.
func (p *Processes) isolated() []*Isolated {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.perPrincipal))
}

// opened adds an open server, or removes it.
func (p *Processes) opened(i *Isolated, open bool) {
	if p == nil || !i.countsProcesses() {
		return
	}
	switch {
	case i.opts.By == BySession && open:
		p.sessions.Add(1)
	case i.opts.By == BySession:
		p.sessions.Add(-1)
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.perPrincipal == nil {
			p.perPrincipal = make(map[*Isolated]struct{})
		}
		p.perPrincipal[i] = struct{}{}
		if !open {
			delete(p.perPrincipal, i)
		}
	}
}

// permit calls the guard for a request to a server.
func (p *Processes) permit(ctx context.Context, i *Isolated) (leave func(), err error) {
	if p == nil || i.opts.By != ByPrincipal || !i.countsProcesses() {
		return func() {}, nil
	}
	guard := p.guard.Load()
	if guard == nil {
		return func() {}, nil
	}
	name := ""
	if caller := mcp.PrincipalFrom(ctx); caller != nil {
		name = caller.Name
	}
	return (*guard)(ctx, name)
}

// reserve counts a process that is about to start, and reports whether it may.
func (p *Processes) reserve() bool {
	if p == nil {
		return true
	}
	for {
		n := p.running.Load()
		if p.Max > 0 && n >= int64(p.Max) {
			return false
		}
		if p.running.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// add adds to the number of running processes, which [Processes.reserve] has counted.
func (p *Processes) add(n int64) {
	if p != nil {
		p.running.Add(n)
	}
}

// errFull returns the error of a request that needs another process.
func (p *Processes) errFull() error {
	return mcp.Errorf(mcp.CodeToolBusy, "%d processes for clients are already running, as many as may (--max-processes)",
		p.Max)
}

// countsProcesses reports whether a server consists of processes rather than connections.
func (i *Isolated) countsProcesses() bool {
	_, remote := i.Source.transport.(*Endpoint)
	return !remote
}
