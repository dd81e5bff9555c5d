// Command router is our server as used by an author of Go functions: the typed path of
// package router.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/router"
)

func main() {
	contract.Main(contract.Program{
		HTTP:  serve,
		Stdio: stdio,
	})
}

// echoArgs are the arguments of echo, from which the router generates a schema.
type echoArgs struct {
	Message string `json:"message"`
}

// newServer returns a server with the features of every peer, as typed functions.
func newServer(cfg contract.Config) (*server.Server, error) {
	blob := fix.Text()
	features := []router.Feature{
		router.Resource(fix.Blob, fix.BlobURI,
			func(context.Context) (string, error) {
				return blob, nil
			}, router.MIMEType(fix.BlobMIME)),
	}
	for _, t := range fix.Tools(cfg.Tools) {
		switch t.Name {
		case fix.Echo:
			features = append(features, router.Tool(t.Name, t.Description,
				func(_ context.Context, in echoArgs) (string, error) {
					return in.Message, nil
				}))
		case fix.Blob:
			features = append(features, router.Tool(t.Name, t.Description,
				func(context.Context, router.Void) (string, error) {
					return blob, nil
				}))
		default:
			features = append(features, router.Tool(t.Name, t.Description,
				progress, router.Schema(string(t.InputSchema))))
		}
	}
	r, err := router.New(fix.ServerName, fix.ServerVersion, features...)
	if err != nil {
		return nil, err
	}
	return server.New(r, nil), nil
}

// progress handles the filler tools, and the tool that reports its progress.
func progress(ctx context.Context, _ json.RawMessage) (string, error) {
	const steps = 10
	for i := range steps {
		mcp.RequestFrom(ctx).Progress(float64(i+1), steps, "")
	}
	return fix.Message, nil
}

func serve(cfg contract.Config) (http.Handler, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	return s.HTTPHandler(&server.HTTPOptions{NoSessions: !cfg.Session}), nil
}

func stdio(cfg contract.Config) error {
	s, err := newServer(cfg)
	if err != nil {
		return err
	}
	return s.ServeStdio(context.Background(), os.Stdin, os.Stdout, nil)
}
