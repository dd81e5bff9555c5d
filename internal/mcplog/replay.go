package mcplog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/loopback"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// ReplayOptions configure [Replay]. Nil and the zero value mean the defaults.
type ReplayOptions struct {
	// Changes, if not nil, reports whether a tool may be called that is not marked
	// readOnlyHint. Nil skips such calls.
	Changes func(tool string) bool
	// Ignore are paths into results that are not compared, such as $.content.0.text. A *
	// matches every member or element.
	Ignore []string
	// Environment is searched for secrets, as NAME=value. Their values are redacted in the
	// responses before these are compared, as are credentials in known formats and the paths
	// that were redacted in the recording.
	Environment []string
	// Timeout is how long to wait for a response; 0 means a minute.
	Timeout time.Duration
	// Done, if not nil, is called with each outcome, as it becomes known.
	Done func(*Outcome)
}

// Outcome is the outcome of sending a recorded request again.
type Outcome struct {
	// Seq is the number of the recorded request.
	Seq uint64 `json:"seq"`
	// Method and Name are those of the recorded request.
	Method string `json:"method"`
	Name   string `json:"name,omitempty"`
	// Skipped says why the responses were not compared, on purpose; it is empty otherwise.
	Skipped string `json:"skipped,omitempty"`
	// Error says why there is no response to compare; it is empty otherwise.
	Error string `json:"error,omitempty"`
	// Differences are where the two responses differ.
	Differences []Difference `json:"differences,omitempty"`
	// Before and After are how long the two responses took, in nanoseconds.
	Before time.Duration `json:"before"`
	After  time.Duration `json:"after"`
}

// lists maps the methods that list entries to the member with the entries.
var lists = map[string]string{
	"tools/list":               "tools",
	"prompts/list":             "prompts",
	"resources/list":           "resources",
	"resources/templates/list": "resourceTemplates",
}

// repeatable are the methods that are sent again, apart from lists.
var repeatable = []string{"tools/call", "resources/read", "prompts/get", "completion/complete"}

// The reasons in [Outcome.Skipped].
const (
	NotReadOnly       = "the tool is not marked readOnlyHint"
	RedactedArguments = "the recording has [redacted] instead of an argument"
	RedactedAnswer    = "the recording has [redacted] instead of the answer to a question of the server"
)

// Replay sends the requests of a recording to a source, through a server in memory, and
// compares the responses with the recorded ones. It ignores _meta, except in data of tools,
// and compares whole lists by name rather than pages. Questions of the source are answered as
// recorded.
//
// No outcome has a secret that the recording does not have: responses are redacted as the
// recording was, and [redacted] in a recorded value stands for any text.
//
// A response that is missing is an [Outcome] with an error, and the replay continues. The error
// of Replay is a [*PathError], or one of the catalog, the handshake or ctx; the outcomes until
// then are returned with it. opts may be nil.
func Replay(ctx context.Context, rec *Recording, src mcp.Source, opts *ReplayOptions) ([]*Outcome, error) {
	r := &replay{questions: NewScript(&Recording{})}
	if opts != nil {
		r.opts = *opts
	}
	var err error
	for _, text := range r.opts.Ignore {
		path, err := parsePath(text)
		if err != nil {
			return nil, err
		}
		r.ignored = append(r.ignored, path)
	}
	if r.redactor, err = NewRedactor(r.opts.Environment, rec.Header.Redact); err != nil {
		return nil, &FormatError{1, err}
	}
	if r.catalog, err = src.Catalog(ctx); err != nil {
		return nil, err
	}
	r.questions.add(rec.Questions())
	r.conn = loopback.Open(ctx, src, &loopback.Options{
		Timeout: r.opts.Timeout,
		MaxLine: maxLine,
		Answer:  r.answer,
	})
	defer r.conn.Close()
	exchanges := rec.Exchanges()
	if err := r.begin(ctx, exchanges); err != nil {
		return nil, err
	}
	var outcomes []*Outcome
	for i, x := range exchanges {
		o := r.again(ctx, x, exchanges[i:])
		if ctx.Err() != nil {
			return outcomes, ctx.Err()
		}
		if o == nil {
			continue
		}
		outcomes = append(outcomes, o)
		if r.opts.Done != nil {
			r.opts.Done(o)
		}
	}
	return outcomes, nil
}

// replay is a replay in progress.
type replay struct {
	// opts are complete, and ignored are the places whose differences do not count.
	opts     ReplayOptions
	catalog  *mcp.Catalog
	ignored  [][]string
	redactor *Redactor
	conn     *loopback.Conn
	// questions has the recorded answers to questions of the server. withheld is set when one of
	// them was redacted, so that it could not be given.
	questions *Script
	withheld  atomic.Bool
}

const metaVersion = "io.modelcontextprotocol/protocolVersion"

// begin performs the recorded handshake. Requests of 2026-07-28 need none.
func (r *replay) begin(ctx context.Context, exchanges []*Exchange) error {
	var params json.RawMessage
	modern := false
	for _, x := range exchanges {
		if x.Method == "initialize" {
			params = x.Params
			modern = false
			break
		}
		modern = modern ||
			jsonscan.Member(jsonscan.Member(x.Params, "_meta"), metaVersion) != nil
	}
	if modern {
		return nil
	}
	return r.conn.Initialize(ctx, params)
}

