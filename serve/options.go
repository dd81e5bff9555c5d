package serve

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// DefaultAddr is where [Run] listens unless [Options.Addr] says otherwise.
const DefaultAddr = "127.0.0.1:8080"

// Options configure how a Source is served. The zero value and nil are the
// defaults.
type Options struct {
	// Addr is the address to listen on, as host:port; "" stands for
	// [DefaultAddr], port 0 for any free port.
	Addr string
	// RemoteWithoutAuth allows an address that is not a loopback address. Whoever
	// can reach it can then call every tool and read every resource.
	RemoteWithoutAuth bool

	// HTTP configures the endpoint. Its MaxBody bounds a line of [Stdio], too.
	HTTP mcp.HTTPOptions
	// MaxHeader is the largest request header in bytes; 0 stands for 64 KiB.
	MaxHeader int

	// ReadHeaderTimeout is how long a client may take to send a request's header,
	// ReadTimeout how long for header and body; 0 stands for 10 seconds and one
	// minute. There is no limit to writing: an answer may be a long stream.
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

	// Logger receives what an operator should know. It never receives arguments,
	// results or headers. Nil discards it.
	Logger *slog.Logger
	// Started, if not nil, is called once the address accepts connections.
	Started func(*Info)
	// Server configures the protocol core; a nil Logger in it becomes Logger.
	Server mcp.ServerOptions
}

// Info says where a server can be reached.
type Info struct {
	URL      string // such as "http://127.0.0.1:8080"
	Endpoint string // for MCP clients
	Health   string // for people and monitors
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
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Server.Logger == nil {
		d.Server.Logger = d.Logger
	}
	return d
}
