package serve

import "net/http"

// AdminHandler returns the handler for operators.
func AdminHandler(h *Handler) http.Handler { return h.admin() }
