package server

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// booking is an owner that records when it is given up.
type booking struct {
	kept  kept
	given bool
}

func (b *booking) giveUp() { b.given = true }

// If entries are booked, grown, used and released in random order, no limit is exceeded,
// and the figures agree with the entries.
func TestLedgerStaysWithinItsLimits(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		l := newLedger(&Options{
			MaxSessions: 300, Tasks: TaskOptions{Max: 300}, SessionTTL: time.Hour,
			Budget: Budget{Bytes: 100_000, ClientBytes: 40_000, Questions: 300, Parked: 300},
		})
		var all []*booking
		for range 5000 {
			switch n := random.IntN(10); {
			case n < 6 || len(all) == 0:
				b := &booking{}
				client := fmt.Sprint("client ", random.IntN(7))
				if l.book(&b.kept, client, keptKind(random.IntN(int(keptKinds))), 1, random.Int64N(3000), b) {
					all = append(all, b)
				}
			case n < 7:
				l.touch(&all[random.IntN(len(all))].kept)
			case n < 8:
				b := all[random.IntN(len(all))]
				l.grow(&b.kept, random.Int64N(2000)-min(b.kept.size, 1000))
			default:
				i := random.IntN(len(all))
				l.release(&all[i].kept)
				all = append(all[:i], all[i+1:]...)
			}
			checkLedger(t, l)
		}
		for _, b := range all {
			l.release(&b.kept)
		}
		if len(l.accounts) > 0 || l.all != (tally{}) || l.ending != [keptKinds]tally{} {
			t.Fatalf("seed %d: left behind %d clients, %+v, ending %+v", seed, len(l.accounts), l.all, l.ending)
		}
	}
}

func checkLedger(t *testing.T, l *ledger) {
	t.Helper()
	var all tally
	for name, a := range l.accounts {
		var own tally
		for i := range a.kinds {
			k := &a.kinds[i]
			own.add(k.used.n, k.used.bytes)
			if k.ending.n > k.used.n || k.ending.bytes > k.used.bytes || k.used.bytes < 0 {
				t.Fatalf("%s %s: %+v of which %+v are ending", name, keptNames[i], k.used, k.ending)
			}
			if l.limits[i] > 0 && k.used.n > l.shareOf(a, keptKind(i)) {
				t.Fatalf("%s has %d of %s", name, k.used.n, keptNames[i])
			}
		}
		if own != a.all || own.bytes > l.bytesOf(a) {
			t.Fatalf("%s: %+v, booked %+v", name, a.all, own)
		}
		all.add(own.n, own.bytes)
	}
	if all != l.all || all.bytes > l.bytes {
		t.Fatalf("in all %+v, booked %+v", l.all, all)
	}
}

// A client loses its least recently used entry.
func TestLedgerGivesUpTheUnused(t *testing.T) {
	synctest.Test(t, testLedgerGivesUpTheUnused)
}

func testLedgerGivesUpTheUnused(t *testing.T) {
	l := newLedger(&Options{MaxSessions: 4, Tasks: TaskOptions{Max: 1}, SessionTTL: time.Hour})
	all := make([]*booking, 6)
	for i := range all {
		time.Sleep(time.Second)
		all[i] = &booking{}
		l.book(&all[i].kept, "client", keptSession, 1, 10, all[i])
		time.Sleep(time.Second)
		l.touch(&all[0].kept)
	}
	for i, want := range []bool{false, true, true, false, false, false} {
		if all[i].given != want {
			t.Errorf("entry %d: given up %v, want %v", i, all[i].given, want)
		}
	}
}

// TestLogOfALargeEvent guards an event that is too large to be kept: an empty entry of its log would outlive the
// account of its client, and its release panicked.
func TestLogOfALargeEvent(t *testing.T) {
	l := newLedger(&Options{SessionTTL: time.Hour})
	var other, session kept
	if !l.book(&other, "other", keptStream, 2, 1<<20, &notificationStream{}) ||
		!l.book(&session, "client", keptStream, 1, 1, &notificationStream{}) {
		t.Fatal("not booked")
	}
	log := newSession("s").newLog(l, "client")
	if err := log.append(make([]byte, maxReplayStream+1)); err != nil {
		t.Fatal(err)
	}
	l.release(&session)
	log.forget()
	l.release(&other)
	if n := len(l.accounts); n != 0 {
		t.Errorf("%d accounts are left", n)
	}
}

