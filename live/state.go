package live

import (
	"cmp"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// Phase is what is going on with a server.
type Phase string

// The phases.
const (
	Stopped  Phase = "stopped"  // not started yet, or idle: the next request starts it
	Starting Phase = "starting" // being started or connected to
	Ready    Phase = "ready"    // running
	// Unresponsive is a server that runs, but is stopped by a signal or leaves a ping
	// unanswered. It is replaced unless it recovers.
	Unresponsive Phase = "unresponsive"
	Waiting      Phase = "waiting"  // down; the next attempt has its time
	Closed       Phase = "closed"   // for good
	LeftOut      Phase = "left out" // never begun, see [Roster.LeftOut]
	Stale        Phase = "stale"    // a site whose last rebuild failed, see [Roster.Rebuilt]
)

// State is how a server is at one moment.
type State struct {
	Name    string      `json:"name,omitempty"`    // [Options.Name]
	Kind    string      `json:"transport"`         // "stdio", "http" or "connection"
	Server  string      `json:"server"`            // the transport, as text
	Phase   Phase       `json:"phase"`             //
	Since   time.Time   `json:"since"`             // of the phase
	PID     int         `json:"pid,omitempty"`     // of the child, if there is one
	Version mcp.Version `json:"-"`                 // spoken with the server, or 0
	Speaks  string      `json:"version,omitempty"` // Version as text

	Starts   int       `json:"starts"`             // how often it was started or connected to
	Failures int       `json:"failures"`           // attempts and short lives in a row
	Next     time.Time `json:"next,omitzero"`      // of the next attempt, while waiting
	Error    string    `json:"error,omitempty"`    // the last one there was
	InFlight int       `json:"inFlight"`           // requests
	Junk     int64     `json:"junkLines,omitzero"` // lines and messages that made no sense
}

// State returns how the server is now.
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
		st.PID, st.Version, st.InFlight = ses.link.pid(), ses.version, ses.inFlight()
		if why := ses.unresponsive(); why != "" && st.Phase == Ready {
			st.Phase, st.Error = Unresponsive, why
		}
		st.Speaks = ses.version.String()
	}
	return st
}

// kind is how the server is spoken with.
func (s *Source) kind() string {
	switch s.transport.(type) {
	case *Command:
		return "stdio"
	case *Endpoint:
		return "http"
	}
	return "connection"
}
