package serve

import "net/http"

// AdminHandler returns the handler for operators.
func AdminHandler(h *Handler) http.Handler { return h.admin() }

// FollowConnections reports logins that other processes end, as Run does.
func FollowConnections(h *Handler) (stop func()) { return h.connect.run() }
