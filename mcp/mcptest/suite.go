package mcptest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// suite tests one rule on a Source.
type suite struct {
	testing.TB
	source mcp.Source
	// open returns a new source, for rules that close it.
	open func() mcp.Source
	opts Options
}

// newSuite opens a source. The rule reports to tb.
func newSuite(tb testing.TB, open func() mcp.Source, opts *Options) *suite {
	s := &suite{
		TB:   tb,
		open: open,
	}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.CatalogAllocs = cmp.Or(max(s.opts.CatalogAllocs, 0), 4)
	s.opts.MaxEntries = cmp.Or(max(s.opts.MaxEntries, 0), 100)
	s.opts.Timeout = cmp.Or(max(s.opts.Timeout, 0), 10*time.Second)
	s.source = open()
	return s
}

// catalog returns the source's catalog, or ends the test.
func (s *suite) catalog() *mcp.Catalog {
	s.Helper()
	out := ask(s, context.Background(), "Catalog", s.source.Catalog)
	if out.err != nil || !out.ok {
		s.Fatalf("Catalog = %v, want a catalog", out.err)
	}
	return out.result
}

// outcome is the return values of a method.
type outcome[T any] struct {
	// result and err are what the method returned.
	result *T
	err    error
	// ok is false if the method broke the general rules for answers, which ask has reported.
	ok bool
}

// ask calls a method. It reports a panic, a timeout, and an answer that is not exactly
// one of a result and an error.
func ask[T any](s *suite, ctx context.Context, what string, f func(ctx context.Context) (*T, error)) outcome[T] {
	s.Helper()
	var out outcome[T]
	if !s.finish(what, func() { out.result, out.err = f(ctx) }) {
		return outcome[T]{}
	}
	switch {
	case out.result == nil && out.err == nil:
		s.Errorf("%s returns neither a result nor an error", what)
	case out.result != nil && out.err != nil:
		s.Errorf("%s returns a result and the error %v, want one of them", what, out.err)
	case out.err != nil && out.err.Error() == "":
		s.Errorf("%s returns an error without a message", what)
	default:
		out.ok = true
	}
	return out
}

// finish runs f and reports whether it returned in time and without a panic.
func (s *suite) finish(what string, f func()) bool {
	s.Helper()
	done := make(chan string, 1)
	go func() {
		crash := "exits its goroutine"
		defer func() {
			if p := recover(); p != nil {
				crash = fmt.Sprintf("panics: %v\n%s", p, debug.Stack())
			}
			done <- crash
		}()
		f()
		crash = ""
	}()
	timer := time.NewTimer(s.opts.Timeout)
	defer timer.Stop()
	select {
	case crash := <-done:
		if crash != "" {
			s.Errorf("%s %s", what, crash)
		}
		return crash == ""
	case <-timer.C:
		s.Fatalf("%s has not returned after %v", what, s.opts.Timeout)
		return false
	}
}

// call calls a method with params, and checks the structure of its result. wire is the
// name of the method in the protocol.
func call[P, R any](
	s *suite, ctx context.Context, what, wire string, method func(context.Context, *P) (*R, error), params P,
) outcome[R] {
	s.Helper()
	out := ask(s, ctx, what, func(ctx context.Context) (*R, error) {
		return method(ctx, &params)
	})
	if out.ok && out.result != nil {
		s.checkResult(what, wire, out.result)
	}
	return out
}

// callTool calls a tool under the rules for all calls, and verifies that the arguments
// keep their bytes.
func (s *suite) callTool(ctx context.Context, name string, args json.RawMessage) outcome[mcp.CallToolResult] {
	s.Helper()
	what := fmt.Sprintf("CallTool(%s, %s)", short(name), short(string(args)))
	kept := bytes.Clone(args)
	out := call(s, ctx, what, "tools/call", s.source.CallTool, mcp.CallToolParams{
		Name:      name,
		Arguments: args,
	})
	if !bytes.Equal(kept, args) {
		s.Errorf("%s changes its arguments", what)
	}
	return out
}

