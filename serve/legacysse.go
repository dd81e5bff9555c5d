package serve

import (
	"context"
	"net/http"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// LegacySSEPath is where clients of 2024-11-05 open their event stream, and
// LegacyMessagePath where they post their messages, with [Options.LegacySSE].
const (
	LegacySSEPath     = "/sse"
	LegacyMessagePath = "/message"
)

// legacySSE returns the handler for HTTP+SSE, or nil if it is disabled for good. It shares
// the options of the endpoint.
func (o *Options) legacySSE(server *mcpserver.Server, d *admission) *mcpserver.SSEHandler {
	if !o.LegacySSE && o.Control == nil {
		return nil
	}
	endpoint := o.HTTP
	if !d.open() {
		endpoint.Authenticate = d.authenticateLegacy
	}
	return server.SSEHandler(LegacyMessagePath, &endpoint)
}

// authenticateLegacy is authenticate for a transport whose requests all belong to the
// stream opened by a GET. Each message is authenticated and counted when it is posted;
// the stream's token is rechecked as for any connection.
func (d *admission) authenticateLegacy(w http.ResponseWriter, r *http.Request) context.Context {
	c := d.newCaller(r)
	c.connection = true
	c.posted = true
	p, refused := d.admit(c, r)
	return d.answer(w, c, p, refused)
}
