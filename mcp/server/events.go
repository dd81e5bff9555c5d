package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// appendEvent appends msg as a server-sent event. id may be empty.
func appendEvent(dst []byte, id string, msg []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(dst, "event: message\ndata: "...)
	if bytes.IndexByte(msg, '\n') >= 0 || bytes.IndexByte(msg, '\r') >= 0 {
		dst = jsonscan.AppendCompact(dst, msg)
	} else {
		dst = append(dst, msg...)
	}
	return append(dst, '\n', '\n')
}

// eventLog is one event stream of a session (2025-03-26 to 2025-11-25). It outlives its
// connection: after a disconnect, the client resumes it on another connection with
// Last-Event-ID.
type eventLog struct {
	// stream numbers the stream within its session, for event ids.
	stream int
	ledger *ledger
	client string // charged for it
	kept   kept

	// writing is locked while events are written, to preserve their order. It is locked
	// before mu, and mu is never held while waiting for a client.
	writing sync.Mutex

	mu sync.Mutex
	// of are the requests that the messages belong to; none for the notification stream. A zero
	// entry represents requests that exceed maxLoggedRequests or maxLoggedName.
	of     []followed
	names  int      // the size of of
	last   int      // number of the newest event
	sent   int      // number of the newest event that was written without an error
	events [][]byte // the newest ones, as sent
	size   int
	out    eventWriter // nil while there is no connection
	missed bool        // out is being sent missed events, which drop must not leave in its memory
	done   bool        // the answer is in the log, so no events follow
	booked bool        // size and names are in the ledger
	lost   bool        // of has been dropped, so the stream cannot be resumed
	over   bool        // no more events are kept because the session has ended
	costed bool        // costLog is part of the session's entry in the ledger
}

// eventWriter is a connection that a log is written to.
type eventWriter interface {
	writeEvents(b []byte) error
	// endEvents is called after the last event on this connection.
	endEvents()
	// cut closes the connection immediately, even during a write.
	cut()
}

// writeAnswer writes an event. If it is the answer to rc, which is nil otherwise, rc leaves the gate before the client
// has all of it: the client may then send its next request.
func writeAnswer(out eventWriter, event []byte, rc *request) error {
	if rc == nil || !rc.entered {
		return out.writeEvents(event)
	}
	last := len(event) - 1
	if err := out.writeEvents(event[:last]); err != nil {
		return err
	}
	rc.leave()
	return out.writeEvents(event[last:])
}

// Limits of what a log keeps for a client that may reconnect. If the ledger rejects
// events, the stream works but cannot be resumed.
const (
	maxReplayStream = 1 << 20
	maxReplayLogs   = 16 // of one session

	maxLoggedRequests = 256     // different ones, of one batch
	maxLoggedName     = 8 << 10 // bytes of a URI

	// costLog is the measured cost of a log, which its session keeps even without events.
	costLog = 256
	// costLogged is the measured cost of a logged request, in addition to its name.
	costLogged = 96

	// spareNames is how many bytes of requests a log keeps while the ledger has no entry for it and its
	// stream continues, so that it can be resumed again once its events fit.
	spareNames = 512
)

// id returns the id of event number n, which the client sends back as Last-Event-ID.
func (l *eventLog) id(n int) string {
	return strconv.Itoa(l.stream) + "-" + strconv.Itoa(n)
}

// prime sends an event without data, so that the client has an id for resuming before the
// first message.
func (l *eventLog) prime() error {
	return l.add(func(id string) []byte {
		return []byte("id: " + id + "\ndata: \n\n")
	}, nil)
}

// follow records a request before its first message. Requests that have not reached the
// Source are not recorded, because their answer can only be an error. If the stream has
// been resumed on a connection other than own, that connection is cut: it was admitted
// without this request.
func (l *eventLog) follow(rc *request, own eventWriter) {
	if !rc.msg.isRequest() || rc.msg.is(methodCallTool) && rc.callTool.Name == "" {
		return
	}
	f := rc.followed()
	if len(f.name) > maxLoggedName {
		f = followed{}
	}
	l.mu.Lock()
	others := l.followLocked(f, own)
	l.mu.Unlock()
	others.giveUp()
}

