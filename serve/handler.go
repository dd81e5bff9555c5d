package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/internal/clientaddr"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// EndpointPath is the path at which MCP clients reach a served Source.
const EndpointPath = "/mcp"

// Handler serves a Source over HTTP: the endpoint, WebSockets, the health checks and, if
// the Source has them, its files. It is safe for concurrent use.
type Handler struct {
	// server answers the messages of all surfaces, so that they share sessions, limits and
	// metrics.
	server *mcpserver.Server
	// admission authenticates the requests of all surfaces, and rules decide about them.
	admission *admission
	rules     *serverRules
	endpoint  *mcpserver.HTTPHandler
	sockets   *ws.Handler                  // nil if disabled for good
	legacy    *mcpserver.SSEHandler        // HTTP+SSE; nil if disabled for good
	surface   atomic.Pointer[surface]      // what of the rest is served
	view      atomic.Pointer[http.Handler] // handles all other paths
	landing   http.Handler                 // describes the server to people
	metrics   http.Handler                 // nil if disabled for good
	counters  *metrics                     // the same
	// operations are the metrics for operators, at Features.AdminAddr.
	operations http.Handler
	health     health
	proxies    []netip.Prefix            // whose X-Forwarded-For is trusted
	endpoints  map[string]*namedEndpoint // by path
	hop        *hop                      // nil unless the server is a replica
	placing    *placing
	records    *sessionsAt  // of the endpoint; nil unless the server is a replica
	connect    *connectPage // nil without a vault
	broker     *Broker      // nil unless the server signs users in

	showFiles func(opened mcp.Source) // serves the files of a Source, if it has any
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns the Handler for src. Of opts, which may be nil, only the fields that
// affect requests are used. An invalid PublicURL is ignored; [Run] and [Serve] return it
// as an error.
func NewHandler(src mcp.Source, opts *Options) *Handler {
	return newHandler(src, opts.withDefaults())
}

// surface selects what is served. A [Control] can replace it while the server runs.
type surface struct {
	// postOnly, webSocket, legacy, metrics and files say which of the optional parts are
	// served; they can change while the server runs.
	postOnly, webSocket, legacy, metrics, files bool
	// admin means that the metrics are served to operators.
	admin bool

	discovery discovery
}

// surface returns what o serves of src.
func (o *Options) surface(src mcp.Source) *surface {
	s := &surface{
		postOnly:  o.HTTP.PostOnly,
		webSocket: !o.NoWebSocket,
		legacy:    o.LegacySSE,
		metrics:   !o.NoMetrics && o.AdminAddr == "",
		admin:     !o.NoMetrics,
		files:     !o.NoFiles,
		discovery: discovery{
			source: src,
			auth:   o.Auth,
		},
	}
	public, err := parsePublicURL(o.PublicURL)
	if o.PublicURL != "" && err == nil {
		s.discovery.public = public
	}
	return s
}

// acceptPublicHost adds the host of the public URL to those that requests may name.
func (o *Options) acceptPublicHost() {
	public, err := parsePublicURL(o.PublicURL)
	if o.PublicURL != "" && err == nil {
		o.HTTP.AllowedHosts = append(slices.Clone(o.HTTP.AllowedHosts), public.Host)
	}
}

// newHandler returns a handler for options that already have their defaults.
func newHandler(src mcp.Source, o Options) *Handler {
	d := newAdmission(&o)
	h := &Handler{
		admission: d,
		placing:   &placing{load: o.Processes},
		rules:     o.rules,
		proxies:   o.TrustedProxies,
		health: health{
			source:  src,
			servers: o.upstreams,
			config:  o.config,
		},
	}
	o.acceptPublicHost()
	m := o.observe(d)
	h.counters = m
	sessions := newOwnedSessions(&o)
	whole := o // without the admission of the endpoint
	if !d.open() {
		o.HTTP.Authenticate = d.authenticate
		if o.authenticates() || o.Control != nil {
			o.HTTP.Revalidate = d.stillValid
		}
		o.Server.Gate = joinGates(d, o.Server.Gate)
	}
	if o.Server.Budget.Connections == 0 {
		o.Server.Budget.Connections = o.WebSocket.MaxConns
	}
	h.records = sessions.at(EndpointPath, &o.Server)
	h.server = mcpserver.New(src, &o.Server)
	h.records.serve(h.server)
	h.endpoints = whole.newEndpoints(src, d, sessions, h.server)
	h.hop = o.startHop(h, sessions)
	h.health.cluster = h.hop.health
	h.connect = o.serveVault(d)
	h.broker = o.serveBroker(h)
	o.StateKeys.follow(h.server)
	h.endpoint = h.server.HTTPHandler(&o.HTTP)
	h.sockets = o.sockets(h.server, d)
	h.legacy = o.legacySSE(h.server, d)
	h.surface.Store(o.surface(src))
	h.landing = h.endpoint.Protect(landing{
		source:    src,
		admission: d,
	})
	h.view.Store(&h.landing)
	h.showFiles = func(opened mcp.Source) {
		v, ok := opened.(viewer)
		if !ok || o.NoFiles && o.Control == nil {
			return
		}
		files := &fileView{
			files:     v.FileHandler(),
			source:    src,
			admission: d,
			rules:     o.rules,
			gate:      o.Server.Gate,
			appTools:  o.appTools,
			observer:  o.Server.Observer,
		}
		files.uses, _ = opened.(fileUser)
		view := h.endpoint.Protect(d.protect(files))
		h.view.Store(&view)
	}
	h.showFiles(src)
	if m != nil {
		m.stats = h.servers().stats
		m.audit = func() *Audit { return d.policy.Load().audit }
		m.upstreams = o.upstreams
		m.hop = h.hop
		m.placing = h.placing
		h.metrics = h.endpoint.Protect(d.protect(m))
		h.operations = m
	}
	return h
}

// observe combines all observers of requests into the observer of the core. It returns
// the metrics, or nil if they are disabled.
func (o *Options) observe(d *admission) *metrics {
	var m *metrics
	var counting, logging mcpserver.Observer
	if !o.NoMetrics || o.Control != nil {
		m = newMetrics()
		d.refused = m.refused
		counting = m
	}
	if o.Control != nil || o.Logger.Enabled(context.Background(), slog.LevelInfo) {
		logging = requestLog{o.Logger}
	}
	var auditing mcpserver.Observer
	if o.Audit != nil || o.Control != nil {
		auditing = auditor{d}
		if o.Control != nil || o.Audit.required {
			o.Server.Gate = joinGates(auditor{d}, o.Server.Gate)
		}
	}
	// Requests are recorded before they are logged.
	o.Server.Observer = joinObservers(counting, auditing, logging, o.Server.Observer)
	return m
}

// Drain makes /readyz and /healthz answer 503 from now on, so that no more traffic is
// routed here. Requests are still served, but each answer closes its connection, so that
// clients and proxies with kept-alive connections go elsewhere before the listener closes. The
// other replicas of a cluster continue the sessions of this one that can move, and forward no
// other requests to it; wait 250 milliseconds before Shutdown, so that all have noticed.
func (h *Handler) Drain() {
	h.health.draining.Store(true)
	h.hop.retire()
}

// Shutdown closes the WebSockets and the open event streams, cancels the tasks, and waits
// for the requests in flight. If ctx ends first, it cancels them and returns ctx's error.
// An http.Server knows only about the requests: call its Shutdown at the same time.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.hop.endStreams()
	// All at once: one slow call must not keep streams and sockets of other endpoints open.
	shutdowns := []func(context.Context) error{h.server.Shutdown}
	if h.sockets != nil {
		shutdowns = append(shutdowns, h.sockets.Shutdown)
	}
	for _, n := range h.endpoints {
		shutdowns = append(shutdowns, n.server.Shutdown)
		if n.sockets != nil {
			shutdowns = append(shutdowns, n.sockets.Shutdown)
		}
	}
	errs := make([]error, len(shutdowns))
	var all sync.WaitGroup
	for i, shutdown := range shutdowns {
		all.Go(func() { errs[i] = shutdown(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(h.proxies) > 0 {
		r = r.WithContext(r.Context()) // a copy: the request belongs to the caller
		r.RemoteAddr = clientaddr.Behind(h.proxies, r.RemoteAddr, r.Header["X-Forwarded-For"])
	}
	if h.health.draining.Load() {
		w.Header().Set("Connection", "close") // over HTTP/2 it becomes GOAWAY
	}
	placed, done := h.passOn(w, r)
	if done {
		return
	}
	w, r = placed.w, placed.r
	if placed.leave != nil {
		defer placed.leave()
	}
	switch r.URL.Path {
	case EndpointPath, EndpointPath + "/":
		if h.upgrades(r) {
			h.sockets.ServeHTTP(w, r)
			return
		}
		h.endpoint.ServeHTTP(w, r)
	case "/livez":
		h.health.live(w, r)
	case "/readyz":
		h.health.ready(w, r)
	case "/healthz", "/health":
		h.health.summary(w, r)
	case "/", "": // the latter below a stripped prefix
		h.landing.ServeHTTP(w, r)
	default:
		h.others(w, r)
	}
}

// others serves the paths that depend on options.
func (h *Handler) others(w http.ResponseWriter, r *http.Request) {
	s := h.surface.Load()
	if n := h.endpointAt(r.URL.Path); n != nil {
		n.ServeHTTP(w, r, s)
		return
	}
	switch {
	case h.connect != nil && strings.HasPrefix(r.URL.Path, identity.ConnectPath):
		h.endpoint.Protect(h.connect).ServeHTTP(w, r)
	case h.broker != nil && strings.HasPrefix(r.URL.Path, broker.Prefix):
		h.endpoint.Protect(h.broker).ServeHTTP(w, r)
	case h.broker != nil && isServerMetadata(r.URL.Path):
		h.broker.metadata(w, r)
	case r.URL.Path == WebSocketPath && s.webSocket:
		h.sockets.ServeHTTP(w, r)
	case s.legacy && (r.URL.Path == LegacySSEPath || r.URL.Path == LegacyMessagePath):
		h.legacy.ServeHTTP(w, r)
	case r.URL.Path == "/metrics" && s.metrics:
		h.metrics.ServeHTTP(w, r)
	case s.discovery.serves(w, r):
	case h.metadataAt(w, r, s):
	case strings.HasPrefix(r.URL.Path, "/.well-known/"):
		// Clients look for metadata here before they have a token: 401 would mean that the
		// document exists.
		w.Header().Set("Access-Control-Allow-Origin", "*")
		http.Error(w, "not found", http.StatusNotFound)
	case s.files:
		(*h.view.Load()).ServeHTTP(w, r)
	default:
		h.landing.ServeHTTP(w, r)
	}
}

// landing describes the server to people who open its address in a browser.
type landing struct {
	source    mcp.Source
	admission *admission // knows the address at which clients reach the server
}

// ServeHTTP tells people who open the address in a browser where clients connect.
func (l landing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	base := l.admission.policy.Load().public
	if base == "" {
		base = visible.Line(mountedAt(r))
	}
	switch {
	case r.URL.Path != "/" && r.URL.Path != "":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "Nothing is here. MCP clients connect to %s%s.\n", base, EndpointPath)
	case !isGet(w, r):
	default:
		name := "This"
		if cat, err := l.source.Catalog(r.Context()); err == nil {
			name = visible.Line(cat.Server.Name)
		}
		fmt.Fprintf(w, "%s is an MCP server. MCP clients connect to %s%s; its health is at %s/healthz.\n",
			name, base, EndpointPath, base)
	}
}

// mountedAt returns the prefix of the path that was stripped before the request arrived,
// as by [http.StripPrefix], or "".
func mountedAt(r *http.Request) string {
	asked, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	prefix, ok := strings.CutSuffix(asked.Path, r.URL.Path)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(prefix, "/")
}

// isGet reports whether r is a GET or HEAD request, and responds with an error otherwise.
func isGet(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "use GET", http.StatusMethodNotAllowed)
	return false
}
