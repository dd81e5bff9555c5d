package live

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// call is a request to the server on its way.
type call struct {
	id     uint64
	born   int64 // session.watches when it was made
	method string
	name   string // what the Mcp-Name header says, or empty
	params []byte // an object, or nil

	// foreign says that it is made for somebody else: a client, or a program.
	foreign bool
	// request is that of the client, or nil. It changes when the client comes
	// again.
	request atomic.Pointer[mcp.Request]
	client  string       // see clientName
	named   bool         // client is set
	parking *parked      // what it is parked by, if it may be
	headers []namedValue // of HTTP, for arguments that it is to repeat there
	answer  chan reply   // of capacity 2: the answer, and that something has been said
	said    atomic.Pointer[mailbox]
	stands  *stands // of a subscription

	// For questions without a place of their own; guarded by session.mu.
	mayAsk bool        // calls of other clients that may ask wait for this one
	posed  bool        // it has asked
	open   int         // questions that wait for an answer
	look   *time.Timer // ends the first look at a tool, or nil
}

// stands says that a subscription has been acknowledged.
type stands struct {
	once sync.Once
	open chan struct{} // closed then
}

// reply is what became of a call.
type reply struct {
	result []byte
	err    error
	said   bool // it is none yet: there is something in the mailbox
}

// wait returns the answer that deliver gives, and passes on what is said before it.
// If ctx ends before, it calls leave.
func (c *call) wait(ctx context.Context, leave func()) ([]byte, error) {
	for {
		var r reply
		select {
		case r = <-c.answer:
		case <-ctx.Done():
			select {
			case r = <-c.answer: // says more than that ctx has ended
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

// deliver hands over the answer; only the first counts.
func (c *call) deliver(r reply) {
	select {
	case c.answer <- r:
	default:
	}
}

// mailbox is what a server has said of a call and whoever waits for that has not
// passed on yet: a client that does not read must not hold up the one who reads what
// the server says to all.
type mailbox struct {
	mu      sync.Mutex
	letters []letter
	size    int
	rung    bool
}

// letter is a notification about a call.
type letter struct {
	params []byte
	log    bool // a log line, and not progress
}

// maxSaid is how many bytes wait for a client. What is more is lost: it is not the
// answer.
const maxSaid = 1 << 20

// say leaves a letter for whoever waits for the call.
func (c *call) say(l letter) {
	box := c.said.Load()
	if box == nil { // only the goroutine that reads comes here
		box = &mailbox{}
		c.said.Store(box)
	}
	box.mu.Lock()
	ring := false
	if box.size+len(l.params) <= maxSaid {
		box.letters = append(box.letters, l)
		box.size += len(l.params)
		ring, box.rung = !box.rung, true
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
	box.letters, box.size, box.rung = nil, 0, false
	box.mu.Unlock()
	for _, l := range letters {
		c.tell(l)
	}
}

// tell passes a letter on to the client.
func (c *call) tell(l letter) {
	if l.log {
		c.request.Load().ForwardLog(l.params)
		return
	}
	c.request.Load().ForwardProgress(l.params)
}

// cancelled tells the server that an answer is not wanted any more.
func cancelled(id uint64) []byte {
	params := strconv.AppendUint([]byte(`{"requestId":`), id, 10)
	return notification("notifications/cancelled", append(params, '}'))
}

// buffer is scratch memory for one message.
type buffer struct{ b []byte }

type bufferPool struct{ pool sync.Pool }

var buffers = bufferPool{sync.Pool{New: func() any { return &buffer{make([]byte, 0, 1024)} }}}

func (p *bufferPool) get() *buffer { return p.pool.Get().(*buffer) }

func (p *bufferPool) put(b *buffer) {
	if cap(b.b) <= 1<<20 {
		p.pool.Put(b)
	}
}

// eachOf calls do with each element of a JSON array.
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