// followLocked is follow with mu held. The caller gives up the victims after unlocking it.
func (l *eventLog) followLocked(f followed, own eventWriter) victims {
	added := costLogged + len(f.name)
	switch {
	case l.lost:
	case slices.ContainsFunc(l.of, f.equal):
		return nil
	case l.over, l.done:
		l.lost = true // nothing more is booked
	case len(l.of) == maxLoggedRequests:
		added = -len(l.of[0].name)
		l.of[0] = followed{}
	default:
		l.of = append(l.of, f)
	}
	l.cutLocked(own)
	if l.lost {
		return nil
	}
	l.names += added
	return l.book(added)
}

// requests returns the requests that the messages in the log belong to.
func (l *eventLog) requests() []followed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.of)
}

// append logs a message and sends it, if there is a connection. The error is that of the
// connection; the event is kept nevertheless.
func (l *eventLog) append(msg []byte) error { return l.appendAnswer(msg, nil) }

// appendAnswer is append with rc as for writeAnswer.
func (l *eventLog) appendAnswer(msg []byte, rc *request) error {
	return l.add(func(id string) []byte { return appendEvent(nil, id, msg) }, rc)
}

// add logs an event, which event returns for its id. Writing happens outside of mu,
// because a client may read slowly.
func (l *eventLog) add(event func(id string) []byte, rc *request) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.last++
	number := l.last
	e := event(l.id(number))
	others := l.keep(e)
	out := l.out
	l.mu.Unlock()
	others.giveUp()
	if out == nil {
		return nil
	}
	if err := writeAnswer(out, e, rc); err != nil {
		l.detach(out) // the client may reconnect for it
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = number
	return nil
}

// keep keeps an event if the ledger allows it. The caller gives up the victims after
// unlocking the log.
func (l *eventLog) keep(e []byte) victims {
	if l.done || l.over || l.lost {
		return nil
	}
	before := l.size
	l.events = append(l.events, e)
	l.size += len(e)
	for l.size > maxReplayStream {
		l.dropOldest()
	}
	return l.book(l.size - before)
}

// book enters what the log keeps in the ledger, after a change by delta bytes, or drops it if the
// ledger refuses. The caller gives up the victims after unlocking the log.
func (l *eventLog) book(delta int) (others victims) {
	switch {
	case l.size+l.names == 0: // an empty entry would outlive the account of its client
		l.drop()
		return nil
	case l.booked:
		others, l.booked = l.ledger.resize(&l.kept, int64(delta))
		l.ledger.touch(&l.kept)
	default:
		others, l.booked = l.ledger.enter(&l.kept, l.client, keptReplay, 0, int64(l.size+l.names), l)
	}
	if !l.booked {
		l.drop()
	}
	return others
}

func (l *eventLog) dropOldest() {
	l.size -= len(l.events[0])
	l.events[0] = nil
	l.events = l.events[1:]
}

// drop drops the events and their ledger entry, which the next event enters again, and the requests
// that they belong to if there are many. Without its requests a stream cannot be resumed, because
// nothing says who may. A connection that is being sent the events is cut.
func (l *eventLog) drop() {
	if l.missed {
		l.cutLocked(nil)
	}
	if l.names > spareNames || l.done {
		l.lost = true
		l.of = nil
		l.names = 0
	}
	l.events = nil
	l.size = 0
	l.booked = false
	l.ledger.release(&l.kept)
}

// giveUp implements keeper.
func (l *eventLog) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

// attach resumes the stream on out, after event number after. It returns false if events
// after it are missing. A previous connection is closed.
func (l *eventLog) attach(out eventWriter, after int) bool {
	return l.resume(out, func() int { return after })
}

// attachNew is attach for a client that names no event: it gets those that no connection has accepted, if they are
// kept, and the later ones.
func (l *eventLog) attachNew(out eventWriter) {
	l.resume(out, func() int {
		if l.holds(l.sent) {
			return l.sent
		}
		return l.last
	})
}

