package inspect

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// stepKind is the kind of frames about a step of an HTTP exchange, such as a connection.
const stepKind = string(tap.Step)

// maxQueued is how many bytes of memory the messages that wait to be redacted may use before a
// connection waits.
const maxQueued = 64 << 20

// feed turns the events of all taps into frames, in one order. Taps only copy: redacting
// a message takes longer than a connection should wait.
type feed struct {
	// in receives what the messages mean for the page.
	in       *Inspector
	redactor *mcplog.Redactor

	// mu guards queue, bytes and closed; wake is signalled when one of them changes.
	mu   sync.Mutex
	wake *sync.Cond
	// queue has what has not been processed: taps must return at once, so the work happens
	// on the goroutine of run.
	queue []job
	// bytes is the memory of the queue and of the job in progress, which is limited.
	bytes int
	// closed makes run return, which closes done.
	closed bool
	done   chan struct{}

	// The following fields belong to the goroutine of run.
	requests map[requestKey]uint64 // open requests
	streams  map[streamKey]int     // call of an HTTP exchange
	// maxStreams is the length of streams at which the calls that have ended are dropped.
	maxStreams int
	// posts has the request of an HTTP exchange: an HTTP error has no id.
	posts   map[streamKey]uint64
	sentIDs sync.Map // sentKey to int: the call that a message carries
}

// minStreams is the least value of feed.maxStreams.
const minStreams = 1000

// job is an event to add, or a function to run after all events before it.
type job struct {
	// event is a message to process, or do a function to run in order with them.
	event  *tap.Event
	source int
	do     func()
}

// cost returns the memory that a job uses while it is queued, about: a flood of short messages
// consists of little else than the structures around them.
func (j *job) cost() int {
	if j.event == nil {
		return 0
	}
	n := jobMemory + len(j.event.Body) + len(j.event.Detail)
	if h := j.event.HTTP; h != nil {
		n += len(h.Method) + len(h.URL) + mcplog.HeaderMemory(h.Header)
	}
	return n
}

// jobMemory is the memory of a job besides its texts, about.
const jobMemory = 512

// requestKey identifies an open request of a connection.
type requestKey struct {
	source int
	origin int // see Frame
	// stream is 0 where the response may be on another stream: the clients in a recording may use
	// the same ids on several.
	stream uint64
	// sent distinguishes the requests of both directions, which may have the same id.
	sent bool
	id   string
}

// keyOf returns the key of a request with an id, on the connection that a frame is on.
func keyOf(f *Frame, sent bool, id []byte) requestKey {
	key := requestKey{
		source: f.Source,
		origin: f.origin,
		stream: f.Stream,
		sent:   sent,
		id:     string(id),
	}
	if len(id) > 100 { // keys outlast frames
		sum := sha256.Sum256(id)
		key.id = string(sum[:])
	}
	return key
}

// onAnyStream returns the key of a request whose response may be on another stream.
func (k requestKey) onAnyStream() requestKey {
	k.stream = 0
	return k
}

// requestOf returns an open request of the connection that a frame is on, or nil.
func (f *feed) requestOf(frame *Frame, sent bool, id []byte) *Frame {
	key := keyOf(frame, sent, id)
	seq, ok := f.requests[key]
	if !ok {
		seq = f.requests[key.onAnyStream()]
	}
	return f.in.store.get(seq)
}

// endRequest forgets a request after its response.
func (f *feed) endRequest(request *Frame) {
	key := keyOf(request, request.Direction == mcplog.Out, request.ID)
	for _, k := range []requestKey{key, key.onAnyStream()} {
		if f.requests[k] == request.Seq { // a later one may have the same id
			delete(f.requests, k)
		}
	}
}

// streamKey identifies an HTTP exchange.
type streamKey struct {
	source int
	// stream numbers the HTTP exchanges of a source.
	stream uint64
}

// sentKey identifies a request of a call, before its frame exists.
type sentKey struct {
	source int
	// id is that of a request that this program has sent.
	id uint64
}

// newFeed starts the goroutine of a feed. close stops it.
func newFeed(in *Inspector, r *mcplog.Redactor) *feed {
	f := &feed{
		in:       in,
		redactor: r,
		done:     make(chan struct{}),
		requests: make(map[requestKey]uint64),
		streams:  make(map[streamKey]int),
		posts:    make(map[streamKey]uint64),

		maxStreams: minStreams,
	}
	f.wake = sync.NewCond(&f.mu)
	go f.run()
	return f
}

