package mcplog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/loopback"
	"github.com/slipway-mcp/slipway/mcp"
)

// ReplayOptions configure [Replay]. Nil and the zero value mean the defaults.
type ReplayOptions struct {
	// Changes, if not nil, reports whether a tool may be called that is not marked
	// readOnlyHint. Nil skips such calls.
	Changes func(tool string) bool
	// Ignore are paths into results that are not compared, such as $.content.0.text. A *
	// matches every member or element.
	Ignore []string
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
	// Skipped says why the request was not sent; it is empty otherwise.
	Skipped string `json:"skipped,omitempty"`
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

// Replay sends the requests of a recording to a source, through a server in memory, and
// compares the responses with the recorded ones. It ignores _meta, except in data of tools, and
// compares whole lists by name rather than pages. Questions of the source are answered as recorded. An error is
// one of the handshake, or a response that is missing. opts may be nil.
func Replay(ctx context.Context, rec *Recording, src mcp.Source, opts *ReplayOptions) ([]*Outcome, error) {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	r := &replay{catalog: cat}
	if opts != nil {
		r.opts = *opts
	}
	for _, text := range r.opts.Ignore {
		path, err := parsePath(text)
		if err != nil {
			return nil, err
		}
		r.ignored = append(r.ignored, path)
	}
	questions := NewScript(&Recording{})
	questions.add(rec.Questions())
	r.conn = loopback.Open(ctx, src, &loopback.Options{
		Timeout: r.opts.Timeout,
		MaxLine: maxLine,
		Answer:  questions.answer,
	})
	defer r.conn.Close()
	exchanges := rec.Exchanges()
	if err := r.begin(ctx, exchanges); err != nil {
		return nil, err
	}
	var outcomes []*Outcome
	for i, x := range exchanges {
		o, err := r.again(ctx, x, exchanges[i:])
		if err != nil {
			return outcomes, err
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
	opts    ReplayOptions
	catalog *mcp.Catalog
	ignored [][]string
	conn    *loopback.Conn
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

// again sends a request again and compares the responses. It returns nil for a request
// that is no subject of a replay. rest are the exchanges from x on.
func (r *replay) again(ctx context.Context, x *Exchange, rest []*Exchange) (*Outcome, error) {
	member := lists[x.Method]
	if x.Response == nil || member == "" && !slices.Contains(repeatable, x.Method) {
		return nil, nil
	}
	o := &Outcome{
		Seq:    x.Request.Seq,
		Method: x.Method,
		Name:   x.Name(),
		Before: x.Took,
	}
	if o.Skipped = r.skips(x); o.Skipped != "" {
		return o, nil
	}
	began := time.Now()
	before := x.outcome()
	var after []byte
	var err error
	if member == "" {
		after, err = r.outcomeOf(ctx, x.Method, x.Params)
	} else {
		if jsonscan.Member(x.Params, "cursor") != nil {
			return nil, nil // a page of a list that has been compared
		}
		before = recordedList(rest, member)
		after, err = r.wholeList(ctx, x, member)
	}
	if err != nil {
		return nil, err
	}
	o.After = time.Since(began)
	c := comparison{ignoreMeta: true}
	if member != "" {
		c.lists = []string{"/" + member}
	}
	o.Differences, err = c.run(removePaths(before, r.ignored), removePaths(after, r.ignored))
	return o, err
}

// skips returns why a request is not sent again, or "".
func (r *replay) skips(x *Exchange) string {
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
	return "the tool is not marked readOnlyHint"
}

// outcome returns the response as one JSON object.
func (x *Exchange) outcome() []byte { return outcomeObject(x.Result, x.Failure) }

func outcomeObject(result, failure []byte) []byte {
	if failure != nil {
		return append(append([]byte(`{"error":`), failure...), '}')
	}
	return result
}

func (r *replay) outcomeOf(ctx context.Context, method string, params []byte) ([]byte, error) {
	m, err := r.conn.Request(ctx, method, params)
	if err != nil {
		return nil, err
	}
	return outcomeObject(m.Result, m.Failure), nil
}

// recordedList returns the entries of a list from its first page in rest on.
func recordedList(rest []*Exchange, member string) []byte {
	first := rest[0]
	entries := jsonscan.Elements(jsonscan.Member(first.Result, member))
	next := jsonscan.Member(first.Result, "nextCursor")
	for _, x := range rest[1:] {
		if next == nil {
			break
		}
		if x.Method != first.Method || x.Result == nil ||
			!bytes.Equal(jsonscan.Member(x.Params, "cursor"), next) {
			continue
		}
		entries = append(entries, jsonscan.Elements(jsonscan.Member(x.Result, member))...)
		next = jsonscan.Member(x.Result, "nextCursor")
	}
	return listObject(member, entries, first.Failure)
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
			return listObject(member, nil, m.Failure), nil
		}
		entries = append(entries, jsonscan.Elements(jsonscan.Member(m.Result, member))...)
		next := jsonscan.Member(m.Result, "nextCursor")
		if next == nil {
			return listObject(member, entries, nil), nil
		}
		params = []byte(`{"cursor":`)
		params = append(params, next...)
		if meta := jsonscan.Member(x.Params, "_meta"); meta != nil {
			params = append(append(params, `,"_meta":`...), meta...)
		}
		params = append(params, '}')
	}
	return nil, fmt.Errorf("%s: more than %d pages", x.Method, maxPages)
}

func listObject(member string, entries [][]byte, failure []byte) []byte {
	list := append([]byte{'['}, bytes.Join(entries, []byte{','})...)
	object := append(jsonscan.AppendQuote([]byte{'{'}, member), ':')
	return outcomeObject(append(append(append(object, list...), ']'), '}'), failure)
}
