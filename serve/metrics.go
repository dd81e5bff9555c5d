package serve

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// metrics counts the requests of a server, under the names of OpenTelemetry's conventions
// for MCP in Prometheus spelling. Recording a request takes no lock and allocates nothing
// once its labels have been seen.
type metrics struct {
	begun    time.Time
	inFlight atomic.Int64
	stats    func() server.Stats
	// upstreams returns the upstream servers of the Source.
	upstreams func() []Upstream
	audit     *Audit // nil if disabled

	operations family[operationLabels]
	sessions   family[sessionLabels]
	refusals   [6]atomic.Int64 // as in refusalStatus; the last is for other statuses

	mu    sync.Mutex
	names map[string]int // how many values of each kind have been accepted
	known map[nameKey]bool
}

type operationLabels struct {
	method, tool, failure, transport string
	version                          mcp.Version
}

type sessionLabels struct {
	transport string
	version   mcp.Version
}

// family is the set of histograms with one name, by labels. Readers see an immutable map;
// a new combination of labels replaces it with a copy.
type family[L comparable] struct {
	mu  sync.Mutex // held while adding
	all atomic.Pointer[map[L]*histogram]
}

// get returns the histogram with those labels, or nil.
func (f *family[L]) get(labels L) *histogram {
	if all := f.all.Load(); all != nil {
		return (*all)[labels]
	}
	return nil
}

// add returns the histogram with those labels, creating it if necessary. Beyond maxSeries
// it returns nil.
func (f *family[L]) add(labels L) *histogram {
	if h := f.get(labels); h != nil {
		return h
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := make(map[L]*histogram)
	if all := f.all.Load(); all != nil {
		if h := (*all)[labels]; h != nil {
			return h
		}
		if len(*all) >= maxSeries {
			return nil
		}
		next = maps.Clone(*all)
	}
	h := &histogram{}
	next[labels] = h
	f.all.Store(&next)
	return h
}

// Limits on what clients and sources can make the metrics store. Values beyond them are
// counted as otherName.
const (
	maxSeries  = 5000
	maxTools   = 500
	maxMethods = 60
	maxCodes   = 60
	otherName  = "other"
)

// bounds are the upper bounds of the histogram buckets in seconds, as in OpenTelemetry's
// conventions.
var bounds = [...]float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

type histogram struct {
	buckets [len(bounds) + 1]atomic.Int64 // not cumulative; the last is for longer durations
	sum     atomic.Int64                  // nanoseconds
}

func (h *histogram) observe(d time.Duration) {
	i, s := 0, d.Seconds()
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.sum.Add(int64(d))
}

func newMetrics() *metrics {
	return &metrics{begun: time.Now(), names: make(map[string]int), known: make(map[nameKey]bool)}
}

var _ server.Observer = (*metrics)(nil)

// Observe implements [server.Observer].
func (m *metrics) Observe(_ context.Context, e server.Event) {
	switch e.Kind {
	case server.EventRequest:
		m.inFlight.Add(1)
	case server.EventAnswer:
		m.inFlight.Add(-1)
		if !e.Standing { // its duration is up to the client
			m.operation(&e)
		}
	case server.EventRefused:
		m.refused(e.Status)
	case server.EventSessionEnd:
		if h := m.sessions.add(sessionLabels{network(e.Transport), e.Version}); h != nil {
			h.observe(e.Duration)
		}
	}
}

func (m *metrics) operation(e *server.Event) {
	labels := operationLabels{method: e.Method, failure: m.failure(e), transport: network(e.Transport), version: e.Version}
	if e.Method == "tools/call" {
		if labels.tool = e.Name; labels.tool == "" {
			labels.tool = otherName // no such tool
		}
	}
	if e.Err != nil && e.Err.Code == mcp.CodeMethodNotFound {
		labels.method = otherName
	}
	h := m.operations.get(labels)
	if h == nil {
		h = m.operations.add(m.bounded(labels))
	}
	if h != nil {
		h.observe(e.Duration)
	}
}

// bounded replaces names beyond the limits.
func (m *metrics) bounded(l operationLabels) operationLabels {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.method = m.name("method", l.method, maxMethods)
	l.tool = m.name("tool", l.tool, maxTools)
	l.failure = m.name("code", l.failure, maxCodes)
	return l
}

type nameKey struct{ kind, name string }

func (m *metrics) name(kind, name string, most int) string {
	key := nameKey{kind, name}
	switch {
	case name == "", name == otherName, m.known[key]:
		return name
	case m.names[kind] >= most:
		return otherName
	}
	m.names[kind]++
	m.known[key] = true
	return name
}

// failure returns the value of error.type: the code of an error, tool_error for a result
// that is an error, "" for success.
func (m *metrics) failure(e *server.Event) string {
	switch {
	case e.Cancelled:
		return "cancelled"
	case e.Err != nil:
		return strconv.Itoa(int(e.Err.Code))
	case e.ToolError:
		return "tool_error"
	}
	return ""
}

// network returns the value of network.transport.
func network(transport string) string {
	switch transport {
	case "":
		return otherName
	case server.TransportStdio:
		return "pipe"
	}
	return "tcp"
}

// refusalStatus are the statuses that are counted separately.
var refusalStatus = [...]int{400, 401, 403, 404, 429}

// refused counts a request that was refused before it was processed.
func (m *metrics) refused(status int) {
	for i, s := range refusalStatus {
		if s == status {
			m.refusals[i].Add(1)
			return
		}
	}
	m.refusals[len(refusalStatus)].Add(1)
}

// ServeHTTP serves a scrape.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isGet(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(m.text())
}

