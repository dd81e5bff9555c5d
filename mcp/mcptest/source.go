package mcptest

import (
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// Options give [TestSource] what it cannot discover itself. Nil and the zero value are
// the defaults.
type Options struct {
	// Calls, Reads, Prompts and Completions are examples with known answers.
	Calls       []Call
	Reads       []Read
	Prompts     []Prompt
	Completions []Completion

	// SkipTools are never called, except by Calls: for tools with side effects outside the
	// test.
	SkipTools []string

	// Change makes the source, which must be an [mcp.Watcher], report a change of its
	// catalog or of a resource. Without it, rules that need a change are not tested.
	Change func(t testing.TB, source mcp.Source)

	// CatalogAllocs is the number of allocations that one call of Catalog may make; 0 means
	// 4.
	CatalogAllocs int
	// MaxEntries is the number of tools, resources, templates and prompts to use, spread
	// over each list; 0 means 100. The definitions of all are checked.
	MaxEntries int
	// Timeout is how long any method may take; 0 means 10 seconds.
	Timeout time.Duration
}

// Call is a tool call with a known answer.
type Call struct {
	Tool string
	Args string // a JSON object, or empty for none
	// Want is a part of the result as it is sent, in JSON.
	Want string
	// WantError expects the call to fail, with an error or with a result whose isError is
	// true. Want is then a part of that.
	WantError bool
	// Blocks marks a call that returns only when its context ends.
	Blocks bool
}

// Read is a resource to read, listed or not.
type Read struct {
	URI  string
	Want string // part of the result as it is sent, in JSON
	// WantError expects the resource not to exist.
	WantError bool
}

// Prompt is a prompt with a known answer.
type Prompt struct {
	// Name and Args are the request.
	Name      string
	Args      map[string]string
	Want      string // part of the result as it is sent, in JSON
	WantError bool
}

// Completion is a completion with a known answer.
type Completion struct {
	Params mcp.CompleteParams
	Want   []string // values that must be among the suggestions
}

// TestSource verifies that a Source meets the requirements for every Source. open returns
// a new one, and closes it with t.Cleanup if necessary; it is called several times, and
// all sources it returns must offer the same. opts may be nil.
//
// Each rule is a separate subtest. Methods are called directly, so ctx carries no
// request. Run the suite with -race: it calls sources concurrently.
func TestSource(t *testing.T, open func(t *testing.T) mcp.Source, opts *Options) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			r.check(newSuite(t, func() mcp.Source { return open(t) }, opts))
		})
	}
}

// rule is one requirement for every Source.
type rule struct {
	// name is the name of the subtest, and check its body.
	name  string
	check func(*suite)
}

// rules are all requirements, in the order in which they are easiest to fix.
var rules = []rule{
	{"catalog/is_kept", checkCatalogKept},
	{"catalog/is_cheap", checkCatalogCheap},
	{"catalog/is_deterministic", checkCatalogDeterministic},
	{"catalog/server", checkServer},
	{"catalog/definitions", checkDefinitions},
	{"catalog/entries", checkEntries},
	{"catalog/fields", checkFields},
	{"catalog/is_immutable", checkCatalogImmutable},
	{"tools/unknown", checkUnknownTool},
	{"tools/missing_arguments", checkMissingArguments},
	{"tools/malformed_arguments", checkMalformedArguments},
	{"tools/answers", checkCalls},
	{"tools/read_only", checkReadOnlyTools},
	{"resources/unknown", checkUnknownResource},
	{"resources/listed", checkListedResources},
	{"resources/answers", checkReads},
	{"prompts/unknown", checkUnknownPrompt},
	{"prompts/arguments", checkPromptArguments},
	{"prompts/answers", checkPrompts},
	{"completions", checkCompletions},
	{"context/cancelled", checkCancelledContext},
	{"context/cancel", checkCancel},
	{"concurrent", checkConcurrent},
	{"watch", checkWatch},
	{"close", checkClose},
}
