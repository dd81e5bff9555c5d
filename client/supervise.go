package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// The pause after the first failed attempt, and the longest one.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
)

// probePause is the minimum time between two attempts caused by waiting requests. It
// limits the load that a busy client puts on a server that is down.
const probePause = 250 * time.Millisecond

// Reach starts the server or connects to it, if it is not running, and waits until it
// answers or ctx is done. Attempts caused by requests and by Reach are at least 250
// milliseconds apart; concurrent callers share one. The error is that of the attempt.
func (s *Source) Reach(ctx context.Context) error {
	_, err := s.acquire(ctx)
	return err
}

// acquire returns the session for a request. It starts the server if needed, and waits
// for it.
func (s *Source) acquire(ctx context.Context) (*session, error) {
	ses := s.current.Load()
	if ses != nil && ses.alive() {
		if s.opts.Timeouts.Idle > 0 {
			s.lastUse.Store(time.Now().UnixNano())
		}
		if !ses.doubted() || ses.proves(ctx) {
			return ses, nil
		}
	}
	return s.await(ctx)
}

// await is acquire for a server that is not running. A request does not wait for a long
// pause to end: it triggers the next attempt early, shared by all waiting requests, and
// fails only with the result of an attempt that was made while it waited.
func (s *Source) await(ctx context.Context) (*session, error) {
	s.mu.Lock()
	client, err := s.waiting.enter(mcp.RequestFrom(ctx), s.opts.Limits.InFlight)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting.leave(client)
	}()
	until := time.Now().Add(s.opts.Timeouts.Wait)
	seen := s.attempts
	for {
		switch {
		case s.state >= closing:
			s.mu.Unlock()
			return nil, errClosed
		case s.state == ready:
			ses := s.current.Load()
			if ses != nil && ses.alive() {
				s.mu.Unlock()
				return ses, nil
			}
		case s.phase == Waiting && s.attempts > seen && s.givesUp(until):
			err := s.downLocked()
			s.mu.Unlock()
			return nil, err
		case s.attempts == seen: // also of a server that was not restarted after several short sessions
			s.hurryLocked()
		}
		s.superviseLocked()
		turn := s.turn
		s.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s.mu.Lock()
	}
}

// givesUp reports whether a request whose attempt has failed does not wait for another
// one, which would be too late or change nothing.
func (s *Source) givesUp(until time.Time) bool {
	return s.next.After(until) || s.starts == 0 || isPermanent(s.lastErr)
}

// hurryLocked schedules the next attempt as soon as probePause allows.
func (s *Source) hurryLocked() {
	earliest := s.tried.Add(probePause)
	if !s.next.After(earliest) {
		return
	}
	s.next = earliest
	select {
	case s.hurry <- struct{}{}:
	default:
	}
}

// downError is why no server is available for a request.
type downError struct {
	cause error
	// verb is "started" or "reached".
	verb string
}

func (s *Source) downLocked() *downError {
	return &downError{
		cause: s.lastErr,
		verb:  s.verb(),
	}
}

func (e *downError) Error() string {
	var status *StatusError
	if err := authorizationError(e.cause); err != nil {
		return err.Error()
	}
	if errors.As(e.cause, &status) && status.Refused() {
		return "the server refuses access: " + status.text()
	}
	return fmt.Sprintf("the server cannot be %s: %v", e.verb, e.cause)
}
func (e *downError) Unwrap() error { return e.cause }

// verb returns the verb for making the server available.
func (s *Source) verb() string {
	if _, ok := s.transport.(*Command); ok {
		return "started"
	}
	return "reached"
}

// superviseLocked ensures that the supervisor is running.
func (s *Source) superviseLocked() {
	if s.state != idle && s.state != down {
		return
	}
	s.scheduleLocked()
	s.work.Go(s.supervise)
}

// scheduleLocked enters the state in which the supervisor makes the next attempt.
func (s *Source) scheduleLocked() {
	if time.Until(s.next) > 0 {
		s.setLocked(pausing)
	} else {
		s.setLocked(connecting)
	}
}

