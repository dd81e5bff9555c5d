package client

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
)

// call is a request to the server.
type call struct {
	// id is chosen when the call is sent, and again when it is repeated.
	id     uint64
	born   int64 // session.watches when it was created
	method string
	name   string // value of the Mcp-Name header, or empty
	params []byte // an object, or nil

	// foreign reports whether it is made for a client or a program, rather than for this
	// package.
	foreign bool
	// request is the client's request, or nil. It changes when the client retries.
	request atomic.Pointer[mcp.Request]
	client  string       // see clientName
	named   bool         // client is set
	notify  *Notify      // of the program that makes it, or nil
	parking *parked      // its parked state, if it may be parked
	headers []namedValue // HTTP headers that repeat arguments
	answer  chan reply   // capacity 2: the answer, and a signal that the mailbox is not empty
	said    atomic.Pointer[mailbox]
	stands  *stands // of a subscription

	// For questions that do not name their call; guarded by session.mu.
	mayAsk  bool        // other clients' calls that may ask wait for this one
	asked   bool        // it has asked
	open    int         // number of unanswered questions
	look    *time.Timer // ends the observation of a tool's first call, or nil
	queued  time.Time   // when it began to wait for its turn, or zero
	needed  bool        // it started before others that waited, as a call of its client may depend on it
	started time.Time   // when it was assigned its id

	queuedFor string // the client for which it counts in session.waiting
}

// stands records that a subscription has been acknowledged.
type stands struct {
	once sync.Once
	open chan struct{} // closed then
}

// reply is the outcome of a call.
type reply struct {
	// result is the raw result, and err why there is none. Both are zero if said is set.
	result []byte
	err    error
	said   bool // no outcome yet: the mailbox is not empty
}

// wait returns the answer from deliver, and passes on preceding notifications. If ctx is
// done first, it calls leave.
func (c *call) wait(ctx context.Context, leave func()) ([]byte, error) {
	for {
		var r reply
		select {
		case r = <-c.answer:
		case <-ctx.Done():
			select {
			case r = <-c.answer: // more precise than the error of ctx
			default:
				leave()
				return nil, ctx.Err()
			}
		}
		c.passOn()
		if !r.said {
			return r.result, r.err
		}
	}
}

// deliver sets the answer; only the first one counts.
func (c *call) deliver(r reply) {
	select {
	case c.answer <- r:
	default:
	}
}

// mailbox holds the notifications about a call that its caller has not yet passed on: a
// client that does not read must not block the goroutine that reads the messages for all
// clients.
type mailbox struct {
	mu sync.Mutex
	// letters are messages of the server about the call, oldest first.
	letters []letter
	// size is their bytes together, which are limited.
	size int
	// rung reports that the waiting caller has been woken, and has not emptied the mailbox
	// since.
	rung bool
}

// letter is a notification about a call.
type letter struct {
	params []byte
	log    bool // a log line rather than progress
}

// maxSaid is how many bytes of notifications wait for a client. Additional ones are
// dropped; the answer never is.
const maxSaid = 1 << 20

// say adds a letter to the mailbox of the call.
func (c *call) say(l letter) {
	if c.notify != nil {
		c.notify.pass(l)
		return
	}
	box := c.said.Load()
	if box == nil { // only the reading goroutine gets here
		box = &mailbox{}
		c.said.Store(box)
	}
	box.mu.Lock()
	ring := false
	if box.size+len(l.params) <= maxSaid {
		l.params = bytes.Clone(l.params) // a slice would keep the whole message, or batch, in memory
		box.letters = append(box.letters, l)
		box.size += len(l.params)
		ring = !box.rung
		box.rung = true
	}
	box.mu.Unlock()
	if ring {
		c.deliver(reply{said: true})
	}
}

// passOn empties the mailbox.
func (c *call) passOn() {
	box := c.said.Load()
	if box == nil {
		return
	}
	box.mu.Lock()
	letters := box.letters
	box.letters = nil
	box.size = 0
	box.rung = false
	box.mu.Unlock()
	for _, l := range letters {
		c.tell(l)
	}
}

// tell forwards a letter to the client.
func (c *call) tell(l letter) {
	if c.notify != nil {
		c.notify.pass(l)
		return
	}
	if l.log {
		c.request.Load().ForwardLog(l.params)
		return
	}
	c.request.Load().ForwardProgress(l.params)
}

// cancelled returns the notification that an answer is no longer wanted.
func cancelled(id uint64) []byte {
	params := strconv.AppendUint([]byte(`{"requestId":`), id, 10)
	return peer.Notification("notifications/cancelled", append(params, '}'))
}

// message returns the request as it is sent.
func (c *call) message() []byte {
	return peer.AppendRequest(make([]byte, 0, 128+len(c.params)), c.id, c.method, c.params)
}

// eachOf calls do for each element of a JSON array.
func eachOf(text []byte, do func([]byte)) error {
	if err := jsonscan.Valid(text); err != nil {
		return err
	}
	_, err := jsonscan.Array(text, jsonscan.Space(text, 0), 0, func(i int) (int, error) {
		end, err := jsonscan.Value(text, i)
		if err == nil {
			do(text[i:end])
		}
		return end, err
	})
	return err
}
