package simulation

import (
	"slices"
	"sync"
	"time"
)

// call is a call of a client as it saw it. Times are since the beginning of the run.
type call struct {
	client string
	// session means that it has a session of its own, whose requests it makes itself.
	session bool
	args    arguments
	tool    string
	began   time.Duration
	// sent is when it was connected, to the machine entry.
	sent  time.Duration
	entry string
	ended time.Duration
	// status is that of the response, 0 without one.
	status int
	// begun means that the connection was lost after the head of the response.
	begun  bool
	answer answer
	// err is why there is no answer, or "".
	err string
}

// outcome names how the call ended.
func (c *call) outcome() string {
	switch {
	case c.err == "":
		return "answered"
	case c.status == 0 && c.session:
		return "connection lost"
	case c.status == 0:
		return "failed"
	case c.status == 502:
		return "may have run"
	case c.status == 503:
		return "try again"
	case c.status == 404:
		return "session unknown"
	}
	return "other status"
}

// setting is a change of the log level of a session.
type setting struct {
	client       string
	level        string
	began, ended time.Duration
	acknowledged bool
}

// change is a change of the resource that a machine reported.
type change struct {
	machine string
	at      time.Duration
}

// history is what clients saw.
type history struct {
	mu       sync.Mutex
	calls    []*call
	settings []*setting
	changes  []change
	notified map[string][]time.Duration // by client
}

// add adds a call when it has ended.
func (h *history) add(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

// all returns the calls in the order in which they ended.
func (h *history) all() []*call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// set adds a change of the log level of a session.
func (h *history) set(s *setting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settings = append(h.settings, s)
}

// changed adds a change of the resource.
func (h *history) changed(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, c)
}

// notify adds the time at which a client received a notification.
func (h *history) notify(client string, at time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.notified == nil {
		h.notified = make(map[string][]time.Duration)
	}
	h.notified[client] = append(h.notified[client], at)
}