// supervise starts the server and keeps it alive, until it is no longer needed or the
// source is closed.
func (s *Source) supervise() {
	for s.pause() {
		ses, err := s.start()
		if err != nil {
			if s.failed(err) {
				return
			}
			continue
		}
		lost := s.live(ses)
		ses.close()
		if s.ended(ses, lost) {
			return // not needed now; the next request starts it again
		}
	}
}

// pause waits until the next attempt is due, and reports whether to make it.
func (s *Source) pause() bool {
	for s.quit.Err() == nil {
		s.mu.Lock()
		wait := time.Until(s.next)
		s.mu.Unlock()
		if wait <= 0 {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.hurry: // next may have changed
		case <-s.quit.Done():
		}
		timer.Stop()
	}
	return false
}

// start makes one attempt to connect and get the catalog.
func (s *Source) start() (*session, error) {
	ctx, cancel := context.WithTimeout(s.quit, s.opts.Timeouts.Start)
	defer cancel()
	s.mu.Lock()
	terms := s.terms.Load()
	s.attempted = terms
	s.stopAttempt = cancel
	s.setLocked(connecting)
	s.mu.Unlock()
	ses, err := s.connect(ctx, terms)
	if err == nil {
		ses.listenForQuestions()
		var cat *mcp.Catalog
		began := time.Now()
		var failed []mcp.Missing
		cat, failed, err = ses.list(ctx, wantedLists{all: true}, s.catalog.Load())
		if err == nil {
			s.tap.Step("lists", began, "", listsError(failed))
			s.reportRefresh(keptError(cat, failed))
			s.publish(ses, cat)
			return ses, nil
		}
		s.tap.Step("lists", began, "", err)
		if lost := ses.lostError(); lost != nil {
			err = lost
		}
		ses.close()
	}
	if errors.Is(err, context.DeadlineExceeded) && s.quit.Err() == nil {
		err = fmt.Errorf("it was not ready after %v: %w", s.opts.Timeouts.Start, err)
	}
	return nil, err
}

// publish makes a session available to requests.
func (s *Source) publish(ses *session, cat *mcp.Catalog) {
	s.lastUse.Store(time.Now().UnixNano())
	s.show(cat)
	s.current.Store(ses)
	s.mu.Lock()
	s.starts++
	s.next = time.Time{}
	s.mu.Unlock()
	s.enter(ready)
	s.report(Event{What: EventStarted})
	ses.listen()
}

// failed records a failed attempt and schedules the next one. It reports whether the
// supervisor is done: the next request then restarts it.
func (s *Source) failed(err error) (done bool) {
	s.mu.Lock()
	if s.attempted != s.terms.Load() && s.state != closing { // Reconnect stopped it
		s.next = time.Time{}
		s.mu.Unlock()
		return false
	}
	s.failures++
	s.attempts++
	s.lastErr = err
	s.tried = time.Now()
	s.next = s.tried.Add(backoff(s.failures))
	over := s.state == closing
	if done = over || !s.retriesLocked(); done {
		s.setLocked(down)
	} else {
		s.setLocked(pausing)
	}
	s.mu.Unlock()
	if !over {
		s.report(Event{
			What: EventFailed,
			Err:  err,
		})
	}
	return done
}

// retriesLocked reports whether failed attempts are repeated without a request.
func (s *Source) retriesLocked() bool {
	switch {
	case s.opts.Lazy && s.catalog.Load() != nil:
		return false // its catalog is known without a start
	case s.opts.Optional:
		return true
	case s.opts.Lazy:
		return false
	}
	return s.starts > 0 // it has run, and is kept running
}

// backoff returns the pause after n consecutive failures, randomized so that many servers
// do not start at the same time.
func backoff(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	pause := maxPause
	if n < 10 {
		pause = min(firstPause<<(n-1), maxPause)
	}
	return jittered(pause)
}

// jittered returns a pause that is up to a fifth shorter.
func jittered(pause time.Duration) time.Duration { return pause - rand.N(pause/5) }

