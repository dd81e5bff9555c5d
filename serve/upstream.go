package serve

import "time"

// Upstream is the state of an upstream server of the served Source, such as one in a
// definitions file.
type Upstream struct {
	Name      string `json:"name"`
	Transport string `json:"transport,omitempty"` // "stdio", "http" or "connection"
	// Phase is "ready", "starting", "waiting" for its next attempt, "stopped" until it is
	// needed, "unresponsive" if it is running but suspended by a signal or not answering a
	// ping, "left out" if it could not even be tried, or "stale" for a site whose last
	// rebuild failed, so that the previous one is served.
	Phase    string    `json:"phase"`
	Since    time.Time `json:"since"`         // start of the phase
	Next     time.Time `json:"next,omitzero"` // time of the next attempt, while waiting
	Failures int       `json:"failures"`      // consecutive
	Starts   int       `json:"starts"`        // including restarts
	InFlight int       `json:"inFlight"`      // requests

	Target  string `json:"target,omitempty"`          // the command line or the URL, without secrets
	PID     int    `json:"pid,omitempty"`             // of the child process
	Version string `json:"protocolVersion,omitempty"` // negotiated with it
	Error   string `json:"error,omitempty"`           // the last error, if any
}

// open returns the public part: names and numbers.
func (u Upstream) open() Upstream {
	u.Target, u.PID, u.Error = "", 0, ""
	return u
}

// up reports whether calls are expected to work: the server is running, or stopped until
// it is needed.
func (u *Upstream) up() bool {
	return u.Phase == "ready" || u.Phase == "stale" || u.Phase == "stopped" && u.Failures == 0
}

// upstreams returns the state of the upstream servers, or nil if it is unknown.
func (o *Options) upstreams() []Upstream {
	if o.Upstreams == nil {
		return nil
	}
	return o.Upstreams()
}

// upstreamMetrics writes the state of the upstream servers. Two with the same name,
// because one is replacing the other, are merged.
func upstreamMetrics(t *exposition, all []Upstream) {
	if len(all) == 0 {
		return
	}
	type sum struct{ up, starts, failures, inFlight float64 }
	var names []string
	sums := make(map[string]*sum)
	for i := range all {
		u := &all[i]
		s := sums[u.Name]
		if s == nil {
			s = &sum{}
			sums[u.Name], names = s, append(names, u.Name)
		}
		if u.up() {
			s.up = 1
		}
		s.starts += float64(u.Starts)
		s.inFlight += float64(u.InFlight)
		s.failures = max(s.failures, float64(u.Failures))
	}
	for _, f := range []struct {
		name, kind, help string
		of               func(*sum) float64
	}{
		{"slipway_server_up", "gauge", "Whether a server behind this one runs, or rests until it is needed.",
			func(s *sum) float64 { return s.up }},
		{"slipway_server_starts_total", "counter", "How often it was started or connected to.",
			func(s *sum) float64 { return s.starts }},
		{"slipway_server_failures", "gauge", "Attempts and short lives of it in a row.",
			func(s *sum) float64 { return s.failures }},
		{"slipway_server_requests_in_flight", "gauge", "Requests that it is serving.",
			func(s *sum) float64 { return s.inFlight }},
	} {
		t.family(f.name, f.kind, f.help)
		for _, name := range names {
			t.sample(f.name, f.of(sums[name]), "server", name)
		}
	}
}
