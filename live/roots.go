package live

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
)

// openRoots are questions of a server for the folders of its one client, which cannot
// be asked before it makes a request. The zero value is ready.
type openRoots struct {
	wanted atomic.Bool // the client is to be asked with its next request

	mu      sync.Mutex
	waiting map[chan reply]struct{}
	missed  bool            // a question was withdrawn without an answer
	known   json.RawMessage // what the client said, until its folders change
}

// wait returns what the client says when it is next asked. If ctx ends before, the
// server has to be made to ask again.
func (r *openRoots) wait(ctx context.Context) (json.RawMessage, error) {
	answer := make(chan reply, 1)
	r.mu.Lock()
	if r.known != nil {
		defer r.mu.Unlock()
		return r.known, nil
	}
	if r.waiting == nil {
		r.waiting = make(map[chan reply]struct{})
	}
	r.waiting[answer] = struct{}{}
	r.wanted.Store(true)
	r.mu.Unlock()
	select {
	case got := <-answer:
		return got.result, got.err
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, answer)
	r.missed = true
	return nil, ctx.Err()
}

// settle hands over what the client said. It reports whether the server has given up
// asking meanwhile.
func (r *openRoots) settle(got reply) (missed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted.Store(false)
	r.known = got.result
	for answer := range r.waiting {
		answer <- got // has room
	}
	r.waiting = nil
	missed, r.missed = r.missed && got.err == nil, false
	return missed
}

// forget has the client asked again next time.
func (r *openRoots) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = nil
}
