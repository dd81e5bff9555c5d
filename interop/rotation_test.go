//go:build unix

package interop_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// checkInterval is the time between two checks of a replica by a load balancer.
const checkInterval = 200 * time.Millisecond

// errDown is the cause of the end of a request at a replica that a check found dead.
var errDown = errors.New("the replica is down")

// rotation is a load balancer that sends each request to the next replica in rotation, and, like
// others, never sends a request twice. A replica that is not ready leaves the rotation, and its
// requests continue. If a replica does not answer, its requests are ended as well, as HAProxy does with
// on-marked-down shutdown-sessions: no other replica can end what was sent to it directly.
type rotation struct {
	url string
	// silence is how long a replica may take to answer a check, of which two have to fail; 0 means that
	// one has to fail, after 2 seconds.
	silence time.Duration

	mu    sync.Mutex
	ready []*replica
	next  int
	sent  map[*sentRequest]struct{} // requests under way
}

// sentRequest is a request under way to a replica.
type sentRequest struct {
	to  *replica
	end context.CancelCauseFunc
}

func newRotation(t *testing.T) *rotation {
	b := &rotation{sent: map[*sentRequest]struct{}{}}
	server := httptest.NewServer(b)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.url = server.URL + "/mcp"
	return b
}

func (b *rotation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	request := b.choose(end)
	if request == nil {
		http.Error(w, "no replica is ready", http.StatusServiceUnavailable)
		return
	}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.sent, request)
	}()
	request.to.served.Add(1)
	_ = http.NewResponseController(w).EnableFullDuplex() // see forward in package serve
	request.to.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// choose selects a replica for a request. The request counts as sent from then on, so that it ends
// with the replica even if it reaches it only after the replica has left the rotation.
func (b *rotation) choose(end context.CancelCauseFunc) *sentRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ready) == 0 {
		return nil
	}
	b.next++
	request := &sentRequest{to: b.ready[b.next%len(b.ready)], end: end}
	b.sent[request] = struct{}{}
	return request
}

// add puts a replica into rotation.
func (b *rotation) add(r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.ready, r) {
		b.ready = append(b.ready, r)
	}
}

// remove takes a replica out of rotation. Its requests continue.
func (b *rotation) remove(r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = slices.DeleteFunc(b.ready, func(other *replica) bool { return other == r })
}

// shut takes a replica out of rotation and ends its requests.
func (b *rotation) shut(r *replica) {
	b.remove(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	for request := range b.sent {
		if request.to == r {
			request.end(errDown)
		}
	}
}

// follow has the balancer use a replica while it is ready, checked five times a second.
func (b *rotation) follow(t *testing.T, r *replica) {
	b.check(r)
	go func() {
		for tick := time.Tick(checkInterval); ; {
			select {
			case <-r.exited:
				b.check(r)
				return
			case <-t.Context().Done():
				return
			case <-tick:
				b.check(r)
			}
		}
	}()
}

// check asks a replica whether it is ready.
func (b *rotation) check(r *replica) {
	client := http.Client{Timeout: cmp.Or(b.silence, 2*time.Second)}
	resp, err := client.Get(strings.TrimSuffix(r.endpoint, "/mcp") + "/readyz")
	if err != nil && b.silence > 0 && !errors.Is(err, syscall.ECONNREFUSED) {
		resp, err = client.Get(strings.TrimSuffix(r.endpoint, "/mcp") + "/readyz")
	}
	if err != nil {
		b.shut(r)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.remove(r)
		return
	}
	b.add(r)
}
