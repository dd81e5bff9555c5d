package client

import (
	"cmp"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// Phase is the phase of a server's life cycle.
type Phase string

// The phases.
const (
	Stopped  Phase = "stopped"  // not started yet, or idle: the next request starts it
	Starting Phase = "starting" // being started or connected to
	Ready    Phase = "ready"    // running
	// Unresponsive is a running server that is stopped by a signal or does not answer a
	// ping. It is replaced unless it recovers.
	Unresponsive Phase = "unresponsive"
	Waiting      Phase = "waiting"  // down; the next attempt is scheduled
	Closed       Phase = "closed"   // permanently
	LeftOut      Phase = "left out" // never started, see [Roster.LeftOut]
	Stale        Phase = "stale"    // a site whose last rebuild failed, see [Roster.Rebuilt]
)

// state is the state of a Source:
//
//	state       event                                            next
//	idle        a request, or Open of an Optional Source         connecting, or pausing if an attempt is not due yet
//	connecting  the attempt succeeds                             ready
//	connecting  it fails, and is retried                         pausing
//	connecting  it fails, and is not retried without a request   down
//	pausing     the attempt is due                               connecting
//	down        a request                                        pausing
//	ready       the session ends, and a new one is needed        connecting, or pausing after several short ones
//	ready       the session ends, and no request needs a new one idle
//	any         Close                                            closing
//	closing     everything has stopped                           closed
//
// The supervisor runs in the states connecting, pausing and ready.
type state int

const (
	idle state = iota
	connecting
	pausing
	down
	ready
	closing
	closed
)

// phase returns the phase that a state belongs to; closing leaves the phase as it is.
func (s state) phase() (p Phase, ok bool) {
	p = [...]Phase{
		idle:       Stopped,
		connecting: Starting,
		pausing:    Waiting,
		down:       Waiting,
		ready:      Ready,
		closed:     Closed,
	}[s]
	return p, p != ""
}

// State is the state of a server at one moment.
type State struct {
	Name    string      `json:"name,omitempty"`    // [Options.Name]
	Kind    string      `json:"transport"`         // "stdio", "http" or "connection"
	Server  string      `json:"server"`            // the transport, as text
	Phase   Phase       `json:"phase"`             //
	Since   time.Time   `json:"since"`             // start of the phase
	PID     int         `json:"pid,omitempty"`     // of the child, if any
	Version mcp.Version `json:"-"`                 // negotiated version, or 0
	Speaks  string      `json:"version,omitempty"` // Version as text

	Starts   int       `json:"starts"`             // number of starts or connections
	Failures int       `json:"failures"`           // consecutive failed attempts and short sessions
	Next     time.Time `json:"next,omitzero"`      // next attempt, while waiting
	Error    string    `json:"error,omitempty"`    // the last error
	InFlight int       `json:"inFlight"`           // requests
	Junk     int64     `json:"junkLines,omitzero"` // invalid lines and messages
}

// State returns the current state of the server.
func (s *Source) State() State {
	s.mu.Lock()
	st := State{
		Name:     cmp.Or(s.alias, s.opts.Name),
		Kind:     s.kind(),
		Server:   s.transport.String(),
		Phase:    s.phase,
		Since:    s.since,
		Starts:   s.starts,
		Failures: s.failures,
		Next:     s.next,
		Junk:     s.junk.Load(),
	}
	if s.lastErr != nil {
		st.Error = s.lastErr.Error()
	}
	s.mu.Unlock()
	ses := s.current.Load()
	if ses != nil && ses.alive() {
		st.PID, st.Version, st.InFlight = ses.child.pid(), ses.version, ses.inFlight()
		why := ses.unresponsive()
		if why != "" && st.Phase == Ready {
			st.Phase = Unresponsive
			st.Error = why
		}
		st.Speaks = ses.version.String()
	}
	return st
}

// kind returns the kind of transport.
func (s *Source) kind() string {
	switch s.transport.(type) {
	case *Command:
		return "stdio"
	case *Endpoint:
		return "http"
	}
	return "connection"
}
