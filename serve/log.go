package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"
)

// logged returns h with a log line for each request at level debug. If that level is
// disabled, it returns h itself, so that it costs nothing.
func logged(h http.Handler, log *slog.Logger) http.Handler {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		rec := &recorder{ResponseWriter: w}
		h.ServeHTTP(rec, r)
		log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", cmp.Or(rec.status, http.StatusOK),
			"bytes", rec.bytes, "duration_ms", float64(time.Since(begin).Microseconds())/1000)
	})
}

// recorder records the status and size of a response. The status is 0 until the header is
// written.
type recorder struct {
	http.ResponseWriter
	status, bytes int
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	r.status = cmp.Or(r.status, status)
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(p []byte) (int, error) {
	r.status = cmp.Or(r.status, http.StatusOK)
	n, err := r.ResponseWriter.Write(p)
	r.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the underlying writer, to flush.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
