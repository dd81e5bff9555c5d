package serve

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// metrics counts the requests of a server, under the names of OpenTelemetry's conventions
// for MCP in Prometheus spelling. Recording a request allocates nothing once its labels
// have been seen.
type metrics struct {
	began     time.Time
	stats     func() server.Stats // nil if there are none
	upstreams func() []Upstream   // nil if there are none
	audit     func() *Audit       // returns nil without a log
	hop       *hop                // nil unless the server is a replica
	placing   *placing

	mu sync.Mutex // guards the fields below
	// inFlight counts the requests that are being served.
	inFlight int
	// operations, upstreamOps and sessions are the histograms, by label.
	operations  map[operationLabels]*histogram
	upstreamOps map[upstreamLabels]*histogram
	sessions    map[sessionLabels]*histogram
	// refusals are those of the HTTP server, by status.
	refusals [len(refusalStatus)]int
	signIns  map[string]int // by event of a broker
	// known limits the values of labels that clients choose: any further value counts as
	// "other".
	known struct{ methods, tools, failures map[string]bool }
}

// operationLabels are the labels of a histogram of requests. Those that clients choose have a
// limited number of values.
type operationLabels struct {
	method, tool, failure, transport string
	version                          mcp.Version
}

// upstreamLabels are those of a request to another server, or of a question to a client,
// whose server is "".
type upstreamLabels struct {
	server string
	operationLabels
}

// sessionLabels are the labels of a histogram of ended sessions.
type sessionLabels struct {
	transport string
	version   mcp.Version
}

// Limits on what clients and sources can make the metrics store. Values beyond them are
// counted as otherName.
const (
	maxSeries   = 5000
	maxTools    = 500
	maxMethods  = 60
	maxFailures = 60
	otherName   = "other"
)

// newMetrics returns empty metrics that count from now.
func newMetrics() *metrics {
	m := &metrics{
		began:       time.Now(),
		operations:  make(map[operationLabels]*histogram),
		upstreamOps: make(map[upstreamLabels]*histogram),
		sessions:    make(map[sessionLabels]*histogram),
		signIns:     make(map[string]int),
	}
	m.known.methods = make(map[string]bool)
	m.known.tools = make(map[string]bool)
	m.known.failures = make(map[string]bool)
	return m
}

var _ server.Observer = (*metrics)(nil)

// Observe implements [server.Observer].
func (m *metrics) Observe(_ context.Context, e server.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Kind {
	case server.EventRequest:
		m.inFlight++
	case server.EventAnswer:
		m.inFlight--
		if e.Outcome != server.OutcomeStream { // its duration is up to the client
			observe(m.operations, m.labels(&e), e.Duration, e.Span)
		}
	case server.EventUpstream:
		observe(m.upstreamOps, upstreamLabels{e.Server, m.labels(&e)}, e.Duration, e.Span)
	case server.EventRefused:
		m.refuse(e.Status)
	case server.EventSessionEnd:
		observe(m.sessions, sessionLabels{server.Network(e.Transport), e.Version}, e.Duration, nil)
	}
}

// observe adds a duration to the histogram with those labels, unless there are too many.
// span may be nil.
func observe[L comparable](all map[L]*histogram, labels L, d time.Duration, span server.Span) {
	h := all[labels]
	if h == nil {
		if len(all) >= maxSeries {
			return
		}
		h = &histogram{}
		all[labels] = h
	}
	h.observe(d, span)
}

// labels returns the labels of a request. Values that clients choose are bounded. mu is
// held.
func (m *metrics) labels(e *server.Event) operationLabels {
	labels := operationLabels{
		method:    e.Method,
		failure:   bounded(m.known.failures, e.Failure(), maxFailures),
		transport: server.Network(e.Transport),
		version:   e.Version,
	}
	if e.Err != nil && e.Err.Code == mcp.CodeMethodNotFound {
		labels.method = otherName
	}
	labels.method = bounded(m.known.methods, labels.method, maxMethods)
	if e.Method == "tools/call" {
		labels.tool = otherName // no such tool
		if e.Name != "" {
			labels.tool = bounded(m.known.tools, e.Name, maxTools)
		}
	}
	return labels
}

// bounded returns name if it is one of the first most names, otherwise otherName.
func bounded(known map[string]bool, name string, most int) string {
	switch {
	case name == "", name == otherName, known[name]:
		return name
	case len(known) >= most:
		return otherName
	}
	known[name] = true
	return name
}

// refusalStatus are the statuses that are counted separately.
var refusalStatus = [...]string{"400", "401", "403", "404", "429", otherName}

// refused counts a request that was refused before it was processed.
func (m *metrics) refused(status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse(status)
}

// refuse counts a refused request. The last entry counts all other statuses.
func (m *metrics) refuse(status int) {
	i := slices.Index(refusalStatus[:], strconv.Itoa(status))
	if i < 0 {
		i = len(refusalStatus) - 1
	}
	m.refusals[i]++
}