// resume resumes the stream on out, after the event whose number after returns while mu is held. It cuts a previous
// connection twice, first because a write to it may be blocked while holding the lock.
func (l *eventLog) resume(out eventWriter, after func() int) bool {
	if _, _, ok := l.replace(out, nil, after); !ok {
		return false
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	missed, newest, ok := l.replace(out, out, after)
	if !ok {
		return false
	}
	defer l.endMissed()
	for _, e := range missed {
		if out.writeEvents(e) != nil {
			l.detach(out)
			return true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = max(l.sent, newest)
	if l.done && l.out == out {
		l.endLocked()
	}
	return true
}

// replace cuts a connection other than own, sets the connection to next, and returns the
// events after the one whose number after returns, with the number of the newest. If some of
// them are missing, it changes nothing and returns false.
func (l *eventLog) replace(own, next eventWriter, after func() int) (missed [][]byte, newest int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := after()
	if !l.holds(n) {
		return nil, 0, false
	}
	l.cutLocked(own)
	if next != nil {
		l.out = next
		l.missed = l.last > n
	}
	return slices.Clone(l.events[len(l.events)-(l.last-n):]), l.last, true
}

// endMissed records that no missed events are being sent any more.
func (l *eventLog) endMissed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.missed = false
}

// cutLocked cuts the connection, unless it is own. mu is held.
func (l *eventLog) cutLocked(own eventWriter) {
	if l.out != nil && l.out != own {
		l.out.cut()
		l.out = nil
	}
}

// endLocked ends the connection after the last event. mu is held.
func (l *eventLog) endLocked() {
	if l.out != nil {
		l.out.endEvents()
		l.out = nil
	}
}

// holds reports whether all events after number after are kept, for a client that may receive them.
func (l *eventLog) holds(after int) bool {
	return !l.lost && 0 <= after && after <= l.last && l.last-after <= len(l.events)
}

// detach records that out has ended. The client may resume on another connection.
func (l *eventLog) detach(out eventWriter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == out {
		l.out = nil
	}
}

// finish records that the last event was the answer.
func (l *eventLog) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	if !l.booked {
		l.drop()
	}
	l.endLocked()
}

// forget releases everything the log keeps.
func (l *eventLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	l.drop()
	l.cutLocked(nil)
}

func (l *eventLog) isDone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

// newLog returns a log for the answer of one request. Stream 0 is the notification stream. If the
// ledger has no room for the log, the session does not keep it, so that its stream cannot be resumed.
func (s *session) newLog(ledger *ledger, client string) *eventLog {
	fits, costed := ledger.growIfBooked(&s.kept, costLog)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.ensureOutgoing()
	o.lastStream++
	l := &eventLog{
		stream: o.lastStream,
		ledger: ledger,
		client: client,
		over:   s.over,
		lost:   !fits,
		costed: costed,
	}
	if !fits {
		return l
	}
	o.logs = append(o.logs, l)
	excess := len(o.logs) - maxReplayLogs
	o.logs = slices.DeleteFunc(o.logs, func(old *eventLog) bool {
		if excess <= 0 || old.stream == 0 || !old.isDone() {
			return false
		}
		old.forget()
		if old.costed {
			ledger.shrink(&s.kept, 0, costLog)
		}
		excess--
		return true
	})
	return l
}

// notificationLog returns the log of the stream opened by GET.
func (s *session) notificationLog(ledger *ledger, client string) *eventLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.ensureOutgoing()
	if l := o.log(0); l != nil {
		return l
	}
	l := &eventLog{
		ledger: ledger,
		client: client,
		over:   s.over,
	}
	o.logs = append(o.logs, l)
	return l
}

// log returns the log of a stream, or nil.
func (o *outgoing) log(stream int) *eventLog {
	i := slices.IndexFunc(o.logs, func(l *eventLog) bool {
		return l.stream == stream
	})
	if i < 0 {
		return nil
	}
	return o.logs[i]
}