// TestLogAfterItWasShed ensures that a stream whose events were dropped for others can be resumed after the events
// that follow, unless the names of its requests are long, and that nothing is booked once the session has ended.
func TestLogAfterItWasShed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		resumes bool
	}{
		{"search", true},
		{strings.Repeat("x", 2*spareNames), false},
	} {
		l := newLedger(&Options{SessionTTL: time.Hour})
		log := newSession("s").newLog(l, "client")
		log.mu.Lock()
		others := log.followLocked(followed{method: methodCallTool, name: tt.name}, nil)
		log.mu.Unlock()
		others.giveUp()
		for range 3 {
			if err := log.append([]byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
		log.giveUp()
		if n := len(l.accounts); n != 0 {
			t.Errorf("%d accounts are left of a log that was shed", n)
		}
		if err := log.append([]byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if log.attach(&slowWriter{}, 1) || log.attach(&slowWriter{}, 3) != tt.resumes {
			t.Errorf("%.10s: the log resumes after event 3: want %t", tt.name, tt.resumes)
		}
		log.forget()
		log.mu.Lock()
		log.followLocked(followed{method: methodCallTool, name: "late"}, nil).giveUp()
		log.mu.Unlock()
		if n := len(l.accounts); n != 0 || len(log.of) != 0 {
			t.Errorf("%d accounts and %d requests are left of a log that was forgotten", n, len(log.of))
		}
	}
}

// slowWriter is a connection whose write lasts until it is cut, and has succeeded then.
type slowWriter struct {
	writing, over chan struct{}
	got           [][]byte
}

func (w *slowWriter) writeEvents(e []byte) error {
	w.got = append(w.got, e)
	if w.writing != nil {
		close(w.writing)
		<-w.over
	}
	return nil
}

func (w *slowWriter) endEvents() {}

func (w *slowWriter) cut() {
	if w.over != nil {
		close(w.over)
	}
}

// TestNewStreamDuringAWrite: a client that opens another stream gets an event once, which the previous stream was
// about to accept.
func TestNewStreamDuringAWrite(t *testing.T) {
	l := newLedger(&Options{SessionTTL: time.Hour})
	log := newSession("s").newLog(l, "client")
	first := &slowWriter{
		writing: make(chan struct{}),
		over:    make(chan struct{}),
	}
	log.attachNew(first)
	added := make(chan error, 1)
	go func() { added <- log.append([]byte(`{}`)) }()
	<-first.writing
	second := &slowWriter{}
	log.attachNew(second)
	if err := <-added; err != nil || len(first.got) != 1 {
		t.Fatalf("the first stream got %q, error %v", first.got, err)
	}
	if len(second.got) != 0 {
		t.Errorf("the second stream got %q again", second.got)
	}
}

// TestNewStreamOfAMovedSession: a session continues at this server after an event of another one, and the first
// event here finds no connection. A client that opens a stream without an id gets it.
func TestNewStreamOfAMovedSession(t *testing.T) {
	l := newLedger(&Options{SessionTTL: time.Hour})
	s := newSession("s")
	s.moves = 1
	if n, ok := s.resumesElsewhere(l, "client", "0-5"); n != 5 || !ok {
		t.Fatalf("resumes after %d, %t", n, ok)
	}
	log := s.notificationLog(l, "client")
	if err := log.append([]byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	next := &slowWriter{}
	log.attachNew(next)
	if len(next.got) != 1 {
		t.Errorf("the next stream got %q, want the event", next.got)
	}
}

// blockedWriter is a connection whose client reads nothing until it is cut.
type blockedWriter struct{ ended chan struct{} }

func (w blockedWriter) endEvents() {}
func (w blockedWriter) cut()       { close(w.ended) }
func (w blockedWriter) writeEvents([]byte) error {
	<-w.ended
	return errConnectionOver
}

// TestDropOfEventsBeingSent guards the memory of events that a client resumes with and does not read: dropped from the
// ledger, they stayed until the client had read them.
func TestDropOfEventsBeingSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(&Options{SessionTTL: time.Hour})
		log := newSession("s").newLog(l, "client")
		_ = log.append(make([]byte, 1000))
		resumed := make(chan bool, 1)
		go func() { resumed <- log.attach(blockedWriter{make(chan struct{})}, 0) }()
		synctest.Wait()
		log.giveUp()
		synctest.Wait()
		if len(resumed) == 0 {
			t.Fatal("the connection still sends events that were dropped")
		}
	})
}

// TestLogsAreBooked guards that the logs of a session are in the ledger even without events.
func TestLogsAreBooked(t *testing.T) {
	l := newLedger(&Options{MaxSessions: 10, SessionTTL: time.Hour, Budget: Budget{Bytes: 10 * costLog}})
	s := newSession("s")
	if !l.book(&s.kept, "", keptSession, 1, costLog, &booking{}) {
		t.Fatal("not booked")
	}
	for range 9 {
		s.newLog(l, "").forget()
	}
	if got := l.all.bytes; got != 10*costLog {
		t.Errorf("%d bytes are booked, want %d", got, 10*costLog)
	}
	if log := s.newLog(l, ""); !log.lost || len(s.outgoing.logs) != 9 {
		t.Errorf("a log that does not fit is kept: lost %t, %d logs", log.lost, len(s.outgoing.logs))
	}
	l.release(&s.kept)
	if got := l.all.bytes; got != 0 {
		t.Errorf("%d bytes are booked after the session", got)
	}
}
