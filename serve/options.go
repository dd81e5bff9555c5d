package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/ws"
)

// DefaultAddr is where [Run] listens unless [Options.Addr] says otherwise.
const DefaultAddr = "127.0.0.1:8080"

// Options configure how a Source is served. The zero value and nil are the
// defaults.
type Options struct {
	// Addr is the address to listen on, as host:port; "" stands for
	// [DefaultAddr], port 0 for any free port.
	Addr string
	// Auth says who may use the server; nil lets everybody who can reach it. With
	// it, Addr may be an address that is not a loopback address.
	Auth *Auth
	// RemoteWithoutAuth allows such an address without Auth. Whoever can reach it
	// can then call every tool and read every resource.
	RemoteWithoutAuth bool
	// PublicURL is the address under which clients reach the server, scheme and
	// host alone, such as "https://mcp.example.com". Its host is allowed as the
	// Host of requests, and with it the server tells of itself before a client has
	// connected: by its card at /mcp/server-card and by
	// /.well-known/ai-catalog.json.
	PublicURL string
	// TLS is the certificate to serve https with; nil serves http.
	TLS *TLSFiles
	// Limits bound what clients may ask for.
	Limits Limits
	// NoMetrics leaves out /metrics.
	NoMetrics bool
	// NoFiles serves no files of the Source, such as those of a site, beside the
	// endpoint. They are subject to Auth, Limits, Audit and Server.Gate like the
	// requests with the same content.
	NoFiles bool
	// HideAppTools hides tools that only user interfaces may call from clients that do
	// not declare MCP Apps: they can neither list nor call them. Files of the Source
	// that list such a tool or hold its answers are not served. A Server.View
	// comes first.
	HideAppTools bool
	// NoWebSocket leaves out /ws and the upgrade at the endpoint.
	NoWebSocket bool
	// LegacySSE serves the HTTP+SSE transport of 2024-11-05, too, at
	// [LegacySSEPath] and [LegacyMessagePath]: for clients that know no other, as
	// the specification has replaced it. Of HTTP the same counts as at the
	// endpoint, but for NoSessions and PostOnly, which it could not work with.
	LegacySSE bool

	// HTTP configures the endpoint. Its MaxBody bounds a line of [Stdio], too.
	HTTP mcp.HTTPOptions
	// WebSocket configures connections at /ws and, unless HTTP.PostOnly is set, at
	// the endpoint. Who may connect, the largest message and how the server ends
	// are those of all surfaces, whatever it says of them.
	WebSocket ws.Options
	// MaxHeader is the largest request header in bytes; 0 stands for 64 KiB.
	MaxHeader int

	// ReadHeaderTimeout is how long a client may take to send a request's header,
	// ReadTimeout how long for header and body; 0 stands for 10 seconds and one
	// minute. There is no limit to writing, as an answer may be a long stream; but
	// who takes nothing of it for half a minute is cut off.
	ReadHeaderTimeout, ReadTimeout time.Duration
	// IdleTimeout is how long a connection may wait for its next request; 0
	// stands for two minutes.
	IdleTimeout time.Duration
	// DrainDelay is how long requests are still accepted once the server is told
	// to end, while /readyz says 503 already: the time a load balancer needs to
	// notice. 0 stands for none.
	DrainDelay time.Duration
	// DrainTimeout is how long requests in flight may take after that, before
	// they are cancelled; 0 stands for 10 seconds.
	DrainTimeout time.Duration

	// StateKeys, if not nil, replace Server.StateKeys, and can be reloaded.
	StateKeys *StateKeys

	// Opening, if not nil, waits until the Source is open, which may be served before, and
	// returns the one that was opened, whose files are served as well. An error, or a
	// pattern of Auth.ToolScopes that matches none of its tools, ends serving, and is the
	// error of [Run], [Serve] and [Stdio]. Until such patterns have been checked, no tool
	// can be called.
	Opening func(ctx context.Context) (mcp.Source, error)

	// Upstreams, if not nil, returns how the servers are behind the Source: for
	// /healthz, where names and numbers are told to everybody, for /metrics and for
	// Announce. It is called whenever somebody asks.
	Upstreams func() []Upstream
	// Announce, if not nil, has [Run], [Serve] and [Stdio] tell whoever asks as this
	// user how the process is, see [Processes].
	Announce *Announcement

	// Logger receives what an operator should know. It never receives arguments,
	// results or headers. Nil discards it.
	Logger *slog.Logger
	// Audit, if not nil, records who did what. It is not closed.
	Audit *Audit
	// Started, if not nil, is called once the address accepts connections.
	Started func(*Info)
	tools   *toolRules // of Auth, once they have been checked
	// appTools is set by HideAppTools.
	appTools *apps.ToolFilter

	// Server configures the protocol core; a nil Logger in it becomes Logger, and a
	// RequestTimeout of 0 ten minutes; a negative one stands for no limit. Its Gate
	// comes after Auth and Limits.
	Server mcp.ServerOptions
}

// Info says where a server can be reached.
type Info struct {
	URL       string // such as "http://127.0.0.1:8080"
	Endpoint  string // for MCP clients on this machine
	Public    string // the endpoint below [Options.PublicURL]; "" without
	WebSocket string // for MCP clients, such as "ws://127.0.0.1:8080/ws"; "" without
	Health    string // for people and monitors
}

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
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Server.Logger == nil {
		d.Server.Logger = d.Logger
	}
	return d
}

// check returns what makes no sense in the options.
func (o *Options) check() error {
	if o.PublicURL == "" {
		return nil
	}
	if _, err := parsePublicURL(o.PublicURL); err != nil {
		return fmt.Errorf("public URL: %w", err)
	}
	return nil
}

// catalogView is what [mcp.ServerOptions] have as View.
type catalogView = func(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog

// viewsOf returns a view through first, which may be nil, and then through second.
func viewsOf(first, second catalogView) catalogView {
	if first == nil {
		return second
	}
	return func(ctx context.Context, whole *mcp.Catalog) *mcp.Catalog { return second(ctx, first(ctx, whole)) }
}
