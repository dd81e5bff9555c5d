// Command reverseproxy is net/http's ReverseProxy: HTTP passed on, nothing of MCP.
// REVERSEPROXY_IDLE=1 lets it keep as many idle connections as the other gateways,
// instead of the two that net/http does by default.
package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/slipway-mcp/slipway/bench/contract"
)

func main() { contract.GatewayMain(contract.Gateway{HTTP: serve}) }

func serve(_ context.Context, endpoint string) (http.Handler, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
	}}
	if os.Getenv("REVERSEPROXY_IDLE") != "" {
		proxy.Transport = contract.Client().Transport
	}
	return bodyFirst(proxy), nil
}

// bodyFirst reads the request before it is passed on. A ReverseProxy that reads it
// while it writes loses answers, of 10 KB most of them: a server that answers at once
// makes net/http close the request's body under its hands, and it then drops the
// connection to that server.
func bodyFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
