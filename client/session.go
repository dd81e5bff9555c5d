package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp"
)

// session is a connection to the server after the handshake, until it is lost. The
// server's own session may restart within it.
type session struct {
	// src owns the session.
	src *Source
	// terms are what it was made with.
	terms *Terms
	// link carries messages. It is set once, before the session is used.
	link link

	http  *httpLink // link, if the server is an [Endpoint]
	child *child    // the process at the other end, or nil

	// Results of the handshake; set before the session is used.
	version      mcp.Version
	capabilities json.RawMessage
	info         json.RawMessage
	instructions string
	logs         bool // it has logging/setLevel

	mu    sync.Mutex
	calls peer.Table[*call] // in flight
	end   error             // why it was lost; nil while it is alive
	// level is the log level that was last set at the server.
	level mcp.LogLevel
	more  chan struct{} // receives when subscriptions are added, or nil
	// ended is closed when the session is lost.
	ended    chan struct{}
	visitors map[string]mcp.Session  // by the id of the elicitation
	asking   map[string]openQuestion // questions of the server, by raw id
	// askingBytes is the size of these questions.
	askingBytes int
	refused     []string      // raw ids of questions beyond the limits that are still to be refused
	refusing    bool          // sendRefusals runs
	queue       []*call       // calls that wait for their turn, see callqueue.go
	waiting     queue         // counts them, by client
	resuming    []*call       // calls whose answered questions wait for their turn
	held        int           // questions whose client is unknown
	changed     chan struct{} // closed when calls or questions change, or nil

	oneStream bool // questions do not say which call they belong to
	roots     openRoots

	served   atomic.Bool               // it has answered a request of a client
	suspect  atomic.Bool               // a call timed out, and no message has arrived since
	looked   atomic.Int64              // when abandoned calls were last checked for, in ns
	silent   atomic.Bool               // no message has arrived since the last watch
	hung     atomic.Pointer[hangError] // why the watchdog replaces it, or nil
	probe    *probe                    // the current one, or nil
	ping     *ping                     // outstanding, or nil; of the running probe
	harmless atomic.Pointer[[]int]     // stopped processes that it can answer without
	watches  int64                     // number of calls of watch
	stale    atomic.Int32              // number of requests for lists since refresh began, or 0
	lists    lists
	handlers sync.WaitGroup // of the server's questions
	// quit is done when the session is stopped.
	quit context.Context
	stop context.CancelFunc

	silentWatches int64 // consecutive calls of watch without a message; used by the supervisor
}

// connect connects on these terms and performs the handshake.
func (s *Source) connect(ctx context.Context, terms *Terms) (*session, error) {
	ses := &session{
		src:   s,
		terms: terms,
		ended: make(chan struct{}),
		level: unsetLevel,
		lists: lists{tried: make(chan struct{}, 1)},
	}
	ses.quit, ses.stop = context.WithCancel(context.Background())
	l, err := s.transport.connect(ctx, ses)
	if err != nil {
		ses.stop()
		return nil, err
	}
	ses.link = l
	if err := ses.shakeHands(ctx); err != nil {
		switch lost := ses.lostError(); {
		case lost != nil:
			err = lost
		case ctx.Err() != nil:
			err = ses.withLastLines(err)
		}
		ses.close()
		return nil, err
	}
	ses.mu.Lock()
	ses.oneStream = !ses.version.Modern() && ses.waitsFor()
	ses.mu.Unlock()
	return ses, nil
}

// withLastLines adds the output of a child so far to the error that it is too slow: it
// may be waiting for user input.
func (ses *session) withLastLines(err error) error {
	if ses.child == nil {
		return err
	}
	if lines := ses.child.lastLines(); lines != "" {
		return fmt.Errorf("%w%s", err, lines)
	}
	return err
}

// close ends the session and waits until everything has stopped.
func (ses *session) close() {
	ses.stop()
	ses.link.close(ses.src.quit.Err() != nil)
	ses.lost(errClosed)
	ses.handlers.Wait()
}

var errClosed = errors.New("the server was stopped or replaced")

// lost ends the session and fails all calls in flight.
func (ses *session) lost(err error) {
	ses.mu.Lock()
	if ses.end != nil {
		ses.mu.Unlock()
		return
	}
	if hung := ses.hung.Load(); hung != nil {
		err = hung // rather than the exit status after the kill
	}
	ses.end = err
	all := ses.calls.Drain()
	// With the lock held, so that a caller either makes a call in time or sees the end.
	close(ses.ended)
	ses.mu.Unlock()
	for _, c := range all {
		c.deliver(reply{err: &lostError{cause: err}})
	}
	ses.stop()
}

