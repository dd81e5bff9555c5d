package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// unknownNames returns names that no tool or prompt has.
func unknownNames() []string {
	return []string{
		"mcptest-unknown",
		"",
		"../../etc/passwd",
		"a\x00b",
		"\xff",
		"ünbekannt",
		"%2e%2e",
		strings.Repeat("x", 100_000),
	}
}

// checkUnknownTool: a tool that is not listed is an error with CodeInvalidParams.
func checkUnknownTool(s *suite) {
	cat := s.catalog()
	names := unknownNames()
	for _, t := range sample(s.tools(cat), 3) {
		names = append(names, strings.ToUpper(t.Name), t.Name+" ", t.Name+"/")
	}
	for _, name := range names {
		if cat.Tool(name) != nil {
			continue
		}
		if out := s.callTool(context.Background(), name, json.RawMessage(`{}`)); out.ok {
			s.wantCode("CallTool of the unknown tool "+short(name), out.err, mcp.CodeInvalidParams)
		}
	}
}

// inputs is the top level of an inputSchema.
type inputs struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func (s *suite) inputs(t mcp.Tool) inputs {
	var in inputs
	// Schemas in any other form are ignored here.
	_ = json.Unmarshal(s.schemas(t).InputSchema, &in)
	return in
}

// checkMissingArguments: without a required argument, a call fails in a way that the
// model can understand.
func checkMissingArguments(s *suite) {
	for _, t := range s.tools(s.catalog()) {
		required := s.inputs(t).Required
		for _, args := range []json.RawMessage{nil, json.RawMessage(`{}`)} {
			out := s.callTool(context.Background(), t.Name, args)
			if !out.ok || len(required) == 0 {
				continue
			}
			if out.err != nil {
				s.wantCode("CallTool("+short(t.Name)+") without its required arguments", out.err, mcp.CodeInvalidParams)
			} else if !failed(s, out) {
				s.Errorf("CallTool(%s, %s) succeeds without %q", short(t.Name), short(string(args)), required)
			}
		}
	}
}

// malformed returns arguments that no client should send, with NAME for an argument of the
// tool. It is a function because they take 3 MB, which every program that imports this
// package would pay for at its start.
func malformed() []string {
	return []string{
		"null", "[]", `"text"`, "1", "true", "", " ", "{", `{"`, "}",
		"{NAME", "{NAME:", "{NAME:1", "{NAME:1}}", "{NAME:null}", `{NAME:1,NAME:"two"}`, "{NAME:{}}", "{NAME:[[]]}",
		"{NAME:1e999}", "{NAME:-9223372036854775809}", "{NAME:\"\xff\"}", `{NAME:"\ud800"}`,
		`{NAME:"../../../../etc/passwd"}`, `{NAME:"\u0000"}`, `{"mcptest-unknown":true}`, `{"":""}`,
		"{NAME:" + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
		"{NAME:" + strings.Repeat("[", 10_000),
		`{NAME:"` + strings.Repeat("x", 1<<20) + `"}`,
		"{" + strings.Repeat(`"a":1,`, 50_000) + `"a":1}`,
	}
}

// malformedFor returns [malformed] for an argument, also with its name in capitals.
func malformedFor(name string) []string {
	quoted, err := mcp.Marshal(name)
	if err != nil {
		quoted = json.RawMessage(`"a"`)
	}
	all := []string{"{" + strings.ToUpper(string(quoted)) + ":1}"}
	for _, args := range malformed() {
		all = append(all, strings.ReplaceAll(args, "NAME", string(quoted)))
	}
	return all
}

// checkMalformedArguments: a call returns, whatever the arguments are, and fails if they
// are not an object although some are required.
func checkMalformedArguments(s *suite) {
	for _, t := range sample(s.tools(s.catalog()), 20) {
		in := s.inputs(t)
		name := append(slices.Clone(in.Required), "a")[0]
		for _, args := range malformedFor(name) {
			out := s.callTool(context.Background(), t.Name, json.RawMessage(args))
			if out.ok && len(in.Required) > 0 && !isObject(args) && !failed(s, out) {
				s.Errorf("CallTool(%s, %s) succeeds, want an error: that is not an object", short(t.Name), short(args))
			}
		}
	}
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

// checkCalls: the examples have the expected answers.
func checkCalls(s *suite) {
	cat := s.catalog()
	for _, c := range s.opts.Calls {
		if c.Blocks {
			continue
		}
		out := s.callExample(context.Background(), c)
		if !out.ok {
			continue
		}
		s.checkExample(fmt.Sprintf("CallTool(%s, %s)", short(c.Tool), short(c.Args)), failed(s, out), c.WantError,
			text(s, out), c.Want)
		if t := cat.Tool(c.Tool); t != nil && !failed(s, out) {
			s.checkOutput(*t, out.result)
		}
	}
}

// checkExample compares an answer to an example with the expected one.
func (s *suite) checkExample(what string, failed, wantError bool, answer, want string) {
	s.Helper()
	if failed != wantError {
		s.Errorf("%s fails = %t, want %t: %s", what, failed, wantError, answer)
	}
	if !strings.Contains(answer, want) {
		s.Errorf("%s = %s, want %q in it", what, answer, want)
	}
}

func (s *suite) callExample(ctx context.Context, c Call) outcome[mcp.CallToolResult] {
	s.Helper()
	var args json.RawMessage
	if c.Args != "" {
		args = json.RawMessage(c.Args)
	}
	return s.callTool(ctx, c.Tool, args)
}

// checkOutput checks structured content against the tool's outputSchema.
func (s *suite) checkOutput(t mcp.Tool, r *mcp.CallToolResult) {
	s.Helper()
	output := s.schemas(t).OutputSchema
	if output == nil {
		return
	}
	compiled, err := schema.Compile(output)
	if err != nil {
		return // another rule reports it
	}
	var result struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	s.decode("the result of "+short(t.Name), r, &result)
	if result.StructuredContent == nil {
		s.Errorf("tool %s has an outputSchema, but its result has no structuredContent", short(t.Name))
	} else if err := compiled.Validate(result.StructuredContent); err != nil {
		s.Errorf("tool %s: structuredContent: %v", short(t.Name), err)
	}
}

// checkReadOnlyTools: a read-only tool returns the same answer twice.
func checkReadOnlyTools(s *suite) {
	cat := s.catalog()
	for _, c := range s.opts.Calls {
		t := cat.Tool(c.Tool)
		if t == nil || c.Blocks || !s.readOnly(*t) {
			continue
		}
		first := s.callExample(context.Background(), c)
		again := s.callExample(context.Background(), c)
		if !first.ok || !again.ok {
			continue
		}
		if a, b := text(s, first), text(s, again); a != b {
			s.Errorf("CallTool(%s, %s) has readOnlyHint, but answers %s and then %s",
				short(c.Tool), short(c.Args), short(a), short(b))
		}
	}
}

// readOnly reports whether a tool declares that it changes nothing, so that the suite may
// call it.
func (s *suite) readOnly(t mcp.Tool) bool {
	var wire struct {
		Annotations struct {
			ReadOnlyHint bool `json:"readOnlyHint"`
		} `json:"annotations"`
	}
	s.decode("tool "+short(t.Name), t, &wire)
	return wire.Annotations.ReadOnlyHint
}