// ServeHTTP serves a scrape.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isGet(w, r) {
		return
	}
	t := exposition{openMetrics: acceptsOpenMetrics(r.Header)}
	w.Header().Set("Content-Type", t.contentType())
	w.Header().Set("Cache-Control", "no-store")
	m.write(&t)
	_, _ = w.Write([]byte(t.String()))
}

// write adds all metrics.
func (m *metrics) write(t *exposition) {
	m.requests(t)
	if m.stats != nil {
		st := m.stats()
		t.gauge("mcp_server_sessions", "Sessions started over HTTP.", float64(st.Sessions))
		t.gauge("mcp_server_streams", "Open event streams over HTTP.", float64(st.Streams))
		t.gauge("mcp_server_tasks", "Running tasks.", float64(st.Tasks))
		keptMetrics(t, &st)
	}
	if audit := m.audit(); audit != nil {
		audit.metrics(t)
	}
	if m.upstreams != nil {
		upstreamMetrics(t, m.upstreams())
	}
	if m.hop != nil {
		m.hop.metrics(t)
	}
	if m.placing != nil {
		m.placing.metrics(t, m.hop != nil)
	}
	m.process(t)
	t.end()
}

// requests reports what the observer has counted.
func (m *metrics) requests(t *exposition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t.family("mcp_server_operation_duration_seconds", "histogram", "Duration of served requests.")
	for labels, h := range m.operations {
		t.histogram("mcp_server_operation_duration_seconds", h,
			"mcp_method_name", labels.method, "gen_ai_tool_name", labels.tool, "error_type", labels.failure,
			"network_transport", labels.transport, "mcp_protocol_version", labels.version.String())
	}
	t.family("mcp_client_operation_duration_seconds", "histogram",
		"Duration of requests to upstream servers, and of questions to clients.")
	for labels, h := range m.upstreamOps {
		t.histogram("mcp_client_operation_duration_seconds", h,
			"server", labels.server,
			"mcp_method_name", labels.method, "gen_ai_tool_name", labels.tool, "error_type", labels.failure,
			"network_transport", labels.transport, "mcp_protocol_version", labels.version.String())
	}
	t.family("mcp_server_session_duration_seconds", "histogram", "Duration of ended sessions.")
	for labels, h := range m.sessions {
		t.histogram("mcp_server_session_duration_seconds", h,
			"network_transport", labels.transport, "mcp_protocol_version", labels.version.String())
	}
	t.family("mcp_server_refused_total", "counter", "Requests refused before they were processed, by HTTP status.")
	for i, status := range refusalStatus {
		t.sample("mcp_server_refused_total", float64(m.refusals[i]), "http_response_status_code", status)
	}
	if len(m.signIns) > 0 {
		t.family("slipway_sign_in_events_total", "counter", "Events of users who sign in at this server, by kind.")
		for _, what := range slices.Sorted(maps.Keys(m.signIns)) {
			t.sample("slipway_sign_in_events_total", float64(m.signIns[what]), "event", what)
		}
	}
	t.gauge("mcp_server_requests_in_flight", "Requests being served.", float64(m.inFlight))
}

// keptMetrics reports the state that outlives a request, by kind.
func keptMetrics(t *exposition, st *server.Stats) {
	var rows []*row
	for _, k := range st.Kept {
		rows = append(rows, &row{k.Kind, [4]float64{
			float64(k.Bytes), float64(k.Count), float64(k.Shed), float64(k.Refused),
		}})
	}
	t.table("kind", rows, [4]column{
		{"mcp_server_kept_bytes", "gauge", "Bytes kept beyond the request that caused them."},
		{"mcp_server_kept", "gauge", "Entries kept beyond the request that caused them."},
		{"mcp_server_shed_total", "counter", "Entries dropped to make room for others."},
		{"mcp_server_kept_refused_total", "counter", "Entries refused because they did not fit."},
	})
	t.gauge("mcp_server_request_bytes", "Bytes of the requests being received and served.", float64(st.RequestBytes))
	t.gauge("mcp_server_request_limit_bytes", "Limit of mcp_server_request_bytes.", float64(st.MaxRequestBytes))
	t.counter("mcp_server_request_bytes_refused_total",
		"Requests refused, and answers and other messages dropped, because of that limit.",
		float64(st.RequestsTooMany))
	t.gauge("mcp_server_kept_limit_bytes", "Limit of mcp_server_kept_bytes, all kinds together.",
		float64(st.MaxKeptBytes))
}

// process reports metrics of the process itself.
func (m *metrics) process(t *exposition) {
	version := ""
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	t.family("slipway_build_info", "gauge", "The running build.")
	t.sample("slipway_build_info", 1, "version", version, "revision", revision, "goversion", runtime.Version())
	t.gauge("process_start_time_seconds", "Start of the server, in seconds of Unix time.",
		float64(m.began.UnixMilli())/1000)
	t.gauge("go_goroutines", "Number of goroutines.", float64(runtime.NumGoroutine()))
}
