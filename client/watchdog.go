package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// The watchdog detects a server that hangs while its callers wait. The supervisor calls
// watch several times per [Timeouts].Hang; a suspicious server must answer a ping.

// The watchdog checks a session watchesPerTimeout times per [Timeouts].Hang, and at least
// once per maxWatchInterval.
const (
	watchesPerTimeout = 5
	maxWatchInterval  = 2 * time.Second
)

// maxBusy limits how long CPU time or stderr output excuses an unanswered ping.
const maxBusy = 5 * time.Minute

// stoppedGrace is how long a process that does not answer a ping may be stopped by a
// signal before it is replaced. Only an external SIGCONT can resume it.
const stoppedGrace = time.Second

// probe waits for the answer to a ping, on behalf of all callers that suspect the server.
type probe struct {
	since    time.Time
	done     chan struct{} // closed when new requests need no longer wait for it
	released bool          // done is closed; only runProbe uses it
}

func (p *probe) release() {
	if !p.released {
		p.released = true
		close(p.done)
	}
}

// ping is an outstanding ping. It outlives its probe, so that a server that never
// answers pings but sends other messages has one pending, not one per probe.
type ping struct {
	answer  chan error // has room for the answer
	stopped []int      // processes that were stopped when it was sent
}

// watchInterval is how often the watchdog checks a session; 0 means never.
func (s *Source) watchInterval() time.Duration {
	if s.opts.Timeouts.Hang < 0 {
		return 0
	}
	return min(max(s.opts.Timeouts.Hang/watchesPerTimeout, time.Millisecond),
		maxWatchInterval)
}

// watch checks the session once. Only the supervisor calls it. Ages are counted in calls
// of watch, which saves reading the clock for every request.
func (ses *session) watch() {
	interval := ses.src.watchInterval()
	needed := int64((ses.src.opts.Timeouts.Hang + interval - 1) / interval)
	ses.mu.Lock()
	ses.watches++
	oldest := ses.watches
	abandoned := false
	asking := len(ses.asking) > 0
	for c := range ses.calls.All() {
		if c.method == "subscriptions/listen" {
			continue
		}
		oldest = min(oldest, c.born)
		abandoned = abandoned || c.request.Load().Abandoned()
	}
	age := ses.watches - oldest
	ses.mu.Unlock()
	if ses.silentWatches++; !ses.silent.Swap(true) {
		ses.silentWatches = 0
	}
	// A question waits for the client.
	hanging := age >= needed && ses.silentWatches >= needed && !asking
	if hanging || abandoned || ses.suspect.Load() || ses.stoppedPID() != 0 {
		ses.startProbe()
	}
}

// noteActivity records that a message arrived from the server.
func (ses *session) noteActivity() {
	if ses.silent.Load() {
		ses.silent.Store(false)
	}
	if ses.suspect.Load() {
		ses.suspect.Store(false)
	}
}

// startProbe returns the current probe, or a new one. It returns nil if the session is
// lost.
func (ses *session) startProbe() *probe {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.end != nil {
		return nil
	}
	if ses.probe == nil {
		p := &probe{
			since: time.Now(),
			done:  make(chan struct{}),
		}
		ses.probe = p
		ses.handlers.Go(func() { ses.runProbe(p) })
	}
	return ses.probe
}

// endProbe lets requests through again.
func (ses *session) endProbe(p *probe) {
	ses.mu.Lock()
	ses.probe = nil
	ses.mu.Unlock()
	p.release()
}

// runProbe pings the server and replaces it if it neither answers nor shows other
// activity.
func (ses *session) runProbe(p *probe) {
	defer ses.endProbe(p)
	if !ses.sendPing() {
		return
	}
	limit := ses.src.opts.Timeouts.Ping
	ticker := time.NewTicker(min(limit, stoppedGrace))
	defer ticker.Stop()
	ses.silent.Store(true)
	began := time.Now()
	before := ses.signs()
	stopped := ses.stoppedPID()
	for {
		select {
		case err := <-ses.ping.answer:
			ses.pingAnswered(err)
			return
		case <-ses.quit.Done():
			return
		case <-ticker.C:
		}
		was := stopped
		stopped = ses.stoppedPID()
		switch {
		case !ses.silent.Load():
			return // any message is sufficient
		case stopped != 0 && stopped == was:
			ses.replace(&hangError{fmt.Sprintf("its process %d is stopped by a signal", stopped)})
			return
		case ses.isAsking():
			return
		case time.Since(began) < limit:
			continue
		}
		after := ses.signs()
		age := time.Since(p.since)
		if !after.worksSince(before, limit) || age > maxBusy {
			ses.replace(&hangError{fmt.Sprintf("it has not answered a ping within %v", age.Round(time.Millisecond))})
			return
		}
		began = time.Now()
		before = after
		p.release()
	}
}

