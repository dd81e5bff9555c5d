package inspect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// target is a source with its connection.
type target struct {
	// in is informed of changes, and id and src identify the source.
	in    *Inspector
	id    int
	src   *Source
	dirty atomic.Bool // its state has changed since it was published

	mu      sync.Mutex
	attempt int // counts calls of connect
	stop    context.CancelFunc
	client  *client.Source // of the current connection, or nil
	closer  io.Closer
	memory  bool // it is served in memory
	// phase is the state of the connection, since when, and failed why there is none.
	phase  string
	since  time.Time
	failed *Failure
	// steps are the steps of the current attempt to connect.
	steps []stepState
	// wanted is what the page asked the client to negotiate.
	wanted  wanted
	catalog *mcp.Catalog
	facts   *CatalogFacts // of catalog
	// level, roots and watching are what the page has set. Only the roots outlast the connection.
	level    string
	roots    []mcp.Root
	watching []string // subscribed resources
}

// wanted is how the page wants to connect.
type wanted struct {
	// Version is the protocol version to request, or empty for the newest; Capabilities
	// are what to declare.
	Version      string          `json:"version"`
	Capabilities json.RawMessage `json:"capabilities"`
}

// terms returns what is wanted as package client has it.
func (w *wanted) terms() *client.Terms {
	version, _ := mcp.ParseVersion(w.Version)
	return &client.Terms{
		Version:      version,
		Capabilities: w.Capabilities,
	}
}

// equal reports whether two connections are wanted alike.
func (w *wanted) equal(other *wanted) bool {
	return w.Version == other.Version && bytes.Equal(w.Capabilities, other.Capabilities)
}

// The phases of a connection besides those of package client.
const (
	phaseConnecting = "connecting"
	phaseFailed     = "failed"
	phaseClosed     = "closed"
	phaseRecording  = "recording"
)

// stepState is a step of connecting.
type stepState struct {
	// Seq is the number of the step's frame; NS and Took are in nanoseconds.
	Seq    uint64 `json:"seq"`
	Name   string `json:"name"`
	NS     int64  `json:"ns"`
	Took   int64  `json:"took"`
	Detail string `json:"detail,omitempty"`
	Error  string `json:"error,omitempty"`
}

// newTarget returns a source that is not connected yet. id is its number on the page, from 1.
func newTarget(in *Inspector, id int, src *Source) *target {
	return &target{
		in:    in,
		id:    id,
		src:   src,
		phase: phaseConnecting,
		since: time.Now(),
		roots: in.opts.Roots,
		facts: factsOf(nil),
		stop:  func() {},
	}
}

// touch makes the state of the target be published.
func (t *target) touch() {
	if !t.dirty.Swap(true) {
		t.in.feed.after(func() {})
	}
}

// connect begins to connect, and ends the connection before. On other terms, the source
// that is open reconnects; otherwise it is opened again, as it may have changed.
func (t *target) connect(w wanted) {
	ctx, stop := context.WithTimeout(t.in.quit, t.in.opts.ConnectTimeout)
	t.mu.Lock()
	before := t.closer
	live := t.client
	if t.memory || t.src.Recording != "" || w.equal(&t.wanted) {
		live = nil
	}
	t.stop()
	t.stop = stop
	t.attempt++
	attempt := t.attempt
	t.client = nil
	t.closer = nil
	t.memory = false
	t.phase = phaseConnecting
	t.since = time.Now()
	t.failed = nil
	t.steps = nil
	t.wanted = w
	t.level = ""
	t.watching = nil
	t.mu.Unlock()
	t.touch()
	t.in.work.Go(func() {
		defer stop()
		if live != nil {
			t.reconnect(ctx, attempt, live, before)
			return
		}
		if before != nil {
			_ = before.Close() // its errors are steps of the connection that has ended
		}
		t.open(ctx, attempt, w)
	})
}

// reconnect connects a source that is open on the wanted terms.
func (t *target) reconnect(
	ctx context.Context,
	attempt int,
	live *client.Source,
	closer io.Closer,
) {
	t.mu.Lock()
	terms := t.wanted.terms()
	t.mu.Unlock()
	if err := live.Reconnect(ctx, terms); err != nil {
		_ = closer.Close() // the next attempt opens it again
		state := ctx.Err()
		t.in.feed.after(func() { t.fail(state, attempt, err) })
		t.findLogin(ctx, attempt, err)
		return
	}
	t.adopt(attempt, live, closer, false)
}

