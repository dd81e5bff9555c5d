package simulation

import (
	"bytes"
	"hash/fnv"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// conn is one end of a connection. The mutex of the network guards its fields. Writes never
// block, as if the buffers of the system were large; what was written arrives later.
type conn struct {
	host          *host
	peer          *conn
	local, remote net.Addr
	out           pipe // what this end has written
	wake          *sync.Cond

	received bytes.Buffer
	ended    bool // the peer has closed its end, and all has been received
	closed   bool // this end has been closed
	broken   bool // reset
	resets   bool // Close resets the connection

	readBy, writeBy time.Time
	timer           *time.Timer // wakes readers at readBy
}

// pipe carries what one end has written to the other.
type pipe struct {
	from, to *conn
	queue    []segment
	pumping  bool
}

// segment is a part of what was written, or its end.
type segment struct {
	data  []byte
	end   bool
	reset bool
}

// newConn returns one end of a connection. The caller holds the lock of the network, and connects
// the ends.
func newConn(h *host, local, remote net.Addr) *conn {
	c := &conn{
		host:   h,
		local:  local,
		remote: remote,
		wake:   sync.NewCond(&h.network.mu),
	}
	h.conns = append(h.conns, c)
	return c
}

// Read implements [net.Conn]. It waits while the host hangs.
func (c *conn) Read(b []byte) (int, error) {
	n := c.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case !c.readBy.IsZero() && !time.Now().Before(c.readBy):
			return 0, os.ErrDeadlineExceeded
		case c.broken:
			return 0, syscall.ECONNRESET
		case c.host.hung:
		case c.received.Len() > 0:
			return c.received.Read(b)
		case c.ended:
			return 0, io.EOF
		}
		c.wake.Wait()
	}
}

// Write implements [net.Conn].
func (c *conn) Write(b []byte) (int, error) {
	n := c.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.broken:
		return 0, syscall.EPIPE
	case !c.writeBy.IsZero() && !time.Now().Before(c.writeBy):
		return 0, os.ErrDeadlineExceeded
	}
	for part := range slices.Chunk(b, packet) {
		c.out.queue = append(c.out.queue, segment{data: bytes.Clone(part)})
	}
	c.out.startLocked()
	return len(b), nil
}

// Close implements [net.Conn]. What was written still arrives.
func (c *conn) Close() error {
	n := c.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	switch {
	case c.broken:
	case c.resets && n.cutLocked(c.host.name, c.peer.host.name):
		c.out.queue = nil // a reset is sent once, and lost
	case c.resets:
		c.out.queue = []segment{{reset: true}}
		c.out.startLocked()
	default:
		c.out.queue = append(c.out.queue, segment{end: true})
		c.out.startLocked()
	}
	c.forgetLocked()
	c.wake.Broadcast()
	return nil
}

// SetLinger is that of [net.TCPConn]: 0 makes Close discard what was not transmitted yet.
func (c *conn) SetLinger(seconds int) error {
	n := c.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	c.resets = seconds == 0
	return nil
}

// forgetLocked removes a closed connection from its host. That of a host that died silently stays,
// because the other end does not know.
func (c *conn) forgetLocked() {
	if c.host.dead {
		return
	}
	if i := slices.Index(c.host.conns, c); i >= 0 {
		c.host.conns = slices.Delete(c.host.conns, i, i+1)
	}
}

// dropLocked breaks this end, and loses what it has written and not transmitted.
func (c *conn) dropLocked() {
	c.broken = true
	c.out.queue = nil
	c.wake.Broadcast()
}

// reset breaks this end because the other one is gone.
func (c *conn) reset() {
	n := c.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	c.dropLocked()
}

// startLocked begins to transmit, unless that has begun.
func (p *pipe) startLocked() {
	if p.pumping || len(p.queue) == 0 {
		return
	}
	p.pumping = true
	n := p.from.host.network
	p.scheduleLocked(n.delayLocked(p.from.host.name, p.to.host.name))
}

// scheduleLocked delivers the next segment after a delay.
func (p *pipe) scheduleLocked(delay time.Duration) {
	if len(p.queue) == 0 {
		p.pumping = false
		return
	}
	delay += time.Duration(len(p.queue[0].data)) * perByte
	time.AfterFunc(delay, p.deliver)
}

// deliver moves a segment to the other end.
func (p *pipe) deliver() {
	n := p.from.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	from, to := p.from.host, p.to.host
	switch {
	case len(p.queue) == 0:
		p.pumping = false
		return
	case from.hung, to.silentLocked(), n.cutLocked(from.name, to.name):
		n.blocked = append(n.blocked, p)
		return
	case p.to.closed || p.to.broken || to.dead: // nothing reads it: the system answers with a reset
		p.from.dropLocked()
		p.pumping = false
		return
	}
	s := p.queue[0]
	p.queue = p.queue[1:]
	if s.reset {
		p.to.dropLocked()
		p.pumping = false
		return
	}
	p.to.received.Write(s.data)
	p.to.ended = p.to.ended || s.end
	p.to.wake.Broadcast()
	if len(p.queue) == 0 {
		p.pumping = false
		return
	}
	p.scheduleLocked(0)
}

// LocalAddr implements [net.Conn].
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements [net.Conn].
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetWriteDeadline(t)
	return c.SetReadDeadline(t)
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error {
	n := c.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.readBy = t
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.wake.Broadcast()
	if !t.IsZero() && time.Now().Before(t) {
		c.timer = time.AfterFunc(time.Until(t), func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			c.wake.Broadcast()
		})
	}
	return nil
}

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error {
	n := c.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	c.writeBy = t
	return nil
}

// hash returns a number that depends on all arguments.
func hash(seed uint64, a, b string, i uint64) uint64 {
	h := fnv.New64a()
	var word [16]byte
	for k := range 8 {
		word[k] = byte(seed >> (8 * k))
		word[8+k] = byte(i >> (8 * k))
	}
	_, _ = h.Write(word[:])
	_, _ = h.Write([]byte(a))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(b))
	x := h.Sum64() // FNV alone spreads the last bytes little
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