// retire ends a session without calls in flight, and reports whether it did. A concurrent
// request sees the end, and starts another session.
func (ses *session) retire() bool {
	ses.mu.Lock()
	if ses.end != nil || ses.busyLocked() > 0 {
		ses.mu.Unlock()
		return false
	}
	ses.end = errIdle
	close(ses.ended)
	ses.mu.Unlock()
	ses.stop()
	return true
}

var errIdle = errors.New("the server was stopped because it was idle")

func (ses *session) lostError() error {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.end
}

// alive reports whether the session has not been lost.
func (ses *session) alive() bool {
	return !isClosed(ses.ended)
}

// call sends a request and returns the result. c is complete except for its id.
func (ses *session) call(ctx context.Context, c *call) ([]byte, error) {
	if err := ses.track(c); err != nil {
		return nil, err
	}
	result, err := ses.link.exchange(ctx, c)
	ses.untrack(c)
	switch {
	case err == nil:
		ses.noteActivity()
	case ctx.Err() != nil:
		ses.suspect.Store(true)
	}
	return result, err
}

// lookEvery is the minimum interval between checks for abandoned calls.
const lookEvery = 100 * time.Millisecond

// doubted reports whether the server may hang: a call timed out, was cancelled or lost
// its client, and no message has arrived since.
func (ses *session) doubted() bool {
	if ses.suspect.Load() {
		return true
	}
	now := time.Now().UnixNano()
	last := ses.looked.Load()
	if now-last < int64(lookEvery) || !ses.looked.CompareAndSwap(last, now) {
		return false
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	for c := range ses.calls.All() {
		if c.request.Load().Abandoned() {
			return true
		}
	}
	return false
}

// track assigns an id to a call.
func (ses *session) track(c *call) error {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.trackLocked(c)
}

// trackLocked gives the call an id, under which its answer will be found. The error says
// that the server has not seen the call, so that it may be repeated elsewhere.
func (ses *session) trackLocked(c *call) error {
	if ses.end != nil {
		return &lostError{
			cause:  ses.end,
			unseen: true,
		}
	}
	if err := ses.checkShare(c); err != nil {
		return err
	}
	c.id = ses.calls.Add(c)
	c.born = ses.watches
	return nil
}

// untrack forgets a call whose caller no longer waits.
func (ses *session) untrack(c *call) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.calls.Get(c.id) == c {
		ses.calls.Take(c.id)
		ses.noteEndLocked(c)
	}
}

// take removes and returns the call with that id.
func (ses *session) take(id uint64) *call {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	c, waiting := ses.calls.Take(id)
	if waiting {
		ses.noteEndLocked(c)
	}
	return c
}

// wasSent reports whether a request with that id was sent.
func (ses *session) wasSent(id uint64) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.calls.Assigned(id)
}

func (ses *session) get(id uint64) *call {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.calls.Get(id)
}

func (ses *session) inFlight() int {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.busyLocked()
}

// busyLocked returns the number of calls with a waiting caller.
func (ses *session) busyLocked() int {
	n := 0
	for c := range ses.calls.All() {
		if c.method != "subscriptions/listen" {
			n++
		}
	}
	return n
}

// receive handles one message from the server. origin is the call on whose stream it
// arrived, or nil if that is unknown.
func (ses *session) receive(text []byte, origin *call) {
	var m peer.Message
	if err := m.Scan(text); err != nil {
		ses.src.junk.Add(1)
		ses.refuse(text, err)
		return
	}
	ses.noteActivity()
	switch {
	case m.Method == nil:
		ses.answered(&m)
	case m.IsRequestAndResponse():
		ses.failAll(&UnreadableError{errBoth})
	case m.ID == nil:
		ses.notified(&m, origin)
	default:
		ses.asked(&m, origin)
	}
}

// answered delivers a response.
func (ses *session) answered(m *peer.Message) {
	c := ses.take(peer.Number(m.ID))
	if c == nil {
		ses.src.junk.Add(1)
		if why := misaddressed(m, ses.wasSent); why != nil {
			ses.failAll(why)
		}
		return
	}
	result, err := answerOf(m)
	if err != nil {
		ses.noteVisits(c, err) // before the server reports their completion
	}
	c.deliver(reply{
		result: result,
		err:    err,
	})
}

