package client

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// UnreadableError is why a request fails whose answer arrived but cannot be read: it is
// not valid JSON, nests too deeply, or does not name its request.
type UnreadableError struct{ Err error }

// Error implements the error interface.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the server's answer cannot be read: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

var (
	errNoID  = errors.New("it has no id")
	errBoth  = errors.New("it has a method and a result")
	errMark  = errors.New("it begins with a byte order mark")
	errUTF16 = errors.New("it is UTF-16, not UTF-8")
)

// misaddressed returns why a response with an id of no request in flight cannot be read,
// or nil if it is to be dropped: it answers a request that has ended or, as some servers
// do, a notification.
func misaddressed(m *peer.Message, sent func(id uint64) bool) *UnreadableError {
	switch {
	case m.ID != nil:
		if sent(peer.Number(m.ID)) {
			return nil
		}
		return &UnreadableError{fmt.Errorf("no request has its id %s",
			visible.Line(string(m.ID[:min(len(m.ID), 40)])))}
	case m.Failure != nil:
		err := wireError(m.Failure)
		e, ok := errors.AsType[*mcp.Error](err)
		if ok && e.Code == mcp.CodeMethodNotFound {
			return nil
		}
		return &UnreadableError{fmt.Errorf("%w, and is the error: %v", errNoID, err)}
	case !jsonscan.IsObject(m.Result) ||
		len(bytes.TrimSpace(m.Result[1:len(m.Result)-1])) == 0:
		return nil
	}
	return &UnreadableError{errNoID}
}

// unreadable returns why a text that [peer.Message.Scan] refused with err is an unreadable
// answer, and the id of its request, or 0. It returns nil for text that is not an answer,
// such as a log line.
func unreadable(text []byte, err error) (id uint64, why *UnreadableError) {
	text = bytes.TrimSpace(text)
	if rest, marked := bytes.CutPrefix(text, []byte("\ufeff")); marked {
		text = rest
		err = errMark
	}
	switch {
	case len(text) == 0:
		return 0, nil
	case bytes.Contains(text, []byte("j\x00s\x00o\x00n\x00r\x00p\x00c")):
		return 0, &UnreadableError{errUTF16}
	}
	switch text[0] {
	case '{':
		g := glance(text)
		if !g.answer || g.method {
			return 0, nil
		}
		if errors.Is(err, peer.ErrNoMessage) {
			err = errNoID
		}
		return g.id, &UnreadableError{err}
	case '[': // a batch, or a log line such as "[info] ready"
		if err = jsonscan.Valid(text); err != nil && looksLikeBatch(text) {
			return 0, &UnreadableError{err}
		}
	}
	return 0, nil
}

func looksLikeBatch(text []byte) bool {
	return bytes.Contains(text, []byte(`"jsonrpc"`)) &&
		(bytes.Contains(text, []byte(`"result"`)) ||
			bytes.Contains(text, []byte(`"error"`)))
}

// glanced is the readable part of a message that is not valid JSON.
type glanced struct {
	id     uint64
	hasID  bool
	marked bool // it has the member jsonrpc
	method bool // it has the member method
	asks   bool // its method is one that a server asks with
	answer bool // it has the member result or error

	level   int // depth of the members
	depth   int
	keyNext bool
}

// glance finds members at the top of an object that need not be valid JSON. It does not
// recurse, so that it can read text that nests too deeply.
func glance(text []byte) glanced {
	g := glanced{level: 1}
	g.read(text)
	return g
}

// read continues with the next part of the text. It returns false if that ends within a
// string.
func (g *glanced) read(text []byte) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			g.depth++
			g.keyNext = g.depth == g.level
		case '}', ']':
			g.depth--
		case ',':
			g.keyNext = g.depth == g.level
		case '"':
			end := quoteEnd(text, i)
			if end >= len(text) {
				return false
			}
			if g.keyNext && g.depth == g.level {
				g.note(text[i+1:end], text[end+1:])
			}
			g.keyNext = false
			i = end
		}
	}
	return true
}

// quoteEnd returns the index of the closing quote of the string at text[i], or len(text).
func quoteEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// note processes one member. rest is the text after its key.
func (g *glanced) note(key, rest []byte) {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if len(rest) == 0 || rest[0] != ':' {
		return
	}
	switch string(key) {
	case "jsonrpc":
		g.marked = true
	case "method":
		g.method, g.asks = true, isQuestion(rest[1:])
	case "result", "error":
		g.answer = true
	case "id":
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		end := bytes.IndexAny(rest, ",}] \t\r\n")
		if end < 0 {
			end = len(rest)
		}
		g.id = peer.Number(rest[:end])
		g.hasID = true
	}
}

// isQuestion reports whether the value of a member method is that of a question.
func isQuestion(value []byte) bool {
	value = bytes.TrimLeft(value, " \t\r\n")
	for _, method := range []string{"elicitation/create", "sampling/createMessage", "roots/list"} {
		if bytes.HasPrefix(value, []byte(`"`+method+`"`)) {
			return true
		}
	}
	return false
}

// refuse fails the request whose answer cannot be read: the one that it names, or else
// all in flight, because one of them would wait forever.
func (ses *session) refuse(text []byte, err error) {
	id, why := unreadable(text, err)
	if why != nil {
		ses.failUnreadable(id, why)
	}
}

// failUnreadable fails the request with that id, whose answer cannot be read. If the id is
// 0, it fails all requests in flight, because one of them would wait forever.
func (ses *session) failUnreadable(id uint64, why *UnreadableError) {
	ses.src.report(Event{
		What:   EventLog,
		Err:    why,
		Detail: "an answer is dropped and its request fails",
	})
	if id != 0 {
		if c := ses.take(id); c != nil {
			c.deliver(reply{err: why})
		}
		return
	}
	ses.failAll(why)
}

// failAll fails all requests in flight because of an answer that one of them waits for.
func (ses *session) failAll(why error) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	for c := range ses.calls.All() {
		if c.method != "subscriptions/listen" {
			c.deliver(reply{err: why})
		}
	}
}
