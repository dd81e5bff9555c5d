package hophttp

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// maxBuffered is how much of an answer is buffered before it is sent in pieces.
const maxBuffered = 16 << 10

// response writes the answer to one request. What the handler writes is sent with the head, in one write, if it is not
// flushed before and fits in the buffer.
type response struct {
	conn    *serverConn
	request *http.Request
	body    *requestBody
	header  http.Header
	status  int // 0 until WriteHeader

	pending []byte // what was written, and not sent
	written int64
	length  int64 // Content-Length; -1 if there is none
	sent    bool  // the head
	chunked bool
	close   bool
	err     error       // of the connection
	over    atomic.Bool // the handler has returned
}

var (
	_ http.ResponseWriter = (*response)(nil)
	_ http.Hijacker       = (*response)(nil)
)

// Header implements [http.ResponseWriter].
func (w *response) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header, 8)
	}
	return w.header
}

// WriteHeader implements [http.ResponseWriter]. Informational answers are not sent.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	w.status, w.length = status, -1
	if values := w.Header()["Content-Length"]; len(values) > 0 {
		n, err := strconv.ParseUint(values[0], 10, 63)
		if err != nil {
			delete(w.header, "Content-Length")
			return
		}
		w.length = int64(n)
	}
}

// hasBody reports whether the answer may have one.
func (w *response) hasBody() bool {
	switch w.status {
	case http.StatusSwitchingProtocols, http.StatusNoContent, http.StatusNotModified:
		return false
	}
	return w.request.Method != http.MethodHead
}

