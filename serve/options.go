package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// DefaultAddr is where [Run] listens unless [Options.Addr] is set.
const DefaultAddr = "127.0.0.1:8080"

// Options configure how a Source is served. The zero value and nil mean the defaults.
type Options struct {
	// Addr is the address to listen on, as host:port; "" means [DefaultAddr], port 0 any
	// free port.
	Addr string
	// PublicURL is the address at which clients reach the server, only scheme and host, such
	// as "https://mcp.example.com". Its host is accepted as the Host of requests. With it,
	// the server describes itself to clients that have not connected yet: by its card at
	// /mcp/server-card and by /.well-known/ai-catalog.json.
	PublicURL string
	// TLS is the certificate to serve https with; without one, Run serves http.
	TLS TLSFiles
	// Auth controls who may use the server; nil admits everyone who can reach it. With it,
	// Addr may be a non-loopback address.
	Auth *Auth
	// RemoteWithoutAuth allows a non-loopback address without Auth. Everyone who can reach
	// it can then call every tool and read every resource.
	RemoteWithoutAuth bool
	// Limits bound the use by clients.
	Limits Limits
	// Features selects what is served next to the endpoint.
	Features
	// Connections configures network connections and draining.
	Connections

	// HTTP configures the endpoint. Its MaxBody also bounds a line of [Stdio].
	HTTP mcpserver.HTTPOptions
	// WebSocket configures connections at /ws and, unless HTTP.PostOnly is set, at the
	// endpoint. Its auth, size and drain settings are ignored; the server-wide ones apply.
	WebSocket ws.Options
	// Server configures the protocol core. A nil Logger in it becomes Logger. A
	// RequestTimeout of 0 means ten minutes, a negative one no limit. Its Gate is called
	// after Auth and Limits.
	Server mcpserver.Options
	// Live changes the server while it runs.
	Live

	// Logger receives messages for operators. It never receives arguments, results or
	// headers. Nil discards them.
	Logger *slog.Logger
	// Observer is notified of the progress of serving.
	Observer Observer
	// Reporting records and reports what the server does.
	Reporting

	appTools *apps.ToolFilter // set by HideAppTools
	rules    *serverRules     // part of Server, unless it applies no rules
	missing  *missingNames    // what was reported of names that match nothing
	quotas   *quotas          // those of the Gate of Server; nil without
}

// Reporting records requests and reports the state of the server, apart from the Logger and
// the metrics. The zero value does neither.
type Reporting struct {
	// Audit, if not nil, records the requests. It is not closed.
	Audit *Audit
	// Upstreams, if not nil, returns the state of the upstream servers, for /metrics, for
	// Announce, and for /healthz, which publishes only names and numbers. It is called on
	// every such request.
	Upstreams func() []Upstream
	// Config, if not nil, returns the state of the configuration file, for Announce and for
	// /healthz, which publishes only times and whether it is in use.
	Config func() *ConfigState
	// Announce, if not nil, makes [Run], [Serve] and [Stdio] report the state of the process
	// to programs of the same user, see [Processes].
	Announce *Announcement
}

// Live changes a server while it runs. The zero value changes nothing.
type Live struct {
	// StateKeys, if not nil, replace Server.StateKeys, and can be reloaded.
	StateKeys *StateKeys
	// Control, if not nil, can replace options of the server.
	Control *Control
	// Cluster, if not nil, makes the server one of several replicas that share sessions: [Run]
	// and [Serve] forward a request to the replica that owns its session or task. Set
	// Server.Replica to its ID, and StateKeys to keys that all replicas have, such as its Key.
	// The caller lets it leave after serving.
	Cluster *cluster.Replica
	// Version is the version of the program, which replicas of a Cluster compare.
	Version string
	// Processes, if not nil, returns the processes that the Source runs for clients. Replicas of a
	// Cluster start a session that needs one where the fewest run. It is called often.
	Processes func() ProcessLoad
	// Callers, if not nil, are the processes that the Source runs for one caller each. One replica of a Cluster runs
	// all processes of a caller, and the others forward the requests of the caller to it.
	Callers CallerProcesses
	// Policy, if not nil, decides which caller may do what, on every surface. Nothing is
	// permitted that its rules do not permit, and files of the Source are not served. Its gate
	// is called after Auth and Limits, and before Server.Gate.
	Policy *Policy
	// Vault, if not nil, keeps the logins of callers to upstream servers. The page on which they
	// log in is served at /connect/, which requires PublicURL, and verifiers of type [*JWT] for
	// the issuers of callers.
	Vault *identity.Vault
	// Broker, if not nil, makes the server the authorization server of its clients. Its Verifier
	// must be one of Auth.Verifiers, and PublicURL its own.
	Broker *Broker
}

// Features selects what is served next to the endpoint. The zero value serves all but the
// transport of 2024-11-05.
type Features struct {
	// NoMetrics disables /metrics.
	NoMetrics bool
	// AdminAddr, if not empty, is a second address for operators, as host:port, where [Run]
	// and [Serve] serve /metrics, the health checks and the profiles of /debug/pprof/ without
	// authentication. Keep it away from clients. /metrics is then served only there.
	AdminAddr string
	// NoFiles disables serving the files of the Source, such as those of a site, next to the
	// endpoint. Files are subject to Auth, Limits, Audit and Server.Gate like the requests
	// with the same content.
	NoFiles bool
	// HideAppTools hides tools that only user interfaces may call from clients that do not
	// declare MCP Apps: they can neither list nor call them. Files of the Source that list
	// such a tool or contain its answers are not served. A Server.View is applied first.
	HideAppTools bool
	// NoWebSocket disables WebSocket at /ws and at the endpoint.
	NoWebSocket bool
	// LegacySSE also serves the HTTP+SSE transport of 2024-11-05, at [LegacySSEPath] and
	// [LegacyMessagePath], for clients that support no other; the specification has replaced
	// it. The HTTP options apply here too, except NoSessions and PostOnly.
	LegacySSE bool
	// Endpoints are additional endpoints for parts of the Source, at most 64. [Run] and [Serve]
	// return an [*EndpointError] for one that names no source.
	Endpoints []Endpoint
	// SourceNames are names of the Source itself, for patterns such as NAME/TOOL in Endpoints
	// and Limits.Quotas. Nil means Auth.SourceNames.
	SourceNames []string
}

