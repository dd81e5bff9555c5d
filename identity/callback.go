package identity

import (
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// callbackPath is the path to which the browser returns.
const callbackPath = "/callback"

// callback receives the answer of the authorization server from the browser, on this
// machine only (RFC 8252, section 7.3).
type callback struct {
	// address is the redirect URI, with the port that the system chose.
	address string
	server  *http.Server
	// login is the server that the user logs in to, for the page.
	login string
	// answers has the answers of browsers, which wait for the outcome.
	answers chan *callbackAnswer
	// done is closed when outcome is known: nil means success.
	done    chan struct{}
	outcome error
}

// callbackAnswer is one request of a browser.
type callbackAnswer struct {
	query   url.Values
	verdict chan bool
}

// take and reject say whether the answer belongs to the login.
func (a *callbackAnswer) take()   { a.verdict <- true }
func (a *callbackAnswer) reject() { a.verdict <- false }

// newCallback serves the callback page on a listener until close.
func newCallback(l net.Listener, login string) *callback {
	c := &callback{
		address: "http://" + l.Addr().String() + callbackPath,
		login:   login,
		answers: make(chan *callbackAnswer),
		done:    make(chan struct{}),
	}
	c.server = &http.Server{
		Handler:           http.HandlerFunc(c.serve),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		MaxHeaderBytes:    maxSecret,
	}
	go func() { _ = c.server.Serve(l) }() // until close
	return c
}

// finish publishes the outcome of the login to the page that waits for it.
func (c *callback) finish(err error) {
	c.outcome = err
	close(c.done)
}

// close waits until the page has been sent.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close() // a browser does not read its answer
	}
}

// serve answers the browser after the outcome is known.
func (c *callback) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	// A page of another site may reach this address by a name of its own.
	if "http://"+r.Host+callbackPath != c.address || r.URL.Path != callbackPath {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet {
		h.Set("Allow", http.MethodGet)
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	answer := &callbackAnswer{
		query:   r.URL.Query(),
		verdict: make(chan bool, 1),
	}
	select {
	case c.answers <- answer:
	case <-c.done:
		c.page(w, http.StatusGone, "This login is complete already.")
		return
	case <-r.Context().Done():
		return
	}
	select {
	case belongs := <-answer.verdict:
		if !belongs {
			c.page(w, http.StatusBadRequest, "This answer does not belong to the login in progress. It was ignored.")
			return
		}
	case <-r.Context().Done():
		return
	}
	select {
	case <-c.done:
	case <-r.Context().Done():
		return
	}
	if c.outcome != nil {
		c.page(w, http.StatusBadRequest, "The login to "+c.login+" failed: "+c.outcome.Error())
		return
	}
	c.page(w, http.StatusOK, "You are logged in to "+c.login+". You can close this page.")
}

// callbackBefore and callbackAfter surround the text of the page that ends a login.
const (
	callbackBefore = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Slipway</title>
<style>
body{font:1rem/1.5 system-ui,sans-serif;margin:15vh auto;max-width:36rem;padding:0 1rem;overflow-wrap:anywhere}
</style>
<h1>Slipway</h1>
<p>`
	callbackAfter = `</p>
</html>
`
)

// page answers the browser with a complete page around text, which it escapes.
func (c *callback) page(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, callbackBefore+html.EscapeString(text)+callbackAfter) // the browser may be gone
}
