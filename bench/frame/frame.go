// Package frame is a minimal WebSocket client for load generators: text messages in one
// frame each, with pings answered automatically. Start with [Dial].
package frame

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Conn is an open WebSocket. It is used by one goroutine at a time.
type Conn struct {
	net.Conn
	in *bufio.Reader
}

// The opcodes of the supported frames, with the FIN bit set.
const (
	text      = 0x81
	closing   = 0x88
	ping      = 0x89
	pong      = 0x8a
	masked    = 0x80
	shortest  = 126 // lengths from here on use two more bytes
	longest   = 127 // and these eight
	maskBytes = 4
)

// ErrClosed is the error of [Conn.Receive], wrapped with the code, after a close frame.
var ErrClosed = errors.New("closed by the server")

// Open upgrades a connection to host to a WebSocket. Messages are read through a buffer
// of size bytes.
func Open(conn net.Conn, host, path, subprotocol string, size int) (*Conn, error) {
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
		path, host, subprotocol)
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: conn, in: bufio.NewReaderSize(conn, size)}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("upgrade: status %d", answer.StatusCode)
	}
	return c, nil
}

// Dial opens a WebSocket at addr.
func Dial(addr, path, subprotocol string, size int) (*Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c, err := Open(conn, addr, path, subprotocol, size)
	if err != nil {
		conn.Close()
	}
	return c, err
}

// Append appends msg as a text frame. The mask is zero, which is permitted and costs the
// client nothing; the server must still unmask it.
func Append(dst, msg []byte) []byte { return appendFrame(dst, text, msg) }

func appendFrame(dst []byte, opcode byte, payload []byte) []byte {
	dst = append(dst, opcode)
	switch n := len(payload); {
	case n < shortest:
		dst = append(dst, masked|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, masked|shortest), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, masked|longest), uint64(n))
	}
	return append(append(dst, make([]byte, maskBytes)...), payload...)
}

// Send writes msg as a text frame.
func (c *Conn) Send(msg []byte) error {
	_, err := c.Write(Append(nil, msg))
	return err
}

// Receive returns the next message in buf, which grows if necessary. It answers pings.
func (c *Conn) Receive(buf []byte) ([]byte, error) {
	for {
		opcode, length, err := c.head()
		if err != nil {
			return nil, err
		}
		if cap(buf) < length {
			buf = make([]byte, length)
		}
		buf = buf[:length]
		if _, err := io.ReadFull(c.in, buf); err != nil {
			return nil, err
		}
		switch opcode {
		case text:
			return buf, nil
		case ping:
			if _, err := c.Write(appendFrame(nil, pong, buf)); err != nil {
				return nil, err
			}
		case closing:
			code := 1005
			if length >= 2 {
				code = int(binary.BigEndian.Uint16(buf))
			}
			return nil, fmt.Errorf("%w: code %d", ErrClosed, code)
		default:
			return nil, fmt.Errorf("frame with opcode %#x", opcode)
		}
	}
}

// Skip discards the next message and returns its length.
func (c *Conn) Skip() (int, error) {
	opcode, length, err := c.head()
	if err != nil {
		return 0, err
	}
	if opcode != text {
		return 0, fmt.Errorf("frame with opcode %#x under load", opcode)
	}
	_, err = c.in.Discard(length)
	return length, err
}

// Goodbye sends a close frame and reads until the server has answered it.
func (c *Conn) Goodbye() error {
	if _, err := c.Write(appendFrame(nil, closing, []byte{0x03, 0xe8})); err != nil {
		return err
	}
	for {
		if _, err := c.Receive(nil); err != nil {
			if errors.Is(err, ErrClosed) {
				return nil
			}
			return err
		}
	}
}

// Buffered returns how many bytes have been received but not read.
func (c *Conn) Buffered() int { return c.in.Buffered() }

// head reads the header of a frame. Frames from a server are unmasked.
func (c *Conn) head() (opcode byte, length int, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:2]); err != nil {
		return 0, 0, err
	}
	opcode, length = head[0], int(head[1])
	switch length {
	case shortest:
		_, err = io.ReadFull(c.in, head[:2])
		length = int(binary.BigEndian.Uint16(head[:2]))
	case longest:
		_, err = io.ReadFull(c.in, head[:8])
		length = int(binary.BigEndian.Uint64(head[:8]))
	}
	return opcode, length, err
}
