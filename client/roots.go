package client

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
)

// openRoots are questions of a server for the folders of its only client, which cannot be
// asked before it makes a request. The zero value is ready to use.
type openRoots struct {
	wanted atomic.Bool // ask the client with its next request

	mu sync.Mutex
	// waiting are the questions of the server for the client's folders.
	waiting map[chan reply]struct{}
	missed  bool            // a question was withdrawn without an answer
	known   json.RawMessage // the client's answer, until its folders change
}

// wait returns the client's next answer. If ctx is done first, the server must be made to
// ask again.
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

// settle delivers the client's answer. It reports whether the server has given up asking
// in the meantime.
func (r *openRoots) settle(got reply) (missed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted.Store(false)
	r.known = got.result
	for answer := range r.waiting {
		answer <- got // has room
	}
	r.waiting = nil
	missed = r.missed && got.err == nil
	r.missed = false
	return missed
}

// forget discards the answer, so that the client is asked again.
func (r *openRoots) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = nil
}
