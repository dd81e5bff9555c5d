package ws

// PingAll pings every client, whether or not it has answered the last ping. h
// must have no pings of its own.
func PingAll(h *Handler) {
	for _, s := range h.all() {
		s.pinged = false
		s.check()
	}
}
