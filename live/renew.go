package live

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// renewal is the header of an [Endpoint] where that can change.
type renewal struct {
	now   atomic.Pointer[http.Header] // nil: that of the Endpoint
	mu    sync.Mutex                  // held while a new one is made; guards asked
	asked time.Time                   // when Renew was asked last
}

// renewPause is how often a server that refuses what we have to show makes us look
// for something else.
const renewPause = time.Second

// header returns what every request has.
func (e *Endpoint) header() http.Header {
	if h := e.renewal.now.Load(); h != nil {
		return *h
	}
	return e.Header
}

// renew looks for another header than used, which the server has refused, and
// returns it, or nil if there is none. Of those who come at once one asks.
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
		return nil // what the server said is told
	}
	e.renewal.now.Store(&h)
	return h
}

// differs reports whether a request with the header used lacks something of h.
func differs(h, used http.Header) bool {
	for name, values := range h {
		if !slices.Equal(values, used[http.CanonicalHeaderKey(name)]) {
			return true
		}
	}
	return false
}

// renewed makes a request that was refused with 401 again, if there is something
// else to show. It returns the response that counts.
func (e *Endpoint) renewed(r *http.Request, resp *http.Response) (*http.Response, error) {
	h := e.renew(r.Context(), r.Header)
	if h == nil {
		return resp, nil
	}
	finishBody(resp.Body)
	again := r.Clone(r.Context())
	for name, values := range h {
		again.Header[http.CanonicalHeaderKey(name)] = values
	}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	return e.send(again)
}
