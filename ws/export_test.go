package ws

// PingAll pings every client, even if it has not answered the last ping. h must not ping
// by itself.
func PingAll(h *Handler) {
	for _, s := range h.all() {
		s.pinged = false
		s.check()
	}
}
