package serve

import (
	"context"
	"net/http"

	"github.com/slipway-mcp/slipway/mcp"
)

// LegacySSEPath is where clients of 2024-11-05 open their event stream, and
// LegacyMessagePath where they post their messages, with [Options.LegacySSE].
const (
	LegacySSEPath     = "/sse"
	LegacyMessagePath = "/message"
)

// legacySSE returns the HTTP+SSE surface, or nil without. What it shares with the
// endpoint is configured there.
func (o *Options) legacySSE(server *mcp.Server, d *door) http.Handler {
	if !o.LegacySSE {
		return nil
	}
	endpoint := o.HTTP
	if !d.open() {
		endpoint.Authenticate = d.authenticateLegacy
	}
	return server.SSEHandler(LegacyMessagePath, &endpoint)
}

// authenticateLegacy is authenticate for a transport whose requests all belong to
// the stream that a GET has opened. Each message is authenticated and counted as it
// is posted; what the stream may do is looked at again as for any connection.
func (d *door) authenticateLegacy(w http.ResponseWriter, r *http.Request) context.Context {
	c := newCaller(r)
	c.connection, c.posted = true, true
	return d.authenticateCaller(w, r, c)
}
