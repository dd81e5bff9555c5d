package ws

import "time"

// pingFrame is a ping without a payload.
var pingFrame = []byte{0x89, 0}

// ping pings all connections until stop is closed, so that they need no timers of their
// own.
func (h *Handler) ping(stop <-chan struct{}) {
	ticker := time.NewTicker(h.opts.PingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		for _, s := range h.all() {
			s.check()
		}
	}
}

// check drops a client that has not answered the last ping; otherwise it sends the next
// one. A client whose pong cannot have been read yet gets more time: if the reader is
// away or has only just returned, for example while initialize runs, or if a long message
// is arriving, which a pong cannot overtake.
func (s *socket) check() {
	heard := s.wire.in.heard.Swap(false)
	if s.pinged && !s.wire.in.ponged.Load() {
		doing := s.reader.Load()
		wasAway := s.away
		s.away = doing == away
		if s.away || wasAway || doing == receiving && heard {
			return
		}
		s.handler.opts.Logger.Debug("no answer to a ping")
		s.drop()
		return
	}
	s.pinged = true
	s.away = false
	s.wire.in.ponged.Store(false)
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.wire.Write(pingFrame) // the reader reports any error
}
