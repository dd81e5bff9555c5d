package serve

import "net/http"

// AdminHandler returns the handler for operators.
func AdminHandler(h *Handler) http.Handler { return h.admin() }

// FollowConnections reports logins that other processes end, as Run does.
func FollowConnections(h *Handler) (stop func()) { return h.connect.run() }

// CountNames returns a function that returns how many names of policies and catalogs a server with the options has
// compared.
func CountNames(o *Options) func() int {
	o.missing = &missingNames{}
	return func() int {
		o.missing.mu.Lock()
		defer o.missing.mu.Unlock()
		return o.missing.compared
	}
}
