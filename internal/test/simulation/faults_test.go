package simulation

import (
	"math/rand/v2"
	"sync"
	"time"
)

// fault is a fault and how long it lasts.
type fault struct {
	kind    string
	machine string // "" for all
	other   string // the other end, if a connection is cut
	began   time.Duration
	ended   time.Duration // 0 while it lasts
}

// during reports whether the fault overlaps with a time.
func (f *fault) during(from, to time.Duration) bool {
	return f.began <= to && (f.ended == 0 || f.ended >= from)
}

// restarts reports whether the machine of the fault starts a new replica.
func (f *fault) restarts() bool {
	return f.kind == "kill" || f.kind == "power loss" || f.kind == "stop" || f.kind == othersCut
}

// kinds are the faults, how often each occurs, and what it does. The function returns after the fault.
var kinds = []struct {
	name   string
	weight int
	run    func(w *world, f *fault, r *rand.Rand)
}{
	{"kill", 5, func(w *world, f *fault, r *rand.Rand) { w.killed(f, r, false) }},
	{"power loss", 2, func(w *world, f *fault, r *rand.Rand) { w.killed(f, r, true) }},
	{"hang", 4, (*world).hangs},
	{"sleep", 2, (*world).sleeps},
	{"stop", 4, (*world).stopped},
	{"cut between replicas", 4, (*world).cutFromReplica},
	{"cut from the engine", 4, (*world).cutFromEngine},
	{"cut off", 2, (*world).cutOff},
	{"engine down", 2, (*world).engineDown},
	{othersCut, 4, (*world).othersCutFromEngine},
	{"slow links", 2, (*world).slowed},
	{"date set", 2, (*world).dateSet},
}

// longestFault exceeds a lease, so that sessions are adopted.
const longestFault = 7 * time.Second

// runFaults draws faults until their time is over, at most two at a time, and waits for their end.
func (w *world) runFaults() {
	r := stream(w.seed, "faults")
	until := time.Now().Add(w.opts.Faulty)
	turns := make(chan struct{}, 2)
	var lasting sync.WaitGroup
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	busy := make(map[string]bool)
	var mu sync.Mutex
	for {
		time.Sleep(between(r, 100*time.Millisecond, 2500*time.Millisecond))
		if time.Now().After(until) {
			break
		}
		turns <- struct{}{}
		pick := r.IntN(total)
		at := 0
		for pick >= kinds[at].weight {
			pick -= kinds[at].weight
			at++
		}
		kind := kinds[at]
		name := w.machines[r.IntN(len(w.machines))].name
		own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		mu.Lock()
		taken := busy[name]
		busy[name] = true
		mu.Unlock()
		if taken { // it has a fault already
			<-turns
			continue
		}
		lasting.Go(func() {
			defer func() { <-turns }()
			f := &fault{
				kind:    kind.name,
				machine: name,
				began:   time.Since(w.began),
			}
			w.mu.Lock()
			w.faults = append(w.faults, f)
			w.mu.Unlock()
			w.trace.add("FAULT %s at %s", f.kind, f.machine)
			kind.run(w, f, own)
			w.mu.Lock()
			f.ended = time.Since(w.began)
			w.mu.Unlock()
			w.trace.add("END of %s at %s", f.kind, f.machine)
			mu.Lock()
			defer mu.Unlock()
			delete(busy, name)
		})
	}
	lasting.Wait()
}

// machine returns the machine of a fault.
func (w *world) machine(f *fault) *machine {
	for _, m := range w.machines {
		if m.name == f.machine {
			return m
		}
	}
	return nil
}

// restart starts the machine of a fault again, as soon as that is possible.
func (w *world) restart(m *machine) {
	for m.start() != nil {
		time.Sleep(500 * time.Millisecond)
	}
}

// killed kills a replica and restarts it after a while. A silent death closes no connections, so
// that others must notice it.
func (w *world) killed(f *fault, r *rand.Rand, silent bool) {
	m := w.machine(f)
	p := m.running()
	m.kill(silent)
	down := between(r, 300*time.Millisecond, 5300*time.Millisecond)
	if silent && p != nil {
		w.unreachable(m, p, max(down, detection))
	} else {
		time.Sleep(down)
	}
	w.restart(m)
}

// detection is how long the load balancer needs to notice a server that does not answer.
const detection = 600 * time.Millisecond

