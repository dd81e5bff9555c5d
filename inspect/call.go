package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/mcp"
)

// call is a request made by the page.
type call struct {
	// ID numbers the calls of all sources.
	ID     int    `json:"id"`
	Source int    `json:"src"`
	Method string `json:"method"`
	// Name is the tool, prompt or URI that is called.
	Name string `json:"name,omitempty"`
	// State is running, done, failed, cancelled or timeout.
	State   string `json:"state"`
	Started int64  `json:"started"`
	// Request and Answer are the numbers of the frames, and 0 until they exist.
	Request uint64 `json:"request,omitempty"`
	Answer  uint64 `json:"answer,omitempty"`
	Took    int64  `json:"took,omitempty"`
	// Bytes and Tokens are the size of the result; tokens are an estimate.
	Bytes   int      `json:"bytes,omitempty"`
	Tokens  int      `json:"tokens,omitempty"`
	IsError bool     `json:"isError,omitempty"`
	Failure *Failure `json:"error,omitempty"`
	// Logs counts the log lines that arrived during the call.
	Logs     int             `json:"logs,omitempty"`
	Progress json.RawMessage `json:"progress,omitempty"`

	mu *sync.Mutex // of the list
	// cause is that of the frames, notify connects them with the call, cancel ends it, and limit does
	// so after a time.
	cause  string
	notify *client.Notify
	cancel context.CancelCauseFunc
	limit  *limit
}

// callList is the calls of the page: the running ones, and the latest others.
type callList struct {
	mu   sync.Mutex
	next int
	// calls are by id; old ones that have ended are forgotten.
	calls map[int]*call
}

// maxCalls is how many calls are remembered.
const maxCalls = 10_000

func newCallList() *callList { return &callList{calls: make(map[int]*call)} }

// add gives a call its number, and forgets the call that is maxCalls older unless it is running.
func (l *callList) add(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	c.ID = l.next
	c.mu = &l.mu
	l.calls[c.ID] = c
	old := l.calls[c.ID-maxCalls]
	if old != nil && old.State != stateRunning {
		delete(l.calls, old.ID)
	}
}

// get returns a call, or nil if it does not exist or is forgotten. Its fields change while it runs:
// readers use copy.
func (l *callList) get(id int) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[id]
}

// isRunning reports whether a call has no result yet.
func (l *callList) isRunning(id int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	return c != nil && c.State == stateRunning
}

// running returns the calls without a result, oldest first.
func (l *callList) running() []call {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []call{}
	for _, c := range l.calls {
		if c.State == stateRunning {
			list = append(list, *c)
		}
	}
	order.By(list, func(a, b call) int { return a.ID - b.ID })
	return list
}

// only returns the only running call of a source, or 0.
func (l *callList) only(source int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := 0
	for _, c := range l.calls {
		if c.State != stateRunning || c.Source != source {
			continue
		}
		if found != 0 {
			return 0
		}
		found = c.ID
	}
	return found
}

// notifying returns the call that made a request, or 0.
func (l *callList) notifying(n *client.Notify) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if n != nil && c.notify == n {
			return c.ID
		}
	}
	return 0
}

// limits returns the limits of a running call, or of all running calls of a source if id is 0.
func (l *callList) limits(source, id int) []*limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*limit
	for _, c := range l.calls {
		if c.State == stateRunning && c.Source == source && (id == 0 || c.ID == id) {
			list = append(list, c.limit)
		}
	}
	return list
}

// stateRunning is the state of a call without an outcome.
const stateRunning = "running"

// setRequest sets the frame that carried the request.
func (c *call) setRequest(seq uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Request = seq
}

// setAnswer sets the frame with the result, and what the page shows of it.
func (c *call) setAnswer(f *Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Answer = f.Seq
	c.Bytes = f.Bytes
	c.Tokens = tokens(f.Bytes)
	c.IsError = f.IsError
}

// notified counts a log line, or keeps the latest progress, of a running call.
func (c *call) notified(kind string, params json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind == "log" {
		c.Logs++
		return
	}
	c.Progress = params
}

