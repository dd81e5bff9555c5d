package contract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// Gateway is a program between clients that connect over HTTP and one server:
//
//	gateway 127.0.0.1:9000 stdio COMMAND [ARGUMENT...]
//	gateway 127.0.0.1:9000 http URL
//
// A nil field means that it does not support the transport.
type Gateway struct {
	// Stdio starts the command as its server, and HTTP connects to a URL.
	Stdio func(ctx context.Context, command []string) (http.Handler, error)
	HTTP  func(ctx context.Context, url string) (http.Handler, error)
}

// IdleConns is the number of idle connections that a gateway keeps to an HTTP server.
// With net/http's default of two, most requests would need a new one.
const IdleConns = 64

// GatewayMain runs g as configured by os.Args. On failure, it prints one line to stderr
// and exits with status 1.
func GatewayMain(g Gateway) { Exit("gateway", runGateway(g, os.Args[1:])) }

// runGateway connects a gateway to its server and serves it. A gateway without the transport
// is an error.
func runGateway(g Gateway, args []string) error {
	if len(args) < 3 {
		return errors.New("usage: gateway ADDR stdio COMMAND [ARGUMENT...] | ADDR http URL")
	}
	var handler http.Handler
	var err error
	switch ctx := context.Background(); {
	case args[1] == "stdio" && g.Stdio != nil:
		handler, err = g.Stdio(ctx, args[2:])
	case args[1] == "http" && g.HTTP != nil:
		handler, err = g.HTTP(ctx, args[2])
	default:
		err = fmt.Errorf("no %s here", args[1])
	}
	if err != nil {
		return err
	}
	server := http.Server{
		Addr:    args[0],
		Handler: handler,
	}
	return server.ListenAndServe()
}

// Client returns an HTTP client that keeps [IdleConns] connections.
func Client() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = IdleConns
	return &http.Client{Transport: t}
}
