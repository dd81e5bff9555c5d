package serve

import (
	"fmt"
	"testing"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// scopeRules are rules that demand the scope "write" for the tools called delete.
func scopeRules() *serverRules {
	r := &serverRules{}
	r.tools.Store(newToolScopes(&Auth{ToolScopes: map[string][]string{"delete": {"write"}}}))
	return r
}

// renamedTool is the tool act of a source, under another name.
func renamedTool(name, source string) mcp.Tool {
	return mcp.Tool{Name: name, Origins: []mcp.Origin{{Name: "act"}, {Source: source, Name: "act"}}}
}

// mayCall reports whether a caller with scopes may call a tool of a catalog.
func mayCall(t *testing.T, r *serverRules, cat *mcp.Catalog, tool string, scopes ...string) bool {
	t.Helper()
	ctx := mcp.WithPrincipal(t.Context(), &mcp.Principal{Name: "alice", Scopes: scopes})
	err := r.Enter(ctx, server.Operation{Method: methodCall, Name: tool, Catalog: cat})
	return err == nil
}

// A tool that once had a name with a scope needs it under every other name, although it was
// permitted before it had that name, and decisions are remembered.
func TestToolThatHadANameNeedsItsScope(t *testing.T) {
	r := scopeRules()
	harmless := &mcp.Catalog{Tools: []mcp.Tool{renamedTool("tidy", "a")}}
	harmful := &mcp.Catalog{Tools: []mcp.Tool{renamedTool("delete", "a")}}
	if !mayCall(t, r, harmless, "tidy") {
		t.Error("tidy is refused before it was called delete")
	}
	if mayCall(t, r, harmful, "delete") {
		t.Error("delete is permitted without its scope")
	}
	for range 2 {
		if mayCall(t, r, harmless, "tidy") {
			t.Error("tidy is permitted after it was called delete")
		}
		if !mayCall(t, r, harmless, "tidy", "write") {
			t.Error("tidy is refused with the scope")
		}
	}
}

// When too many tools were renamed to remember their names, one that is not remembered is
// refused with every scope; the others are not affected.
func TestToolsBeyondTheLimitAreRefused(t *testing.T) {
	r := scopeRules()
	many := &mcp.Catalog{Tools: []mcp.Tool{{Name: "plain"}}}
	for i := range maxBoundTools + 1 {
		many.Tools = append(many.Tools, renamedTool(fmt.Sprint("tool", i), fmt.Sprint("source", i)))
	}
	last := fmt.Sprint("tool", maxBoundTools)
	for name, want := range map[string]bool{"plain": true, "tool0": true, last: false} {
		if got := mayCall(t, r, many, name, "write"); got != want {
			t.Errorf("%s: permitted is %v, want %v", name, got, want)
		}
	}
	in := r.tools.Load().of(many.Tool(last))
	if len(in) != 1 || in[0] != policy.UnknownToolScope {
		t.Errorf("the patterns of %s are %q", last, in)
	}
}
