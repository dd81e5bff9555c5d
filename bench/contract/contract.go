// Package contract defines the command line of all peer programs:
//
//	NTOOLS=50 peer 127.0.0.1:9000 stateless
//	NTOOLS=3 peer stdio session
//
// A peer serves MCP at every HTTP path, or on its standard streams, as the server
// described by package fix. Go peers call [Main].
package contract

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/slipway-mcp/slipway/bench/fix"
)

// Environment of a peer.
const (
	EnvTools    = "NTOOLS"         // the number of tools to list, at least fix.Called
	EnvWorkload = "BENCH_WORKLOAD" // the name of the workload; only used by constant floors
	EnvStream   = "BENCH_STREAM"   // "1" if calls are answered with an event stream
	EnvWith     = "BENCH_WITH"     // additional features of the server, see fix.Workload
)

// Stdio is the address of a peer that serves on its standard streams.
const Stdio = "stdio"

// Config is the configuration of a peer.
type Config struct {
	Addr string // [Stdio], or an address to listen on
	// Session requests sessions, and Stream answers as event streams.
	Session bool
	// Tools is the number of tools to list, and Workload the name of what is measured, for peers
	// that prepare its answer.
	Tools    int
	Workload string
	Stream   bool
	// With names a part of operation to switch on, such as metrics. Several, separated by commas, are
	// for several servers in one process: the query of a request is the number of its server, from 0.
	With string
}

// FreePath is the path at which every Go peer returns unused memory to the system, so
// that the rest is the cost of its clients.
const FreePath = "/bench/free"

// Program is a peer. A nil field means that the peer does not support the transport.
type Program struct {
	// HTTP returns a handler for all paths; Stdio serves standard input and output until it ends.
	HTTP  func(Config) (http.Handler, error)
	Stdio func(Config) error
}

// Main runs p as configured by os.Args and the environment. On failure, it prints one
// line to stderr and exits with status 1.
func Main(p Program) { Exit("peer", run(p, os.Args[1:])) }

// Exit ends the program called name: with status 1 after printing err, if that is not nil.
func Exit(name string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// run serves p on the transport that the arguments select.
func run(p Program, args []string) error {
	cfg, err := parse(args)
	if err != nil {
		return err
	}
	if cfg.Addr == Stdio {
		if p.Stdio == nil {
			return errors.New("no stdio here")
		}
		return p.Stdio(cfg)
	}
	if p.HTTP == nil {
		return errors.New("no HTTP here")
	}
	handler, err := p.HTTP(cfg)
	if err != nil {
		return err
	}
	if w, err := fix.Find(cfg.Workload); err == nil && w.Kind.Idle() {
		handler = freeing(handler)
	}
	server := http.Server{
		Addr:    cfg.Addr,
		Handler: handler,
	}
	return server.ListenAndServe()
}

// freeing returns memory to the system on request, so that the resident size of idle
// connections does not include garbage.
func freeing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != FreePath {
			next.ServeHTTP(w, r)
			return
		}
		debug.FreeOSMemory()
		debug.FreeOSMemory() // frees what the first run only marked as garbage
	})
}

// parse reads the arguments of a peer and the variables that describe the workload.
func parse(args []string) (Config, error) {
	if len(args) != 2 || args[1] != "stateless" && args[1] != "session" {
		return Config{}, errors.New("usage: peer ADDR|stdio stateless|session")
	}
	cfg := Config{
		Addr:     args[0],
		Session:  args[1] == "session",
		Workload: os.Getenv(EnvWorkload),
		Stream:   os.Getenv(EnvStream) == "1",
		With:     os.Getenv(EnvWith),
	}
	tools, err := strconv.Atoi(os.Getenv(EnvTools))
	if err != nil {
		return Config{}, fmt.Errorf("read %s: %w", EnvTools, err)
	}
	cfg.Tools = max(tools, fix.Called)
	return cfg, nil
}

// For returns the config with which a peer serves the workload at addr.
func For(w fix.Workload, addr string) Config {
	return Config{
		Addr:     addr,
		Session:  w.Session,
		Tools:    w.Tools,
		Workload: w.Name,
		Stream:   w.Events > 0,
		With:     w.With,
	}
}

// Args returns the command-line arguments for cfg.
func (cfg Config) Args() []string {
	mode := "stateless"
	if cfg.Session {
		mode = "session"
	}
	return []string{cfg.Addr, mode}
}

// Env returns the environment variables for cfg.
func (cfg Config) Env() []string {
	stream := ""
	if cfg.Stream {
		stream = "1"
	}
	return []string{
		EnvTools + "=" + strconv.Itoa(cfg.Tools), EnvWorkload + "=" + cfg.Workload,
		EnvStream + "=" + stream, EnvWith + "=" + cfg.With,
	}
}
