package server

import (
	"bytes"
	"maps"
	"net/http"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// answer is a message being written. Large results shared by many answers, such as a
// list, are not copied into buf: they are in body, which is written between buf and a
// closing brace.
type answer struct {
	// buf is reused for the next answer; body is what to send, in buf or in stored bytes.
	buf    []byte
	body   []byte
	status int         // HTTP status; 0 means 200
	header http.Header // additional fields of the HTTP response
}

// shareFrom is the size from which a shared result is written separately rather than
// copied: below it, the additional system call costs more than the copy.
const shareFrom = 64 << 10

// keepBuffer is the largest buffer returned to the pool, so that one huge answer does not
// occupy its memory forever.
const keepBuffer = 1 << 20

var answers = sync.Pool{New: func() any {
	return &answer{buf: make([]byte, 0, 1024)}
}}

func newAnswer() *answer { return answers.Get().(*answer) }

// free returns a to the pool. The slices of its methods are no longer valid.
func (a *answer) free() {
	if cap(a.buf) > keepBuffer {
		return
	}
	a.reset()
	answers.Put(a)
}

// reset prepares a for another message.
func (a *answer) reset() {
	a.buf = a.buf[:0]
	a.body = nil
	a.status = 0
	a.header = nil
}

// addHeader adds fields to the HTTP response. The header of an error is not changed, because
// several answers may share it.
func (a *answer) addHeader(more http.Header) {
	both := make(http.Header, len(a.header)+len(more))
	maps.Copy(both, a.header)
	maps.Copy(both, more)
	a.header = both
}

// empty reports whether there is nothing to write, as after a notification.
func (a *answer) empty() bool { return len(a.buf) == 0 }

// size returns the number of bytes of the message.
func (a *answer) size() int {
	if a.body == nil {
		return len(a.buf)
	}
	return len(a.buf) + len(a.body) + 1
}

// flat returns the message as one slice, valid until free.
func (a *answer) flat() []byte {
	if a.body != nil {
		a.buf = append(append(a.buf, a.body...), '}')
		a.body = nil
	}
	return a.buf
}

// line returns the message as one slice without line breaks, as required by stdio and
// event streams. In valid JSON, raw line breaks only occur as whitespace.
func (a *answer) line() []byte {
	msg := a.flat()
	if bytes.IndexByte(msg, '\n') >= 0 || bytes.IndexByte(msg, '\r') >= 0 {
		msg = jsonscan.AppendCompact(make([]byte, 0, len(msg)), msg)
		a.buf = msg
	}
	return msg
}

// begin starts a response with the id of rc; the result follows.
func (a *answer) begin(rc *request) {
	a.buf = append(a.buf, `{"jsonrpc":"2.0","id":`...)
	a.buf = append(a.buf, rc.msg.id...)
	a.buf = append(a.buf, `,"result":`...)
}

// encoded writes an encoded result that is shared with other answers.
func (a *answer) encoded(rc *request, result []byte) {
	a.begin(rc)
	if len(result) >= shareFrom {
		a.body = result
		return
	}
	a.buf = append(append(a.buf, result...), '}')
}

// result writes r in the form of the client's version.
func (a *answer) result(rc *request, cat *mcp.Catalog, r mcp.Result) (err error) {
	a.begin(rc)
	if a.buf, err = cat.AppendResult(a.buf, r, rc.form()); err != nil {
		return err
	}
	a.buf = append(a.buf, '}')
	return nil
}

// finish ends a result of 2026-07-28 whose other members are in a.
func (a *answer) finish(rc *request, cat *mcp.Catalog) {
	a.buf = append(a.buf, `,"_meta":{"io.modelcontextprotocol/serverInfo":`...)
	a.buf = append(append(a.buf, cat.ServerInfo(rc.version)...), '}', '}', '}')
}

// modernStatus is the HTTP status of errors for which 2026-07-28 does not use 200.
var modernStatus = map[mcp.Code]int{
	mcp.CodeMethodNotFound:          http.StatusNotFound,
	mcp.CodeMissingClientCapability: http.StatusBadRequest,
}

// failure writes e as the answer to rc.
func (a *answer) failure(rc *request, e *mcp.Error) {
	a.buf = a.buf[:0]
	a.body = nil
	a.status = e.Status
	a.header = e.Header
	if a.status == 0 && rc.version.Modern() {
		a.status = modernStatus[e.Code]
	}
	a.buf = append(a.buf, `{"jsonrpc":"2.0"`...)
	switch {
	case rc.msg.id != nil && !rc.msg.response: // an error about a response is not an answer
		a.buf = append(append(a.buf, `,"id":`...), rc.msg.id...)
	case rc.version < mcp.Version20251125:
		a.buf = append(a.buf, `,"id":null`...)
	}
	a.buf = append(append(a.buf, `,"error":`...), object(e)...)
	a.buf = append(a.buf, '}')
}