// unreachable makes the load balancer notice that a machine does not answer, for a time.
func (w *world) unreachable(m *machine, p *process, d time.Duration) {
	if d < detection {
		time.Sleep(d)
		return
	}
	time.Sleep(detection)
	m.setOut(true)
	w.network.endConnections(balancerName, p.host)
	time.Sleep(d - detection)
}

// hangs suspends the network of a replica, which keeps its connections and answers nothing.
func (w *world) hangs(f *fault, r *rand.Rand) {
	m := w.machine(f)
	p := m.running()
	if p == nil {
		return
	}
	w.network.hang(p.host, true)
	w.unreachable(m, p, between(r, 200*time.Millisecond, longestFault))
	w.network.hang(p.host, false)
	m.setOut(false)
}

// sleeps suspends a virtual machine with its running clock.
func (w *world) sleeps(f *fault, r *rand.Rand) {
	m := w.machine(f)
	m.clock.sleep()
	w.hangs(f, r)
	m.clock.wake()
}

// stopped shuts a replica down in order, as an update does, and starts it again.
func (w *world) stopped(f *fault, r *rand.Rand) {
	m := w.machine(f)
	m.shutDown()
	time.Sleep(between(r, 100*time.Millisecond, 3*time.Second))
	w.restart(m)
}

// cutFromReplica separates two replicas. Clients and the engine still reach both.
func (w *world) cutFromReplica(f *fault, r *rand.Rand) {
	others := make([]string, 0, len(w.machines))
	for _, m := range w.machines {
		if m.name != f.machine {
			others = append(others, m.name)
		}
	}
	f.other = others[r.IntN(len(others))]
	w.network.cut(f.machine, f.other, true)
	time.Sleep(between(r, 200*time.Millisecond, longestFault))
	w.network.cut(f.machine, f.other, false)
}

// cutFromEngine separates one replica from the engine, so that its leases expire.
func (w *world) cutFromEngine(f *fault, r *rand.Rand) {
	w.network.cut(f.machine, engineName, true)
	time.Sleep(between(r, 200*time.Millisecond, longestFault))
	w.network.cut(f.machine, engineName, false)
}

// cutOff cuts a machine off from everything.
func (w *world) cutOff(f *fault, r *rand.Rand) {
	m := w.machine(f)
	p := m.running()
	if p == nil {
		return
	}
	names := []string{engineName, balancerName}
	for _, other := range w.machines {
		if other != m {
			names = append(names, other.name)
		}
	}
	for _, name := range names {
		w.network.cut(m.name, name, true)
	}
	w.unreachable(m, p, between(r, 200*time.Millisecond, longestFault))
	for _, name := range names {
		w.network.cut(m.name, name, false)
	}
	m.setOut(false)
}

// engineDown separates all replicas from the engine.
func (w *world) engineDown(f *fault, r *rand.Rand) {
	for _, m := range w.machines {
		w.network.cut(m.name, engineName, true)
	}
	time.Sleep(between(r, 200*time.Millisecond, longestFault))
	for _, m := range w.machines {
		w.network.cut(m.name, engineName, false)
	}
}

// othersCut is a fault of all machines: those that are cut off reach each other.
const othersCut = "others cut from the engine"

// othersCutFromEngine separates all replicas but one from the engine, while that one is replaced in order: the others
// grant each other leases, and do not know the new one.
func (w *world) othersCutFromEngine(f *fault, r *rand.Rand) {
	cut := func(on bool) {
		for _, m := range w.machines {
			if m.name != f.machine {
				w.network.cut(m.name, engineName, on)
			}
		}
	}
	m := w.machine(f)
	m.shutDown()
	time.Sleep(between(r, 100*time.Millisecond, time.Second)) // the others notice: one that is lost grants no lease
	cut(true)
	end := time.Now().Add(between(r, time.Second, 3*longestFault))
	for m.start() != nil && time.Now().Before(end) { // another fault of this kind may keep it from the engine
		time.Sleep(500 * time.Millisecond)
	}
	time.Sleep(time.Until(end))
	cut(false)
	if m.running() == nil {
		w.restart(m)
	}
}

// slowed delays all messages of a replica.
func (w *world) slowed(f *fault, r *rand.Rand) {
	w.network.slowDown(f.machine, true)
	time.Sleep(between(r, 500*time.Millisecond, longestFault))
	w.network.slowDown(f.machine, false)
}

// dateSet sets the date of a machine, by up to an hour in either direction.
func (w *world) dateSet(f *fault, r *rand.Rand) {
	w.machine(f).clock.set(between(r, -time.Hour, time.Hour))
	time.Sleep(time.Second)
}
