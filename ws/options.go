package ws

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Options configure a [Handler]. Nil and the zero value are the defaults.
type Options struct {
	// AllowedHosts and AllowedOrigins are those of [server.HTTPOptions]. Browsers let any page
	// open a WebSocket to any server, so only the Origin check keeps a malicious page away
	// from the tools.
	AllowedHosts, AllowedOrigins []string
	// RequireSubprotocol rejects clients that offer no subprotocol, with 426.
	RequireSubprotocol bool

	// Authenticate, if not nil, identifies the client of an upgrade request that has passed
	// the Host and Origin checks. It either returns the context in which to serve the
	// connection (see [mcp.WithPrincipal]; only its values are used), or answers the request
	// itself, usually with 401, and returns nil. [Tokens] returns the bearer token.
	Authenticate func(http.ResponseWriter, *http.Request) context.Context

	// Revalidate, if not nil, reports whether a client may keep its connection. It is called
	// every 25 seconds with the context that Authenticate returned; false closes the
	// connection with 1008. It must be safe for concurrent use and limit its own run time.
	Revalidate func(context.Context) bool

	// MaxMessage is the size limit of a message in bytes; 0 means 4 MiB. A larger one closes
	// the connection with 1009.
	MaxMessage int64
	// MaxConns is the number of connections that may be open at once; 0 means 10,000. Any
	// other upgrade is answered with 503 and Retry-After, and closes the oldest connection
	// of the client with the most. The limit per client is in [server.Budget].
	MaxConns int
	// MaxInFlight is the number of requests that one connection may run at once; 0 means
	// 1,000. Others are rejected with [mcp.CodeToolBusy].
	MaxInFlight int
	// MaxQueue is the number of bytes that may be queued for a client that reads slowly; 0
	// means 1 MiB. A client with more is disconnected with 1008. The queues of all connections count
	// as [server.Budget.RequestBytes]; beyond that, a client is disconnected with 1013.
	MaxQueue int
	// WriteTimeout is how long a client may go without reading any queued bytes before it is
	// disconnected; 0 means 30 seconds.
	WriteTimeout time.Duration
	// PingInterval is how often clients are pinged; 0 means 30 seconds. A client that has
	// not answered by the next ping is disconnected. A negative value disables pings, so
	// that clients that vanish are never noticed.
	PingInterval time.Duration
	// DrainTimeout is how long requests in flight may take after [Handler.Shutdown] is
	// called before they are cancelled; 0 means 10 seconds.
	DrainTimeout time.Duration
	// Compress enables permessage-deflate. It costs CPU time per message and memory per
	// connection. It also leaks secrets: if a client can make the server send chosen text
	// next to a secret, the compressed size reveals the secret.
	Compress bool

	// Logger receives events for operators, never messages, tokens or headers. Nil discards
	// them.
	Logger *slog.Logger
}

// defaultMaxMessage is the default of Options.MaxMessage.
const defaultMaxMessage = 4 << 20

// withDefaults returns a copy in which every limit is set.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.MaxMessage = cmp.Or(max(d.MaxMessage, 0), defaultMaxMessage)
	d.MaxConns = cmp.Or(max(d.MaxConns, 0), 10_000)
	d.MaxQueue = cmp.Or(max(d.MaxQueue, 0), 1<<20)
	d.WriteTimeout = cmp.Or(max(d.WriteTimeout, 0), 30*time.Second)
	d.PingInterval = cmp.Or(d.PingInterval, 30*time.Second)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}
