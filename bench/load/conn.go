package load

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// readSize fits a small answer, and a large one in a few reads.
const readSize = 128 << 10

// conn is one kept-alive HTTP/1.1 connection with its own framing of answers.
type conn struct {
	net  net.Conn
	buf  []byte
	data []byte // read from net but not yet consumed; aliases buf
	body []byte // of the last answer if kept
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{net: c, buf: make([]byte, readSize)}, nil
}

// reply contains the properties of an answer that are known without decoding it.
type reply struct {
	status  int
	length  int // of the body
	session string
}

// roundTrip sends one whole request and reads its answer. If keep is set, c.body is the
// body.
func (c *conn) roundTrip(request []byte, keep bool) (reply, error) {
	c.body = c.body[:0]
	if _, err := c.net.Write(request); err != nil {
		return reply{}, err
	}
	head, err := c.head()
	if err != nil {
		return reply{}, err
	}
	r, framing, err := parseHead(head)
	if err != nil {
		return reply{}, err
	}
	r.length, err = c.readBody(framing, keep)
	return r, err
}

// fill reads more. Unread data moves to the front of the buffer.
func (c *conn) fill() error {
	if len(c.data) == len(c.buf) {
		return errors.New("answer has a header field or chunk line that is too long")
	}
	n := copy(c.buf, c.data)
	m, err := c.net.Read(c.buf[n:])
	c.data = c.buf[:n+m]
	if m > 0 {
		return nil
	}
	return err
}

// head consumes and returns the header section.
func (c *conn) head() ([]byte, error) {
	for {
		if i := bytes.Index(c.data, []byte("\r\n\r\n")); i >= 0 {
			head := c.data[:i+2]
			c.data = c.data[i+4:]
			return head, nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// chunkedBody is the length of a chunked body.
const chunkedBody = -1

// parseHead returns the status, the session id, and the length of the body.
func parseHead(head []byte) (reply, int, error) {
	if len(head) < len("HTTP/1.1 200") || !bytes.HasPrefix(head, []byte("HTTP/1.1 ")) {
		return reply{}, 0, fmt.Errorf("no HTTP/1.1 answer: %.40q", head)
	}
	status, err := strconv.Atoi(string(head[9:12]))
	if err != nil {
		return reply{}, 0, fmt.Errorf("status line: %w", err)
	}
	r, length := reply{status: status}, 0
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(": "))
		if !ok {
			continue
		}
		switch {
		case fieldIs(name, "Content-Length"):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return reply{}, 0, fmt.Errorf("content length: %w", err)
			}
		case fieldIs(name, "Transfer-Encoding"):
			length = chunkedBody
		case fieldIs(name, "Mcp-Session-Id"):
			r.session = string(value)
		}
	}
	return r, length, nil
}

// fieldIs compares lengths first, since most fields differ in length.
func fieldIs(got []byte, want string) bool {
	return len(got) == len(want) && bytes.EqualFold(got, []byte(want))
}

func (c *conn) readBody(length int, keep bool) (int, error) {
	if length != chunkedBody {
		return length, c.consume(length, keep)
	}
	total := 0
	for {
		size, err := c.chunkSize()
		if err != nil {
			return 0, err
		}
		if err := c.consume(size, keep); err != nil {
			return 0, err
		}
		if err := c.consume(len("\r\n"), false); err != nil {
			return 0, err
		}
		if total += size; size == 0 {
			return total, nil
		}
	}
}

func (c *conn) chunkSize() (int, error) {
	for {
		if i := bytes.Index(c.data, []byte("\r\n")); i >= 0 {
			line := c.data[:i]
			c.data = c.data[i+2:]
			size, err := strconv.ParseInt(string(line), 16, 32)
			return int(size), err
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
}

// consume reads n bytes of the body, into c.body if kept.
func (c *conn) consume(n int, keep bool) error {
	for n > 0 {
		if len(c.data) == 0 {
			if err := c.fill(); err != nil {
				return err
			}
		}
		part := c.data[:min(n, len(c.data))]
		if keep {
			c.body = append(c.body, part...)
		}
		c.data = c.data[len(part):]
		n -= len(part)
	}
	return nil
}
