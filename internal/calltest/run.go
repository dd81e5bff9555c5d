package calltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/loopback"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/mcp"
)

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
	Method string `json:"method"`
	OK     bool   `json:"ok"`
	// Problems are the expectations that were not met, as text.
	Problems []string      `json:"problems,omitempty"`
	Took     time.Duration `json:"took"` // in nanoseconds
	// Result or Error is the answer; neither is set if there was none.
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// Run makes the calls one after the other, and adds a finding to the report for each
// expectation that is not met, at its place in the file. An error means that the calls
// cannot be made at all. opts may be nil.
func (f *File) Run(ctx context.Context, src mcp.Source, report *check.Report, opts *Options) ([]*Outcome, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	conn := loopback.Open(ctx, src, &loopback.Options{Timeout: o.Timeout})
	defer conn.Close()
	if err := conn.Initialize(ctx, nil); err != nil {
		return nil, err
	}
	var outcomes []*Outcome
	for _, c := range f.Calls {
		if o.Only != nil && !o.Only(c) {
			continue
		}
		outcome := &Outcome{
			Name:   c.Name,
			Method: c.Method,
		}
		began := time.Now()
		answer, err := conn.Request(ctx, c.Method, c.Params)
		outcome.Took = time.Since(began)
		if ctx.Err() != nil {
			return outcomes, ctx.Err()
		}
		if err != nil {
			outcome.Problems = []string{err.Error()}
			placed(report, f.Name, c.node).Add(ruleLost, "", "", "%s: %v", c.Name, err)
		} else {
			f.verify(c, outcome, answer, report)
		}
		outcome.OK = len(outcome.Problems) == 0
		outcomes = append(outcomes, outcome)
		if o.Done != nil {
			o.Done(outcome)
		}
	}
	return outcomes, nil
}

// verify compares an answer with the expectations.
func (f *File) verify(c *Call, o *Outcome, answer *peer.Message, report *check.Report) {
	o.Result = answer.Result
	o.Error = answer.Failure
	expected := c.expect
	if !c.expectsFailure() { // first, because the rest follows from it
		expected = append([]*expectation{{node: c.node}}, expected...)
	}
	for _, e := range expected {
		problem := e.problem(o)
		if problem == "" {
			continue
		}
		o.Problems = append(o.Problems, problem)
		placed(report, f.Name, e.node).Add(ruleFailed, "", "", "%s: %s", c.Name, problem)
		if o.Error != nil {
			return
		}
	}
}

// expectsFailure reports whether the call is expected to fail, or not to, explicitly.
func (c *Call) expectsFailure() bool {
	for _, e := range c.expect {
		if e.code != nil || e.isError != nil {
			return true
		}
	}
	return false
}

// problem returns how the answer differs from what is expected, or "".
func (e *expectation) problem(o *Outcome) string {
	if e.code != nil {
		return e.wrongCode(o)
	}
	if o.Error != nil {
		return "the server answers with the error " + excerpt(o.Error)
	}
	failed := string(jsonscan.Member(o.Result, "isError")) == "true"
	switch {
	case e.isError != nil && e.isError.True() && !failed:
		return "the tool reports no error"
	case (e.isError == nil || !e.isError.True()) && failed && e.unconditional():
		return "the tool reports an error: " + excerpt(o.Result)
	case e.below > 0 && o.Took >= e.below:
		return fmt.Sprintf("the answer took %v, want less than %v", o.Took.Round(time.Microsecond), e.below)
	case e.unconditional() || e.below > 0:
		return ""
	}
	return e.wrongValue(o)
}

// unconditional reports whether the expectation is about errors of the tool.
func (e *expectation) unconditional() bool {
	return e.equals == nil && e.contains == nil && e.exists == nil && e.below == 0
}

func (e *expectation) wrongCode(o *Outcome) string {
	switch got := jsonscan.Member(o.Error, "code"); {
	case o.Error == nil:
		return "the server answers with a result, want the error " + e.code.Text
	case string(got) != e.code.Text:
		return "the server answers with the error " + excerpt(o.Error) + ", want the code " + e.code.Text
	}
	return ""
}

// wrongValue compares the value at the pointer.
func (e *expectation) wrongValue(o *Outcome) string {
	root, err := tree.FromJSON(o.Result)
	if err != nil {
		return "the result cannot be read: " + err.Error()
	}
	value, _ := root.Find(e.pointer)
	where := "at " + e.pointer
	if e.pointer == "" {
		where = "in the result"
	}
	switch {
	case e.exists != nil && e.exists.True() != (value != nil):
		return fmt.Sprintf("there is a value %s: %t, want %t", where, value != nil, e.exists.True())
	case e.exists != nil:
		return ""
	case value == nil:
		return "there is no value " + where
	case e.contains != nil && !value.Is(tree.String):
		return "the value " + where + " is no text: " + excerpt(value.AppendJSON(nil))
	case e.contains != nil && !strings.Contains(value.Text, e.contains.Text):
		got := excerpt(value.AppendJSON(nil))
		return fmt.Sprintf("the text %s is %s, which does not contain %q", where, got, e.contains.Text)
	case e.contains != nil:
		return ""
	}
	differences, err := mcplog.Compare(e.equals.AppendJSON(nil), value.AppendJSON(nil))
	if err != nil {
		return "the values cannot be compared: " + err.Error()
	}
	if len(differences) == 0 {
		return ""
	}
	d := differences[0]
	if d.Pointer != "" {
		where = "at " + e.pointer + d.Pointer
	}
	return fmt.Sprintf("the value %s is %s, want %s", where, shownValue(d.After), shownValue(d.Before))
}

func shownValue(value json.RawMessage) string {
	if value == nil {
		return "missing"
	}
	return excerpt(value)
}

// excerpt returns the beginning of a JSON text.
func excerpt(text []byte) string {
	const most = 200
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + "..."
}
