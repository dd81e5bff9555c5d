package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// readyWithin bounds how long a health check waits for the source's catalog. It must
// answer before the prober's timeout, which is often a second.
const readyWithin = 800 * time.Millisecond

// health serves the health checks, which need no token.
type health struct {
	source mcp.Source
	// servers and config return the state of upstream servers and of the configuration
	// file; each returns nil if there are none.
	servers func() []Upstream
	config  func() *ConfigState
	cluster func() *ClusterHealth // returns nil without a cluster
	// draining is set when a shutdown begins.
	draining atomic.Bool
}

// The values of [Health.Status].
const (
	StatusOK          = "ok"
	StatusDraining    = "draining"    // shutting down, finishing requests in flight
	StatusUnavailable = "unavailable" // the source cannot return its catalog
	StatusStarting    = "starting"    // no server of the source has started, or its site is being built
)

// Health is the JSON that /healthz returns. Fields may be added.
type Health struct {
	// Status is [StatusOK], [StatusStarting], [StatusDraining] or [StatusUnavailable].
	Status string `json:"status"`
	// Name and Version are those of the Source, and are absent while it is not available.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`

	// Tools and the following count what the Source offers.
	Tools     int `json:"tools"`
	Resources int `json:"resources"`
	Templates int `json:"templates"`
	Prompts   int `json:"prompts"`

	// Servers are the upstream servers, without details that must not be public: no targets,
	// no process ids, no errors.
	Servers []Upstream `json:"servers,omitempty"`
	// Config is the state of the configuration file, if there is one, without names.
	Config *ConfigState `json:"config,omitempty"`
	// Cluster is the state of the cluster, if the server is a replica.
	Cluster *ClusterHealth `json:"cluster,omitempty"`
}

// state determines whether the server is ready. It waits for the catalog for at most
// readyWithin.
func (h *health) state(ctx context.Context) Health {
	if h.draining.Load() {
		return Health{Status: StatusDraining}
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	cat, err := h.source.Catalog(ctx)
	if err != nil {
		return Health{Status: StatusUnavailable}
	}
	status := StatusOK
	if cat.Unknown() {
		status = StatusStarting
	}
	return Health{
		Status:    status,
		Name:      cat.Server.Name,
		Version:   cat.Server.Version,
		Tools:     len(cat.Tools),
		Resources: len(cat.Resources),
		Templates: len(cat.Templates),
		Prompts:   len(cat.Prompts),
	}
}

// live serves /livez: the process answers. It does not depend on the source, since a restart would
// not help.
func (h *health) live(w http.ResponseWriter, r *http.Request) {
	if isGet(w, r) {
		answerHealth(w, "text/plain; charset=utf-8", StatusOK, StatusOK+"\n")
	}
}

// ready serves /readyz, with status 503 while requests should go elsewhere.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	if isGet(w, r) {
		status := h.state(r.Context()).Status
		answerHealth(w, "text/plain; charset=utf-8", status, status+"\n")
	}
}

// summary serves /healthz. Anyone may read it, so it has no details of upstream servers.
func (h *health) summary(w http.ResponseWriter, r *http.Request) {
	if !isGet(w, r) {
		return
	}
	state := h.state(r.Context())
	for _, u := range h.servers() {
		state.Servers = append(state.Servers, u.open())
	}
	state.Config = h.config().open()
	state.Cluster = h.cluster()
	body, err := json.Marshal(state)
	if err != nil {
		http.Error(w, StatusUnavailable, http.StatusInternalServerError)
		return
	}
	answerHealth(w, "application/json", state.Status, string(body)+"\n")
}

// answerHealth relies on net/http to omit the body for HEAD.
func answerHealth(w http.ResponseWriter, contentType, status, body string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status != StatusOK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write([]byte(body))
}