// sendPing sends a ping unless one is outstanding. It reports false if the session is
// lost. Only runProbe calls it.
func (ses *session) sendPing() bool {
	// An answer between two probes says nothing about the present.
	if ses.ping != nil && len(ses.ping.answer) == 0 {
		return true
	}
	sent := &ping{
		answer:  make(chan error, 1),
		stopped: ses.stoppedProcesses(),
	}
	ses.ping = sent
	return ses.goWork(func(context.Context) {
		_, err := ses.request(ses.quit, ses.pingMethod(), nil)
		sent.answer <- err
	})
}

// pingAnswered handles the answer to a ping, or the error of sending it. A descendant
// that was stopped at that time is not needed to answer, such as a suspended job of a
// shell; the process itself is never excused.
func (ses *session) pingAnswered(err error) {
	harmless := slices.DeleteFunc(ses.ping.stopped, func(pid int) bool {
		return pid == ses.child.pid()
	})
	ses.ping = nil
	if ses.quit.Err() == nil && !isAnswer(err) {
		ses.replace(&hangError{fmt.Sprintf("it does not answer a ping: %v", err)})
		return
	}
	ses.harmless.Store(&harmless)
	ses.noteActivity()
}

func (ses *session) isAsking() bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return len(ses.asking) > 0
}

// isAnswer reports whether a request with that error was answered by the server, even
// if only with an error.
func isAnswer(err error) bool {
	var e *mcp.Error
	var status *StatusError
	var unread *UnreadableError
	return err == nil || errors.As(err, &e) || errors.As(err, &status) ||
		errors.As(err, &unread)
}

func (ses *session) pingMethod() string {
	if ses.version.Modern() {
		return "server/discover"
	}
	return "ping"
}

// hangError is why the watchdog replaces a server.
type hangError struct{ reason string }

func (e *hangError) Error() string {
	return "the server hangs: " + e.reason + ", so it is replaced (hangTimeoutMs)"
}

// ErrHang is in the errors of requests whose server was replaced because it hangs, see
// [Timeouts].Hang.
var ErrHang = errors.New("the server hangs")

// Is implements the interface that [errors.Is] looks for.
func (e *hangError) Is(target error) bool { return target == ErrHang }

func isHang(err error) bool { return errors.Is(err, ErrHang) }

// replace ends a session whose server hangs. Calls in flight fail with the reason, unless
// it turns out, after the process has exited, that it never read them.
func (ses *session) replace(why *hangError) {
	ses.hung.Store(why)
	if c := ses.child; c != nil {
		c.hangs.Store(true)
		c.stop()
		// Not even SIGKILL ends a process in an uninterruptible sleep.
		closesWithin(c.command.stopTimeout()+4*settleTime, c.stopped)
	}
	// Before the calls in flight fail, so that a request that follows such a failure at once is
	// not sent to this server again.
	ses.lost(why)
	if ses.http != nil {
		ses.http.abort(why)
	}
}

// signs are externally visible signs of activity.
type signs struct {
	cpu    time.Duration // of the process and its descendants
	stderr int64         // bytes written
}

func (ses *session) signs() signs {
	if ses.child == nil {
		return signs{}
	}
	return signs{cpuTime(ses.child.pid()), ses.child.stderr.size()}
}

// worksSince reports whether a process used a fiftieth of a processor during d, or
// wrote to stderr.
func (s signs) worksSince(before signs, d time.Duration) bool {
	return s.cpu-before.cpu >= max(d/50, 20*time.Millisecond) || s.stderr > before.stderr
}

func (ses *session) stoppedProcesses() []int {
	if ses.child != nil && !isClosed(ses.child.exited) {
		return stoppedProcesses(ses.child.pid())
	}
	return nil
}

// stoppedPID returns a process of the server that is stopped by a signal, or 0. It skips
// those that the server has answered without.
func (ses *session) stoppedPID() int {
	harmless := ses.harmless.Load()
	for _, pid := range ses.stoppedProcesses() {
		if harmless == nil || !slices.Contains(*harmless, pid) {
			return pid
		}
	}
	return 0
}

// unresponsive returns why a running server is not ready, or "".
func (ses *session) unresponsive() string {
	if pid := ses.stoppedPID(); pid != 0 {
		return fmt.Sprintf("process %d is stopped by a signal", pid)
	}
	ses.mu.Lock()
	p := ses.probe
	ses.mu.Unlock()
	if p == nil {
		return ""
	}
	if age := time.Since(p.since); age > time.Second {
		return fmt.Sprintf("it has not answered a ping for %v", age.Round(time.Second))
	}
	return ""
}
