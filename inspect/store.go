package inspect

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/slipway-mcp/slipway/internal/mcplog"
)

// Frame is one event of a connection, as the page lists it: an event of a recording
// without its body.
type Frame struct {
	mcplog.Event
	// Pair is, on a response, the number of its request, and on a request that of its
	// response or cancellation, or 0 while it has none.
	Pair uint64 `json:"pair,omitempty"`
	// Cause is why a request was made: "user", "retry", "app" or "watch". It is empty for
	// requests of the protocol itself.
	Cause string `json:"cause,omitempty"`
	// Call is the call of the page that the frame belongs to, or 0.
	Call int `json:"call,omitempty"`
	// Failure is the error in a response, or that a request was cancelled.
	Failure *Failure `json:"err,omitempty"`
	// IsError reports that the result is a tool error.
	IsError bool `json:"isError,omitempty"`
	// Text is the start of a line on stderr, or of one that is no message.
	Text string `json:"text,omitempty"`

	// body is the text of the message. It is dropped or moved to a file when the store is
	// full.
	body []byte
	file string // has the body instead, if it is large
	size int    // of the body
	// memory is how much of it the frame uses, set by the store.
	memory int
	// origin distinguishes the sides and servers of an opened recording, whose messages may have
	// the same ids. It is 0 for live messages.
	origin int
}

// cost returns how much memory a frame uses, about.
func (f *Frame) cost() int {
	n := f.Memory() + len(f.body) + len(f.Text)
	if f.Failure != nil {
		n += len(f.Failure.Text) + len(f.Failure.Data)
	}
	return n
}

// Limits of what is kept.
const (
	defaultFrames = 100_000
	defaultBytes  = 64 << 20
	// spillSize is the size of a body from which it is kept in a file, and spillTotal the
	// total of these files.
	spillSize  = 1 << 20
	spillTotal = 1 << 30
)

// store keeps the latest frames.
type store struct {
	// maxFrames and maxBytes limit what is kept in memory.
	maxFrames int
	maxBytes  int

	mu      sync.Mutex
	frames  []*Frame // consecutive numbers
	first   uint64   // number of frames[0]
	bytes   int      // in memory
	spilled int      // in files
	folder  string   // of the files, or "" while there is none
}

// newStore returns an empty store, with defaults for limits that are not positive.
func newStore(frames, bytes int) *store {
	s := &store{
		maxFrames: frames,
		maxBytes:  bytes,
		first:     1,
	}
	if frames <= 0 {
		s.maxFrames = defaultFrames
	}
	if bytes <= 0 {
		s.maxBytes = defaultBytes
	}
	return s
}

// add numbers a frame and keeps it. The oldest ones make room.
func (s *store) add(f *Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Seq = s.first + uint64(len(s.frames))
	f.size = len(f.body)
	if f.size >= spillSize {
		s.spill(f)
	}
	s.frames = append(s.frames, f)
	f.memory = f.cost()
	s.bytes += f.memory
	for len(s.frames) > s.maxFrames || len(s.frames) > 1 && (s.bytes > s.maxBytes || s.spilled > spillTotal) {
		s.dropFirst()
	}
}

// spill moves a body to a file. If that fails, it stays in memory.
func (s *store) spill(f *Frame) {
	if s.folder == "" {
		folder, err := os.MkdirTemp("", "slipway-inspect-")
		if err != nil {
			return
		}
		s.folder = folder
	}
	name := filepath.Join(s.folder, strconv.FormatUint(f.Seq, 10))
	if os.WriteFile(name, f.body, 0o600) != nil {
		_ = os.Remove(name)
		return
	}
	s.spilled += len(f.body)
	f.file = name
	f.body = nil
}

// dropFirst drops the oldest frame and the file with its body, if any. The caller holds the lock.
func (s *store) dropFirst() {
	f := s.frames[0]
	s.frames[0] = nil
	s.frames = s.frames[1:]
	s.first++
	s.bytes -= f.memory
	if f.file != "" {
		s.spilled -= f.size
		_ = os.Remove(f.file)
	}
}

// close removes the files.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = nil
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
}

// bounds returns the numbers of the first frame that is kept, and of the last one.
func (s *store) bounds() (first, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, s.first + uint64(len(s.frames)) - 1
}

// get returns a copy of a frame, or nil if it is not kept.
func (s *store) get(seq uint64) *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.at(seq)
	if f == nil {
		return nil
	}
	copied := *f
	return &copied
}

// at returns a frame by its number, or nil if it was dropped or does not exist yet. The caller
// holds the lock.
func (s *store) at(seq uint64) *Frame {
	if seq < s.first || seq >= s.first+uint64(len(s.frames)) {
		return nil
	}
	return s.frames[seq-s.first]
}

// change changes a frame, if it is kept.
func (s *store) change(seq uint64, do func(*Frame)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.at(seq); f != nil {
		do(f)
	}
}

// slice returns copies of the frames from a number on, at most limit.
func (s *store) slice(from uint64, limit int) []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = max(from, s.first)
	end := s.first + uint64(len(s.frames))
	if from >= end {
		return nil
	}
	found := s.frames[from-s.first:]
	found = found[:min(limit, len(found))]
	list := make([]Frame, len(found))
	for i, f := range found {
		list[i] = *f
	}
	return list
}

// text returns the body of a frame, and whether it still exists.
func (f *Frame) text() ([]byte, bool) {
	if f.file == "" {
		return f.body, true
	}
	body, err := os.ReadFile(f.file)
	return body, err == nil
}

// event returns the frame as an event of a recording.
func (f *Frame) event() (*mcplog.Event, bool) {
	body, ok := f.text()
	if !ok {
		return nil, false
	}
	e := f.Event
	e.SetText(body)
	if e.Kind != stepKind {
		e.Took = 0
	}
	return &e, true
}
