// Command barehand is the floor of the HTTP workloads: net/http reads the body once and
// sends constant bytes of the right answer's size. No server that uses net/http can be
// cheaper.
package main

import (
	"io"
	"net/http"
	"strconv"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() { contract.Main(contract.Program{HTTP: serve}) }

// serve returns a handler that answers every request of a workload with the same bytes.
func serve(cfg contract.Config) (http.Handler, error) {
	w, err := fix.Find(cfg.Workload)
	if err != nil {
		return nil, err
	}
	answer := constant(w.Answer())
	if cfg.Stream {
		answer = events(w)
	}
	if !cfg.Session {
		return answer, nil
	}
	initialize := constant(fix.InitAnswer())
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" {
			rw.Header().Set("Mcp-Session-Id", "one")
			initialize(rw, r)
			return
		}
		answer(rw, r)
	}), nil
}

// events answers with an event stream and flushes each event.
func events(w fix.Workload) http.HandlerFunc {
	var all [][]byte
	for n := range w.Events {
		all = append(all, fix.Event(w.Notification(n+1)))
	}
	all = append(all, fix.Event(w.Answer()))
	contentType := []string{"text/event-stream"}
	return func(w http.ResponseWriter, r *http.Request) {
		if !read(w, r) {
			return
		}
		w.Header()["Content-Type"] = contentType
		controller := http.NewResponseController(w)
		for _, event := range all {
			w.Write(event) // an error means the client has disconnected
			controller.Flush()
		}
	}
}

// read reads the body and reports whether it succeeded.
func read(w http.ResponseWriter, r *http.Request) bool {
	buf := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, buf); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// constant returns a handler with a fixed answer. It sets the header fields by their canonical
// keys, which saves the work of Set.
func constant(body []byte) http.HandlerFunc {
	length := []string{strconv.Itoa(len(body))}
	contentType := []string{"application/json"}
	return func(w http.ResponseWriter, r *http.Request) {
		if !read(w, r) {
			return
		}
		h := w.Header()
		h["Content-Type"] = contentType
		h["Content-Length"] = length
		w.Write(body) // an error means the client has disconnected
	}
}