// request makes one of our own requests, such as for a list.
func (ses *session) request(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	c := newCall(method)
	c.params = ses.params(params, nil)
	result, err := ses.call(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return result, nil
}

func newCall(method string) *call {
	return &call{
		method: method,
		answer: make(chan reply, 2),
	}
}

// shakeHands performs the handshake selected by the options, or else the first one that works.
func (ses *session) shakeHands(ctx context.Context) error {
	wanted := ses.terms.Version
	switch {
	case wanted.Modern():
		return ses.timed(ctx, "discover", func(ctx context.Context) error {
			return ses.discover(ctx, wanted)
		})
	case wanted != 0:
		return ses.timed(ctx, "initialize", func(ctx context.Context) error {
			return ses.initialize(ctx, wanted)
		})
	}
	first := ses.initializeLatest
	second := ses.discoverLatest
	firstIsModern := ses.http != nil
	if firstIsModern {
		first, second = second, first
	}
	err := first(ctx)
	if err == nil || !refused(err) || !ses.alive() {
		return err
	}
	secondErr := second(ctx)
	if secondErr == nil || !refused(secondErr) || firstIsModern {
		return secondErr
	}
	return err
}

func (ses *session) initializeLatest(ctx context.Context) error {
	return ses.timed(ctx, "initialize", func(ctx context.Context) error {
		return ses.initialize(ctx, mcp.LatestLegacyVersion)
	})
}

func (ses *session) discoverLatest(ctx context.Context) error {
	return ses.timed(ctx, "discover", func(ctx context.Context) error {
		return ses.discover(ctx, mcp.LatestVersion)
	})
}

// refused reports whether a server answered that it does not know the handshake, or with
// an unreadable message, so that the other one should be tried.
func refused(err error) bool {
	var e *mcp.Error
	var status *StatusError
	var unread *UnreadableError
	return errors.As(err, &e) || errors.As(err, &unread) ||
		errors.As(err, &status) && status.mayRejectHandshake()
}

// initialize performs the handshake of versions up to 2025-11-25.
func (ses *session) initialize(ctx context.Context, wanted mcp.Version) error {
	params := append([]byte(`{"protocolVersion":"`), wanted.String()...)
	params = append(append(params, `","capabilities":`...), ses.terms.Capabilities...)
	params = append(append(params, `,"clientInfo":`...), ses.src.clientInfo...)
	c := newCall("initialize")
	c.params = append(params, '}')
	result, err := ses.call(ctx, c)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	name := memberString(result, "protocolVersion")
	version, ok := mcp.ParseVersion(name)
	if !ok || version.Modern() {
		return permanent{fmt.Errorf("the server uses protocol version %q, which is not supported", name)}
	}
	if err := ses.learn(version, result, jsonscan.Member(result, "serverInfo")); err != nil {
		return err
	}
	return ses.link.tell(ctx, peer.Notification("notifications/initialized", nil))
}

// discover starts a session with a server of 2026-07-28, which needs no handshake. A server that
// refuses the version although it lists it among those it supports is asked again, once.
func (ses *session) discover(ctx context.Context, version mcp.Version) error {
	ses.version = version
	result, err := ses.request(ctx, "server/discover", nil)
	if offers(err, version) {
		result, err = ses.request(ctx, "server/discover", nil)
	}
	if err != nil {
		ses.version = 0
		return err
	}
	var versions []string
	_ = json.Unmarshal(jsonscan.Member(result, "supportedVersions"), &versions)
	if slices.Contains(versions, version.String()) {
		return ses.learn(version, result,
			jsonscan.Member(jsonscan.Member(result, "_meta"), "io.modelcontextprotocol/serverInfo"))
	}
	ses.version = 0
	return &mcp.Error{
		Code:    mcp.CodeUnsupportedProtocolVersion,
		Message: fmt.Sprintf("the server does not support version %s", version),
	}
}

// offers reports whether a server refused the version of a request with a list of versions that
// contains wanted.
func offers(err error, wanted mcp.Version) bool {
	var e *mcp.Error
	if !errors.As(err, &e) || e.Code != mcp.CodeUnsupportedProtocolVersion {
		return false
	}
	var data struct{ Supported []string }
	return json.Unmarshal(e.Data, &data) == nil && slices.Contains(data.Supported, wanted.String())
}

// Limits of what is sent to every client that connects.
const (
	maxIntroduction = 64 << 10  // of the instructions of a server, and of its capabilities
	maxServerInfo   = 512 << 10 // icons may be data in their URLs
)

// learn stores the results of the handshake. It copies them, as slices would keep the whole
// message in memory.
func (ses *session) learn(version mcp.Version, result, info []byte) error {
	capabilities := jsonscan.Member(result, "capabilities")
	instructions := memberString(result, "instructions")
	if len(capabilities) > maxIntroduction || len(info) > maxServerInfo {
		return permanent{fmt.Errorf("the server answers the handshake with %d bytes of capabilities and %d of serverInfo: "+
			"the limits are %d and %d KiB", len(capabilities), len(info), maxIntroduction>>10, maxServerInfo>>10)}
	}
	if len(instructions) > maxIntroduction {
		ses.src.report(Event{
			What: EventWarning,
			Err: fmt.Errorf("the instructions of the server have %d bytes and are cut after %d KiB",
				len(instructions), maxIntroduction>>10),
		})
	}
	ses.version = version
	ses.capabilities = bytes.Clone(capabilities)
	ses.info = bytes.Clone(info)
	ses.instructions = truncate(instructions, maxIntroduction)
	ses.logs = ses.declares("logging")
	if ses.http != nil {
		ses.http.setVersion(version)
	}
	return nil
}

// declares reports whether the server has the capability at a path of names.
func (ses *session) declares(path ...string) bool {
	value := []byte(ses.capabilities)
	for _, name := range path {
		value = jsonscan.Member(value, name)
	}
	return jsonscan.IsObject(value) || string(value) == "true"
}

const metaPrefix = "io.modelcontextprotocol/"

// params returns the params of a request: the members of inner, an object or nil, and the
// _meta required by the server's version and the client.
func (ses *session) params(inner []byte, req *mcp.Request) []byte {
	if !ses.version.Modern() {
		return inner
	}
	dst := []byte{'{'}
	if body := members(inner); len(body) > 0 {
		dst = append(append(dst, body...), ',')
	}
	level, logs := wantedLevel(req)
	return append(ses.appendMeta(dst, metaParts{level: level, logs: logs}, req), '}')
}

// members returns the text between the braces of an object.
func members(object []byte) []byte {
	if len(object) < 2 {
		return nil
	}
	return object[1 : len(object)-1]
}

// metaParts is what a request has in _meta besides what the server's version demands.
type metaParts struct {
	token uint64       // the progress token, or 0 for none
	level mcp.LogLevel // the level of log lines wanted from a 2026-07-28 server, if logs
	logs  bool
	trace *mcp.Trace      // replaces the client's trace context, if not nil
	meta  json.RawMessage // the client's own
}

// appendMeta appends the member _meta, if it has members, and always for 2026-07-28.
func (ses *session) appendMeta(dst []byte, p metaParts, req *mcp.Request) []byte {
	dst = append(dst, `"_meta":{`...)
	open := len(dst)
	if ses.version.Modern() {
		dst = append(append(dst, `"io.modelcontextprotocol/protocolVersion":"`...), ses.version.String()...)
		dst = ses.appendCapabilities(append(dst, `","io.modelcontextprotocol/clientCapabilities":`...), req)
		dst = append(append(dst, `,"io.modelcontextprotocol/clientInfo":`...), ses.src.clientInfo...)
		if p.logs {
			dst = jsonscan.AppendQuote(append(dst, `,"io.modelcontextprotocol/logLevel":`...), p.level.String())
		}
		dst = append(dst, ',')
	}
	if p.token != 0 {
		dst = strconv.AppendUint(append(dst, `"progressToken":"`+tokenPrefix...), p.token, 10)
		dst = append(dst, '"', ',')
	}
	if p.trace != nil {
		dst = append(jsonscan.AppendQuote(append(dst, `"traceparent":`...), p.trace.Parent), ',')
		if p.trace.State != "" {
			dst = append(jsonscan.AppendQuote(append(dst, `"tracestate":`...), p.trace.State), ',')
		}
	}
	dst = appendForeignMeta(dst, p.meta, p.trace != nil)
	if len(dst) > open {
		dst = dst[:len(dst)-1] // remove the last comma
	}
	return append(dst, '}')
}

// appendForeignMeta appends the members of a client's _meta that are meant for the
// server, each followed by a comma. It omits those that describe the client to us and,
// if traced, the client's trace context, which has been replaced.
func appendForeignMeta(dst []byte, meta json.RawMessage, traced bool) []byte {
	if len(meta) == 0 {
		return dst
	}
	for _, m := range jsonscan.Members(meta) {
		replaced := traced && (m.Name == "traceparent" || m.Name == "tracestate")
		if m.Name != "progressToken" && !ours(m.Name) && !replaced {
			dst = append(jsonscan.AppendQuote(dst, m.Name), ':')
			dst = append(append(dst, m.Value...), ',')
		}
	}
	return dst
}

// ours reports whether a member of _meta is one that this package sets itself, so that
// those of the client must not be forwarded.
func ours(key string) bool {
	name, ok := strings.CutPrefix(key, metaPrefix)
	if !ok {
		return false
	}
	switch name {
	case "protocolVersion", "clientCapabilities", "clientInfo", "logLevel", "subscriptionId":
		return true
	}
	return false
}
