package live

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// call is a request to the server on its way.
type call struct {
	id     uint64
	method string
	name   string // what the Mcp-Name header says, or empty
	params []byte // an object, or nil

	// foreign says that it is made for somebody else: a client, or a program.
	foreign bool
	// request is that of the client, or nil. It changes when the client comes
	// again.
	request atomic.Pointer[mcp.Request]
	parking *parked      // what it is parked by, if it may be
	headers []namedValue // of HTTP, for arguments that it is to repeat there
	answer  chan reply   // of capacity 1
	stands  *stands      // of a subscription
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
}

// wait returns the answer that deliver gives. If ctx ends before, it calls leave.
func (c *call) wait(ctx context.Context, leave func()) ([]byte, error) {
	select {
	case r := <-c.answer:
		return r.result, r.err
	default:
	}
	select {
	case r := <-c.answer:
		return r.result, r.err
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// deliver hands over the answer; only the first counts.
func (c *call) deliver(r reply) {
	select {
	case c.answer <- r:
	default:
	}
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