// tap returns a tap for a source.
func (f *feed) tap(source int) tap.Func {
	return func(e *tap.Event) {
		copied := *e
		copied.Body = bytes.Clone(e.Body)
		f.put(job{
			event:  &copied,
			source: source,
		})
	}
}

// put appends a job. It waits while too much is queued.
func (f *feed) put(j job) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.bytes > maxQueued && !f.closed {
		f.wake.Wait()
	}
	if f.closed {
		return
	}
	f.bytes += j.cost()
	f.queue = append(f.queue, j)
	f.wake.Broadcast()
}

// after runs do when everything that has been tapped so far is in the store.
func (f *feed) after(do func()) { f.put(job{do: do}) }

// close stops run and waits for it. Jobs that are still queued are dropped.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	f.wake.Broadcast()
	f.mu.Unlock()
	<-f.done
}

// run processes the queue in order. Pages are notified once per batch: under load, one
// notification covers many messages.
func (f *feed) run() {
	defer close(f.done)
	for {
		f.mu.Lock()
		for len(f.queue) == 0 && !f.closed {
			f.wake.Wait()
		}
		jobs := f.queue
		f.queue = nil
		if f.closed {
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		for i := range jobs {
			f.perform(jobs[i])
			jobs[i] = job{} // its memory no longer counts
		}
		f.in.publishStates()
		f.in.hub.wakeAll()
	}
}

// perform runs one job. Its memory is released afterwards: until then it counts against
// maxQueued.
func (f *feed) perform(j job) {
	if j.do != nil {
		j.do()
		return
	}
	f.add(f.redactor.Event(j.event, j.source), 0)
	f.mu.Lock()
	f.bytes -= j.cost()
	f.wake.Broadcast()
	f.mu.Unlock()
}

// maxShown limits the texts of a frame besides its body, such as a name or a header.
const maxShown = 2000

// add adds an event of a source to the store. origin is that of the frame.
func (f *feed) add(e *mcplog.Event, origin int) {
	frame := &Frame{
		Event:  *e,
		body:   e.Text(),
		origin: origin,
	}
	frame.Body = ""
	frame.Binary = nil
	frame.shorten()
	switch tap.Kind(e.Kind) {
	case tap.Stderr, tap.Junk:
		frame.Text = excerpt(frame.body, 2000)
	}
	f.classify(frame)
	f.in.store.add(frame)
	f.follow(frame)
}

// shorten limits the texts of a frame, each of which the page lists.
func (f *Frame) shorten() {
	for _, text := range []*string{&f.Method, &f.Name, &f.HTTPMethod, &f.URL, &f.Step, &f.Detail, &f.Error} {
		if len(*text) > maxShown {
			*text = excerpt([]byte(*text), maxShown)
		}
	}
	if mcplog.HeaderMemory(f.Header) <= maxShown {
		return
	}
	f.Header = f.Header.Clone()
	for _, values := range f.Header {
		for i := range values {
			if len(values[i]) > maxShown {
				values[i] = excerpt([]byte(values[i]), maxShown)
			}
		}
	}
}

// classify pairs a message with its request, and finds the call that it belongs to.
func (f *feed) classify(frame *Frame) {
	sent := frame.Direction == mcplog.Out
	stream := streamKey{frame.Source, frame.Stream}
	switch frame.Kind {
	case mcplog.Request:
		if sent {
			f.attribute(frame)
		}
		if frame.Call != 0 && frame.Channel != string(tap.Stdio) {
			f.streams[stream] = frame.Call
		}
	case mcplog.Response:
		request := f.requestOf(frame, !sent, frame.ID)
		if request != nil {
			f.endRequest(request)
		}
		if request == nil && frame.Channel == string(tap.Post) {
			request = f.refused(frame, stream)
		}
		if frame.Channel == string(tap.Post) {
			f.endExchange(stream)
		}
		if request == nil {
			break
		}
		if !sent { // it may have come on the stream of another request
			f.endExchange(streamKey{request.Source, request.Stream})
		}
		frame.answers(request)
		frame.Method = request.Method
		frame.Name = request.Name
		frame.judge()
	case mcplog.Notification:
		frame.Call = f.callOf(frame)
		if frame.Method == "notifications/cancelled" {
			f.classifyCancelled(frame)
		}
	default:
		f.classifyHTTP(frame, stream)
	}
}

// answers pairs a frame with its request.
func (f *Frame) answers(request *Frame) {
	f.Pair = request.Seq
	f.Took = f.Nanoseconds - request.Nanoseconds
	f.Call = request.Call
	f.Cause = request.Cause
}

// requestStep is the step of an HTTP exchange that fails if there is no response. Others may fail and another try
// succeeds, such as a connection to the first of two addresses.
const requestStep = "request"

// classifyHTTP pairs what answers a request in place of a message: the head of an HTTP error, a body that is not a
// message, or the loss of the connection. A later part of the same response replaces an earlier one. A message, which
// may have come on another stream, is never replaced.
func (f *feed) classifyHTTP(frame *Frame, stream streamKey) {
	request := f.in.store.get(f.posts[stream])
	failed := &Failure{}
	switch kind := tap.Kind(frame.Kind); {
	case frame.Direction == mcplog.Out:
		return
	case kind == tap.Head && frame.Status/100 != 2:
		failed.Text = fmt.Sprintf("HTTP status %d", frame.Status)
	case kind == tap.Body && frame.Channel == string(tap.Post):
		failed.Text = "not a message"
		if len(frame.body) == 0 {
			failed.Text = "empty response"
		}
		f.endExchange(stream)
	case kind == tap.Step && frame.Step == requestStep && frame.Error != "":
		failed.Text = frame.Error
		f.endExchange(stream)
	default:
		return
	}
	if request == nil {
		return
	}
	if answer := f.in.store.get(request.Pair); answer != nil {
		if answer.Kind != string(tap.Head) {
			return
		}
		frame.Status = answer.Status
		failed.Text = answer.Failure.Text + ", " + failed.Text
	}
	frame.Failure = failed
	frame.answers(request)
}

// classifyCancelled pairs a cancellation with its request, unless that has an answer. A response that comes all the
// same replaces it.
func (f *feed) classifyCancelled(frame *Frame) {
	var m peer.Message
	if m.Scan(frame.body) != nil {
		return
	}
	request := f.requestOf(frame, frame.Direction == mcplog.Out, jsonscan.Member(m.Params, "requestId"))
	if request == nil || request.Pair != 0 {
		return
	}
	frame.Failure = &Failure{Text: "cancelled"}
	frame.answers(request)
}

// refused returns the request of an HTTP exchange that a response with another id answers, or nil: an error of HTTP
// has no id, or one that the server makes up.
func (f *feed) refused(frame *Frame, stream streamKey) *Frame {
	request := f.in.store.get(f.posts[stream])
	if request == nil {
		return nil
	}
	head := f.in.store.get(request.Pair)
	if len(frame.ID) == 0 ||
		string(frame.ID) == "null" ||
		head != nil && head.Kind == string(tap.Head) {
		return request
	}
	return nil
}

// endExchange forgets an HTTP exchange after its last event.
func (f *feed) endExchange(stream streamKey) {
	delete(f.posts, stream)
	delete(f.streams, stream)
}

// attribute sets the call that a request was made for.
func (f *feed) attribute(frame *Frame) {
	key := sentKey{frame.Source, peer.Number(frame.ID)}
	if id, ok := f.sentIDs.LoadAndDelete(key); ok {
		if c := f.in.calls.get(id.(int)); c != nil {
			frame.Call = c.ID
			frame.Cause = c.cause
		}
	}
}

// callOf returns the call that a notification of a server belongs to, or 0.
func (f *feed) callOf(frame *Frame) int {
	var m peer.Message
	if frame.Direction != mcplog.In || m.Scan(frame.body) != nil {
		return 0
	}
	if token, ok := jsonscan.Unquote(jsonscan.Member(m.Params, "progressToken")); ok {
		id, _ := strings.CutPrefix(token, "call-")
		if request := f.requestOf(frame, true, []byte(id)); request != nil {
			return request.Call
		}
	}
	if call, ok := f.streams[streamKey{frame.Source, frame.Stream}]; ok {
		return call
	}
	return f.in.calls.only(frame.Source)
}

// judge sets what went wrong according to a response.
func (f *Frame) judge() {
	var m peer.Message
	if m.Scan(f.body) != nil {
		return
	}
	if m.Failure != nil {
		f.Failure = rpcFailure(m.Failure)
		return
	}
	f.IsError = string(jsonscan.Member(m.Result, "isError")) == "true"
}

// rpcFailure returns the error object of a response.
func rpcFailure(raw []byte) *Failure {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil {
		text, ok := jsonscan.Unquote(raw)
		if !ok {
			text = string(raw)
		}
		return &Failure{Text: excerpt([]byte(text), 500)}
	}
	fail := &Failure{
		Text: excerpt([]byte(e.Message), 2000),
		RPC:  e.Code,
	}
	if len(e.Data) <= 4000 {
		fail.Data = e.Data
	}
	return fail
}

// follow does what follows from a frame that is now in the store.
func (f *feed) follow(frame *Frame) {
	sent := frame.Direction == mcplog.Out
	if frame.Kind != mcplog.Request && frame.Pair != 0 {
		f.in.store.change(frame.Pair, func(request *Frame) { request.Pair = frame.Seq })
	}
	switch frame.Kind {
	case mcplog.Request:
		key := keyOf(frame, sent, frame.ID)
		f.requests[key] = frame.Seq
		f.requests[key.onAnyStream()] = frame.Seq
		if sent && frame.Channel == string(tap.Post) {
			f.posts[streamKey{frame.Source, frame.Stream}] = frame.Seq
		}
		f.forget()
		if c := f.in.calls.get(frame.Call); c != nil && sent {
			c.setRequest(frame.Seq)
		}
	case mcplog.Response:
		if c := f.in.calls.get(frame.Call); c != nil && !sent {
			c.setAnswer(frame)
		}
	case mcplog.Notification:
		f.notification(frame)
	case stepKind:
		f.in.step(frame)
	}
}

// forget drops requests that were never answered and are no longer kept, and the exchanges of calls that have ended.
// There are at most as many other requests as frames, so it has something to drop whenever there are twice as many;
// each has two keys.
func (f *feed) forget() {
	first, _ := f.in.store.bounds()
	gone := func(seq uint64) bool { return seq < first }
	if len(f.requests) > 4*f.in.store.maxFrames {
		maps.DeleteFunc(f.requests, func(_ requestKey, seq uint64) bool { return gone(seq) })
	}
	if len(f.posts) > 2*f.in.store.maxFrames {
		maps.DeleteFunc(f.posts, func(_ streamKey, seq uint64) bool { return gone(seq) })
	}
	if len(f.streams) > f.maxStreams {
		maps.DeleteFunc(f.streams, func(_ streamKey, call int) bool { return !f.in.calls.isRunning(call) })
		f.maxStreams = max(minStreams, 2*len(f.streams))
	}
}

// notification publishes progress and log lines by themselves as well.
func (f *feed) notification(frame *Frame) {
	var m peer.Message
	if frame.Direction != mcplog.In || m.Scan(frame.body) != nil {
		return
	}
	kind := ""
	switch frame.Method {
	case "notifications/progress":
		kind = "progress"
	case "notifications/message":
		kind = "log"
	default:
		return
	}
	params := json.RawMessage(m.Params)
	if len(params) > 16<<10 {
		params = mustJSON(map[string]any{
			"level":     jsonscan.Member(m.Params, "level"),
			"data":      excerpt(jsonscan.Member(m.Params, "data"), 2000),
			"truncated": true,
		})
	}
	if c := f.in.calls.get(frame.Call); c != nil {
		c.notified(kind, params)
	}
	f.in.publish(kind, &notice{
		Call:   frame.Call,
		Source: frame.Source,
		Seq:    frame.Seq,
		Params: params,
	})
}

// notice is progress or a log line of a server.
type notice struct {
	// Call is the page's call that the notification belongs to, or 0, and Seq the number
	// of its frame.
	Call int `json:"call,omitempty"`
	// Params are those of the notification, shortened if they are long.
	Source int             `json:"src"`
	Seq    uint64          `json:"seq,omitempty"`
	Params json.RawMessage `json:"params"`
}

// appendTo appends the notice as JSON. There is one for each message of a flood, whose params are JSON already: the
// encoder would check them again.
func (n *notice) appendTo(text []byte) []byte {
	params := n.Params
	if len(params) == 0 {
		params = json.RawMessage("null")
	}
	if bytes.ContainsAny(params, "\r\n") { // the end of a line of the stream
		var compact bytes.Buffer
		if json.Compact(&compact, params) != nil {
			compact.WriteString("null") // not reached: a frame is valid JSON
		}
		params = compact.Bytes()
	}
	text = fmt.Appendf(text, `{"call":%d,"src":%d,"seq":%d,"params":`, n.Call, n.Source, n.Seq)
	text = append(text, params...)
	return append(text, '}')
}

// excerpt returns the start of a text in UTF-8.
func excerpt(text []byte, limit int) string {
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		return strings.ToValidUTF8(string(text[:limit]), "\uFFFD") + "…"
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}