// open connects, unless another attempt has begun in the meantime.
func (t *target) open(ctx context.Context, attempt int, w wanted) {
	if t.src.Recording != "" {
		t.openRecording(attempt)
		return
	}
	how := &Connect{
		Capabilities: w.Capabilities,
		Answer:       t.answerQuestion,
		Observe:      func(client.Event) { t.touch() },
	}
	how.Version = w.terms().Version
	var quiet atomic.Bool // messages behind a source that is served in memory are not shown
	events := t.in.feed.tap(t.id)
	how.Tap = func(e *tap.Event) {
		if quiet.Load() && e.Kind != tap.Stderr && e.Kind != tap.Junk {
			return
		}
		events(e)
	}
	src, err := t.src.Open(ctx, how)
	var live *client.Source
	closer, _ := src.(io.Closer)
	memory := false
	if direct, ok := src.(*client.Source); ok && err == nil {
		live = direct
	} else if err == nil {
		quiet.Store(true)
		memory = true
		inner := *how
		inner.Tap = events
		var served *memorySource
		if served, err = serveInMemory(ctx, t.src.Name, src, &inner); err == nil {
			live = served.Source
			closer = served
		}
	}
	if err != nil {
		// The page shows the steps that failed before the failure. ctx ends when this returns, so its
		// state is read now.
		state := ctx.Err()
		t.in.feed.after(func() {
			t.fail(state, attempt, err)
		})
		t.findLogin(ctx, attempt, err)
		return
	}
	if t.adopt(attempt, live, closer, memory) {
		live.Watch(func(c mcp.Change) { t.changed(live, c) })
	}
}

// adopt makes a connected source the one of the target, and reports whether it did. If
// another attempt has begun, it closes the source.
func (t *target) adopt(
	attempt int,
	live *client.Source,
	closer io.Closer,
	memory bool,
) bool {
	t.mu.Lock()
	if attempt != t.attempt {
		t.mu.Unlock()
		_ = closer.Close()
		return false
	}
	t.client = live
	t.closer = closer
	t.memory = memory
	t.phase = ""
	t.since = time.Now()
	t.watching = live.Subscribed()
	t.mu.Unlock()
	t.changed(live, mcp.Change{Tools: true})
	t.touch()
	return true
}

// fail records why an attempt has failed. ended is the error of its context.
func (t *target) fail(ended error, attempt int, err error) {
	f := t.in.explain(err)
	f.Step = t.failedStep()
	f.Hint = cmp.Or(f.Hint, stepHints[f.Step])
	if errors.Is(ended, context.Canceled) {
		f = &Failure{
			Text: "connecting was stopped",
			Code: "stopped",
		}
	} else if ended != nil {
		f.Hint = cmp.Or(f.Hint, "the server did not answer in time: run it by itself, or read its log")
		f.Code = "timeout"
	}
	if f.Status == 401 || f.Status == 403 {
		f.Step = "authorization"
		f.Command = "MCP_CLIENT_TOKEN=TOKEN slipway inspect " + process.SourceWords(t.src.Argument)
	}
	t.mu.Lock()
	if attempt == t.attempt {
		t.phase = phaseFailed
		t.since = time.Now()
		t.failed = f
	}
	t.mu.Unlock()
	t.touch()
}

// stepHints are the next steps after the steps below a handshake.
var stepHints = map[string]string{
	"resolve": "check the host name, and the network",
	"connect": "check that the server runs, and its port",
	"tls":     "check the certificate of the server, or whether it wants http",
	"start":   "check the command: type it by itself",
}

// failedStep returns the step that failed: below a handshake, which fails with it, if
// there is one, otherwise the last one.
func (t *target) failedStep() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	failed := ""
	for _, s := range t.steps {
		if s.Error != "" && (stepHints[failed] == "" || stepHints[s.Name] != "") {
			failed = s.Name
		}
	}
	return failed
}

// giveUp ends an attempt to connect.
func (t *target) giveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase == phaseConnecting {
		t.stop()
	}
}

// close ends the connection for good. An attempt that is in progress is cancelled, and its outcome
// ignored.
func (t *target) close() {
	t.mu.Lock()
	t.stop()
	t.attempt++
	closer := t.closer
	t.closer = nil
	t.client = nil
	t.phase = phaseClosed
	t.mu.Unlock()
	if closer != nil {
		_ = closer.Close() // nothing was written
	}
}

// live returns the connection of the target, or why there is none.
func (t *target) live() (*client.Source, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client == nil {
		f := &Failure{
			Text: fmt.Sprintf("%s is not connected", t.src.Name),
			Hint: "connect again",
			Code: "not_connected",
			http: 409,
		}
		if t.phase == phaseRecording {
			f.Text = fmt.Sprintf("%s has only messages: it has several servers, or no handshake", t.src.Name)
			f.Hint = "open one of several servers with: slipway inspect FILE.mcplog#NAME"
		}
		return nil, f
	}
	return t.client, nil
}

// maxSteps is how many of the latest steps the state of a source has.
const maxSteps = 200

// step records a step of connecting; it is called by the feed.
func (in *Inspector) step(f *Frame) {
	t, err := in.target(f.Source)
	if err != nil {
		return
	}
	t.mu.Lock()
	if len(t.steps) >= maxSteps {
		t.steps = slices.Delete(t.steps, 0, len(t.steps)-maxSteps+1)
	}
	t.steps = append(t.steps, stepState{f.Seq, f.Step, f.Nanoseconds, f.Took, f.Detail, f.Error})
	t.mu.Unlock()
	t.dirty.Store(true) // the feed publishes it
}

