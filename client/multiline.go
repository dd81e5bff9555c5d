package client

import (
	"errors"

	"github.com/slipway-mcp/slipway/internal/peer"
)

var errMultiline = errors.New("it is spread over several lines: write each message on one line")

// maxMultilineLines is how many lines are searched for the end of an object.
const maxMultilineLines = 100_000

// multiline recognizes messages that a server writes over several lines, like a pretty
// printer, which stdio does not allow. Other multi-line text is skipped like a log line.
// It stores none of the lines.
type multiline struct {
	lines int // so far; 0 outside an object
	g     glanced
}

// consumes handles a line that is part of a multi-line object. The last line of a message
// fails the requests that wait for it.
func (s *multiline) consumes(text []byte, ses *session) bool {
	if s.lines == 0 {
		if !opensMultiline(text) {
			return false
		}
		s.g = glanced{level: 1}
		if text[0] == '[' {
			s.g.level = 2 // a batch
		}
	} else if isMessage(text) {
		s.lines = 0
		return false
	}
	s.lines++
	whole := s.g.read(text)
	// An answer that begins on the first line is a truncated one.
	if !whole || s.lines > maxMultilineLines || s.lines == 1 && s.g.answer {
		s.lines = 0
		return false
	}
	if s.g.depth > 0 {
		return true
	}
	s.lines = 0
	switch {
	case !s.g.marked:
	case s.g.answer && s.g.level == 1:
		ses.failUnreadable(s.g.id, &UnreadableError{errMultiline})
	// A call waits for the answer to a question. Other methods are requests that the
	// server logs.
	case s.g.answer, s.g.asks && s.g.hasID:
		ses.failUnreadable(0, &UnreadableError{errMultiline})
	}
	return true
}

// opensMultiline reports whether a line can be the first of a multi-line object: its last
// character requires more JSON.
func opensMultiline(text []byte) bool {
	switch text[len(text)-1] {
	case '{', '[', ',', ':':
	default:
		return false
	}
	return text[0] == '{' || text[0] == '[' && (len(text) == 1 || text[1] == '{')
}

func isMessage(text []byte) bool {
	var m peer.Message
	return m.Scan(text) == nil
}
