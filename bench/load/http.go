package load

import (
	"fmt"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
)

// maxID is the largest id of the fixed width.
const maxID = 9_999_999_999

// HTTP sends the requests of one HTTP workload over persistent connections, with one
// request in flight on each.
type HTTP struct {
	Addr        string
	Workload    fix.Workload
	Connections int
	// Lenient permits a peer to omit session ids.
	Lenient bool
	// Each, if not nil, checks the body of every answer, in addition to its length.
	Each func(body []byte, id int) error

	length int // of the checked answer
}

// Check sends one request and reports what is wrong with its answer. It must succeed
// before [HTTP.Run] is called.
func (h *HTTP) Check() error {
	c, request, err := h.open()
	if err != nil {
		return err
	}
	defer c.net.Close()
	r, err := c.roundTrip(request.bytes, true)
	if err != nil {
		return err
	}
	if r.status != 200 {
		return fmt.Errorf("status %d: %.200s", r.status, c.body)
	}
	h.length = r.length
	return h.Workload.Check(c.body, fix.FirstID)
}

// Run sends requests according to plan. The first failed request ends it.
func (h *HTTP) Run(plan Plan) (Result, error) {
	spread := (maxID - fix.FirstID) / max(h.Connections, 1)
	workers := make([]*httpWorker, h.Connections)
	for i := range workers {
		c, request, err := h.open()
		if err != nil {
			return Result{}, err
		}
		defer c.net.Close()
		// Ids differ between connections too, like those of several clients of one proxy.
		workers[i] = &httpWorker{conn: c, request: request, length: h.length, each: h.Each, id: fix.FirstID + 1 + i*spread}
	}
	return drive(workers, plan)
}

// open connects, and opens a session if the workload has one.
func (h *HTTP) open() (*conn, *httpRequest, error) {
	c, err := dial(h.Addr)
	if err != nil {
		return nil, nil, err
	}
	session := ""
	if h.Workload.Session {
		if session, err = h.handshake(c); err != nil {
			c.net.Close()
			return nil, nil, fmt.Errorf("open session: %w", err)
		}
	}
	return c, h.request(h.Workload.Body(fix.FirstID), session), nil
}

func (h *HTTP) handshake(c *conn) (session string, err error) {
	r, err := c.roundTrip(h.request(fix.InitBody(), "").bytes, true)
	if err != nil {
		return "", err
	}
	if err := fix.CheckInit(c.body); err != nil {
		return "", err
	}
	if r.session == "" && !h.Lenient {
		return "", fmt.Errorf("no Mcp-Session-Id in the answer to initialize")
	}
	note, err := c.roundTrip(h.request(fix.InitializedBody(), r.session).bytes, true)
	if err != nil {
		return "", err
	}
	if note.status/100 != 2 {
		return "", fmt.Errorf("status %d to notifications/initialized: %.200s", note.status, c.body)
	}
	return r.session, nil
}

// httpRequest is a whole request whose id can be changed in place.
type httpRequest struct {
	bytes []byte
	body  []byte // the end of bytes
}

func (h *HTTP) request(body []byte, session string) *httpRequest {
	b := fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", h.Addr, len(body))
	for _, field := range h.Workload.Header() {
		b = fmt.Appendf(b, "%s: %s\r\n", field[0], field[1])
	}
	if session != "" {
		b = fmt.Appendf(b, "Mcp-Session-Id: %s\r\n", session)
	}
	b = append(b, "\r\n"...)
	b = append(b, body...)
	return &httpRequest{bytes: b, body: b[len(b)-len(body):]}
}

type httpWorker struct {
	conn    *conn
	request *httpRequest
	length  int
	each    func([]byte, int) error
	id      int
	latency Histogram
}

func (w *httpWorker) requests() (int64, *Histogram) { return w.latency.total, &w.latency }

// worker is one connection of a run.
type worker interface {
	// run sends requests until the clock is stopping.
	run(clock *clock) error
	// requests returns the number of answers in the measured time, and their latencies.
	requests() (int64, *Histogram)
}

// drive runs the workers through the phases of plan.
func drive[W worker](workers []W, plan Plan) (Result, error) {
	var (
		clock  clock
		group  sync.WaitGroup
		once   sync.Once
		first  error
		failed = make(chan struct{})
	)
	for _, w := range workers {
		group.Go(func() {
			if err := w.run(&clock); err != nil {
				once.Do(func() { first = err; close(failed) })
			}
		})
	}
	elapsed, err := clock.run(plan, failed)
	group.Wait()
	if first != nil {
		err = first
	}
	if err != nil {
		return Result{}, err
	}
	result := Result{Elapsed: elapsed}
	for _, w := range workers {
		n, latency := w.requests()
		result.Requests += n
		result.Latency.Merge(latency)
	}
	return result, nil
}

func (w *httpWorker) run(clock *clock) error {
	for start := time.Now(); ; w.id++ {
		fix.PutID(w.request.body, w.id)
		r, err := w.conn.roundTrip(w.request.bytes, w.each != nil)
		if err != nil {
			return err
		}
		if r.status != 200 {
			return fmt.Errorf("status %d during the run", r.status)
		}
		if err := checkLength(r.length, w.length); err != nil {
			return err
		}
		if w.each != nil {
			if err := w.each(w.conn.body, w.id); err != nil {
				return err
			}
		}
		now := time.Now()
		switch clock.phase.Load() {
		case stopping:
			return nil
		case measuring:
			w.latency.Add(now.Sub(start))
			clock.count.Add(1)
		}
		start = now
	}
}
