package ws

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// socket is the connection of one client. It has one goroutine of its own, which reads.
type socket struct {
	// handler has the socket in its list while it is open.
	handler *Handler
	remote  string // address of the client
	conn    *websocket.Conn
	// wire is below conn: it gathers small writes and reads without a buffer.
	wire   *wire
	ctx    context.Context // ends when the server does
	cancel context.CancelFunc

	writing sync.Mutex        // serializes messages and pings
	unread  server.BodyMemory // of the wire's queue, whose lock guards it

	reader atomic.Int32 // away, listening or receiving

	// Used only by check.
	pinged bool
	away   bool // the reader was away at the last check

	closing sync.Once
	closed  chan struct{}
	// maxMessage is the size limit of a message, in bytes.
	maxMessage int64
}

var _ server.BufferedConn = (*socket)(nil)

// States of the reader.
const (
	away      = iota // serving a message, or waiting until it may read another
	listening        // waiting for a message
	receiving        // receiving the rest of a message
)

const (
	// closePatience is how long a client may take to answer a close frame.
	closePatience = 2 * time.Second
	// libraryRead and libraryWrite are the buffer sizes of the framing library. The wire
	// buffers input; a control frame must be written in one piece.
	libraryRead  = 16
	libraryWrite = 256
	// firstRead limits the first allocation for a message, whatever length it declares.
	firstRead = 64 << 10
	// uncounted is the size up to which the memory of an incoming message is not counted: a
	// connection costs more.
	uncounted = 4 << 10
)

func newSocket(h *Handler, remote string) *socket {
	return &socket{
		remote:  remote,
		handler: h,
		wire:    newWire(h.opts.MaxQueue, h.opts.WriteTimeout),
		closed:  make(chan struct{}),
	}
}

// accept upgrades the connection of a request, or answers with an error.
func (s *socket) accept(w http.ResponseWriter, r *http.Request, protocol string) (err error) {
	if !canHijack(w) {
		http.Error(w, "WebSockets cannot be opened here", http.StatusNotImplemented)
		return http.ErrNotSupported
	}
	opts := &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the Origin has been checked
		OnPongReceived: func(context.Context, []byte) {
			s.wire.in.ponged.Store(true)
		},
	}
	if protocol != "" {
		opts.Subprotocols = []string{protocol}
	}
	if s.handler.opts.Compress {
		opts.CompressionMode = websocket.CompressionNoContextTakeover
	}
	s.conn, err = websocket.Accept(&hijack{w, s.wire}, r, opts)
	if err != nil {
		return err
	}
	s.maxMessage = s.handler.maxMessage.Load()
	s.conn.SetReadLimit(s.maxMessage)
	return nil
}

// hijack takes over the connection of a response and inserts the wire, with buffers small
// enough for idle connections.
type hijack struct {
	http.ResponseWriter
	wire *wire
}

// Hijack implements [http.Hijacker].
func (h *hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.wire.attach(conn)
	if early, _ := rw.Reader.Peek(rw.Reader.Buffered()); len(early) > 0 {
		h.wire.in.begin(early)
	}
	return h.wire, bufio.NewReadWriter(bufio.NewReaderSize(h.wire, libraryRead),
		bufio.NewWriterSize(h.wire, libraryWrite)), nil
}

// canHijack reports whether the connection of a response can be taken over.
func canHijack(w http.ResponseWriter) bool {
	for {
		switch v := w.(type) {
		case http.Hijacker:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return false
		}
	}
}

// start serves the connection in a separate goroutine. ctx ends when the server does.
func (s *socket) start(ctx context.Context) {
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.wire.limitMemory(s.reserveQueue)
	s.handler.add(s)
	o := &s.handler.opts
	s.handler.server.StartConn(s.ctx, s, &server.ConnOptions{
		MaxInFlight:  o.MaxInFlight,
		DrainTimeout: o.DrainTimeout,
		Transport:    server.TransportWebSocket,
		Remote:       s.remote,
		Queues:       true,
	}, s.ended)
}

// reserveQueue sets the memory of the wire's queue to n bytes, and reports whether they fit.
func (s *socket) reserveQueue(n int) bool {
	return s.handler.server.ReserveBody(s.ctx, s.remote, &s.unread, int64(n))
}

// ended is called when the server has finished serving the connection.
func (s *socket) ended(err error) {
	if err != nil {
		s.handler.opts.Logger.Debug("connection ended", "error", err)
	}
	var refused *mcp.Error
	switch {
	case s.ctx.Err() != nil:
		<-s.wire.flushed()
		s.close(websocket.StatusGoingAway, "the server is shutting down")
	case errors.As(err, &refused):
		s.close(websocket.StatusTryAgainLater, refused.Message)
	}
	s.drop() // unless it is already being closed
	<-s.closed
	<-s.wire.flushed()
	s.cancel()
	s.handler.release(s)
}