// read reads a resource under the rules for all calls.
func (s *suite) read(ctx context.Context, uri string) outcome[mcp.ReadResourceResult] {
	s.Helper()
	what := fmt.Sprintf("ReadResource(%s)", short(uri))
	out := call(s, ctx, what, "resources/read", s.source.ReadResource, mcp.ReadResourceParams{URI: uri})
	if out.ok && out.result != nil {
		s.checkContentsOf(what, uri, out.result)
	}
	return out
}

// getPrompt gets a prompt under the rules for all calls.
func (s *suite) getPrompt(ctx context.Context, name string, args map[string]string) outcome[mcp.GetPromptResult] {
	s.Helper()
	what := fmt.Sprintf("GetPrompt(%s, %v)", short(name), args)
	return call(s, ctx, what, "prompts/get", s.source.GetPrompt, mcp.GetPromptParams{
		Name:      name,
		Arguments: args,
	})
}

// complete requests suggestions under the rules for all calls.
func (s *suite) complete(ctx context.Context, p mcp.CompleteParams) outcome[mcp.CompleteResult] {
	s.Helper()
	what := fmt.Sprintf("Complete(%+v)", p)
	out := call(s, ctx, what, "completion/complete", s.source.Complete, p)
	if c := s.completion(out); c.Total != nil && *c.Total < len(c.Values) {
		s.Errorf("%s: %d values, but a total of %d", what, len(c.Values), *c.Total)
	}
	return out
}

// failed reports whether a tool call failed, with an error or with isError.
func failed(s *suite, out outcome[mcp.CallToolResult]) bool {
	if out.err != nil || out.result == nil {
		return true
	}
	var result struct {
		IsError bool `json:"isError"`
	}
	s.decode("the result", out.result, &result)
	return result.IsError
}

// text returns an answer as it is sent, or the error message.
func text[T any](s *suite, out outcome[T]) string {
	if out.err != nil || out.result == nil {
		return fmt.Sprint(out.err)
	}
	return string(s.encode("the result", out.result))
}

// wantCode reports an error other than an [*mcp.Error] with that code.
func (s *suite) wantCode(what string, err error, code mcp.Code) *mcp.Error {
	s.Helper()
	if err == nil {
		s.Errorf("%s succeeds, want an error with code %d", what, code)
		return nil
	}
	var e *mcp.Error
	if !errors.As(err, &e) {
		s.Errorf("%s = %v (%T), want an *mcp.Error", what, err, err)
		return nil
	}
	if e.Code != code {
		s.Errorf("%s has code %d (%s), want %d", what, e.Code, e.Message, code)
	}
	return e
}

// encode encodes a value returned by a source, and reports a failure to do so.
func (s *suite) encode(what string, v any) json.RawMessage {
	s.Helper()
	encoded, err := mcp.Marshal(v)
	if err != nil {
		s.Errorf("%s cannot be encoded: %v", what, err)
		return json.RawMessage(`{}`)
	}
	return encoded
}

// decode decodes v as a client does.
func (s *suite) decode(what string, v, to any) {
	s.Helper()
	if err := json.Unmarshal(s.encode(what, v), to); err != nil {
		s.Errorf("%s is not what clients expect: %v", what, err)
	}
}

// sample returns at most n elements of all, spread evenly from the first to the last.
func sample[E any](all []E, n int) []E {
	if len(all) <= n {
		return all
	}
	some := make([]E, 0, n)
	for i := range n {
		some = append(some, all[i*(len(all)-1)/max(1, n-1)])
	}
	return some
}

// tools returns the tools to call.
func (s *suite) tools(cat *mcp.Catalog) []mcp.Tool {
	return sample(slices.DeleteFunc(slices.Clone(cat.Tools), s.skips), s.opts.MaxEntries)
}

// skips reports whether a tool must not be called with generated arguments.
func (s *suite) skips(t mcp.Tool) bool {
	return slices.Contains(s.opts.SkipTools, t.Name) ||
		slices.ContainsFunc(s.opts.Calls, func(c Call) bool {
			return c.Blocks && c.Tool == t.Name
		})
}

// short quotes text for a message, and truncates it if it is long.
func short(text string) string {
	if len(text) > 80 {
		return fmt.Sprintf("%q… (%d bytes)", text[:80], len(text))
	}
	return fmt.Sprintf("%q", text)
}
