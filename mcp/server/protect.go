package server

import "net/http"

// Protect applies the Host and Origin checks of the endpoint to next, for pages that are
// served next to it.
func (h *HTTPHandler) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := h.access.Load().guard.refuses(r); reason != "" {
			http.Error(w, reason, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
