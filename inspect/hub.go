package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// hub passes what happens to the open pages. Frames are read from the store by each page
// at its own pace; everything else is queued.
type hub struct {
	// store has the frames that pages are sent; each page remembers how far it has read.
	store *store

	mu    sync.Mutex
	pages map[*page]bool
}

// page is an open stream.
type page struct {
	wake  chan struct{} // capacity 1
	lines []line        // guarded by hub.mu
	size  int           // bytes of lines
	lost  bool          // whether there were too many; then all later lines are lost until take
}

// line is a line of the stream, which follows the frame with the number after.
type line struct {
	// after is the number of the last frame before the line.
	after uint64
	text  []byte
}

// maxLines and maxLineBytes limit the lines that wait for a page that does not read.
const (
	maxLines     = 100_000
	maxLineBytes = 64 << 20
)

func newHub(s *store) *hub {
	return &hub{
		store: s,
		pages: make(map[*page]bool),
	}
}

// publish sends {"kind":value} to all pages.
func (h *hub) publish(kind string, value any) {
	text := namedJSON(kind, value)
	_, last := h.store.bounds()
	h.mu.Lock()
	defer h.mu.Unlock()
	l := line{last, append(text, '\n')}
	for p := range h.pages {
		p.lost = p.lost || len(p.lines) >= maxLines || p.size+len(l.text) > maxLineBytes
		if p.lost {
			continue
		}
		p.lines = append(p.lines, l)
		p.size += len(l.text)
		p.signal()
	}
}

// wakeAll makes the pages look for new frames.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.pages {
		p.signal()
	}
}

// signal wakes the goroutine of a page. It never blocks: one pending signal covers all news.
func (p *page) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// open returns a page that gets the lines from now on.
func (h *hub) open() *page {
	p := &page{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages[p] = true
	return p
}

// leave removes a page whose stream has ended.
func (h *hub) leave(p *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pages, p)
}

// take returns the queued lines, and whether later ones were lost.
func (h *hub) take(p *page) (lines []line, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines, lost = p.lines, p.lost
	p.lines = nil
	p.size = 0
	p.lost = false
	return lines, lost
}

// heartbeat is how often an idle stream carries an empty object.
const heartbeat = 15 * time.Second

// serveStream serves GET api/stream: the state of everything, the lists of each source and again when they
// change, the frames after a number, by default those from now on, and all other lines.
func (in *Inspector) serveStream(w http.ResponseWriter, r *http.Request) error {
	_, last := in.store.bounds()
	next := last + 1
	after := r.URL.Query().Get("after")
	if after != "" && after != "-1" {
		n, err := strconv.ParseUint(after, 10, 64)
		if err != nil {
			return badRequest("after is not a number")
		}
		next = n + 1
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s := &streamWriter{
		w:     bufio.NewWriterSize(w, streamBuffer),
		rc:    http.NewResponseController(w),
		in:    in,
		next:  next,
		etags: make(map[int]string),
	}
	s.encoder = json.NewEncoder(s.w)
	s.encoder.SetEscapeHTML(false)
	p := in.hub.open()
	defer in.hub.leave(p)
	in.followStream(r.Context(), s, p)
	return nil
}

// followStream writes until the page leaves.
func (in *Inspector) followStream(ctx context.Context, s *streamWriter, p *page) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	s.line("snapshot", in.snapshot()) // what changes from here on is queued
	for s.err == nil {
		lines, lost := in.hub.take(p)
		for _, l := range lines {
			s.frames(l.after)
			s.write(l.text)
		}
		if lost {
			s.line("snapshot", in.snapshot())
		}
		s.lists()
		_, last := in.store.bounds()
		s.frames(last)
		s.flush()
		select {
		case <-p.wake:
		case <-beat.C:
			s.write([]byte("{}\n"))
		case <-ctx.Done():
			return
		case <-in.quit.Done():
			return
		}
		if wait := pace - time.Since(s.flushed); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
	}
}

// pace is the shortest time between two parts of a stream. In a flood of messages, a page that is sent each of
// them by itself is busy with receiving.
const pace = 10 * time.Millisecond

// streamBuffer is how many bytes of a stream are sent at once. With the 4 KB of net/http, a
// page that opens wakes up for each of the 500 pieces of 10,000 frames.
const streamBuffer = 64 << 10

// streamWriter writes the lines of a stream.
type streamWriter struct {
	// w is the response, and rc flushes it.
	w  *bufio.Writer
	rc *http.ResponseController
	in *Inspector
	// encoder writes to w.
	encoder *json.Encoder
	next    uint64 // number of the next frame
	// etags are those of the lists that were written, by source.
	etags map[int]string
	// flushed is when the page was sent something last.
	flushed time.Time
	// err is the first error of a write, after which nothing is written.
	err error
}

// lists writes the lists that have changed, and sends them: behind them are perhaps 10,000 frames.
func (s *streamWriter) lists() {
	for _, t := range s.in.all() {
		t.mu.Lock()
		cat := t.catalog
		live := t.client
		t.mu.Unlock()
		if cat == nil || s.etags[t.id] == cat.Version() {
			continue
		}
		s.etags[t.id] = cat.Version()
		s.line("lists", t.lists(cat, live))
		s.flush()
	}
}

// frames writes the frames up to a number.
func (s *streamWriter) frames(last uint64) {
	for s.err == nil && s.next <= last {
		// No more than that: this is called for each line, and copies.
		list := s.in.store.slice(s.next, int(min(1000, last-s.next+1)))
		if len(list) == 0 {
			return
		}
		if first := list[0].Seq; first > s.next {
			s.line("gap", map[string]uint64{"from": s.next, "to": first - 1})
		}
		for i := range list {
			if list[i].Seq > last {
				return // older ones have left memory
			}
			s.frame(&list[i])
			s.next = list[i].Seq + 1
		}
	}
}

// frame writes the line of a frame. There are many, so one encoder writes them all.
func (s *streamWriter) frame(f *Frame) {
	if s.err == nil {
		s.err = s.encoder.Encode(frameLine{f})
	}
}

// frameLine is the line of a frame.
type frameLine struct {
	Frame *Frame `json:"frame"`
}

// line writes one line of the stream: an object with the kind and the value.
func (s *streamWriter) line(kind string, value any) {
	s.write(append(namedJSON(kind, value), '\n'))
}

// write writes text unless an earlier write failed. The first error stays in err.
func (s *streamWriter) write(text []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(text)
	}
}

// flush sends what was written through both buffers, that of the writer and that of the server.
func (s *streamWriter) flush() {
	if s.err == nil {
		s.err = s.w.Flush()
	}
	if s.err == nil {
		s.err = s.rc.Flush()
	}
	s.flushed = time.Now()
}

// namedJSON returns {"kind":value}. kind is a plain word.
func namedJSON(kind string, value any) []byte {
	text := append([]byte(`{"`), kind...)
	text = append(text, `":`...)
	if n, ok := value.(*notice); ok {
		return append(n.appendTo(text), '}')
	}
	text = append(text, mustJSON(value)...)
	return append(text, '}')
}

// mustJSON encodes a value that can always be encoded.
func mustJSON(value any) json.RawMessage {
	text, err := mcp.Marshal(value)
	if err != nil {
		return mustJSON(map[string]string{"error": err.Error()})
	}
	return text
}
