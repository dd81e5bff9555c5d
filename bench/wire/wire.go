// Package wire is a minimal client for load generators: one connection that carries
// HTTP/1.1 requests or, after an upgrade, WebSocket messages in one frame each. It frames
// answers without decoding them. Start with [Dial] or [DialWebSocket].
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Conn is a connection. It is used by one goroutine at a time.
type Conn struct {
	net.Conn
	// in reads the answers. Its buffer has to hold a header.
	in   *bufio.Reader
	kept []byte // the last body
}

// Dial connects to addr. size is that of the read buffer, which must fit a line of the
// header of any answer.
func Dial(addr string, size int) (*Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{
		Conn: conn,
		in:   bufio.NewReaderSize(conn, size),
	}, nil
}

// Answer is what is known of an HTTP response without decoding its body.
type Answer struct {
	// Status is the HTTP status, and Length counts the decoded bytes of the body.
	Status      int
	Session     string // Mcp-Session-Id
	ContentType string
	Close       bool // the server closes the connection
	Length      int  // of the body
	// Body is valid until the next answer, and nil unless it was asked for.
	Body []byte

	chunked bool
}

// Do sends a whole request and reads its answer. The body is valid until the next call,
// and nil unless keep is set.
func (c *Conn) Do(request []byte, keep bool) (Answer, error) {
	a, err := c.Begin(request)
	if err != nil {
		return a, err
	}
	err = c.finish(&a, keep)
	return a, err
}

// Begin sends a whole request and reads the header of its answer.
func (c *Conn) Begin(request []byte) (Answer, error) {
	if _, err := c.Write(request); err != nil {
		return Answer{}, err
	}
	return c.readHead()
}

// Read reads the next answer, to a request that has been written.
func (c *Conn) ReadAnswer(keep bool) (Answer, error) {
	a, err := c.readHead()
	if err != nil {
		return a, err
	}
	err = c.finish(&a, keep)
	return a, err
}

// readHead reads the status line and the header. Only the fields that are needed are decoded.
func (c *Conn) readHead() (a Answer, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return a, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return a, fmt.Errorf("no HTTP/1.1 answer: %.40q", line)
	}
	a.Status, err = strconv.Atoi(string(line[9:12]))
	for err == nil {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			break
		}
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		switch {
		case !ok:
			return a, nil // the empty line after the fields
		case isField(name, "Content-Length"):
			a.Length, err = strconv.Atoi(string(value))
		case isField(name, "Transfer-Encoding"):
			a.chunked = true
		case isField(name, "Content-Type"):
			a.ContentType = string(value)
		case isField(name, "Mcp-Session-Id"):
			a.Session = string(value)
		case isField(name, "Connection"):
			a.Close = strings.EqualFold(string(value), "close")
		}
	}
	return a, fmt.Errorf("header of the answer: %w", err)
}

// isField compares lengths first, since most fields differ in length.
func isField(got []byte, want string) bool {
	return len(got) == len(want) && bytes.EqualFold(got, []byte(want))
}

// finish reads the body of an answer.
func (c *Conn) finish(a *Answer, keep bool) error {
	c.kept = c.kept[:0]
	err := c.readBody(a, keep)
	if keep {
		a.Body = c.kept
	}
	return err
}

// readBody reads a body of known length or in chunks (RFC 9112, section 7.1).
func (c *Conn) readBody(a *Answer, keep bool) error {
	if !a.chunked {
		return c.consume(a.Length, keep)
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 16, 32)
		if err != nil {
			return err
		}
		if err := c.consume(int(size), keep); err != nil {
			return err
		}
		if err := c.consume(len("\r\n"), false); err != nil {
			return err
		}
		if a.Length += int(size); size == 0 {
			return nil
		}
	}
}

// consume reads n bytes and appends them to kept if keep is set. Otherwise it discards them
// without a copy.
func (c *Conn) consume(n int, keep bool) error {
	if !keep {
		_, err := c.in.Discard(n)
		return err
	}
	start := len(c.kept)
	c.kept = slices.Grow(c.kept, n)[:start+n]
	_, err := io.ReadFull(c.in, c.kept[start:])
	return err
}

// WaitFor reads up to a line that contains text.
func (c *Conn) WaitFor(text string) error {
	for {
		line, err := c.in.ReadSlice('\n')
		if bytes.Contains(line, []byte(text)) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("waiting for %s: %w", text, err)
		}
	}
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

// DialWebSocket opens a WebSocket at addr.
func DialWebSocket(addr, path, subprotocol string, size int) (*Conn, error) {
	c, err := Dial(addr, size)
	if err != nil {
		return nil, err
	}
	a, err := c.Begin(fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
		path, addr, subprotocol))
	if err == nil && a.Status != http.StatusSwitchingProtocols {
		err = fmt.Errorf("status %d", a.Status)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	return c, nil
}

// AppendFrame appends msg as a text frame. The mask is zero, which is permitted and costs
// the client nothing; the server must still unmask it.
func AppendFrame(dst, msg []byte) []byte {
	return appendFrame(dst, text, msg)
}

// appendFrame appends a WebSocket frame (RFC 6455, section 5.2). The mask is zero, so the payload
// stays as it is.
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
	dst = append(dst, make([]byte, maskBytes)...)
	return append(dst, payload...)
}

// Send writes msg as a text frame.
func (c *Conn) Send(msg []byte) error {
	_, err := c.Write(AppendFrame(nil, msg))
	return err
}

// Receive returns the next message. It answers pings.
func (c *Conn) Receive() ([]byte, error) {
	for {
		opcode, length, err := c.frameHead()
		if err != nil {
			return nil, err
		}
		payload := make([]byte, length)
		if _, err := io.ReadFull(c.in, payload); err != nil {
			return nil, err
		}
		switch opcode {
		case text:
			return payload, nil
		case ping:
			if _, err := c.Write(appendFrame(nil, pong, payload)); err != nil {
				return nil, err
			}
		case closing:
			code := 1005
			if length >= 2 {
				code = int(binary.BigEndian.Uint16(payload))
			}
			return nil, fmt.Errorf("%w: code %d", ErrClosed, code)
		default:
			return nil, fmt.Errorf("frame with opcode %#x", opcode)
		}
	}
}

// Skip discards the next message and returns its length.
func (c *Conn) Skip() (int, error) {
	opcode, length, err := c.frameHead()
	if err != nil {
		return 0, err
	}
	if opcode != text {
		return 0, fmt.Errorf("frame with opcode %#x under load", opcode)
	}
	return c.in.Discard(length)
}

// Goodbye sends a close frame and reads until the server has answered it.
func (c *Conn) Goodbye() error {
	_, err := c.Write(appendFrame(nil, closing, []byte{0x03, 0xe8}))
	for err == nil {
		_, err = c.Receive()
	}
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// frameHead reads the header of a frame. Frames from a server are unmasked.
func (c *Conn) frameHead() (opcode byte, length int, err error) {
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:2]); err != nil {
		return 0, 0, err
	}
	opcode = head[0]
	length = int(head[1])
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