// callRequest is the body of POST api/call.
type callRequest struct {
	// Source is the id of the source, and Method the method to call.
	Source int             `json:"source"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	// Meta is added to the request's own _meta.
	Meta json.RawMessage `json:"meta"`
	// Timeout is in seconds; 0 means a minute.
	Timeout float64 `json:"timeout"`
	// SendAnyway sends arguments that do not follow the schema, to see how the server
	// reacts.
	SendAnyway bool `json:"send_anyway"`
	// Cause is who makes the call, see [Frame.Cause].
	Cause string `json:"cause"`
}

// serveCall serves POST api/call.
func (in *Inspector) serveCall(w http.ResponseWriter, r *http.Request) error {
	var body callRequest
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	t, err := in.target(body.Source)
	if err != nil {
		return err
	}
	if body.Method == "" {
		return badRequest("the call has no method")
	}
	if body.Params != nil &&
		string(body.Params) != "null" &&
		!jsonscan.IsObject(body.Params) {
		return badRequest("params must be a JSON object")
	}
	if body.Method == "tools/call" && !body.SendAnyway {
		if err := t.checkArguments(r.Context(), body.Params); err != nil {
			return err
		}
	}
	c, err := in.call(t, &body)
	if err != nil {
		return err
	}
	return answer(w, map[string]int{"call": c.ID})
}

// callTimeout is how long a call may take without progress, unless the user chooses another time.
const callTimeout = time.Minute

// call makes a call; its result is published.
func (in *Inspector) call(t *target, body *callRequest) (*call, error) {
	live, err := t.live()
	if err != nil {
		return nil, err
	}
	timeout := time.Duration(body.Timeout * float64(time.Second))
	if timeout == 0 {
		timeout = callTimeout
	}
	// The call outlasts the request of the page, which only starts it.
	ctx, cancel := context.WithCancelCause(in.quit)
	c := &call{
		Source:  t.id,
		Method:  body.Method,
		Name:    mcplog.RequestName(body.Params),
		State:   stateRunning,
		Started: time.Now().UnixNano(),
		cause:   "user",
		cancel:  cancel,
		limit:   newLimit(timeout, cancel),
	}
	if body.Cause == "retry" {
		c.cause = body.Cause
	}
	// The number must exist before the first frame of the call.
	in.calls.add(c)
	t.mu.Lock()
	level := t.level
	t.mu.Unlock()
	c.notify = &client.Notify{
		Progress: func(json.RawMessage) { c.limit.extend() },
		Sent:     func(id uint64) { in.feed.sentIDs.Store(sentKey{t.id, id}, c.ID) },
	}
	if l, ok := mcp.ParseLogLevel(level); ok {
		c.notify.Level = &l
	}
	params := withMeta(body.Params, body.Meta)
	in.publish("call", c.copy())
	in.work.Go(func() {
		began := time.Now()
		_, err := live.Do(client.WithNotify(ctx, c.notify), body.Method, params)
		took := time.Since(began)
		c.limit.stop()
		cause := context.Cause(ctx)
		cancel(nil)
		// The frames of the answer come first, so that the page shows the outcome with its answer.
		in.feed.after(func() { in.finish(c, took, err, cause) })
	})
	return c, nil
}

// serveOutcome serves GET api/call/{id}, for a page that may have missed how a call ended.
func (in *Inspector) serveOutcome(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		return badRequest("%q is not the number of a call", r.PathValue("id"))
	}
	c := in.calls.get(id)
	if c == nil {
		return notFound("there is no call %d", id)
	}
	return answer(w, c.copy())
}

// errStopped and errTime are the causes with which a call is cancelled: by the user, and by its
// limit.
var (
	errStopped = errors.New("cancelled")
	errTime    = errors.New("timeout")
)

// finish publishes the outcome of a call.
func (in *Inspector) finish(c *call, took time.Duration, err, cause error) {
	c.mu.Lock()
	c.Took = int64(took)
	switch {
	case err == nil:
		c.State = "done"
	case errors.Is(cause, errStopped):
		c.State = "cancelled"
	case errors.Is(cause, errTime):
		c.State = "timeout"
		c.Failure = &Failure{
			Text: "no answer in time",
			Hint: "choose a longer time-out, or read the log of the server",
		}
	default:
		c.State = "failed"
		c.Failure = in.explain(err)
	}
	c.mu.Unlock()
	in.publish("call", c.copy())
}

// copy returns a snapshot to encode without the lock.
func (c *call) copy() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	copied := *c
	return &copied
}

// limit ends a call after a time without progress, except while the user is asked for it.
type limit struct {
	mu    sync.Mutex
	timer *time.Timer // nil without a limit, and after the outcome
	// after is how long the call may take without progress, and asking counts open questions.
	after  time.Duration
	asking int
}

// newLimit returns a limit that cancels a call with errTime. A negative after means no limit.
func newLimit(after time.Duration, cancel context.CancelCauseFunc) *limit {
	l := &limit{after: after}
	if after > 0 {
		l.timer = time.AfterFunc(after, func() { cancel(errTime) })
	}
	return l
}

// extend restarts the time after progress. It has no effect once the time is over.
func (l *limit) extend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil && l.timer.Stop() {
		l.timer.Reset(l.after)
	}
}

// pause stops the time until the returned function has been called.
func (l *limit) pause() (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking++
	if l.timer != nil {
		l.timer.Stop()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.asking--; l.asking == 0 && l.timer != nil {
			l.timer.Reset(l.after)
		}
	}
}

// stop ends the limit after the outcome of the call.
func (l *limit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// withMeta returns params with a member _meta, unless meta is empty.
func withMeta(params, meta json.RawMessage) json.RawMessage {
	if string(params) == "null" {
		params = nil
	}
	if !jsonscan.IsObject(meta) || len(jsonscan.Members(meta)) == 0 {
		return params
	}
	out := []byte{'{'}
	for _, m := range jsonscan.Members(params) {
		if m.Name != "_meta" {
			out = append(append(jsonscan.AppendQuote(out, m.Name), ':'), m.Value...)
			out = append(out, ',')
		}
	}
	return append(append(append(out, `"_meta":`...), meta...), '}')
}

// serveCancel serves POST api/cancel.
func (in *Inspector) serveCancel(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Call int `json:"call"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	c := in.calls.get(body.Call)
	if c == nil {
		return notFound("there is no call %d", body.Call)
	}
	c.cancel(errStopped)
	return done(w)
}