// logOf returns the stream and the number in an event id.
func (s *session) logOf(eventID string) (l *eventLog, n int, ok bool) {
	stream, number, _ := strings.Cut(eventID, "-")
	k, err1 := strconv.Atoi(stream)
	n, err2 := strconv.Atoi(number)
	if err1 != nil || err2 != nil {
		return nil, 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l = s.ensureOutgoing().log(k)
	return l, n, l != nil
}

// response is an event stream in the HTTP response of a handler that waits.
type response struct {
	// w is the response, which only one goroutine may use at a time.
	w http.ResponseWriter
	// ended is closed when the handler may return.
	ended chan struct{}
	once  sync.Once

	severed atomic.Bool // no more writes are allowed

	mu      sync.Mutex
	started bool // the header has been sent
	over    bool // the handler has returned, or is about to
	broken  bool // a write has failed
}

func newResponse(w http.ResponseWriter) *response {
	return &response{
		w:     w,
		ended: make(chan struct{}),
	}
}

var errConnectionOver = errors.New("the connection is closed")

// writeEvents writes b, after the header unless that has been sent. b may be empty.
func (p *response) writeEvents(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.broken {
		return errConnectionOver
	}
	if !p.started {
		p.started = true
		header := p.w.Header()
		header["Content-Type"] = typeStream
		header["Cache-Control"] = noCache
		header["X-Accel-Buffering"] = noBuffer
		p.w.WriteHeader(http.StatusOK)
	}
	controller := http.NewResponseController(p.w)
	err := p.write(controller, b)
	if err == nil {
		err = controller.Flush()
	}
	p.broken = err != nil
	if err == nil {
		// Over HTTP/2, a deadline that passes resets the stream, even if nothing is written.
		p.setDeadline(controller, time.Time{})
	}
	return err
}

// write writes b in pieces, each with a deadline of its own.
func (p *response) write(controller *http.ResponseController, b []byte) error {
	for {
		p.setDeadline(controller, time.Now().Add(responsePatience))
		piece := b[:min(len(b), responsePiece)]
		if _, err := p.w.Write(piece); err != nil {
			return err
		}
		if b = b[len(piece):]; len(b) == 0 {
			return nil
		}
	}
}

// setDeadline sets the deadline for writes, unless the response has been cut, which has one of its own.
func (p *response) setDeadline(controller *http.ResponseController, t time.Time) {
	_ = controller.SetWriteDeadline(t)
	if p.severed.Load() { // perhaps just before
		_ = controller.SetWriteDeadline(time.Now())
	}
}

// responsePatience is how long a write of responsePiece bytes may wait for a client that does not
// read the answer to its request. Then the client counts as disconnected, so that it cannot block
// the goroutine and its resources.
const (
	responsePatience = 30 * time.Second
	responsePiece    = 64 << 10
)

func (p *response) endEvents() { p.once.Do(func() { close(p.ended) }) }

// cut is only called before the handler has returned, so the deadline is that of its own
// response.
func (p *response) cut() {
	p.severed.Store(true)
	_ = http.NewResponseController(p.w).SetWriteDeadline(time.Now())
	p.endEvents()
}

// wait returns when the stream has ended or the client has disconnected. Nothing is
// written afterwards.
func (p *response) wait(r *http.Request) {
	select {
	case <-p.ended:
	case <-r.Context().Done():
	}
	p.leave()
}

// leave ends writing when the handler returns, because the response belongs to net/http
// afterwards.
func (p *response) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.started && !p.broken && !p.severed.Load() {
		// The connection may carry more requests.
		_ = http.NewResponseController(p.w).SetWriteDeadline(time.Time{})
	}
}

// drop closes the connection while its handler continues, and asks the client to
// reconnect after retry. It reports whether that was possible.
func (p *response) drop(retry time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || !p.started {
		return false
	}
	controller := http.NewResponseController(p.w)
	_ = controller.SetWriteDeadline(time.Now().Add(responsePatience))
	if _, err := fmt.Fprintf(p.w, "retry: %d\n\n", retry.Milliseconds()); err != nil || controller.Flush() != nil {
		return false
	}
	conn, _, err := controller.Hijack()
	if err != nil {
		_ = controller.SetWriteDeadline(time.Time{})
		return false
	}
	p.over = true
	_ = conn.SetWriteDeadline(time.Now().Add(writePatience))
	_, _ = conn.Write([]byte("0\r\n\r\n")) // the end of a chunked body
	_ = conn.Close()
	return true
}