// live waits until the session is lost, and returns the reason, or nil if the server is
// no longer needed.
func (s *Source) live(ses *session) error {
	var idle, watch <-chan time.Time // nil: never
	var timer *time.Timer
	lists := time.NewTimer(listsPause(1))
	defer lists.Stop()
	failures := 1 // to return lists, in a row
	if !ses.lacksLists() {
		failures = 0
		lists.Stop()
	}
	if s.opts.Timeouts.Idle > 0 {
		timer = time.NewTimer(s.opts.Timeouts.Idle)
		defer timer.Stop()
		idle = timer.C
	}
	if every := s.watchInterval(); every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		watch = ticker.C
	}
	if s.terms.Load() != ses.terms { // Reconnect did not find this session
		ses.lost(errReconnecting)
	}
	for {
		select {
		case <-ses.ended:
			return ses.unlessIdle()
		case <-s.quit.Done():
			return nil
		case <-watch:
			ses.watch()
		case <-lists.C:
			ses.requestLists()
		case <-ses.lists.tried:
			if !ses.lacksLists() {
				failures = 0
				lists.Stop()
				continue
			}
			failures++
			lists.Reset(listsPause(failures))
		case <-idle:
			idleFor := time.Since(time.Unix(0, s.lastUse.Load()))
			if idleFor >= s.opts.Timeouts.Idle && len(s.Subscribed()) == 0 && ses.retire() {
				return nil
			}
			timer.Reset(max(s.opts.Timeouts.Idle-idleFor, s.opts.Timeouts.Idle/10))
		}
	}
}

// unlessIdle returns why the session was lost, or nil if it was idle.
func (ses *session) unlessIdle() error {
	if err := ses.lostError(); err != errIdle {
		return err
	}
	return nil
}

// Rest stops a server without requests in flight until it is needed again, and reports
// whether it did.
func (s *Source) Rest() bool {
	ses := s.current.Load()
	return ses != nil && ses.retire()
}

// ended records the end of a session, and reports whether the supervisor is done.
func (s *Source) ended(ses *session, lost error) (done bool) {
	s.current.CompareAndSwap(ses, nil)
	s.mu.Lock()
	uptime := time.Since(s.since)
	switch {
	case lost == nil, lost == errReconnecting:
		s.failures = 0
	case uptime >= s.opts.Timeouts.Reset || ses.served.Load(): // it was useful
		s.failures = 1
	default:
		s.failures++
	}
	s.tried = time.Now()
	s.next = time.Time{}
	if s.failures > 1 { // the first restart is immediate
		s.next = s.tried.Add(backoff(s.failures - 1))
	}
	if lost != nil && lost != errReconnecting {
		s.lastErr = lost
	}
	over := s.state == closing
	if done = over || s.waiting.n == 0 && (s.opts.Lazy || lost == nil); done {
		s.setLocked(idle)
	} else {
		s.scheduleLocked()
	}
	s.mu.Unlock()
	switch {
	case over, lost == errReconnecting:
	case lost != nil:
		s.report(Event{
			What: EventLost,
			Err:  lost,
		})
	default:
		s.report(Event{
			What:   EventStopped,
			Detail: "it was idle",
		})
	}
	return done
}

// enter changes the state and wakes waiting goroutines.
func (s *Source) enter(next state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(next)
}

// setLocked changes the state and wakes the callers that wait for a change. A closing or
// closed Source never returns to an earlier state.
func (s *Source) setLocked(next state) {
	if s.state >= closing && next < s.state || s.state == closed {
		return
	}
	s.state = next
	if p, ok := next.phase(); ok {
		s.phase, s.since = p, time.Now()
	}
	close(s.turn)
	s.turn = make(chan struct{})
}

// proves reports whether a server that may hang still answers. If it does not, the
// session is replaced, and its requests in flight fail.
func (ses *session) proves(ctx context.Context) bool {
	p := ses.startProbe()
	if p == nil {
		return false
	}
	select {
	case <-p.done:
	case <-ses.ended:
	case <-ctx.Done():
	}
	return ses.alive()
}

// understands reports whether the server still speaks the negotiated version, after an
// error that casts doubt on that. If it does not, the session ends.
func (ses *session) understands(ctx context.Context, doubt error) bool {
	limited, cancel := context.WithTimeout(ctx, ses.src.opts.Timeouts.Ping)
	defer cancel()
	_, err := ses.request(limited, ses.pingMethod(), nil)
	var e *mcp.Error
	if err == nil || ctx.Err() != nil ||
		!ses.version.Modern() && errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound {
		return true
	}
	ses.lost(fmt.Errorf("the server does not support the previous transport: %w", doubt))
	return false
}
