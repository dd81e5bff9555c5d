package load

import (
	"fmt"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/frame"
)

// WebSocket sends the requests of one workload over persistent connections, with a window
// of requests in flight on each.
type WebSocket struct {
	Addr        string
	Workload    fix.Workload
	Connections int

	length int // of the checked answer
}

// The parameters of the generator's WebSockets.
const (
	SocketPath  = "/ws"
	subprotocol = "mcp.v1"
	socketSize  = 32 << 10 // of its read buffer
)

// Check sends one request and reports what is wrong with its answer. It must succeed
// before [WebSocket.Run] is called.
func (s *WebSocket) Check() error {
	c, err := openSocket(s.Addr, socketSize)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Send(s.Workload.Body(fix.FirstID)); err != nil {
		return err
	}
	answer, err := c.Receive(nil)
	if err != nil {
		return err
	}
	s.length = len(answer)
	return s.Workload.Check(answer, fix.FirstID)
}

// openSocket opens a WebSocket and begins its session.
func openSocket(addr string, size int) (*frame.Conn, error) {
	c, err := frame.Dial(addr, SocketPath, subprotocol, size)
	if err != nil {
		return nil, err
	}
	if err := socketHandshake(c); err != nil {
		c.Close()
		return nil, fmt.Errorf("open session: %w", err)
	}
	return c, nil
}

func socketHandshake(c *frame.Conn) error {
	if err := c.Send(fix.InitBody()); err != nil {
		return err
	}
	answer, err := c.Receive(nil)
	if err != nil {
		return err
	}
	if err := fix.CheckInit(answer); err != nil {
		return err
	}
	return c.Send(fix.InitializedBody())
}

// Run sends requests according to plan. The first failed request ends it.
func (s *WebSocket) Run(plan Plan) (Result, error) {
	workers := make([]*socketWorker, s.Connections)
	for i := range workers {
		c, err := openSocket(s.Addr, socketSize)
		if err != nil {
			return Result{}, err
		}
		defer c.Close()
		body := s.Workload.Body(fix.FirstID)
		framed := frame.Append(nil, body)
		workers[i] = &socketWorker{
			conn: c, framed: framed, body: framed[len(framed)-len(body):],
			window: s.Workload.Window, length: s.length, id: fix.FirstID + 1,
		}
	}
	return drive(workers, plan)
}

type socketWorker struct {
	conn    *frame.Conn
	framed  []byte // a whole frame
	body    []byte // the end of framed
	window  int
	length  int
	id      int
	latency Histogram
	count   int64
}

func (w *socketWorker) requests() (int64, *Histogram) { return w.count, &w.latency }

// run keeps the window full: it sends a request for every answer, in a separate write. It
// only measures latency for a window of one: in larger windows, requests wait for each
// other.
func (w *socketWorker) run(clock *clock) error {
	start := time.Now()
	if err := w.send(w.window); err != nil {
		return err
	}
	for {
		length, err := w.conn.Skip()
		if err != nil {
			return err
		}
		if err := checkLength(length, w.length); err != nil {
			return err
		}
		switch clock.phase.Load() {
		case stopping:
			return nil
		case measuring:
			w.count++
			clock.count.Add(1)
			if w.window == 1 {
				w.latency.Add(time.Since(start))
			}
		}
		start = time.Now()
		if err := w.send(1); err != nil {
			return err
		}
	}
}

func (w *socketWorker) send(n int) error {
	for range n {
		fix.PutID(w.body, w.id)
		w.id++
		if _, err := w.conn.Write(w.framed); err != nil {
			return err
		}
	}
	return nil
}