// answer returns the recorded answer to a question of the server.
func (r *replay) answer(question *peer.Message) []byte {
	text := r.questions.answer(question)
	if !bytes.Contains(text, []byte(secrets.Redacted)) {
		return text
	}
	r.withheld.Store(true)
	return peer.Failure(question.ID, int(mcp.CodeInvalidParams), RedactedAnswer)
}

// again sends a request again and compares the responses. It returns nil for a request
// that is no subject of a replay. rest are the exchanges from x on.
func (r *replay) again(ctx context.Context, x *Exchange, rest []*Exchange) *Outcome {
	member := lists[x.Method]
	switch {
	case x.Response == nil,
		member == "" && !slices.Contains(repeatable, x.Method),
		member != "" && jsonscan.Member(x.Params, "cursor") != nil: // a page of a list that has been compared
		return nil
	}
	o := &Outcome{
		Seq:    x.Request.Seq,
		Method: x.Method,
		Name:   r.redactor.Clean(x.Name()),
		Before: x.Took,
	}
	if o.Skipped = r.skips(x); o.Skipped != "" {
		return o
	}
	c := &comparison{
		ignoreMeta: true,
		redacted:   true,
	}
	var before, after []byte
	var err error
	r.withheld.Store(false)
	began := time.Now()
	if member == "" {
		after, err = r.outcomeOf(ctx, x)
		o.After = time.Since(began)
		before = r.redact(x.Result, x.Failure)
	} else {
		after, err = r.wholeList(ctx, x, member)
		o.After = time.Since(began)
		before = r.recordedList(rest, member)
		c.lists = []string{"/" + member}
	}
	if r.withheld.Load() {
		o.Skipped = RedactedAnswer
		return o
	}
	if err == nil {
		o.Differences, err = c.run(removePaths(before, r.ignored), removePaths(after, r.ignored))
	}
	if err != nil {
		o.Error = r.redactor.Clean(err.Error())
	}
	return o
}

// skips returns why a request is not sent again, or "".
func (r *replay) skips(x *Exchange) string {
	if bytes.Contains(x.Params, []byte(secrets.Redacted)) {
		return RedactedArguments
	}
	if x.Method != "tools/call" {
		return ""
	}
	tool := r.catalog.Tool(x.Name())
	if tool == nil { // calling it has no effect
		return ""
	}
	if tool.Annotations != nil && tool.Annotations.ReadOnlyHint ||
		r.opts.Changes != nil && r.opts.Changes(tool.Name) {
		return ""
	}
	return NotReadOnly
}

// redact returns a response as one JSON object, without the secrets that a recording of it
// would not contain.
func (r *replay) redact(result, failure []byte) []byte {
	e := r.redactor.Event(&tap.Event{
		Kind: tap.Message,
		Body: response([]byte("1"), result, failure),
	}, 0)
	var m peer.Message
	if m.Scan(e.Text()) != nil { // it is redacted as a whole
		return []byte(`"` + secrets.Redacted + `"`)
	}
	return outcomeObject(m.Result, m.Failure)
}

// outcomeObject returns a response as one JSON object.
func outcomeObject(result, failure []byte) []byte {
	if failure != nil {
		return append(append([]byte(`{"error":`), failure...), '}')
	}
	return result
}

func (r *replay) outcomeOf(ctx context.Context, x *Exchange) ([]byte, error) {
	m, err := r.conn.Request(ctx, x.Method, x.Params)
	if err != nil {
		return nil, err
	}
	return r.redact(m.Result, m.Failure), nil
}

// recordedList returns the entries of a list from its first page in rest on.
func (r *replay) recordedList(rest []*Exchange, member string) []byte {
	first := rest[0]
	if first.Failure != nil {
		return r.redact(nil, first.Failure)
	}
	entries := jsonscan.Elements(jsonscan.Member(r.redact(first.Result, nil), member))
	next := jsonscan.Member(first.Result, "nextCursor")
	for _, x := range rest[1:] {
		if next == nil {
			break
		}
		if x.Method != first.Method || x.Result == nil ||
			!bytes.Equal(jsonscan.Member(x.Params, "cursor"), next) {
			continue
		}
		entries = append(entries, jsonscan.Elements(jsonscan.Member(r.redact(x.Result, nil), member))...)
		next = jsonscan.Member(x.Result, "nextCursor")
	}
	return listObject(member, entries)
}

// maxPages is how many pages of a list are requested.
const maxPages = 10_000

// wholeList requests all pages of a list.
func (r *replay) wholeList(ctx context.Context, x *Exchange, member string) ([]byte, error) {
	var entries [][]byte
	params := []byte(x.Params)
	for range maxPages {
		m, err := r.conn.Request(ctx, x.Method, params)
		if err != nil {
			return nil, err
		}
		if m.Failure != nil {
			return r.redact(nil, m.Failure), nil
		}
		entries = append(entries, jsonscan.Elements(jsonscan.Member(r.redact(m.Result, nil), member))...)
		next := jsonscan.Member(m.Result, "nextCursor")
		if next == nil {
			return listObject(member, entries), nil
		}
		params = []byte(`{"cursor":`)
		params = append(params, next...)
		if meta := jsonscan.Member(x.Params, "_meta"); meta != nil {
			params = append(append(params, `,"_meta":`...), meta...)
		}
		params = append(params, '}')
	}
	return nil, fmt.Errorf("more than %d pages", maxPages)
}

func listObject(member string, entries [][]byte) []byte {
	list := append([]byte{'['}, bytes.Join(entries, []byte{','})...)
	object := append(jsonscan.AppendQuote([]byte{'{'}, member), ':')
	return append(append(append(object, list...), ']'), '}')
}
