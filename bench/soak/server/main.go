// Command server is the server that command soak puts under load: a Source on every
// surface, served like a user's program would. It prints its addresses as one line of
// JSON and, after it has drained, the calls that have run as another.
//
// Internal figures are served on a separate listener.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/serve"
)

func main() {
	ctx, stop := serve.Signals(context.Background(), nil)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// parse reads the flags. Zero leaves an option at its default.
func parse(args []string) (*serve.Options, error) {
	var o serve.Options
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.DurationVar(&o.ReadHeaderTimeout, "header", 0, "time for the header of a request")
	flags.DurationVar(&o.ReadTimeout, "read", 0, "time for a whole request")
	flags.DurationVar(&o.WebSocket.PingInterval, "ping", 0,
		"time between pings of a WebSocket")
	flags.DurationVar(&o.Server.SessionTTL, "ttl", 0, "time that a session may be idle")
	flags.IntVar(&o.Server.MaxSessions, "sessions", 0, "sessions at most")
	return &o, flags.Parse(args)
}

// run serves at two addresses: the endpoint, and the figures of the process from inside. It
// prints the addresses first, and at the end the calls that ran.
func run(ctx context.Context, args []string) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	if _, err := system.RaiseDescriptors(); err != nil {
		return err
	}
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return err
		}
	}
	say := json.NewEncoder(os.Stdout)
	addrs := map[string]string{
		"mcp":    listeners[0].Addr().String(),
		"inside": listeners[1].Addr().String(),
	}
	if err := say.Encode(addrs); err != nil {
		return err
	}
	go func() {
		_ = http.Serve(listeners[1], inside())
	}() // for the lifetime of the process
	src := newSource()
	err = serve.Serve(ctx, listeners[0], src, opts)
	return errors.Join(err, say.Encode(map[string][]int{"ran": src.calls()}))
}
