package fleet

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/stax"
)

// Options configure [Open] and [OpenServer]. The zero value and nil are the defaults.
type Options struct {
	// Name identifies all servers of a file together to clients; "" means "servers".
	Name string
	// Resolver resolves the secrets; nil means one that uses the environment.
	Resolver *stax.Resolver
	// Client configures how each server is kept alive. Its Roster lists the servers,
	// including those that cannot be opened. Its Observe is also called with
	// [client.EventUnavailable] for each server that is skipped because of its definition or
	// secrets, collides with others, or is no longer waited for.
	Client *client.Options
	// Stderr returns the writer for the stderr of a local server. Nil discards it; errors
	// quote the last lines in any case.
	Stderr func(server string) io.Writer
	// Import reads a file without definitions as another format, for example as the
	// configuration of a client. It returns nil if it cannot. Nil: no other format.
	Import func(file string) *Definitions
	// Prefix selects the tools and prompts that are prefixed with the name of their
	// server.
	Prefix compose.Prefix
	// Strict rejects a file with any invalid server definition. Otherwise the invalid
	// servers are skipped.
	Strict bool
	// MaxServers limits the number of servers started per file; 0 means 200. Additional
	// ones are skipped.
	MaxServers int
	// Startup configures how long Open and the first requests wait for servers.
	Startup Startup
	// Idle configures servers that are not in use.
	Idle Idle
	// Reload configures how the file is followed.
	Reload Reload
	// Logger logs the outcome of file changes; nil disables logging.
	Logger *slog.Logger
}

// Startup configures the wait for servers that are starting.
type Startup struct {
	// Settle limits the wait for the first start of all servers; 0 means 20 seconds. A
	// server with a shorter connectTimeoutMs has that limit instead. A server that takes
	// longer joins once it has started.
	Settle time.Duration
	// Background makes Open return without waiting for all servers: those that have
	// started are served at once, the others join later, and only requests for lists wait
	// for them, until Settle after Open. If Settle is 0, that is 2 seconds, or, for a
	// single server, until its start has succeeded or failed. Without Background, Open
	// waits for all servers, as suits a program that makes one request.
	Background bool
	// Wait is how long Open waits for servers in spite of Background, so that the first
	// clients see fast ones; 0 means 300 milliseconds.
	Wait time.Duration
	// Joined means that the file is one of several sources, so that a missing tool may
	// belong to another one: only requests for lists wait.
	Joined bool

	settleSet bool
}

// Idle configures when servers are started and stopped.
type Idle struct {
	// Lazy delays the start of a server until it is called, if its catalog is cached from
	// an earlier run. Otherwise the server is started once to fetch it.
	Lazy bool
	// CacheDir is the folder for the cached catalogs of Lazy, created when needed; ""
	// disables the cache.
	CacheDir string
	// Stop is the idle time after which a local server is stopped, until it is needed
	// again; 0 means never. A server with subscribed resources is not idle.
	Stop time.Duration
}

// Reload configures how changes of a definitions file are applied.
type Reload struct {
	// Watch is the interval at which the file is checked for changes; 0 means never. A
	// server that was skipped because its program was missing is tried once the program
	// exists.
	Watch time.Duration
	// Signal is an operating system signal that reloads the file and the secrets; nil
	// means none.
	Signal os.Signal
	// Drain limits how long calls may continue on a server that was removed or replaced,
	// before it is stopped; 0 means 10 minutes.
	Drain time.Duration
}

// Defaults of [Startup]: when a slow start is reported, and the grace period of Open. An
// endpoint must answer within 500 milliseconds, including the start of the process.
const (
	slowStart  = 20 * time.Second
	startGrace = 300 * time.Millisecond
)

// withDefaults returns a copy in which every limit is set and no function is nil.
func (o *Options) withDefaults() *Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Name = cmp.Or(d.Name, "servers")
	var resolver stax.Resolver
	if d.Resolver != nil {
		resolver = *d.Resolver
	}
	if resolver.Files == nil {
		resolver.Files = &stax.SecretFiles{}
	}
	d.Resolver = &resolver
	if d.Client == nil {
		d.Client = &client.Options{}
	}
	if d.Stderr == nil {
		d.Stderr = func(string) io.Writer { return nil }
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	s := &d.Startup
	s.Wait = cmp.Or(max(s.Wait, 0), startGrace)
	s.settleSet = s.Settle > 0
	if s.Background {
		s.Settle = cmp.Or(max(s.Settle, 0), 2*time.Second)
	}
	s.Settle = cmp.Or(max(s.Settle, 0), slowStart)
	d.Reload.Drain = cmp.Or(max(d.Reload.Drain, 0), 10*time.Minute)
	d.MaxServers = cmp.Or(max(d.MaxServers, 0), 200)
	return &d
}

// reportUnavailable notifies the observer that a server is not available for now.
func (o *Options) reportUnavailable(server string, err error) {
	if o.Client.Observe != nil {
		o.Client.Observe(client.Event{
			Name: server,
			What: client.EventUnavailable,
			Err:  err,
		})
	}
}
