package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
)

// Stdio sends the requests of one stdio workload, with a window of requests in flight. In
// and Out are the peer's standard streams.
type Stdio struct {
	In       io.Writer
	Out      io.Reader
	Workload fix.Workload

	length int // of the checked answer, with its newline
}

// Initialize sends initialize and checks its answer.
func (s *Stdio) Initialize() error {
	answer, err := s.ask(fix.InitBody())
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return fix.CheckInit(answer)
}

// Check ends the handshake, sends one request and reports what is wrong with its answer.
// Call it after [Stdio.Initialize] and before [Stdio.Run].
func (s *Stdio) Check() error {
	if _, err := s.In.Write(line(fix.InitializedBody())); err != nil {
		return err
	}
	answer, err := s.ask(s.Workload.Body(fix.FirstID))
	if err != nil {
		return err
	}
	s.length = len(answer)
	return s.Workload.Check(answer, fix.FirstID)
}

// ask sends one line and returns the next. There is only one answer in flight, so
// discarding the reader loses nothing.
func (s *Stdio) ask(body []byte) ([]byte, error) {
	if _, err := s.In.Write(line(body)); err != nil {
		return nil, err
	}
	return bufio.NewReader(s.Out).ReadBytes('\n')
}

func line(body []byte) []byte { return append(body, '\n') }

// ringSize is the number of prepared requests. It exceeds any window, so that no id is in
// flight twice.
const ringSize = 4096

// Run sends requests according to plan.
func (s *Stdio) Run(plan Plan) (Result, error) {
	var (
		clock  clock
		done   = make(chan struct{})
		result Result
		failed error
	)
	go func() {
		defer close(done)
		failed = s.loop(&clock, &result)
	}()
	elapsed, err := clock.run(plan, done)
	<-done
	if failed != nil {
		err = failed
	}
	result.Elapsed = elapsed
	return result, err
}

// loop reads the available data, counts the lines, and sends as many new requests. It
// only measures latency for a window of one: in larger windows, requests wait for each
// other.
func (s *Stdio) loop(clock *clock, result *Result) error {
	ring := newRing(s.Workload)
	buf := make([]byte, 64<<10)
	var lines, size int64
	start := time.Now()
	if err := ring.send(s.In, s.Workload.Window); err != nil {
		return err
	}
	for {
		n, err := s.Out.Read(buf)
		if err != nil {
			return fmt.Errorf("read answers: %w", err)
		}
		got := bytes.Count(buf[:n], []byte{'\n'})
		lines, size = lines+int64(got), size+int64(n)
		switch clock.phase.Load() {
		case stopping:
			if lines == 0 {
				return errors.New("no answers")
			}
			return checkLength(int(size/lines), s.length)
		case measuring:
			result.Requests += int64(got)
			clock.count.Store(result.Requests)
			if s.Workload.Window == 1 && got == 1 {
				result.Latency.Add(time.Since(start))
			}
		}
		if got == 0 {
			continue
		}
		start = time.Now()
		if err := ring.send(s.In, got); err != nil {
			return err
		}
	}
}

// ring contains ringSize consecutive requests of equal length.
type ring struct {
	bytes []byte
	width int
	next  int
}

func newRing(w fix.Workload) *ring {
	r := &ring{}
	for i := range ringSize {
		r.bytes = append(r.bytes, line(w.Body(fix.FirstID+1+i))...)
	}
	r.width = len(r.bytes) / ringSize
	return r
}

// send writes the next n requests, each with a separate write, like independent callers.
func (r *ring) send(w io.Writer, n int) error {
	for range n {
		if _, err := w.Write(r.bytes[r.next*r.width : (r.next+1)*r.width]); err != nil {
			return fmt.Errorf("send requests: %w", err)
		}
		r.next = (r.next + 1) % ringSize
	}
	return nil
}
