// Command conformance serves a Source for the official conformance suite of the Model
// Context Protocol. It only uses the public API: a need for special treatment here
// would be a defect of that API.
//
//	go run ./internal/test/conformance --addr 127.0.0.1:8080
//
// scripts/conformance starts it and runs the suite against it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/slipway-mcp/slipway/serve"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	stdio := flag.Bool("stdio", false, "serve over stdin and stdout instead")
	flag.Parse()
	ctx, stop := serve.Signals(context.Background(), nil)
	defer stop()
	if err := run(ctx, *addr, *stdio); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// run serves the fixture until ctx ends.
func run(ctx context.Context, addr string, stdio bool) error {
	f := newFixture()
	if stdio {
		return serve.Stdio(ctx, f, os.Stdin, os.Stdout, nil)
	}
	return serve.Run(ctx, f, &serve.Options{
		Addr: addr,
		Observer: serve.Observer{Started: func(i *serve.Info) {
			fmt.Fprintln(os.Stderr, "serving", i.Endpoint)
		}},
	})
}
