package client

import (
	"context"
	"log/slog"
)

// EventKind says what happened to a server.
type EventKind string

// The kinds of events. The first group is the life of a server; the others are reports
// about it.
const (
	EventStarted EventKind = "started"
	EventLost    EventKind = "lost"    // it exited, or the connection broke
	EventFailed  EventKind = "failed"  // it could not be started or reached
	EventStopped EventKind = "stopped" // it was idle
	EventChanged EventKind = "changed" // its catalog

	EventLog         EventKind = "log"         // an irregularity that the Source handled
	EventWarning     EventKind = "warning"     // its definition does not fit, or a list or text is incomplete
	EventUnavailable EventKind = "unavailable" // the other servers are served without it
	EventUnstarted   EventKind = "unstarted"   // a bundle that is listed from its manifest
)

// Event is an event of a server.
type Event struct {
	Name   string // [Options.Name]
	Origin string // [Options.Origin]
	Server string // [Transport] as text
	What   EventKind
	Err    error  // cause, or nil
	Detail string // details, or empty
}

// report logs an event and passes it to the observer.
func (s *Source) report(e Event) {
	e.Name, e.Origin, e.Server = s.opts.Name, s.opts.Origin, s.transport.String()
	if s.opts.Logger != nil {
		e.log(s.opts.Logger)
	}
	if s.opts.Observe != nil {
		s.opts.Observe(e)
	}
}

// log logs the event; one with an error is a warning.
func (e *Event) log(to *slog.Logger) {
	level := slog.LevelInfo
	attrs := []any{"server", e.Server}
	if e.Name != "" {
		attrs = append([]any{"name", e.Name}, attrs...)
	}
	if e.Err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, "error", e.Err)
	}
	if e.Detail != "" {
		attrs = append(attrs, "detail", e.Detail)
	}
	to.Log(context.Background(), level, "server "+string(e.What), attrs...)
}
