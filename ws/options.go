package ws

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Options configure a [Handler]. The zero value and nil are the defaults.
type Options struct {
	// AllowedHosts and AllowedOrigins are those of [mcp.HTTPOptions]. Browsers
	// let every page open a WebSocket to anywhere, so the Origin is all that
	// keeps a page that somebody happens to visit away from the tools.
	AllowedHosts, AllowedOrigins []string
	// RequireSubprotocol refuses clients that offer no subprotocol, with 426.
	RequireSubprotocol bool

	// Authenticate, if not nil, is asked who an upgrade is from, once its Host and
	// Origin have passed. It returns the context to serve the connection under,
	// see [mcp.WithPrincipal], of which the values count; or it answers the request
	// itself, usually with 401, and returns nil. It finds the bearer token with
	// [Tokens].
	Authenticate func(http.ResponseWriter, *http.Request) context.Context

	// Revalidate, if not nil, reports whether a client may keep its connection. It is
	// called every 25 seconds with the context that Authenticate returned. False
	// closes the connection with 1008. It must be safe for concurrent use, and bounds
	// its own time.
	Revalidate func(context.Context) bool

	// MaxMessage is the largest message in bytes; 0 stands for 4 MiB. A larger one
	// ends the connection with 1009.
	MaxMessage int64
	// MaxConns is how many connections may be open at once; 0 means 10,000. An
	// upgrade beyond it is answered with 503 and Retry-After, and ends the oldest
	// connection of the client that has the most. How many one client may have is in
	// [mcp.Budget].
	MaxConns int
	// MaxInFlight is how many requests of one connection may run at once; others
	// are refused with [mcp.CodeToolBusy]. 0 stands for 1,000.
	MaxInFlight int
	// MaxQueue is how many bytes may wait for a client that reads slowly. One that
	// lets more wait is disconnected with 1008. 0 stands for 1 MiB.
	MaxQueue int
	// WriteTimeout is how long a client may take nothing of what waits for it;
	// then it is disconnected. 0 stands for 30 seconds.
	WriteTimeout time.Duration
	// PingInterval is how often clients are pinged. One that has not answered by
	// the next ping is disconnected. 0 stands for 30 seconds; a negative one for
	// no pings, so that clients that vanish are never noticed.
	PingInterval time.Duration
	// DrainTimeout is how long requests in flight may take after
	// [Handler.Shutdown] has begun, before they are cancelled; 0 stands for 10
	// seconds.
	DrainTimeout time.Duration
	// Compress offers permessage-deflate. It costs time with every message and
	// memory with every connection; and where a client can make the server put
	// its own words beside a secret, the sizes of messages tell of the secret.
	Compress bool

	// Logger receives what an operator should know. It never receives messages,
	// tokens or headers. Nil discards it.
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.MaxMessage = cmp.Or(max(d.MaxMessage, 0), 4<<20)
	d.MaxConns = cmp.Or(max(d.MaxConns, 0), 10_000)
	d.MaxQueue = cmp.Or(max(d.MaxQueue, 0), 1<<20)
	d.WriteTimeout = cmp.Or(max(d.WriteTimeout, 0), 30*time.Second)
	d.PingInterval = cmp.Or(d.PingInterval, 30*time.Second)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}
