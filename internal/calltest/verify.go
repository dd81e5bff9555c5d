package calltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Answer is the answer to a call: a result or a JSON-RPC error.
type Answer struct {
	Result json.RawMessage
	Error  json.RawMessage
	Took   time.Duration
}

// Verify returns the expectations that an answer does not meet. Unless an error is expected
// explicitly, the call must succeed. A result that breaks the protocol is the only problem.
func (c *Call) Verify(a *Answer) []Problem {
	if message := malformed(c.Method, a.Result); message != "" {
		return []Problem{{
			Pointer: c.Pointer,
			Message: message,
			node:    c.node,
		}}
	}
	expected := c.expect
	if !c.expectsFailure() { // first, because the rest follows from it
		expected = append([]*expectation{{
			node:  c.node,
			place: c.Pointer,
		}}, expected...)
	}
	var problems []Problem
	for _, e := range expected {
		message := e.problem(a)
		if message == "" {
			continue
		}
		problems = append(problems, Problem{
			Pointer: e.place,
			Message: message,
			node:    e.node,
		})
		if a.Error != nil {
			break
		}
	}
	return problems
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
func (e *expectation) problem(o *Answer) string {
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
	return e.equals == nil && e.contains == nil && e.schema == nil && e.exists == nil && e.below == 0
}

func (e *expectation) wrongCode(o *Answer) string {
	switch got := jsonscan.Member(o.Error, "code"); {
	case o.Error == nil:
		return "the server answers with a result, want the error " + e.code.Text
	case string(got) != e.code.Text:
		return "the server answers with the error " + excerpt(o.Error) + ", want the code " + e.code.Text
	}
	return ""
}

// wrongValue compares the value at the pointer.
func (e *expectation) wrongValue(o *Answer) string {
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
	case (e.contains != nil || e.matches != nil) && !value.Is(tree.String):
		return "the value " + where + " is not text: " + excerpt(value.AppendJSON(nil))
	case e.contains != nil && !strings.Contains(value.Text, e.contains.Text):
		got := excerpt(value.AppendJSON(nil))
		return fmt.Sprintf("the text %s is %s, which does not contain %q", where, got, e.contains.Text)
	case e.contains != nil:
		return ""
	case e.schema != nil:
		return e.invalidValue(where, value.AppendJSON(nil))
	}
	differences, err := mcplog.Compare(e.equals.AppendJSON(nil), value.AppendJSON(nil))
	if err != nil {
		return "the values cannot be compared: " + err.Error()
	}
	if len(differences) == 0 {
		return ""
	}
	const most = 5
	var lines []string
	for _, d := range differences[:min(most, len(differences))] {
		at := where
		if d.Pointer != "" {
			at = "at " + e.pointer + d.Pointer
		}
		lines = append(lines, fmt.Sprintf("the value %s is %s, want %s", at, shownValue(d.After), shownValue(d.Before)))
	}
	if more := len(differences) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more differences", more))
	}
	return strings.Join(lines, "; ")
}

// invalidValue returns how a value differs from the schema or the regular expression, or "".
func (e *expectation) invalidValue(where string, value []byte) string {
	err := e.schema.Validate(value)
	var invalid *schema.Error
	switch {
	case err == nil:
		return ""
	case e.matches != nil:
		return fmt.Sprintf("the text %s is %s, which does not match %q", where, excerpt(value), e.matches.Text)
	case !errors.As(err, &invalid) || len(invalid.Problems) == 0:
		return "the value " + where + " does not satisfy the schema: " + err.Error()
	}
	return "the value does not satisfy the schema: " + listed(invalid.Problems, where, e.pointer)
}

// listed returns the problems of a value that is at a pointer, which where describes.
func listed(problems []schema.Problem, where, pointer string) string {
	var lines []string
	for _, p := range problems {
		at := where
		if p.Pointer != "" {
			at = "at " + pointer + p.Pointer
		}
		lines = append(lines, at+": "+p.Message)
	}
	return strings.Join(lines, "; ")
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
