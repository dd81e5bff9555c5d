package simulation

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// The delays of the network.
const (
	minDelay = 50 * time.Microsecond
	maxDelay = 2 * time.Millisecond
	// perByte is the time to transmit a byte: an answer of several MB takes some ten milliseconds, in
	// which it can be cut.
	perByte = 10 * time.Nanosecond
	// packet is the most that arrives at once.
	packet = 256 << 10
)

// network connects hosts. Its mutex guards everything in it, and is never held while a
// goroutine waits: a bubble of synctest does not advance while one waits for a mutex.
type network struct {
	seed uint64

	mu    sync.Mutex
	hosts map[netip.Addr]*host // the current host of each address
	all   []*host              // in the order in which they were started
	cuts  map[[2]string]int    // pairs of names without a connection, and how many faults cause it
	slow  map[string]int       // names of hosts whose links are slow
	// blocked are pipes that cannot deliver at present.
	blocked []*pipe
	ports   int
}

// newNetwork returns a network without hosts. The seed decides the delay of each message.
func newNetwork(seed uint64) *network {
	return &network{
		seed:  seed,
		hosts: make(map[netip.Addr]*host),
		cuts:  make(map[[2]string]int),
		slow:  make(map[string]int),
		ports: 20000,
	}
}

// host is a machine from one start to its end.
type host struct {
	network *network
	name    string
	addr    netip.Addr

	hung      bool
	dead      bool
	silent    bool // it died without closing its connections
	listeners map[int]*listener
	conns     []*conn
	changed   chan struct{} // closed and replaced when one of these changes
}

// start starts a host, in place of the previous one at the address.
func (n *network) start(name string, addr netip.Addr) *host {
	h := &host{
		network:   n,
		name:      name,
		addr:      addr,
		listeners: make(map[int]*listener),
		changed:   make(chan struct{}),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr] = h
	n.all = append(n.all, h)
	n.changedLocked()
	return h
}

// silentLocked reports whether nothing answers at the address of a host: not even with a reset, as
// the machine does once it has been started again.
func (h *host) silentLocked() bool {
	return h.dead && h.silent && h.network.hosts[h.addr] == h
}

// stop ends all connections, at the end of a simulation.
func (n *network) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.all {
		h.hung = false
		h.dead = true
		for _, c := range h.conns {
			c.dropLocked()
		}
		for _, l := range h.listeners {
			l.closed = true
		}
	}
	n.changedLocked()
}

// endConnections resets the connections between two hosts, as a load balancer does with those to a
// server that does not answer.
func (n *network) endConnections(from string, to *host) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range slices.Clone(to.conns) {
		if c.peer.host.name == from {
			c.dropLocked()
			c.peer.dropLocked()
		}
	}
}

