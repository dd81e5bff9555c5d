package client

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Options configure [Open]. Nil and the zero value mean the defaults.
type Options struct {
	// Name is the name of the server in [Event] and [server.Event]; "" means no name.
	Name string
	// Origin is where the server comes from, for [Event]; it may be empty. For a server
	// from a registry it begins with the digest.
	Origin string
	// Version is the protocol version to use; 0 means the newest that both sides support.
	// An [Endpoint] is asked for 2026-07-28 first, other transports for 2025-11-25,
	// because some programs exit on unknown requests.
	Version mcp.Version
	// Client is our identity for the server; the zero value means slipway.
	Client mcp.Implementation
	// Questions configures what the server may ask.
	Questions Questions

	// Lazy delays the start of the server until it is needed: Open returns immediately,
	// and does not report a missing server.
	Lazy bool
	// Optional means that there are other servers: Open starts the server without waiting
	// for it, failed attempts are retried even without a request, and until the first
	// successful start the catalog is empty instead of an error.
	Optional bool
	// Previous is what an earlier Source of the same server has left.
	Previous Previous

	// Failover is what happens to sessions when another replica replaces this one.
	Failover Failover

	// Timeouts configures how long to wait for the server.
	Timeouts Timeouts
	// Limits configures how much the server may send and receive.
	Limits Limits

	// Clients, if not nil, are the clients of the [server.Server] that serves this Source. A
	// question that the server asks outside of a request goes to the only client; if
	// there are several, it is refused.
	Clients *server.Clients

	// Logger logs the events of the server; nil disables logging.
	Logger *slog.Logger
	// Observe, if not nil, is called for events of the server. It must not block.
	Observe func(Event)
	// Tap, if not nil, receives everything that crosses the connections to the server:
	// every message, the heads of HTTP responses, stderr, and the steps of connecting.
	Tap tap.Func
	// Roster, if not nil, lists the server while the Source is open.
	Roster *Roster
	// Processes, if not nil, counts and limits the processes of [Isolate].
	Processes *Processes
}

// Previous is what an earlier [Source] of the same server has left. The zero value means
// nothing.
type Previous struct {
	// Catalog is the known catalog of the server before its first start, or nil. With
	// [Options.Lazy], listing it does not start the server. Watchers are notified if the
	// actual catalog differs.
	Catalog *mcp.Catalog
	// Source is the Source that this one replaces, or nil: calls parked there while
	// their clients are asked resume here, until that Source is closed.
	Source *Source
}

// Questions configures the requests that a server may make: elicitation/create,
// sampling/createMessage and roots/list.
type Questions struct {
	// Capabilities are the client capabilities for the server, a JSON object. Nil means
	// everything that can be relayed to clients: elicitation, sampling and roots. A
	// 2026-07-28 server receives the capabilities of the requesting client instead, if
	// there is one.
	Capabilities json.RawMessage
	// Answer answers questions of the server during a request that was made by a program
	// rather than by a client. It returns the result object of the method. Nil refuses
	// them.
	Answer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// Timeouts configures how long a [Source] waits. Zero fields mean the defaults.
type Timeouts struct {
	// Start is how long a start may take, from connecting to the last list; 0 means 60
	// seconds.
	Start time.Duration
	// Wait is how long a request waits for a server that is down to be restarted; 0 means
	// 2 seconds. It does not limit an attempt in progress, and each request waits for one
	// attempt: a request never fails with the result of an earlier one. Requests cause at
	// most four attempts per second.
	Wait time.Duration
	// Reset is how long a server that has answered no request must run before its failures
	// are forgotten; 0 means 30 seconds.
	Reset time.Duration
	// Idle is the idle time after which the server is stopped until it is needed again; 0
	// means never.
	Idle time.Duration
	// Hang is how long a request may be in flight without any message from the server
	// before the server is pinged; 0 means 10 seconds, and a negative value disables this
	// check. The server is also pinged when a request is cancelled or times out and, on
	// Linux, when one of its processes is stopped by a signal.
	Hang time.Duration
	// Ping is how long a server may take to answer a ping; 0 means 20 seconds. Without an
	// answer, another message or a sign of activity (stderr output or, on Linux, CPU
	// time), the server is replaced, and its requests in flight fail with the reason.
	// Signs of activity count for at most 5 minutes. A process that is stopped by a signal
	// is replaced after one second (Linux).
	Ping time.Duration
	// Call is how long the server may take to answer one request of a client, including
	// questions to the user; 0 means no limit.
	Call time.Duration
}

// Limits configures the limits of a [Source]. Zero fields mean the defaults.
type Limits struct {
	// InFlight is how many requests may be in flight, and how many may wait for the server
	// to start; 0 means 1,000. Additional ones are refused with [mcp.CodeToolBusy], as are
	// those of a client beyond its [mcp.Request.Share].
	InFlight int
	// Entries is the maximum number of tools, resources, templates and prompts of a
	// server, for each list; 0 means 100,000.
	Entries int
	// ListBytes is the maximum size of the responses with all lists of a server together,
	// in bytes; 0 means 32 MiB.
	ListBytes int64
	// Pages is the maximum number of pages of a list; 0 means 10,000.
	Pages int
}

// withDefaults returns a copy of o with all defaults filled in.
func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	t := &d.Timeouts
	l := &d.Limits
	t.Start = cmp.Or(max(t.Start, 0), time.Minute)
	t.Wait = cmp.Or(max(t.Wait, 0), 2*time.Second)
	t.Reset = cmp.Or(max(t.Reset, 0), 30*time.Second)
	t.Hang = cmp.Or(t.Hang, 10*time.Second)
	t.Ping = cmp.Or(max(t.Ping, 0), 20*time.Second)
	l.InFlight = cmp.Or(max(l.InFlight, 0), 1000)
	l.Entries = cmp.Or(max(l.Entries, 0), 100_000)
	l.ListBytes = cmp.Or(max(l.ListBytes, 0), 32<<20)
	l.Pages = cmp.Or(max(l.Pages, 0), 10_000)
	if d.Client.Name == "" {
		d.Client = mcp.Implementation{
			Name:    "slipway",
			Version: "1",
		}
	}
	if d.Questions.Capabilities == nil {
		d.Questions.Capabilities = json.RawMessage(relayed)
	}
	return d
}
