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
		Name: cmp.Or(s.alias, s.opts.Name), Kind: s.kind(), Server: s.transport.String(), Phase: s.phase, Since: s.since,
		Starts: s.starts, Failures: s.failures, Next: s.next,
		Junk: s.junk.Load(),
	}
	if s.lastErr != nil {
		st.Error = s.lastErr.Error()
	}
	s.mu.Unlock()
	if ses := s.current.Load(); ses != nil && ses.alive() {
		st.PID, st.Version, st.InFlight = ses.link.process().pid(), ses.version, ses.inFlight()
		if why := ses.unresponsive(); why != "" && st.Phase == Ready {
			st.Phase, st.Error = Unresponsive, why
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
