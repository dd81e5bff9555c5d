//go:build unix

package interop_test

import (
	"io"
	"net"
	"regexp"
	"sync"
	"testing"
)

// A link is a TCP proxy that a partition can silence: connections stay open, and nothing arrives until
// it is healed, as when a network drops packets.
type link struct {
	addr string
	to   string

	mu     sync.Mutex
	healed *sync.Cond
	silent bool
	// silentFrom are the names of NATS servers from whose connections nothing arrives.
	silentFrom map[string]bool
}

// serverName is how a NATS server names itself in the first bytes of a route.
var serverName = regexp.MustCompile(`"server_name":"([^"]+)"`)

func startLink(t *testing.T, to string) *link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{
		addr:       ln.Addr().String(),
		to:         to,
		silentFrom: make(map[string]bool),
	}
	l.healed = sync.NewCond(&l.mu)
	t.Cleanup(func() {
		_ = ln.Close()
		l.set(func() { l.silent, l.silentFrom = false, nil })
	})
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			go l.carry(from)
		}
	}()
	return l
}

// set changes what is silent.
func (l *link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.healed.Broadcast()
}

// pass waits until bytes of a connection may pass.
func (l *link) pass(c *carried) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.silent || l.silentFrom[c.name] {
		l.healed.Wait()
	}
}

// carried is a connection through a link.
type carried struct {
	from, to net.Conn
	head     []byte // the first bytes of from, until they have a name; read by one goroutine
	name     string // guarded by mu of the link
}

func (l *link) carry(from net.Conn) {
	c := &carried{from: from}
	l.pass(c)
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = from.Close()
		return
	}
	c.to = to
	go l.copy(c, from, to)
	l.copy(c, to, from)
}

// copy copies one direction until an end closes.
func (l *link) copy(c *carried, to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if from == c.from {
				l.identify(c, buf[:n])
			}
			l.pass(c)
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				return
			}
			l.pass(c) // a closed connection is news as well
			return
		}
	}
}

func (l *link) identify(c *carried, text []byte) {
	if len(c.head) > 8<<10 {
		return
	}
	c.head = append(c.head, text...)
	if found := serverName.FindSubmatch(c.head); found != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		c.name = string(found[1])
	}
}
