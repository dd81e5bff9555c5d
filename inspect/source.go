package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Source is a source to inspect.
type Source struct {
	// Name names the source on the page and in filters; names should differ.
	Name string
	// Label is where it comes from, such as a URL or a command line, without secrets.
	Label string
	// Argument is how the command line names the source, for commands to copy: one word, or -- and
	// the words of a command, as Words of open.Argument returns them. It may be empty.
	Argument []string
	// Open opens the source. A [*client.Source] should use the options of how, see
	// [Connect.Options]: then the page shows the messages to the server itself. Any other
	// source is served in memory, and the page shows the messages of that connection. The
	// Inspector closes the source if it is an io.Closer.
	Open func(ctx context.Context, how *Connect) (mcp.Source, error)
	// URL is the address of the server, or empty. If it requires a login, the page asks it for
	// its authorization server.
	URL string
	// Lock is what a lock calls the source; see [lock.Target]. Without a name, the page offers
	// no lock.
	Lock lock.Target
	// Recording is a file to show instead of a source, see "slipway record", or FILE#NAME for one of
	// its servers.
	Recording string

	recording *mcplog.Recording // instead of the file
}

// isRecording reports whether the source is a recording, which has no server.
func (s *Source) isRecording() bool { return s.Recording != "" || s.recording != nil }

// readRecording returns the recording of all servers, or of the selected one.
func (s *Source) readRecording() (*mcplog.Recording, error) {
	if s.recording != nil {
		return s.recording, nil
	}
	file, name := mcplog.SplitServer(s.Recording)
	if name == "" {
		return mcplog.ReadFile(file)
	}
	return mcplog.ReadServer(s.Recording)
}

// Served returns a Source for a source that is already open. The Inspector does not close
// it.
func Served(name string, src mcp.Source) *Source {
	return &Source{
		Name:  name,
		Label: name,
		Lock:  lock.Target{Name: name},
		Open:  func(context.Context, *Connect) (mcp.Source, error) { return unclosed{src}, nil },
	}
}

// unclosed hides the Close method of a source.
type unclosed struct{ mcp.Source }

// Connect says how to connect to a source.
type Connect struct {
	// Tap receives everything that crosses the connection.
	Tap tap.Func
	// Version and Capabilities are those that were chosen on the page; their zero values
	// mean the defaults.
	Version      mcp.Version
	Capabilities json.RawMessage
	// Answer answers the questions of the server.
	Answer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Observe is called for events of the server.
	Observe func(client.Event)
}

// Options returns the options for [client.Open]: a copy of base, which may be nil, with
// what c says.
func (c *Connect) Options(base *client.Options) *client.Options {
	var o client.Options
	if base != nil {
		o = *base
	}
	before := o.Observe
	o.Tap = c.Tap
	o.Questions.Answer = c.Answer
	o.Observe = func(e client.Event) {
		if before != nil {
			before(e)
		}
		c.Observe(e)
	}
	if c.Version != 0 {
		o.Version = c.Version
	}
	if c.Capabilities != nil {
		o.Questions.Capabilities = c.Capabilities
	}
	return &o
}

// serveInMemory serves a source over a connection in memory, and connects to it.
func serveInMemory(
	ctx context.Context,
	name string,
	src mcp.Source,
	how *Connect,
) (*memorySource, error) {
	serving, stop := context.WithCancel(context.Background())
	clients := &server.Clients{Single: true}
	engine := server.New(src, &server.Options{Clients: clients})
	opts := how.Options(&client.Options{Name: name})
	opened, err := client.Open(ctx, &client.Dialer{
		Name: name,
		Dial: func(context.Context) (server.Conn, error) {
			near, far := newPipe()
			engine.StartConn(serving, far, nil, func(error) { _ = far.Close() })
			return near, nil
		},
	}, opts)
	if err != nil {
		stop()
		return nil, err
	}
	return &memorySource{
		Source: opened,
		inner:  src,
		stop:   stop,
	}, nil
}

// memorySource is a source that is served in memory.
type memorySource struct {
	*client.Source
	// inner is served in memory, to inspect the messages of a source that has none.
	inner mcp.Source
	stop  func()
}

// Close closes the connection, and the source behind it.
func (m *memorySource) Close() error {
	err := m.Source.Close()
	m.stop()
	if c, ok := m.inner.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// pipeEnd is one end of a connection in memory.
type pipeEnd struct {
	in, out *pipeHalf
}

// pipeHalf carries the messages of one direction.
type pipeHalf struct {
	mu sync.Mutex
	// queue is one direction of a connection in memory.
	queue [][]byte
	// ready wakes the reader, and closed ends the connection for both sides.
	ready  chan struct{} // capacity 1
	closed chan struct{}
	once   sync.Once
}

func newPipeHalf() *pipeHalf {
	return &pipeHalf{
		ready:  make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
}

// newPipe returns the two ends of a connection in memory. Each direction has its own queue.
func newPipe() (near, far *pipeEnd) {
	a := newPipeHalf()
	b := newPipeHalf()
	return &pipeEnd{a, b}, &pipeEnd{b, a}
}

var _ server.Conn = (*pipeEnd)(nil)

// ReadMessage returns the next message.
func (p *pipeEnd) ReadMessage(ctx context.Context) ([]byte, error) {
	for {
		if msg := p.in.take(); msg != nil {
			return msg, nil
		}
		select {
		case <-p.in.ready:
		case <-p.in.closed:
			if msg := p.in.take(); msg != nil {
				return msg, nil
			}
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns the next message, or nil if none is queued.
func (h *pipeHalf) take() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 {
		return nil
	}
	msg := h.queue[0]
	h.queue = h.queue[1:]
	return msg
}

// WriteMessage sends a copy of a message.
func (p *pipeEnd) WriteMessage(msg []byte) error {
	select {
	case <-p.out.closed:
		return io.ErrClosedPipe
	default:
	}
	p.out.mu.Lock()
	p.out.queue = append(p.out.queue, append([]byte(nil), msg...))
	p.out.mu.Unlock()
	select {
	case p.out.ready <- struct{}{}:
	default:
	}
	return nil
}

// Close ends the connection in both directions.
func (p *pipeEnd) Close() error {
	p.in.once.Do(func() { close(p.in.closed) })
	p.out.once.Do(func() { close(p.out.closed) })
	return nil
}