// Write implements [http.ResponseWriter].
func (w *response) Write(b []byte) (int, error) {
	if w.over.Load() || w.conn.isHijacked() {
		return 0, http.ErrHijacked
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.written += int64(len(b))
	switch {
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.written > w.length:
		return 0, http.ErrContentLength
	case !w.hasBody():
		return len(b), nil
	}
	if len(w.pending)+len(b) <= maxBuffered {
		w.pending = append(w.pending, b...)
		return len(b), nil
	}
	w.flush(b)
	return len(b), w.err
}

// Flush implements [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is Flush for [http.ResponseController].
func (w *response) FlushError() error {
	if w.over.Load() || w.conn.isHijacked() {
		return http.ErrHijacked
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.flush(nil)
	return w.err
}

// flush sends what is pending, and more.
func (w *response) flush(more []byte) {
	if w.err != nil {
		return
	}
	out := w.conn.out[:0]
	if !w.sent {
		w.chunked = w.length < 0 && w.hasBody()
		out = w.appendHead(out, more)
	}
	if n := len(w.pending) + len(more); n > 0 {
		if w.chunked {
			out = strconv.AppendInt(out, int64(n), 16)
			out = append(out, "\r\n"...)
		}
		out = append(out, w.pending...)
		out = append(out, more...)
		if w.chunked {
			out = append(out, "\r\n"...)
		}
	}
	w.send(out)
}

// send writes to the connection.
func (w *response) send(out []byte) {
	w.pending = w.pending[:0]
	if len(out) > 0 && w.err == nil {
		_, w.err = w.conn.conn.Write(out)
	}
	if cap(out) <= 2*maxBuffered {
		w.conn.out = out
	}
	w.conn.pending = w.pending
}

// finish sends the rest of the answer, and reports whether the connection can serve another request.
func (w *response) finish() bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	out := w.conn.out[:0]
	keep := w.body.skip()
	if !w.sent {
		if w.length < 0 && w.hasBody() {
			w.length = w.written
			w.Header()["Content-Length"] = []string{strconv.FormatInt(w.length, 10)}
		}
		w.close = w.close || !keep
		out = w.appendHead(out, nil)
	}
	switch n := len(w.pending); {
	case w.chunked && n > 0:
		out = strconv.AppendInt(out, int64(n), 16)
		out = append(out, "\r\n"...)
		out = append(out, w.pending...)
		out = append(out, "\r\n0\r\n\r\n"...)
	case w.chunked:
		out = append(out, "0\r\n\r\n"...)
	default:
		out = append(out, w.pending...)
	}
	w.send(out)
	if w.err != nil || w.length >= 0 && w.hasBody() && w.written < w.length {
		return false // an incomplete answer ends with its connection
	}
	if keep && !w.close {
		return true
	}
	w.conn.linger(maxLinger)
	return false
}

// appendHead appends the head of the answer. more is what follows w.pending.
func (w *response) appendHead(b []byte, more []byte) []byte {
	w.sent = true
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(w.status)...)
	b = append(b, "\r\n"...)
	header := w.Header()
	for name, values := range header {
		if name == "Transfer-Encoding" || name == "Connection" || !isToken(name) {
			continue
		}
		for _, value := range values {
			b = append(b, name...)
			b = append(b, ": "...)
			if !isValue(value) {
				value = strings.Map(withoutControl, value)
			}
			b = append(b, value...)
			b = append(b, "\r\n"...)
		}
	}
	untyped := header["Content-Type"] == nil && header["Content-Encoding"] == nil
	if text := w.pending; untyped && w.written > 0 && w.hasBody() {
		if len(text) == 0 {
			text = more
		}
		b = append(b, "Content-Type: "...)
		b = append(b, http.DetectContentType(text)...)
		b = append(b, "\r\n"...)
	}
	if header["Date"] == nil {
		b = append(b, "Date: "...)
		b = append(b, w.conn.dateNow()...)
		b = append(b, "\r\n"...)
	}
	if w.chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if w.status == http.StatusSwitchingProtocols {
		b = append(b, "Connection: Upgrade\r\n"...)
	}
	for _, value := range header["Connection"] {
		w.close = w.close || strings.EqualFold(value, "close")
	}
	if w.close = w.close || w.request.Close || w.conn.server.closing.Load(); w.close {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

// withoutControl replaces control characters by spaces, for strings.Map.
func withoutControl(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f {
		return ' '
	}
	return r
}

// dateNow returns the Date of an answer.
func (c *serverConn) dateNow() string {
	now := time.Now()
	if second := now.Unix(); second != c.second {
		c.second, c.date = second, now.UTC().Format(http.TimeFormat)
	}
	return c.date
}

// Hijack implements [http.Hijacker].
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c := w.conn
	if w.over.Load() {
		return nil, nil, http.ErrHijacked
	}
	if w.status != 0 && w.err == nil {
		w.flush(nil)
	}
	c.notice.Stop()
	c.mu.Lock()
	if !c.hijacked {
		c.unwatchLocked()
	}
	switch {
	case c.hijacked || w.over.Load(): // the handler has returned meanwhile: next sets over before it locks c.mu
		c.mu.Unlock()
		return nil, nil, http.ErrHijacked
	case c.broken:
		c.mu.Unlock()
		return nil, nil, errors.New("the connection has been closed")
	}
	c.hijacked = true
	c.mu.Unlock()
	_ = c.conn.SetDeadline(time.Time{})
	early := c.in.end - c.in.start
	in := bufio.NewReaderSize(&c.in, max(bufferSize, early))
	_, _ = in.Peek(early) // so that Buffered reports it to a caller that reads the connection itself
	return c.conn, bufio.NewReadWriter(in, bufio.NewWriter(c.conn)), nil
}

// SetReadDeadline is for [http.ResponseController].
func (w *response) SetReadDeadline(t time.Time) error {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	w.conn.setReadDeadline(t)
	return nil
}

// SetWriteDeadline is for [http.ResponseController].
func (w *response) SetWriteDeadline(t time.Time) error { return w.conn.conn.SetWriteDeadline(t) }

// EnableFullDuplex is for [http.ResponseController]: the connection always is.
func (w *response) EnableFullDuplex() error { return nil }