// serveReconnect serves POST api/reconnect.
func (in *Inspector) serveReconnect(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source int  `json:"source"`
		Stop   bool `json:"stop"`
		wanted
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	t, err := in.target(body.Source)
	if err != nil {
		return err
	}
	if body.Stop {
		t.giveUp()
		return done(w)
	}
	if string(body.Capabilities) == "null" {
		body.Capabilities = nil
	}
	_, ok := mcp.ParseVersion(body.Version)
	if !ok && body.Version != "" {
		return badRequest("%q is not a version of the protocol", body.Version)
	}
	if body.Capabilities != nil && !jsonscan.IsObject(body.Capabilities) {
		return badRequest("capabilities is a JSON object")
	}
	t.connect(body.wanted)
	return done(w)
}

// serveSubscribe serves POST api/subscribe.
func (in *Inspector) serveSubscribe(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source int    `json:"source"`
		URI    string `json:"uri"`
		On     bool   `json:"on"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	t, live, err := in.liveTarget(body.Source)
	if err != nil {
		return err
	}
	if body.On {
		err = live.Subscribe(r.Context(), body.URI)
	} else {
		err = live.Unsubscribe(r.Context(), body.URI)
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.watching = live.Subscribed()
	t.mu.Unlock()
	t.touch()
	return done(w)
}

// liveTarget returns a connected source.
func (in *Inspector) liveTarget(id int) (*target, *client.Source, error) {
	t, err := in.target(id)
	if err != nil {
		return nil, nil, err
	}
	live, err := t.live()
	return t, live, err
}

// serveLevel serves POST api/level.
func (in *Inspector) serveLevel(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source int    `json:"source"`
		Level  string `json:"level"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	level, ok := mcp.ParseLogLevel(body.Level)
	if !ok {
		return badRequest("%q is not a log level", body.Level)
	}
	t, live, err := in.liveTarget(body.Source)
	if err != nil {
		return err
	}
	if err := live.SetLogLevel(r.Context(), level); err != nil {
		return err
	}
	t.mu.Lock()
	t.level = body.Level
	t.mu.Unlock()
	t.touch()
	return done(w)
}

// serveRoots serves POST api/roots.
func (in *Inspector) serveRoots(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source int        `json:"source"`
		Roots  []mcp.Root `json:"roots"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	t, err := in.target(body.Source)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.roots = body.Roots
	live := t.client
	t.mu.Unlock()
	if live != nil {
		live.NotifyRootsChanged()
	}
	t.touch()
	return done(w)
}

// completion is a request for suggestions that is running.
type completion struct{ cancel context.CancelFunc }

// serveComplete serves POST api/complete.
func (in *Inspector) serveComplete(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source    int               `json:"source"`
		Prompt    string            `json:"prompt"`
		Template  string            `json:"template"`
		Argument  string            `json:"argument"`
		Value     string            `json:"value"`
		Arguments map[string]string `json:"arguments"`
		Field     string            `json:"field"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	_, live, err := in.liveTarget(body.Source)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	// Only the suggestions for the latest text of a field matter.
	key := struct {
		source int
		field  string
	}{body.Source, body.Field}
	mine := &completion{cancel}
	if before, ok := in.completions.Swap(key, mine); ok {
		before.(*completion).cancel()
	}
	defer in.completions.CompareAndDelete(key, mine)
	began := time.Now()
	result, err := live.Complete(ctx, &mcp.CompleteParams{
		Prompt:      body.Prompt,
		URITemplate: body.Template,
		Argument:    body.Argument,
		Value:       body.Value,
		Arguments:   body.Arguments,
	})
	if errors.Is(err, context.Canceled) {
		return failure(499, "cancelled", "a later request has replaced this one")
	}
	if err != nil {
		return err
	}
	c, err := result.Decode()
	if err != nil {
		return err
	}
	return answer(w, map[string]any{
		"values":  append([]string{}, c.Values...),
		"total":   c.Total,
		"hasMore": c.HasMore != nil && *c.HasMore,
		"ns":      int64(time.Since(began)),
	})
}
