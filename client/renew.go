package client

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp/tap"
)

// renewal is the renewable header of an [Endpoint].
type renewal struct {
	now   atomic.Pointer[http.Header] // nil: the Header of the Endpoint
	mu    sync.Mutex                  // held during renewal; guards asked
	asked time.Time                   // last call of Renew
}

// renewPause is the minimum time between two calls of Renew.
const renewPause = time.Second

// header returns the headers of every request.
func (e *Endpoint) header() http.Header {
	if h := e.renewal.now.Load(); h != nil {
		return *h
	}
	return e.Header
}

// renew returns a header that differs from used, which the server refused, or nil if
// there is none. Concurrent callers share one call of Renew.
func (e *Endpoint) renew(ctx context.Context, used http.Header) http.Header {
	if e.Renew == nil {
		return nil
	}
	e.renewal.mu.Lock()
	defer e.renewal.mu.Unlock()
	if h := e.header(); differs(h, used) {
		return h
	}
	if time.Since(e.renewal.asked) < renewPause {
		return nil
	}
	e.renewal.asked = time.Now()
	h, err := e.Renew(ctx)
	if err != nil || !differs(h, used) {
		return nil // the caller gets the server's error
	}
	e.renewal.now.Store(&h)
	return h
}

// differs reports whether h has values that a request with the header used lacks.
func differs(h, used http.Header) bool {
	for name, values := range h {
		if !slices.Equal(values, used[http.CanonicalHeaderKey(name)]) {
			return true
		}
	}
	return false
}

// renewed retries a request that was refused with 401, if there is another header. It
// returns the final response.
func (e *Endpoint) renewed(r *http.Request, resp *http.Response, t *tap.Tapper) (*http.Response, error) {
	h := e.renew(r.Context(), r.Header)
	if h == nil {
		return resp, nil
	}
	drainAndClose(resp.Body)
	r, err := again(r)
	if err != nil {
		return nil, err
	}
	for name, values := range h {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return e.send(r, t)
}