// ReadMessage implements [server.Conn]. It ignores the context: during shutdown, the reader
// still receives the answers that requests in flight wait for.
func (s *socket) ReadMessage(context.Context) ([]byte, error) {
	defer s.reader.Store(away)
	for {
		s.reader.Store(listening)
		if err := s.wire.await(); err != nil {
			return nil, s.readFailed(err)
		}
		kind, r, err := s.conn.Reader(context.Background())
		switch {
		case errors.Is(err, errRest):
			continue // it was a ping
		case err != nil:
			return nil, s.readFailed(err)
		}
		s.reader.Store(receiving)
		return s.receive(kind, r)
	}
}

// receive reads a message that has begun.
func (s *socket) receive(kind websocket.MessageType, r io.Reader) ([]byte, error) {
	if kind != websocket.MessageText {
		s.close(websocket.StatusUnsupportedData, "messages are text frames")
		return nil, io.EOF
	}
	var memory server.BodyMemory // until the server counts the whole message itself
	defer s.handler.server.ReleaseBody(&memory)
	msg := []byte(nil)
	size := int64(min(s.wire.payload(), firstRead))
	for {
		if int64(cap(msg)) < size {
			if size > uncounted &&
				!s.handler.server.ReserveBody(s.ctx, s.remote, &memory, size) {
				s.close(websocket.StatusTryAgainLater, "the requests in flight have reached their memory limit")
				return nil, io.EOF
			}
			msg = append(make([]byte, 0, size), msg...)
		}
		n, err := r.Read(msg[len(msg):cap(msg)])
		msg = msg[:len(msg)+n]
		switch {
		case err == io.EOF && !utf8.Valid(msg):
			s.close(websocket.StatusInvalidFramePayloadData, "the message is not UTF-8")
			return nil, io.EOF
		case err == io.EOF:
			return msg, nil
		case err != nil:
			return nil, s.readFailed(err)
		case n == 0:
			// The message is longer than expected.
			size = min(2*int64(cap(msg)), s.maxMessage) + 512
		}
	}
}

// Pending implements [server.BufferedConn].
func (s *socket) Pending() bool { return s.wire.pending() }

// readFailed closes the connection as the error requires, and returns io.EOF for a clean
// close.
func (s *socket) readFailed(err error) error {
	var network net.Error
	switch {
	case websocket.CloseStatus(err) != -1:
		s.close(websocket.StatusNormalClosure, "") // the close frame has been answered
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err,
		io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		s.drop()
		return io.EOF
	case errors.As(err, &network):
		s.drop()
	case errors.Is(err, websocket.ErrMessageTooBig):
		// The library has sent the close frame already.
		s.close(websocket.StatusMessageTooBig, "")
	case errors.Is(err, errSlow):
		s.close(websocket.StatusPolicyViolation, errSlow.Error())
	case errors.Is(err, errFull):
		s.close(websocket.StatusTryAgainLater, errFull.Error())
	default:
		s.close(websocket.StatusProtocolError, "")
	}
	return fmt.Errorf("read: %w", err)
}

// WriteMessage implements [server.Conn].
func (s *socket) WriteMessage(msg []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.wire.gather()
	if err == nil {
		// Does not block.
		err = s.conn.Write(context.Background(), websocket.MessageText, msg)
	}
	if err == nil && s.wire.full() {
		err = s.wire.release()
	}
	return s.written(err)
}

// Flush implements [server.BufferedConn].
func (s *socket) Flush() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.written(s.wire.release())
}

// written closes the connection if err is not nil.
func (s *socket) written(err error) error {
	switch {
	case errors.Is(err, errSlow):
		s.close(websocket.StatusPolicyViolation, errSlow.Error())
	case errors.Is(err, errFull):
		s.close(websocket.StatusTryAgainLater, errFull.Error())
	case err != nil:
		go s.drop() // drop waits for the reader
	}
	return err
}

// close sends a close frame, unless one was sent, and closes the connection once the
// client has answered it. It does not block.
func (s *socket) close(code websocket.StatusCode, reason string) {
	s.closing.Do(func() {
		go func() {
			defer close(s.closed)
			s.wire.in.hungry.Store(true)
			s.wire.gatherNoMore()
			_ = s.wire.SetReadDeadline(time.Now().Add(closePatience))
			_ = s.conn.Close(code, reason)
		}()
	})
}

// drop closes the connection without a close frame, unless it is already being closed.
func (s *socket) drop() {
	s.closing.Do(func() {
		defer close(s.closed)
		s.wire.cut()
		_ = s.conn.CloseNow()
	})
}
