package client

import (
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// Processes counts the processes of all [Isolated] servers of a program, and limits them
// together. The zero value counts only. It is safe for concurrent use; a nil Processes counts
// nothing. Connections to servers at a URL do not count.
type Processes struct {
	// Max is the maximum number; 0 means no limit. Set it before use. At the limit, the longest idle process
	// of the same server is stopped; if none is idle, the request is refused with [mcp.CodeToolBusy].
	Max int

	running  atomic.Int64
	sessions atomic.Int64 // open servers with a process for each session
}

// Running returns how many processes run.
func (p *Processes) Running() int { return int(p.running.Load()) }

// PerSession reports whether a server has a process for each session.
func (p *Processes) PerSession() bool { return p.sessions.Load() > 0 }

// opened adds an open server, or removes it with -1.
func (p *Processes) opened(i *Isolated, n int64) {
	if p != nil && i.opts.By == BySession && i.countsProcesses() {
		p.sessions.Add(n)
	}
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

// add adds to the number of running processes.
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