// State is the state of a source.
type State struct {
	// ID, Name and Label identify the source, and Argument is what was typed for it.
	ID       int       `json:"id"`
	Name     string    `json:"name"`
	Label    string    `json:"label"`
	Argument string    `json:"argument,omitempty"`
	Kind     string    `json:"kind"`
	Phase    string    `json:"phase"`
	Since    time.Time `json:"since"`
	// Waits is what connecting is waiting for, such as the first answer.
	Waits string `json:"waits,omitempty"`

	Version string `json:"version,omitempty"`
	// Modern reports whether Version has no handshake (2026-07-28 and later).
	Modern       bool            `json:"modern"`
	Server       json.RawMessage `json:"server,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Wanted       wanted          `json:"wanted"`
	Client       json.RawMessage `json:"client,omitempty"`
	Instructions string          `json:"instructions,omitempty"`

	// PID to Junk describe the process of a local server: Starts and Failures count, and Junk is
	// the lines on stdout that are no messages.
	PID      int       `json:"pid,omitempty"`
	Starts   int       `json:"starts,omitempty"`
	Failures int       `json:"failures,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	InFlight int       `json:"inFlight"`
	Junk     int64     `json:"junk,omitempty"`

	Error *Failure    `json:"error,omitempty"`
	Steps []stepState `json:"steps"`
	*CatalogFacts
	Level         string     `json:"level,omitempty"`
	Subscriptions []string   `json:"subscriptions"`
	Roots         []mcp.Root `json:"roots"`
}

// state returns the current state.
func (t *target) state() *State {
	t.mu.Lock()
	live := t.client
	s := &State{
		ID:            t.id,
		Name:          t.src.Name,
		Label:         t.src.Label,
		Argument:      process.SourceWords(t.src.Argument),
		Phase:         t.phase,
		Since:         t.since.UTC(),
		Wanted:        t.wanted,
		Error:         t.failed,
		Steps:         append([]stepState{}, t.steps...),
		Level:         t.level,
		Subscriptions: append([]string{}, t.watching...),
		Roots:         append([]mcp.Root{}, t.roots...),
	}
	memory := t.memory
	s.CatalogFacts = t.facts
	t.mu.Unlock()
	switch {
	case t.src.Recording != "":
		s.Kind = phaseRecording
	case memory:
		s.Kind = "memory"
	}
	if live != nil {
		t.addLive(s, live)
	}
	// A recording ends, which is no failure of a connection.
	if t.src.Recording != "" && live != nil {
		s.Phase = phaseRecording
		s.Error = nil
	}
	if s.Kind == "" && strings.HasPrefix(s.Argument, "-- ") {
		s.Kind = "stdio"
	} else if s.Kind == "" && strings.Contains(s.Argument, "://") {
		s.Kind = "http"
	}
	if s.Phase == phaseConnecting {
		s.Waits = waitsFor(s.Steps)
	}
	return s
}

// addLive adds the facts of a connection.
func (t *target) addLive(s *State, live *client.Source) {
	now := live.State()
	s.Kind = cmp.Or(s.Kind, now.Kind)
	s.Phase = string(now.Phase)
	s.Since = now.Since.UTC()
	s.Version = now.Speaks
	s.Modern = now.Version.Modern()
	s.PID = now.PID
	s.Starts = now.Starts
	s.Failures = now.Failures
	s.Next = now.Next
	s.InFlight = now.InFlight
	s.Junk = now.Junk
	if now.Error != "" && now.Phase != client.Ready {
		s.Error = &Failure{Text: t.in.clean(now.Error)}
	}
	if now.Phase == client.Starting {
		s.Phase = phaseConnecting
	}
	if shake := live.Handshake(); shake != nil {
		s.Server = shake.Server
		s.Capabilities = shake.Capabilities
		s.Instructions = t.in.clean(shake.Instructions)
	}
	s.Client = live.Capabilities()
}

// waitsFor returns what an attempt to connect is waiting for, after its steps so far.
func waitsFor(steps []stepState) string {
	if len(steps) == 0 {
		return "the first answer"
	}
	switch last := steps[len(steps)-1]; last.Name {
	case "resolve":
		return "the connection"
	case "connect", "tls", "request":
		return "an answer to the first request"
	case "start":
		return "the first message of the program"
	case "initialize", "discover":
		return "the lists of the server"
	}
	return "the server"
}

// answerQuestion answers a question of a server.
func (t *target) answerQuestion(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (json.RawMessage, error) {
	if method == "roots/list" {
		t.mu.Lock()
		defer t.mu.Unlock()
		return mustJSON(map[string]any{"roots": append([]mcp.Root{}, t.roots...)}), nil
	}
	return t.in.ask(ctx, t, method, params)
}
