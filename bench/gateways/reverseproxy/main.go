// Command reverseproxy is net/http's ReverseProxy, which forwards HTTP without any
// knowledge of MCP. With REVERSEPROXY_IDLE=1 it keeps as many idle connections as the
// other gateways, instead of net/http's default of two.
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

// serve returns the proxy of the standard library. REVERSEPROXY_IDLE gives it as many idle
// connections as the other gateways have.
func serve(_ context.Context, endpoint string) (http.Handler, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme = target.Scheme
		r.Out.URL.Host = target.Host
		r.Out.Host = target.Host
	}}
	if os.Getenv("REVERSEPROXY_IDLE") != "" {
		proxy.Transport = contract.Client().Transport
	}
	return bodyFirst(proxy), nil
}

// bodyFirst reads the request before it is forwarded. A ReverseProxy that reads it while
// writing loses answers, most of those with 10 KB: if a server answers immediately,
// net/http closes the request's body during the read, and then drops the connection to
// the server.
func bodyFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has disconnected
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
