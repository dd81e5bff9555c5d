package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestRefusedForward guards the form of errors for requests that cannot be forwarded: only readers of the
// page for logins get a page, not clients that open a WebSocket.
func TestRefusedForward(t *testing.T) {
	p := &hop{handler: &Handler{connect: &connectPage{admission: &admission{}}}}
	for path, status := range map[string]int{
		EndpointPath:                 http.StatusServiceUnavailable,
		EndpointPath + "/one":        http.StatusServiceUnavailable,
		WebSocketPath:                http.StatusServiceUnavailable,
		identity.ConnectPath + "id":  http.StatusForbidden,
		identity.ConnectPath + "x/y": http.StatusForbidden,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		p.refuse(w, r, http.StatusServiceUnavailable, mcp.CodeToolBusy, "no replica")
		isPage := strings.Contains(w.Body.String(), "The gateway was restarted")
		if w.Code != status || isPage != (status == http.StatusForbidden) {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, status)
		}
	}
}
