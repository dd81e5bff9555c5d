package calltest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/loopback"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/mcp"
)

// Server is a server that gets calls.
type Server struct {
	Name   string // by which calls name it
	Source mcp.Source
}

// Options configure [File.Run]. Nil and the zero value mean the defaults.
type Options struct {
	// Only, if not nil, reports whether a call is made.
	Only func(*Call) bool
	// Timeout is how long to wait for each answer; 0 means a minute.
	Timeout time.Duration
	// Done, if not nil, is called with each outcome, as it becomes known.
	Done func(*Outcome)
}

// Outcome is the outcome of one call.
type Outcome struct {
	Name   string `json:"name"`
	Source string `json:"source"` // the name of the server
	Method string `json:"method"`
	OK     bool   `json:"ok"`
	// Problems are the expectations that were not met.
	Problems []Problem     `json:"problems,omitempty"`
	Took     time.Duration `json:"took"` // in nanoseconds
	// Result or Error is the answer; neither is set if there was none.
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
	// Pointer is the JSON pointer to the call in the file.
	Pointer string `json:"pointer"`
}

// Problem is an expectation that is not met.
type Problem struct {
	// Pointer is the JSON pointer in the file to the expectation, or to the call if it has
	// to succeed, or has no answer.
	Pointer string `json:"pointer"`
	// Message says what was expected, and what the answer has.
	Message string `json:"message"`

	node *tree.Node
}

// Assign returns the server of each call: with one server it gets all calls; of several,
// the one that the call names. It adds a finding for each call without a server, and
// returns nil if there is one. Calls that are not made get nil.
func (f *File) Assign(servers []Server, report *check.Report, only func(*Call) bool) []*Server {
	assigned := make([]*Server, len(f.Calls))
	ok := true
	for i, c := range f.Calls {
		if only != nil && !only(c) {
			continue
		}
		at := slices.IndexFunc(servers, func(s Server) bool { return len(servers) == 1 || s.Name == c.Source })
		if at >= 0 {
			assigned[i] = &servers[at]
			continue
		}
		ok = false
		var names []string
		for _, s := range servers {
			names = append(names, s.Name)
		}
		problem := fmt.Sprintf("%s: no source is named %q", c.Name, c.Source)
		if c.Source == "" {
			problem = c.Name + ": the call names no source"
		}
		placed(report, f.Name, c.node).Add(ruleSource, c.Pointer, "", "%s; want %s", problem, orList(names))
	}
	if !ok {
		return nil
	}
	return assigned
}

// Run makes the calls one after the other, and adds a finding to the report for each
// expectation that is not met, at its place in the file. It makes none if one has no
// server, see [File.Assign]. An error means that the calls cannot be made at all. opts may
// be nil.
func (f *File) Run(ctx context.Context, servers []Server, report *check.Report, opts *Options) ([]*Outcome, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	assigned := f.Assign(servers, report, o.Only)
	if assigned == nil {
		return nil, nil
	}
	conns := make(map[*Server]*loopback.Conn)
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	for i := range servers {
		s := &servers[i]
		if !slices.Contains(assigned, s) {
			continue
		}
		conns[s] = loopback.Open(ctx, s.Source, &loopback.Options{Timeout: o.Timeout})
		if err := conns[s].Initialize(ctx, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	var outcomes []*Outcome
	for i, c := range f.Calls {
		server := assigned[i]
		if server == nil {
			continue
		}
		outcome := &Outcome{
			Name:    c.Name,
			Source:  server.Name,
			Method:  c.Method,
			Pointer: c.Pointer,
		}
		began := time.Now()
		answer, err := conns[server].Request(ctx, c.Method, c.Params)
		outcome.Took = time.Since(began)
		if ctx.Err() != nil {
			return outcomes, ctx.Err()
		}
		if err != nil {
			outcome.Problems = []Problem{{
				Pointer: c.Pointer,
				Message: err.Error(),
			}}
			placed(report, f.Name, c.node).Add(ruleLost, c.Pointer, "", "%s: %v", c.Name, err)
		} else {
			outcome.Result = answer.Result
			outcome.Error = answer.Failure
			f.verify(c, outcome, report)
		}
		outcome.OK = len(outcome.Problems) == 0
		outcomes = append(outcomes, outcome)
		if o.Done != nil {
			o.Done(outcome)
		}
	}
	return outcomes, nil
}

// verify adds the problems of an outcome.
func (f *File) verify(c *Call, o *Outcome, report *check.Report) {
	o.Problems = c.Verify(&Answer{
		Result: o.Result,
		Error:  o.Error,
		Took:   o.Took,
	})
	for _, p := range o.Problems {
		placed(report, f.Name, p.node).Add(ruleFailed, p.Pointer, "", "%s: %s", c.Name, p.Message)
	}
}
