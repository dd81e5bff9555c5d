//go:build unix

package ws

import (
	"net"
	"syscall"
	"testing"
)

// A socket accepts as much as it has room for, and nothing when it is full.
func TestDirectWrite(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var d direct
	d.attach(conn.(syscall.Conn))
	data := make([]byte, 1<<20)
	total := 0
	for {
		n, err := d.write(data)
		if err != nil {
			t.Fatalf("write after %d bytes that were not read: %v", total, err)
		}
		if n == 0 {
			break
		}
		if total += n; total > 1<<30 {
			t.Fatal("the socket is never full")
		}
	}
	if total == 0 {
		t.Error("nothing was written")
	}
	conn.Close()
	if _, err := d.write(data); err == nil {
		t.Error("write to a closed socket succeeded")
	}
}

// Without a socket, as under TLS, the methods do nothing.
func TestDirectWithoutSocket(t *testing.T) {
	var d direct
	if n, err := d.write([]byte("x")); n != 0 || err != nil {
		t.Errorf("write = %d, %v", n, err)
	}
	if buf, n, err := d.read(); buf != nil || n != 0 || err != nil {
		t.Errorf("read = %v, %d, %v", buf, n, err)
	}
}