// Connections limits network connections, and configures draining.
type Connections struct {
	// MaxHeader is the largest request header in bytes; 0 means 64 KiB.
	MaxHeader int
	// ReadHeaderTimeout is how long a client may take to send a request's header,
	// ReadTimeout how long for header and body; 0 means 10 seconds and one minute. There is
	// no limit on writing, because an answer may be a long stream, but a client that reads
	// nothing for half a minute is disconnected.
	ReadHeaderTimeout, ReadTimeout time.Duration
	// IdleTimeout is how long a connection may wait for its next request; 0 means two
	// minutes.
	IdleTimeout time.Duration
	// TrustedProxies are the networks of reverse proxies. The address of a client whose request
	// comes from one of them is taken from X-Forwarded-For, for limits, logs and policies.
	// Otherwise the header is ignored.
	TrustedProxies []netip.Prefix
	// DrainDelay is how long requests are still accepted after shutdown has begun, while
	// /readyz already returns 503: the time a load balancer needs to notice. 0 means no
	// delay.
	DrainDelay time.Duration
	// DrainTimeout is how long requests in flight may take after that before they are
	// cancelled; 0 means 10 seconds.
	DrainTimeout time.Duration
}

// Observer is notified of the progress of serving. Nil functions are not called.
type Observer struct {
	// Started is called once the address accepts connections.
	Started func(*Info)
	// Opened is called with the opened Source once a [Pending] one is open.
	Opened func(mcp.Source)
}

// Pending is a Source that can be served before it is open. Opened waits until it is, and
// returns the opened Source, whose files are then served as well. An error, or a pattern
// of Auth.ToolScopes that matches none of its tools, stops serving and is returned by
// [Run], [Serve] and [Stdio]. Until such patterns have been checked, no tool can be
// called.
type Pending interface {
	mcp.Source
	Opened(ctx context.Context) (mcp.Source, error)
}

// Info lists the addresses of a server.
type Info struct {
	URL       string // such as "http://127.0.0.1:8080"
	Endpoint  string // for MCP clients on this machine
	Public    string // the endpoint below [Options.PublicURL], or ""
	WebSocket string // for MCP clients, such as "ws://127.0.0.1:8080/ws", or ""
	Health    string // for people and monitors
	Admin     string // the base of the addresses for operators, or ""
}

// withDefaults returns a copy of o, which may be nil, with the defaults filled in.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Addr = cmp.Or(d.Addr, DefaultAddr)
	d.MaxHeader = cmp.Or(max(d.MaxHeader, 0), 64<<10)
	d.ReadHeaderTimeout = cmp.Or(max(d.ReadHeaderTimeout, 0), 10*time.Second)
	d.ReadTimeout = cmp.Or(max(d.ReadTimeout, 0), time.Minute)
	d.IdleTimeout = cmp.Or(max(d.IdleTimeout, 0), 2*time.Minute)
	d.DrainTimeout = cmp.Or(max(d.DrainTimeout, 0), 10*time.Second)
	d.Server.RequestTimeout = cmp.Or(d.Server.RequestTimeout, 10*time.Minute)
	if d.HideAppTools && d.appTools == nil {
		d.appTools = &apps.ToolFilter{}
		d.Server.View = viewsOf(d.Server.View, d.appTools.Client)
	}
	if d.SourceNames == nil && d.Auth != nil {
		d.SourceNames = d.Auth.SourceNames
	}
	if d.missing == nil {
		d.missing = &missingNames{}
	}
	if q := newQuotas(&d); q != nil && d.quotas == nil {
		d.quotas = q
		d.Server.Gate = joinGates(q, d.Server.Gate)
	}
	if d.rules == nil {
		d.rules = &serverRules{given: d.Policy}
		d.rules.tools.Store(newToolScopes(d.Auth))
		d.NoFiles = d.NoFiles || d.Policy != nil
		if d.Policy != nil || d.Control != nil || d.rules.tools.Load() != nil {
			d.Server.Gate = joinGates(d.rules, d.Server.Gate)
		}
		if d.Policy != nil {
			d.Server.Listed = viewsOf(d.Server.Listed, d.rules.listed)
		}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Server.Logger == nil {
		d.Server.Logger = d.Logger
	}
	return d
}

// Check returns an error for options that [Run] and [Serve] refuse whatever the Source.
func (o *Options) Check() error {
	for i := range o.Endpoints {
		if err := o.Endpoints[i].Check(); err != nil {
			return err
		}
	}
	if len(o.Endpoints) > maxEndpoints {
		return fmt.Errorf("%d endpoints, want at most %d", len(o.Endpoints), maxEndpoints)
	}
	if err := o.checkClientCA(); err != nil {
		return err
	}
	if o.PublicURL == "" {
		return nil
	}
	if _, err := parsePublicURL(o.PublicURL); err != nil {
		return fmt.Errorf("public URL: %w", err)
	}
	return nil
}

// catalogView is the type of View and Listed of [server.Options].
type catalogView = func(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog

// viewsOf returns a view through first and then through second. Either may be nil.
func viewsOf(first, second catalogView) catalogView {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return func(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog {
		return second(ctx, first(ctx, whole))
	}
}
