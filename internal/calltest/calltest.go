// Package calltest reads saved calls and verifies what a server answers to them, for
// slipway test and the page of slipway inspect, which writes the same file.
//
// A file is an object with the member calls, a list of objects:
//
//	name     text, unique in the file
//	source   name of the server that gets the call, if there are several
//	method   such as "tools/call", which is the default
//	params   object, sent as it is written
//	expect   list of expectations; by default, the answer must be a result that is no error
//	         of a tool
//
// Other members are ignored. An expectation has one of these members:
//
//	equals    value at pointer, where the order of members does not count
//	contains  text that the text at pointer contains
//	matches   regular expression that matches a part of the text at pointer
//	schema    JSON Schema of the value at pointer
//	exists    whether there is a value at pointer
//	error     code of a JSON-RPC error
//	isError   whether the tool reports an error
//	below     time within which the answer arrives, such as "200ms"
//
// pointer is a JSON pointer (RFC 6901) into the result, by default "", the whole result.
//
// Start with [Read].
package calltest

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// MaxFile is the maximum size of a file, in bytes.
const MaxFile = 16 << 20

var rules check.RuleSet

var (
	ruleSyntax = rules.Error("test/syntax", "the file of saved calls cannot be read")
	ruleCall   = rules.Error("test/call",
		"a saved call has no unique name, no method, no object of parameters, or a misspelled member")
	ruleExpect = rules.Error("test/expect", "an expectation is not one of those that exist")
	ruleSource = rules.Error("test/source", "a saved call belongs to none of the sources",
		"give the call a source, or name the sources with --name")
	ruleFailed = rules.Error("test/failed", "an answer is not as expected")
	ruleLost   = rules.Error("test/no-answer", "a call has no answer")
)

// kinds are the members of which an expectation has one.
var kinds = []string{"equals", "contains", "matches", "schema", "exists", "error", "isError", "below"}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Rules returns the rules of saved calls.
func Rules() []check.Rule { return rules.All() }

// File is a file of saved calls.
type File struct {
	Name  string
	Calls []*Call
}

// Call is a saved call.
type Call struct {
	Name   string
	Source string // the server that gets the call, or ""
	Method string
	Params json.RawMessage // an object, or nil
	// Pointer is the JSON pointer to the call in the file.
	Pointer string

	node   *tree.Node
	expect []*expectation
}

// expectation is a condition on the answer. Exactly one of the fields from equals on is set.
type expectation struct {
	node     *tree.Node
	place    string // JSON pointer into the file
	pointer  string
	equals   *tree.Node
	contains *tree.Node
	matches  *tree.Node
	schema   *schema.Schema // of schema and of matches
	exists   *tree.Node
	code     *tree.Node
	isError  *tree.Node
	below    time.Duration
}

// Read reads a file of saved calls, in JSON or YAML by its name. It returns nil if the
// report has an error.
func Read(name string, text []byte) (*File, *check.Report) {
	r := &reader{
		file:   &File{Name: name},
		report: &check.Report{},
	}
	if len(text) > MaxFile {
		r.at(nil).Add(ruleSyntax, "", "", "the file has more than %d MiB", MaxFile>>20)
		return nil, r.report
	}
	root, err := tree.ReadDocument(name, text)
	var syntax *tree.Error
	switch {
	case errors.As(err, &syntax):
		place := check.Reporter{
			Report: r.report,
			File:   name,
		}
		place.AtLine(syntax.Line, syntax.Column).Add(ruleSyntax, "", "", "%s", syntax.Message)
		return nil, r.report
	case !root.Get("calls").Is(tree.Array):
		r.at(root).Add(ruleSyntax, "/calls", `{"calls": [{"name": "...", "params": {...}}]}`, "the list of calls is missing")
		return nil, r.report
	}
	for i, node := range root.Get("calls").Items {
		r.call(node, "/calls/"+strconv.Itoa(i))
	}
	if !r.report.OK(false) {
		return nil, r.report
	}
	return r.file, r.report
}

// reader is the state of Read.
type reader struct {
	file   *File
	report *check.Report
}

// at returns a reporter for the place of a node, which may be nil.
func (r *reader) at(node *tree.Node) check.Reporter {
	return placed(r.report, r.file.Name, node)
}

func placed(report *check.Report, file string, node *tree.Node) check.Reporter {
	place := check.Reporter{
		Report: report,
		File:   file,
	}
	if node == nil {
		return place
	}
	return place.AtLine(node.Line, node.Column)
}

