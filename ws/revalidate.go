package ws

import (
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// revalidateEvery is the interval of [Options.Revalidate].
	revalidateEvery = 25 * time.Second
	// revalidations is the number of clients that are revalidated concurrently.
	revalidations = 16
)

// revalidate closes the connections of clients that [Options.Revalidate] rejects, until
// stop is closed.
func (h *Handler) revalidate(stop <-chan struct{}) {
	ticker := time.NewTicker(revalidateEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		h.closeInvalid()
	}
}

// closeInvalid closes the connections whose token is no longer valid. It asks about
// several at a time, since each answer may need a request to the issuer.
func (h *Handler) closeInvalid() {
	sockets := make(chan *socket)
	var workers sync.WaitGroup
	for range revalidations {
		workers.Go(func() {
			for s := range sockets {
				if !h.opts.Revalidate(s.ctx) {
					s.close(websocket.StatusPolicyViolation, "the token is no longer valid")
				}
			}
		})
	}
	for _, s := range h.all() {
		sockets <- s
	}
	close(sockets)
	workers.Wait()
}
