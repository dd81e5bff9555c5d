package simulation

import (
	"slices"
	"strings"
	"time"
)

// The invariants. I1, that an answer belongs to its call and is whole, is checked as answers arrive,
// and I8, that nothing is left, by synctest: each goroutine must end. I11 is in callers.go.

// The bounds.
const (
	// longestWait is how long a call may take beyond its work: a lost owner is detected within 0.8
	// seconds, and a request waits for the engine for at most 2.5 seconds at a replica.
	longestWait = 3 * time.Second
	// mayHaveRun is how long before and after a fault a call may fail.
	mayHaveRun = 1500 * time.Millisecond
	// drainTimeout is how long a replica that stops serves what it cannot hand over.
	drainTimeout = 10 * time.Second
	// aftermath is how long after a fault calls and changes may be refused: leases end and begin.
	aftermath = 6 * time.Second
)

// check checks a run after its end. Nothing may fail from calm on.
func (w *world) check(calm time.Duration) {
	for _, c := range w.history.all() {
		w.checkRuns(c)
		w.checkFailure(c, calm)
		w.checkTime(c)
	}
	w.checkLevels()
	w.checkCallers()
	w.checkChanges(calm)
}

// sick returns the faults that concern a machine in a time, or all faults if machine is "".
// Stopping a replica in order is none: no client may notice.
func (w *world) sick(machine string, from, to time.Duration) bool {
	return slices.ContainsFunc(w.faults, func(f *fault) bool {
		return f.kind != "stop" && f.during(from, to) &&
			(machine == "" || f.machine == machine || f.other == machine || f.kind == "engine down" || f.kind == othersCut)
	})
}

// engineLost reports whether a replica could not reach the engine in a time.
func (w *world) engineLost(from, to time.Duration) bool {
	return slices.ContainsFunc(w.faults, func(f *fault) bool {
		switch f.kind {
		case "engine down", "cut from the engine", "cut off", othersCut:
			return f.during(from, to)
		}
		return false
	})
}

// checkRuns checks I2, that what was answered has run, and I3, that a call which must not be repeated
// has run at most once.
func (w *world) checkRuns(c *call) {
	runs := len(w.journal.ran[c.args.ID])
	if c.err == "" && runs == 0 {
		w.violate("I2: %s was answered and never ran", c.args.ID)
	}
	if c.tool == toolWrite && runs > 1 {
		w.violate("I3: %s ran %d times", c.args.ID, runs)
	}
}

// checkFailure checks I5, that no session is unknown, and I6, that calls fail only because of a fault.
func (w *world) checkFailure(c *call, calm time.Duration) {
	if c.err == "" {
		return
	}
	name := c.args.ID + ": " + c.err
	switch c.outcome() {
	case "session unknown", "other status":
		if strings.Contains(c.err, "the server is shutting down") && w.engineLost(c.ended-drainTimeout, c.ended) {
			break // a replica that stops can hand nothing over without the engine, and cancels what it serves
		}
		w.violate("I5: %s: status %d at %s", name, c.status, c.entry)
	case "connection lost":
		sick := func(machine string) bool { return w.sick(machine, c.began-mayHaveRun, c.ended) }
		lost := sick(c.entry)
		switch { // the entry cuts an event stream, or a long answer that has begun, if its owner is lost
		case c.args.Progress:
			lost = sick("")
		case c.begun && c.args.Size >= longAnswer:
			lost = lost || slices.ContainsFunc(w.journal.ran[c.args.ID], sick)
		}
		if !lost {
			w.violate("I6: %s: connection lost to %q without a fault there", name, c.entry)
		}
	case "may have run":
		if !w.sick("", c.began-mayHaveRun, c.ended) {
			w.violate("I6: %s: lost without a fault", name)
		}
	default:
		if !w.sick("", c.began-aftermath, c.ended) {
			w.violate("I6: %s: failed without a fault", name)
		}
	}
	if c.began > calm {
		w.violate("I7: %s: failed after all faults", name)
	}
}

// checkTime checks I4, that no call hangs unless the machine that it was sent to did.
func (w *world) checkTime(c *call) {
	work := time.Duration(c.args.Micro) * time.Microsecond
	if c.session &&
		c.entry != "" &&
		c.ended-c.sent > work+longestWait &&
		!w.sick(c.entry, c.sent, c.ended) {
		w.violate("I4: %s took %v at %s", c.args.ID, c.ended-c.sent, c.entry)
	}
	if !c.session &&
		c.ended-c.began > work+longestWait &&
		!w.sick("", c.began, c.ended) {
		w.violate("I4: %s took %v", c.args.ID, c.ended-c.began)
	}
}

// checkLevels checks I9, that no acknowledged change of a session is lost: a call has the level
// that was acknowledged last before it, or one that was set meanwhile. One that was not
// acknowledged may take effect late. A replica that knows no other one is excused.
func (w *world) checkLevels() {
	for _, c := range w.history.all() {
		if !c.session || c.err != "" || c.answer.Alone {
			continue
		}
		allowed := []string{"info"}
		for _, s := range w.history.settings {
			switch {
			case s.client != c.client || s.began > c.ended:
			case s.acknowledged && s.ended < c.sent:
				allowed = []string{s.level}
			}
		}
		for _, s := range w.history.settings {
			if s.client != c.client || s.began > c.ended {
				continue
			}
			late := !s.acknowledged && c.sent-s.ended < longestRequest
			if late || s.ended >= c.sent {
				allowed = append(allowed, s.level)
			}
		}
		if !slices.Contains(allowed, c.answer.Level) {
			w.violate("I9: %s has level %q at %s by %s, want %q", c.args.ID, c.answer.Level, c.entry, c.answer.By, allowed)
		}
	}
}

// checkChanges checks I10, that each change that a replica has reported reaches each client that
// is subscribed, unless the replica was lost with it.
func (w *world) checkChanges(calm time.Duration) {
	for _, c := range w.history.changes {
		lost := slices.ContainsFunc(w.faults, func(f *fault) bool {
			return f.machine == c.machine &&
				f.restarts() &&
				f.during(c.at-mayHaveRun, c.at+aftermath)
		})
		if lost {
			continue
		}
		for name, times := range w.history.notified {
			notified := slices.ContainsFunc(times, func(at time.Duration) bool {
				return at >= c.at && (at < calm || c.at >= calm)
			})
			if !notified {
				w.violate("I10: %s was not notified of the change at %v by %s", name, c.at, c.machine)
			}
		}
	}
}

// checkAtRest checks I7: once all faults are over, each session is served by one replica, whichever
// gets the request, and every replica serves.
func (w *world) checkAtRest(users []*user, calm time.Duration) {
	if w.opts.Callers {
		defer w.checkProcesses()
	}
	r := stream(w.seed, "rest")
	for _, u := range users {
		owners := make(map[string]bool)
		for i, m := range w.machines {
			for k := range 3 {
				c := w.newCall(r, u.name, 100+i, k)
				c.args.Micro %= 10_000
				u.callOnce(c, m.name)
				if c.err == "" {
					owners[c.answer.By] = true
				} else {
					w.violate("I7: %s failed at %s after all faults: %d %s", c.args.ID, m.name, c.status, c.err)
				}
			}
		}
		if len(owners) > 1 {
			w.violate("I7: the session of %s is served by %d replicas", u.name, len(owners))
		}
	}
}
