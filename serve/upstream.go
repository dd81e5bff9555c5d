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

// ConfigState is the state of the configuration file of a server.
type ConfigState struct {
	Loaded time.Time `json:"loaded"` // when it was last applied
	// Failing means that the file has changed since, and the change is not in use.
	Failing bool   `json:"failing,omitempty"`
	File    string `json:"file,omitempty"`
	Error   string `json:"error,omitempty"` // why the change is not in use
	// Restart are the names of changed settings that a restart would apply.
	Restart []string `json:"restart,omitempty"`
}

// config returns the state of the configuration file, or nil if there is none.
func (o *Options) config() *ConfigState {
	if o.Config == nil {
		return nil
	}
	return o.Config()
}

// open returns the public part: times and conditions.
func (c *ConfigState) open() *ConfigState {
	if c == nil {
		return nil
	}
	return &ConfigState{
		Loaded:  c.Loaded,
		Failing: c.Failing,
	}
}

// open returns the public part: names and numbers.
func (u Upstream) open() Upstream {
	u.Target = ""
	u.PID = 0
	u.Error = ""
	return u
}

// up reports whether calls are expected to work: the server is running, or stopped until
// it is needed.
func (u *Upstream) up() bool {
	return u.Phase == "ready" ||
		u.Phase == "stale" ||
		u.Phase == "stopped" && u.Failures == 0
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
	var rows []*row
	byName := make(map[string]*row)
	for i := range all {
		u := &all[i]
		r := byName[u.Name]
		if r == nil {
			r = &row{label: u.Name}
			byName[u.Name] = r
			rows = append(rows, r)
		}
		if u.up() {
			r.values[0] = 1
		}
		r.values[1] += float64(u.Starts)
		r.values[2] = max(r.values[2], float64(u.Failures))
		r.values[3] += float64(u.InFlight)
	}
	t.table("server", rows, [4]column{
		{"slipway_server_up", "gauge", "Whether an upstream server is running, or stopped until it is needed."},
		{"slipway_server_starts_total", "counter", "How often it was started or connected to."},
		{"slipway_server_failures", "gauge", "Consecutive failed starts and short runs."},
		{"slipway_server_requests_in_flight", "gauge", "Requests it is serving."},
	})
}
