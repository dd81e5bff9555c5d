// Command slipway is our server as used by an author of a Source.
package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	slipway "github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

func main() {
	contract.Main(contract.Program{
		HTTP:  serve,
		Stdio: stdio,
	})
}

// source offers the features of every peer.
type source struct {
	mcp.Unimplemented
	// catalog is complete before the first request. text is the answer of blob.
	catalog mcp.Catalog
	text    string
}

func newServer(cfg contract.Config) *mcpserver.Server {
	return mcpserver.New(newSource(cfg), nil)
}

// newSource returns a source with as many tools as the configuration asks for.
func newSource(cfg contract.Config) *source {
	s := &source{text: fix.Text()}
	s.catalog.Server = mcp.Implementation{
		Name:    fix.ServerName,
		Version: fix.ServerVersion,
	}
	s.catalog.Resources = []mcp.Resource{{
		Name:     fix.Blob,
		URI:      fix.BlobURI,
		MIMEType: fix.BlobMIME,
	}}
	for _, t := range fix.Tools(cfg.Tools) {
		s.catalog.Tools = append(s.catalog.Tools,
			mcp.Tool{
				Name:        t.Name,
				Description: t.Description,
				InputSchema: t.InputSchema,
			})
	}
	return s
}

// Catalog implements [mcp.Source].
func (s *source) Catalog(context.Context) (*mcp.Catalog, error) {
	return &s.catalog, nil
}

// CallTool implements [mcp.Source].
func (s *source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	switch p.Name {
	case fix.Echo:
		message, ok := p.StringArgument("message")
		if !ok {
			return nil, mcp.InvalidArguments("message: required, and must be a string")
		}
		return text(message), nil
	case fix.Blob:
		return text(s.text), nil
	case fix.Progress:
		for i := range fix.Steps {
			mcp.RequestFrom(ctx).Progress(float64(i+1), fix.Steps, "")
		}
		return text(fix.Message), nil
	}
	return nil, mcp.UnknownTool(p.Name)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(s)}}
}

// ReadResource implements [mcp.Source].
func (s *source) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != fix.BlobURI {
		return nil, mcp.ResourceNotFound(p.URI, "no such resource")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
		{URI: fix.BlobURI, MIMEType: fix.BlobMIME, Text: s.text},
	}}, nil
}

// Watch makes source a watcher, so that clients may open streams for notifications.
func (s *source) Watch(func(mcp.Change)) (stop func()) { return func() {} }

// serve returns a handler for HTTP and, at the same paths, WebSockets.
func serve(cfg contract.Config) (http.Handler, error) {
	if strings.Contains(cfg.With, ",") {
		return serveSeveral(cfg)
	}
	if cfg.With != "" {
		return serveWith(cfg)
	}
	server := newServer(cfg)
	endpoint := server.HTTPHandler(&mcpserver.HTTPOptions{NoSessions: !cfg.Session})
	sockets := ws.NewHandler(server, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws.IsUpgrade(r) {
			sockets.ServeHTTP(w, r)
			return
		}
		endpoint.ServeHTTP(w, r)
	}), nil
}

// serveSeveral returns several endpoints with different features, see [contract.Config.With].
func serveSeveral(cfg contract.Config) (http.Handler, error) {
	var all []http.Handler
	for cfg.With = range strings.SplitSeq(cfg.With, ",") {
		one, err := serveWith(cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i, err := strconv.Atoi(r.URL.RawQuery); err == nil && i >= 0 && i < len(all) {
			all[i].ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	}), nil
}

// serveWith returns the endpoint with some or all of the features for production. "plain"
// means none of them.
func serveWith(cfg contract.Config) (http.Handler, error) {
	with := func(what string) bool {
		return cfg.With == what || cfg.With == "all"
	}
	opts := &slipway.Options{
		Features: slipway.Features{NoMetrics: !with("metrics")},
		HTTP:     mcpserver.HTTPOptions{NoSessions: !cfg.Session},
	}
	if cfg.With == "policy" {
		set, err := policy.Parse("policy.cedar", fix.Policy())
		if err != nil {
			return nil, err
		}
		opts.Policy = slipway.NewPolicy(set, &slipway.PolicyOptions{Servers: []string{fix.ServerName}})
	}
	if cfg.With == "jwt" || cfg.With == "policy" {
		tokens, err := jwt()
		if err != nil {
			return nil, err
		}
		opts.Auth = &slipway.Auth{Verifiers: []slipway.Verifier{tokens}}
	}
	if with("auth") {
		tokens, err := slipway.NewTokens(slipway.Token{
			Name:  "bench",
			Token: fix.Token,
		})
		if err != nil {
			return nil, err
		}
		opts.Auth = &slipway.Auth{Verifiers: []slipway.Verifier{tokens}}
	}
	if with("ratelimit") {
		opts.Limits = slipway.Limits{
			Rate:           1e9,
			Burst:          1e9,
			ClientInFlight: 1000,
			InFlight:       1000,
		}
	}
	if with("log") {
		opts.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil))
	}
	return slipway.NewHandler(newSource(cfg), opts), nil
}

// jwt verifies the tokens of an issuer, whose keys it fetches over HTTP once.
func jwt() (slipway.Verifier, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(fix.JWKS())
	}))
	return slipway.NewJWT(&slipway.JWTOptions{
		Issuer:   fix.Issuer,
		Audience: []string{fix.Audience},
		JWKSURL:  "http://" + ln.Addr().String() + "/keys",
	})
}

func stdio(cfg contract.Config) error {
	return newServer(cfg).ServeStdio(context.Background(), os.Stdin, os.Stdout, nil)
}
