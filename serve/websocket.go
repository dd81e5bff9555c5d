package serve

import (
	"context"
	"net/http"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// WebSocketPath is where clients open a WebSocket, besides [EndpointPath].
const WebSocketPath = "/ws"

// sockets returns the WebSocket handler, or nil if it is disabled for good. It shares the
// options of the endpoint.
func (o *Options) sockets(server *mcpserver.Server, d *admission) *ws.Handler {
	if o.NoWebSocket && o.Control == nil {
		return nil
	}
	w := o.WebSocket
	w.AllowedHosts = o.HTTP.AllowedHosts
	w.AllowedOrigins = o.HTTP.AllowedOrigins
	w.MaxMessage = o.HTTP.MaxBody
	w.DrainTimeout = o.DrainTimeout
	w.Logger = o.Logger
	if !d.open() {
		w.Authenticate = d.authenticateUpgrade
		if o.Auth != nil || o.Control != nil {
			w.Revalidate = d.stillValid
		}
	}
	return ws.NewHandler(server, &w)
}

// upgrades reports whether a request to the endpoint is a WebSocket upgrade.
func (h *Handler) upgrades(r *http.Request) bool {
	s := h.surface.Load()
	return s.webSocket && !s.postOnly && ws.IsUpgrade(r)
}

// authenticateUpgrade is authenticate for a WebSocket, whose token may also be sent as a
// subprotocol, because a web page cannot set headers.
func (d *admission) authenticateUpgrade(w http.ResponseWriter, r *http.Request) context.Context {
	c := d.newCaller(r)
	c.connection = true
	p, refused := d.admitUpgrade(c, r)
	return d.answer(w, c, p, refused)
}

// admitUpgrade is admit for an upgrade. Of several tokens in the subprotocols, the first
// valid one counts.
func (d *admission) admitUpgrade(c *caller, r *http.Request) (*mcp.Principal, *refusal) {
	current := d.policy.Load()
	if current.auth == nil || len(r.Header["Authorization"]) > 0 || queryToken(r) {
		return d.admit(c, r)
	}
	chosen := ""
	for _, token := range ws.Tokens(r) {
		if !isToken(token) {
			continue
		}
		chosen = token
		if _, err := current.auth.verify(c, token); err == nil {
			break
		}
	}
	return d.identify(c, current, chosen)
}