// call adds a call.
func (r *reader) call(node *tree.Node, pointer string) {
	if !node.Is(tree.Object) {
		r.at(node).Add(ruleCall, pointer, "", "a call must be an object")
		return
	}
	c := &Call{
		Name:    node.Get("name").String(),
		Source:  node.Get("source").String(),
		Method:  "tools/call",
		Pointer: pointer,
		node:    node,
	}
	if c.Name == "" || !node.Get("name").Is(tree.String) {
		r.at(node).Add(ruleCall, pointer, "", "the call has no name")
	}
	if slices.ContainsFunc(r.file.Calls, func(other *Call) bool { return other.Name == c.Name }) {
		r.at(node.Get("name")).Add(ruleCall, pointer+"/name", "", "duplicate call name %q", c.Name)
	}
	if source := node.Get("source"); source != nil && !source.Is(tree.String) {
		r.at(source).Add(ruleCall, pointer+"/source", "", "the source must be a string")
	}
	if method := node.Get("method"); method != nil {
		if c.Method = method.String(); c.Method == "" || !method.Is(tree.String) {
			r.at(method).Add(ruleCall, pointer+"/method", "", "the method must be a string")
		}
	}
	if params := node.Get("params"); params != nil {
		if !params.Is(tree.Object) {
			r.at(params).Add(ruleCall, pointer+"/params", "", "the parameters must be an object")
		}
		c.Params = params.AppendJSON(nil)
	}
	for _, m := range node.Fields() {
		// Others may add members, but a misspelled one must not disable the expectations.
		if near := misspelled(m.Key); near != "" && node.Get(near) == nil {
			r.at(m.Value).Add(ruleCall, pointer+"/"+m.Key, "", "there is no %q here; did you mean %q?", m.Key, near)
		}
	}
	expect := node.Get("expect")
	if expect != nil && !expect.Is(tree.Array) {
		r.at(expect).Add(ruleExpect, pointer+"/expect", "", "expect must be a list of expectations")
	}
	for i, e := range expect.Elements() {
		r.expect(c, e, pointer+"/expect/"+strconv.Itoa(i))
	}
	r.file.Calls = append(r.file.Calls, c)
}

// members are those of a call.
var members = []string{"name", "source", "method", "params", "expect"}

// misspelled returns the member that a key of almost the same letters was meant to be, or "".
func misspelled(key string) string {
	near := nearest.DidYouMean(key, members)
	if slices.Contains(members, key) || max(len(key)-len(near), len(near)-len(key)) > 1 {
		return "" // a longer word, such as namespace
	}
	return near
}

// expect adds an expectation to a call.
func (r *reader) expect(c *Call, node *tree.Node, pointer string) {
	e := &expectation{
		node:     node,
		place:    pointer,
		pointer:  node.Get("pointer").String(),
		equals:   node.Get("equals"),
		contains: node.Get("contains"),
		matches:  node.Get("matches"),
		exists:   node.Get("exists"),
		code:     node.Get("error"),
		isError:  node.Get("isError"),
	}
	invalid := func(at *tree.Node, format string, args ...any) {
		r.at(at).Add(ruleExpect, pointer, "", format, args...)
	}
	found := 0
	unknown := false
	for _, m := range node.Fields() {
		switch {
		case slices.Contains(kinds, m.Key):
			found++
		case m.Key != "pointer":
			unknown = true
			r.at(m.Value).Add(ruleExpect, pointer, "use one of "+orList(kinds), "there is no %q here", m.Key)
		}
	}
	if found != 1 && !unknown {
		invalid(node, "the expectation has %d of %s, want one", found, strings.Join(kinds, ", "))
	}
	if e.pointer != "" && e.pointer[0] != '/' {
		invalid(node.Get("pointer"), "%q is not a JSON pointer, which begins with a slash", e.pointer)
	}
	if e.contains != nil && !e.contains.Is(tree.String) {
		invalid(e.contains, "contains must be a string")
	}
	for _, flag := range []*tree.Node{e.exists, e.isError} {
		if flag != nil && !flag.Is(tree.Bool) {
			invalid(flag, "want true or false")
		}
	}
	if e.code != nil && !e.code.Is(tree.Number) {
		invalid(e.code, "error must be a JSON-RPC error code, such as -32602")
	}
	if below := node.Get("below"); below != nil {
		limit, err := time.ParseDuration(below.String())
		if err != nil || limit <= 0 {
			invalid(below, "below must be a duration, such as 200ms or 2s")
		}
		e.below = limit
	}
	r.compile(e, node.Get("schema"), invalid)
	c.expect = append(c.expect, e)
}

// compile sets the schema of an expectation with matches or schema.
func (r *reader) compile(e *expectation, source *tree.Node, invalid func(*tree.Node, string, ...any)) {
	var text []byte
	switch {
	case source != nil:
		text = source.AppendJSON(nil)
	case e.matches == nil:
		return
	case !e.matches.Is(tree.String):
		invalid(e.matches, "matches must be a regular expression")
		return
	default:
		if err := schema.CheckPattern(e.matches.Text); err != nil {
			invalid(e.matches, "invalid regular expression: %v", err)
			return
		}
		text = append(jsonscan.AppendQuote([]byte(`{"pattern":`), e.matches.Text), '}')
	}
	compiled, err := schema.Compile(text)
	var faulty *schema.CompileError
	switch {
	case errors.As(err, &faulty):
		at, _ := source.Find(faulty.Pointer)
		if at == nil {
			at = source
		}
		invalid(at, "the schema cannot be used: %v", err)
	case err == nil && len(compiled.Notes()) > 0:
		invalid(source, "the schema cannot be verified completely: %s", compiled.Notes()[0])
	}
	e.schema = compiled
}