func (m *metrics) text() []byte {
	var t exposition
	t.family("mcp_server_operation_duration_seconds", "histogram", "Duration of the requests that were served.")
	if all := m.operations.all.Load(); all != nil {
		for labels, h := range *all {
			t.histogram("mcp_server_operation_duration_seconds", h,
				"mcp_method_name", labels.method, "gen_ai_tool_name", labels.tool, "error_type", labels.failure,
				"network_transport", labels.transport, "mcp_protocol_version", versionName(labels.version))
		}
	}
	t.family("mcp_server_session_duration_seconds", "histogram", "Duration of the sessions that have ended.")
	if all := m.sessions.all.Load(); all != nil {
		for labels, h := range *all {
			t.histogram("mcp_server_session_duration_seconds", h,
				"network_transport", labels.transport, "mcp_protocol_version", versionName(labels.version))
		}
	}
	t.family("mcp_server_refused_total", "counter", "What was refused before it became a request, by HTTP status.")
	for i := range m.refusals {
		status := otherName
		if i < len(refusalStatus) {
			status = strconv.Itoa(refusalStatus[i])
		}
		t.sample("mcp_server_refused_total", float64(m.refusals[i].Load()), "http_response_status_code", status)
	}
	t.gauge("mcp_server_requests_in_flight", "Requests that are being served.", float64(m.inFlight.Load()))
	if m.stats != nil {
		st := m.stats()
		t.gauge("mcp_server_sessions", "Sessions that clients began over HTTP.", float64(st.Sessions))
		t.gauge("mcp_server_streams", "Event streams that stand open over HTTP.", float64(st.Streams))
		t.gauge("mcp_server_tasks", "Tasks that run.", float64(st.Tasks))
		keptMetrics(&t, &st)
	}
	if m.audit != nil {
		m.audit.metrics(&t)
	}
	if m.upstreams != nil {
		upstreamMetrics(&t, m.upstreams())
	}
	m.process(&t)
	return t.text
}

// keptMetrics reports the state that outlives a request, by kind.
func keptMetrics(t *exposition, st *server.Stats) {
	for _, f := range []struct {
		name, kind, help string
		value            func(server.KeptStats) int64
	}{
		{"mcp_server_kept_bytes", "gauge", "Bytes kept beyond the request that caused them.",
			func(k server.KeptStats) int64 { return k.Bytes }},
		{"mcp_server_kept", "gauge", "Entries kept beyond the request that caused them.",
			func(k server.KeptStats) int64 { return k.Count }},
		{"mcp_server_shed_total", "counter", "Entries given up to make room for others.",
			func(k server.KeptStats) int64 { return k.Shed }},
		{"mcp_server_kept_refused_total", "counter", "Entries refused, as they did not fit.",
			func(k server.KeptStats) int64 { return k.Refused }},
	} {
		t.family(f.name, f.kind, f.help)
		for _, k := range st.Kept {
			t.sample(f.name, float64(f.value(k)), "kind", k.Kind)
		}
	}
	t.gauge("mcp_server_request_bytes", "Bytes of the requests being received and served.", float64(st.RequestBytes))
	t.gauge("mcp_server_request_limit_bytes", "Limit of mcp_server_request_bytes.", float64(st.MaxRequestBytes))
	t.family("mcp_server_request_bytes_refused_total", "counter", "Requests refused by that limit.")
	t.sample("mcp_server_request_bytes_refused_total", float64(st.RequestsTooMany))
	t.gauge("mcp_server_kept_limit_bytes", "Limit of mcp_server_kept_bytes, all kinds together.", float64(st.MaxKeptBytes))
}

// process reports metrics of the process itself.
func (m *metrics) process(t *exposition) {
	version, revision := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	t.family("slipway_build_info", "gauge", "The build that is running.")
	t.sample("slipway_build_info", 1, "version", version, "revision", revision, "goversion", runtime.Version())
	t.gauge("process_start_time_seconds", "When the server began, in seconds of Unix time.",
		float64(m.begun.UnixMilli())/1000)
	t.gauge("go_goroutines", "Goroutines there are.", float64(runtime.NumGoroutine()))
}

func versionName(v mcp.Version) string {
	if v == 0 {
		return ""
	}
	return v.String()
}