// pair returns the key of a connection between two hosts.
func pair(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// cutLocked reports whether nothing gets from one host to the other.
func (n *network) cutLocked(a, b string) bool { return n.cuts[pair(a, b)] > 0 }

// cut cuts or restores the connection between two hosts.
func (n *network) cut(a, b string, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[pair(a, b)] += step(on)
	n.changedLocked()
}

// slowDown makes the links of a host slow, or restores them.
func (n *network) slowDown(name string, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow[name] += step(on)
}

// step returns the change of a counter of faults, of which several may overlap.
func step(on bool) int {
	if on {
		return 1
	}
	return -1
}

// changedLocked wakes everything that waits for a fault to begin or end.
func (n *network) changedLocked() {
	for _, h := range n.all {
		close(h.changed)
		h.changed = make(chan struct{})
		for _, l := range h.listeners {
			l.wake.Broadcast()
		}
		for _, c := range h.conns {
			c.wake.Broadcast()
		}
	}
	blocked := n.blocked
	n.blocked = nil
	for _, p := range blocked {
		p.scheduleLocked(n.delayLocked(p.from.host.name, p.to.host.name))
	}
}

// hang makes a host hang, or continue.
func (n *network) hang(h *host, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h.hung = on
	n.changedLocked()
}

// kill ends a host. Its connections are reset, unless it dies silently, as without power.
func (n *network) kill(h *host, silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h.dead {
		return
	}
	h.dead = true
	h.silent = silent
	for _, c := range h.conns {
		c.dropLocked()
		peer := c.peer
		if !silent && !n.cutLocked(h.name, peer.host.name) {
			delay := n.delayLocked(h.name, peer.host.name)
			time.AfterFunc(delay, func() { peer.reset() })
		}
	}
	n.changedLocked()
}

// state returns the faults of a host, and a channel that is closed when one of them changes.
func (h *host) state() (hung, dead bool, changed <-chan struct{}) {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	return h.hung, h.dead, h.changed
}

// alive waits while the host hangs, and reports whether it lives.
func (h *host) alive(ctx context.Context) bool {
	for {
		hung, dead, changed := h.state()
		if dead || !hung {
			return !dead
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// delayLocked returns how long a message takes that is sent now. It depends on the link and the
// nanosecond, so that goroutines which send at the same moment may do so in any order, and so that
// other messages arrive at different moments, whose order depends on the seed alone.
func (n *network) delayLocked(from, to string) time.Duration {
	r := hash(n.seed, from, to, uint64(time.Now().UnixNano()))
	d := minDelay + time.Duration(r%uint64(maxDelay-minDelay))
	if n.slow[from] > 0 || n.slow[to] > 0 {
		d *= 40
	}
	return d
}

// delay is delayLocked for a message that is no part of a connection.
func (n *network) delay(from, to string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.delayLocked(from, to)
}

// listener accepts the connections of a port.
type listener struct {
	host    *host
	addr    net.TCPAddr
	wake    *sync.Cond
	pending []*conn
	closed  bool
}

// listen opens a port of a host.
func (h *host) listen(port int) (net.Listener, error) {
	n := h.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := h.listeners[port]; old != nil && !old.closed {
		return nil, fmt.Errorf("port %d of %s is in use", port, h.name)
	}
	l := &listener{
		host: h,
		addr: net.TCPAddr{
			IP:   h.addr.AsSlice(),
			Port: port,
		},
		wake: sync.NewCond(&n.mu),
	}
	h.listeners[port] = l
	return l, nil
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	l.host.network.mu.Lock()
	defer l.host.network.mu.Unlock()
	for {
		switch {
		case l.closed:
			return nil, net.ErrClosed
		case len(l.pending) > 0 && !l.host.hung:
			c := l.pending[0]
			l.pending = l.pending[1:]
			return c, nil
		}
		l.wake.Wait()
	}
}

// Close implements [net.Listener]. Connections that were not accepted are reset.
func (l *listener) Close() error {
	n := l.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	l.closed = true
	for _, c := range l.pending {
		c.dropLocked()
		peer := c.peer
		time.AfterFunc(n.delayLocked(l.host.name, peer.host.name), func() { peer.reset() })
	}
	l.pending = nil
	l.wake.Broadcast()
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return &l.addr }

// dialError is the error of a connection that was not made.
func dialError(addr string, err error) error {
	return &net.OpError{
		Op:  "dial",
		Net: "tcp",
		Err: fmt.Errorf("%s: %w", addr, err),
	}
}

// dial connects to an address. Without an answer it gives up after timeout.
func (h *host) dial(
	ctx context.Context,
	address string,
	timeout time.Duration,
) (net.Conn, error) {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, dialError(address, err)
	}
	n := h.network
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	attempt := time.NewTimer(0)
	defer attempt.Stop()
	for { // as a system does that repeats the first packet
		n.mu.Lock()
		to := n.hosts[target.Addr()]
		changed := h.changed
		blocked := to == nil || to.silentLocked() || n.cutLocked(h.name, to.name) || h.hung
		if !blocked {
			attempt.Reset(n.delayLocked(h.name, to.name))
		}
		n.mu.Unlock()
		var arrived <-chan time.Time
		if !blocked {
			arrived = attempt.C
		}
		select {
		case <-arrived:
			return n.connect(h, to, target)
		case <-changed:
		case <-deadline.C:
			return nil, dialError(address, os.ErrDeadlineExceeded)
		case <-ctx.Done():
			return nil, dialError(address, ctx.Err())
		}
	}
}

// connect connects two hosts. A host that does not listen refuses the connection, as the kernel
// does.
func (n *network) connect(from, to *host, target netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := to.listeners[int(target.Port())]
	if to.dead || from.dead || l == nil || l.closed {
		return nil, dialError(target.String(), syscall.ECONNREFUSED)
	}
	n.ports++
	local := &net.TCPAddr{
		IP:   from.addr.AsSlice(),
		Port: n.ports,
	}
	client := newConn(from, local, &l.addr)
	server := newConn(to, &l.addr, local)
	client.peer, server.peer = server, client
	client.out.from, client.out.to = client, server
	server.out.from, server.out.to = server, client
	l.pending = append(l.pending, server)
	l.wake.Broadcast()
	return client, nil
}
