package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// answer is a message being written. Large results shared by many answers, such as a
// list, are not copied into buf: they are in body, which is written between buf and a
// closing brace.
type answer struct {
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

var answers = sync.Pool{New: func() any { return &answer{buf: make([]byte, 0, 1024)} }}

func newAnswer() *answer { return answers.Get().(*answer) }

func (a *answer) free() {
	if cap(a.buf) > keepBuffer {
		return
	}
	a.reset()
	answers.Put(a)
}

// reset prepares a for another message.
func (a *answer) reset() { a.buf, a.body, a.status, a.header = a.buf[:0], nil, 0, nil }

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

func (a *answer) begin(rc *requestContext) {
	a.buf = append(a.buf, `{"jsonrpc":"2.0","id":`...)
	a.buf = append(a.buf, rc.msg.id...)
	a.buf = append(a.buf, `,"result":`...)
}

// encoded writes an encoded result that is shared with other answers.
func (a *answer) encoded(rc *requestContext, result []byte) {
	a.begin(rc)
	if len(result) >= shareFrom {
		a.body = result
		return
	}
	a.buf = append(append(a.buf, result...), '}')
}

// result writes r in the form of the client's version. hint is nil for results without a
// cache hint.
func (a *answer) result(rc *requestContext, cat *Catalog, r result, hint *CacheHint) error {
	if raw := r.raw(); raw != nil {
		return a.rawResult(rc, cat, raw, hint)
	}
	a.begin(rc)
	var err error
	a.buf = append(a.buf, '{')
	if a.buf, err = r.members(a.buf, form{rc.version, rc.server.opts.KeepSystemRole}); err != nil {
		return err
	}
	if a.buf, err = a.ending(rc, cat, r.meta(), hint); err != nil {
		return err
	}
	a.buf = append(a.buf, '}', '}')
	return nil
}

// ending appends the members that the server adds to a result.
func (a *answer) ending(rc *requestContext, cat *Catalog, meta json.RawMessage, hint *CacheHint) ([]byte, error) {
	var facts metaFacts
	if meta != nil {
		var err error
		if facts, err = checkMeta(meta); err != nil {
			return a.buf, err
		}
	}
	if !rc.version.Modern() {
		if meta != nil {
			a.buf = append(append(a.buf, `,"_meta":`...), meta...)
		}
		return a.buf, nil
	}
	a.buf = append(a.buf, `,"resultType":"complete"`...)
	if hint != nil {
		a.buf = appendCacheHint(append(a.buf, ','), rc.narrowed(*hint))
	}
	a.buf = append(a.buf, `,"_meta":`...)
	if meta == nil {
		a.buf = appendServerInfo(append(a.buf, '{'), cat.serverInfo(rc.version))
		return append(a.buf, '}'), nil
	}
	return facts.append(a.buf, meta, cat.serverInfo(rc.version)), nil
}

func (a *answer) rawResult(rc *requestContext, cat *Catalog, raw *Raw, hint *CacheHint) error {
	a.begin(rc)
	if !rc.version.Modern() {
		doc := raw.doc
		if rc.version < Version20250618 {
			doc = raw.downgraded(rc.version)
		}
		a.buf = append(append(a.buf, doc...), '}')
		return nil
	}
	if hint != nil {
		narrowed := rc.narrowed(*hint)
		hint = &narrowed
	}
	a.buf = raw.appendModern(a.buf, cat.serverInfo(rc.version), hint)
	a.buf = append(a.buf, '}')
	return nil
}

// modernStatus is the HTTP status of errors for which 2026-07-28 does not use 200.
var modernStatus = map[Code]int{
	CodeMethodNotFound:          http.StatusNotFound,
	CodeMissingClientCapability: http.StatusBadRequest,
}

// failure writes e as the answer to rc.
func (a *answer) failure(rc *requestContext, e *Error) {
	a.buf, a.body = a.buf[:0], nil
	a.status, a.header = e.status, e.header
	if a.status == 0 && rc.version.Modern() {
		a.status = modernStatus[e.Code]
	}
	a.buf = append(a.buf, `{"jsonrpc":"2.0"`...)
	switch {
	case rc.msg.id != nil && !rc.msg.response: // an error about a response is not an answer
		a.buf = append(append(a.buf, `,"id":`...), rc.msg.id...)
	case rc.version < Version20251125:
		a.buf = append(a.buf, `,"id":null`...)
	}
	a.buf = append(append(a.buf, `,"error":`...), e.object()...)
	a.buf = append(a.buf, '}')
}
