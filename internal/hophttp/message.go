// Package hophttp is HTTP/1.1 between the replicas of a cluster. A request that one replica forwards to another
// costs each of them about as much as one of a client, so the messages are those of net/http, which older
// replicas use, at a lower price: a request is one write, and its answer is read by the goroutine that waits for it.
//
// [Transport] sends requests over connections that it keeps. Both ends are authenticated before a message is read,
// so the limits here protect a replica from mistakes of another one rather than from strangers.
package hophttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// Limits of messages.
const (
	bufferSize = 4 << 10 // read at once; most messages fit
	maxHead    = 128 << 10
	// usualFields is for how many header fields memory is reserved at once.
	usualFields = 100
	// prefixBetween is that of the names of fields between replicas.
	prefixBetween = "Slipway-"
	maxLine       = 256     // the size of a chunk, with extensions
	maxTrailer    = 8 << 10 // after the last chunk; ignored
)

// errMessage is the error of messages that are not HTTP/1.1, or too large.
var errMessage = errors.New("invalid message of another replica")

// reader reads messages from a connection.
type reader struct {
	from       io.Reader
	buf        []byte
	start, end int // what is buffered
}

// fill reads once. It may move what is buffered.
func (r *reader) fill() error {
	switch {
	case r.buf == nil:
		r.buf = make([]byte, bufferSize)
	case r.start == r.end:
		r.start, r.end = 0, 0
		if len(r.buf) > bufferSize { // that of a large head
			r.buf = make([]byte, bufferSize)
		}
	case r.start > 0 && r.end == len(r.buf):
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	case r.end == len(r.buf):
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	n, err := r.from.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// until returns what comes before the next delimiter, and skips both. The result is valid until the next read. The
// error is io.EOF if there is nothing more, not even a part.
func (r *reader) until(delimiter string, limit int) ([]byte, error) {
	for searched := 0; ; {
		text, whole := r.arrived(delimiter, searched)
		if whole {
			return text, nil
		}
		if len(text) >= limit {
			return nil, fmt.Errorf("%w: more than %d bytes", errMessage, limit)
		}
		searched = max(0, len(text)-len(delimiter)+1)
		if err := r.fill(); err != nil {
			if errors.Is(err, io.EOF) && len(text) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// arrived is until without a read. If the delimiter has not arrived, text is what has. The first bytes, which a search
// has covered before, are not searched again.
func (r *reader) arrived(delimiter string, searched int) (text []byte, whole bool) {
	text = r.buf[r.start:r.end]
	i := bytes.Index(text[searched:], []byte(delimiter))
	if i < 0 {
		return text, false
	}
	r.start += searched + i + len(delimiter)
	return text[:searched+i], true
}

// Read implements [io.Reader].
func (r *reader) Read(b []byte) (int, error) {
	if r.start == r.end {
		if len(b) >= bufferSize {
			return r.from.Read(b)
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.buf[r.start:r.end])
	r.start += n
	return n, nil
}

// fields are the header of a message, and what it says about the message itself.
type fields struct {
	header  http.Header
	length  int64 // of the body; -1 if there is no Content-Length
	chunked bool
	close   bool   // the connection ends with the message
	upgrade string // the protocol to which the connection switches, or ""
	// request means that Host is in host instead of the header, and hosts is how often it occurs.
	request bool
	host    string
	hosts   int
	// apart means that the fields between replicas are in between instead of the header.
	apart   bool
	between []Field
}

// parse parses the lines after the first one of a head. Fields of the connection are not in the header.
func (f *fields) parse(text string) error {
	f.length = -1
	// As with net/http, which accepted them from the client, the number of fields is limited by their bytes alone.
	count := min(strings.Count(text, "\r\n")+1, usualFields)
	if f.apart {
		n := strings.Count(text, "\r\n"+prefixBetween)
		f.between = make([]Field, 0, min(n, usualFields))
		count -= min(n+1, count) // and Host
	}
	f.header = make(http.Header, count)
	values := make([]string, 0, count) // one array for the values of all fields
	var dropped []string
	for text != "" {
		var line string
		line, text = cutLine(text)
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) || !isValue(value) {
			return fmt.Errorf("%w: header field %.40q", errMessage, line)
		}
		name, value = canonical(name), strings.Trim(value, " \t")
		own, err := f.note(name, value)
		switch {
		case err != nil:
			return err
		case own:
			dropped = appendNamed(dropped, name, value)
			continue
		case f.request && name == "Host":
			f.host = value
			f.hosts++
			continue
		case f.apart && strings.HasPrefix(name, prefixBetween):
			f.between = append(f.between, Field{name, value})
			continue
		}
		if prior := f.header[name]; prior != nil {
			f.header[name] = append(prior, value)
			continue
		}
		values = append(values, value)
		f.header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	for _, name := range dropped {
		delete(f.header, name)
	}
	if f.chunked && f.length >= 0 {
		return fmt.Errorf("%w: both a length and chunks", errMessage)
	}
	return nil
}

// cutLine cuts text after its first line. A carriage return elsewhere stays in the line, where it is invalid.
func cutLine(text string) (line, rest string) {
	i := strings.IndexByte(text, '\r')
	if i < 0 || !strings.HasPrefix(text[i+1:], "\n") {
		return text, ""
	}
	return text[:i], text[i+2:]
}

// note records what a field says about the message, and reports whether it is one of the connection.
func (f *fields) note(name, value string) (own bool, err error) {
	switch name {
	case "Content-Length":
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil || f.length >= 0 && f.length != int64(n) {
			return false, fmt.Errorf("%w: Content-Length %.40q", errMessage, value)
		}
		if f.length >= 0 {
			return true, nil // a duplicate
		}
		f.length = int64(n)
	case "Upgrade":
		f.upgrade = value
	case "Transfer-Encoding":
		if f.chunked || !strings.EqualFold(value, "chunked") {
			return false, fmt.Errorf("%w: Transfer-Encoding %.40q", errMessage, value)
		}
		f.chunked = true
	case "Connection":
		for option := range strings.SplitSeq(value, ",") {
			f.close = f.close || strings.EqualFold(strings.Trim(option, " \t"), "close")
		}
	}
	return OfConnection(name), nil
}

// appendNamed appends the fields that Connection names: they are of the connection as well.
func appendNamed(names []string, name, value string) []string {
	if name != "Connection" || strings.EqualFold(value, "close") || strings.EqualFold(value, "keep-alive") {
		return names
	}
	for option := range strings.SplitSeq(value, ",") {
		names = append(names, textproto.CanonicalMIMEHeaderKey(strings.Trim(option, " \t")))
	}
	return names
}

// connectionFields are the fields that belong to one connection (RFC 9110, section 7.6.1), in canonical form. It is
// the only list of them. Two others are about something else: package stax refuses headers that definitions
// must not set, which includes these, and package client has those that may follow a redirect to another host.
var connectionFields = [...]string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// OfConnection reports whether a field, in canonical form, is of one connection, and not forwarded to the
// next.
func OfConnection(name string) bool { return slices.Contains(connectionFields[:], name) }

// hopFields are the fields that each hop writes itself, in canonical form.
var hopFields = [...]string{
	"Host", "Content-Length", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
}

// OfHop reports whether a field, in canonical form, is of one hop: of its connection, or one that each hop writes
// itself.
func OfHop(name string) bool { return OfConnection(name) || slices.Contains(hopFields[:], name) }

// canonical returns the canonical form of a name.
func canonical(name string) string {
	switch name { // common ones that net/http does not know, and would copy
	case "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name":
		return name
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// isToken reports whether s is the name of a field.
func isToken(s string) bool {
	for i := range len(s) {
		if !inToken[s[i]] {
			return false
		}
	}
	return s != ""
}

// inToken are the bytes of a token.
var inToken = func() (table [256]bool) {
	for c := byte(' ') + 1; c < 0x7f; c++ {
		table[c] = strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) < 0
	}
	return table
}()

// isValue reports whether s is the value of a field: it has no control characters but tabs.
func isValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// content reads the body of a message.
type content struct {
	in      *reader
	left    int64 // of the body, or of the current chunk
	chunked bool
	open    bool // the body ends with the connection
	begun   bool // a chunk has been read, whose line end follows
	over    bool
}

// Read implements [io.Reader]. An incomplete body ends with an error other than io.EOF.
func (c *content) Read(b []byte) (n int, err error) {
	switch {
	case c.over:
		return 0, io.EOF
	case len(b) == 0:
		return 0, nil
	case c.open:
		n, err = c.in.Read(b)
		c.over = errors.Is(err, io.EOF)
		return n, err
	case c.left == 0 && c.chunked:
		if err := c.nextChunk(); err != nil {
			return 0, unexpected(err)
		}
	}
	if c.left > 0 {
		n, err = c.in.Read(b[:min(int64(len(b)), c.left)])
		c.left -= int64(n)
	}
	if c.left == 0 && !c.chunked && err == nil {
		c.over = true
	}
	if c.over && err == nil {
		return n, io.EOF
	}
	return n, unexpected(err)
}

// buffered reports whether a part of the body has arrived that was not read yet. After the body, what is buffered
// belongs to another message, which another goroutine may read.
func (c *content) buffered() bool {
	if c.over {
		return false
	}
	n := c.in.end - c.in.start
	if c.chunked && c.left == 0 && c.begun {
		n -= len("\r\n")
	}
	return n > 0
}

// nextChunk reads the line before a chunk. After the last one, c is over.
func (c *content) nextChunk() error {
	if c.begun {
		if end, err := c.in.until("\r\n", maxLine); err != nil || len(end) > 0 {
			return errors.Join(err, errMessage)
		}
	}
	line, err := c.in.until("\r\n", maxLine)
	if err != nil {
		return err
	}
	digits, _, _ := strings.Cut(string(line), ";")
	size, err := strconv.ParseUint(strings.Trim(digits, " \t"), 16, 62)
	if err != nil {
		return fmt.Errorf("%w: size of a chunk %.40q", errMessage, line)
	}
	c.begun, c.left = true, int64(size)
	if size > 0 {
		return nil
	}
	for total := 0; total < maxTrailer; {
		line, err := c.in.until("\r\n", maxTrailer)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			c.over = true
			return nil
		}
		total += len(line)
	}
	return fmt.Errorf("%w: more than %d bytes of trailers", errMessage, maxTrailer)
}

// unexpected returns the error of a body that ends too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
