package hophttp

import (
	"context"
	"sync"
)

// Canceler cancels a request in addition to its context, for less than the price of another context. The zero value
// is ready for one call of [Transport.Send]. It is safe for concurrent use.
type Canceler struct {
	mu    sync.Mutex
	cause error
	dial  context.CancelCauseFunc // of the connection that is being made, or nil
	conn  *conn                   // on which the request is sent, or nil
}

// Cancel makes Send, or a read of the answer, fail with cause. Only the first call has an effect.
func (c *Canceler) Cancel(cause error) {
	c.mu.Lock()
	if c.cause != nil {
		c.mu.Unlock()
		return
	}
	c.cause = cause
	dial, conn := c.dial, c.conn
	c.mu.Unlock()
	if dial != nil {
		dial(cause)
	}
	if conn != nil {
		conn.abort()
	}
}

// Cause returns why the request was cancelled, or nil.
func (c *Canceler) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// attach makes Cancel abort what a request uses, dial or conn. It returns false if the request was cancelled.
func (c *Canceler) attach(dial context.CancelCauseFunc, conn *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dial, c.conn = dial, conn
	return c.cause == nil
}

// detach is the opposite of attach. It returns false if the request was cancelled: what it has used has been aborted,
// or will be.
func (c *Canceler) detach() bool { return c.attach(nil, nil) }
