package mcp

import "net/http"

// Protect returns next behind the same Host and Origin checks as the endpoint,
// for pages that are served beside it.
func (h *HTTPHandler) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := h.guard.refuses(r); reason != "" {
			http.Error(w, reason, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
