package mcptest

import (
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// Options tell [TestSource] what it cannot find out by itself. The zero value
// and nil are the defaults.
type Options struct {
	// Calls, Reads, Prompts and Completions are examples with known answers.
	Calls       []Call
	Reads       []Read
	Prompts     []Prompt
	Completions []Completion

	// SkipTools are never called, except by Calls: tools that act on the world.
	SkipTools []string

	// Change makes the source, which must be an [mcp.Watcher], notice a change
	// of its catalog or of a resource. Without it, only the parts of the
	// contract that need no change are tested.
	Change func(t testing.TB, source mcp.Source)

	// CatalogAllocs is how many allocations one call of Catalog may cost;
	// 0 stands for 4.
	CatalogAllocs int
	// MaxEntries is how many of the tools, resources, templates and prompts are
	// tried out, spread over the list; 0 stands for 100. All are looked at.
	MaxEntries int
	// Timeout is how long anything may take; 0 stands for 10 seconds.
	Timeout time.Duration
}

// Call is a tool call with a known answer.
type Call struct {
	Tool string
	Args string // a JSON object, or empty for none
	// Want is part of the result as it is sent, in JSON.
	Want string
	// WantError says that the call fails, with an error or a result whose
	// isError is true. Want is then part of that.
	WantError bool
	// Blocks says that the call ends only when its context does.
	Blocks bool
}

// Read is a resource that can be read, listed or not.
type Read struct {
	URI  string
	Want string // part of the result as it is sent, in JSON
	// WantError says that there is no such resource.
	WantError bool
}

// Prompt is a prompt with a known answer.
type Prompt struct {
	Name      string
	Args      map[string]string
	Want      string // part of the result as it is sent, in JSON
	WantError bool
}

// Completion is a completion with a known answer.
type Completion struct {
	Params mcp.CompleteParams
	Want   []string // values that must be among those suggested
}

// TestSource tests whether a Source does what every Source must. open returns a
// fresh one, and closes it by t.Cleanup if need be; it is called several times,
// and the sources it returns must offer the same. opts may be nil.
//
// Each rule is a subtest with a name of its own. The methods are called
// directly, so ctx carries no request. Run the suite with -race: sources are
// called concurrently.
func TestSource(t *testing.T, open func(t *testing.T) mcp.Source, opts *Options) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			r.check(newSuite(t, func() mcp.Source { return open(t) }, opts))
		})
	}
}

// rule is one thing that every Source must do.
type rule struct {
	name  string
	check func(*suite)
}

// rules is the whole contract, in the order in which it is easiest to repair.
var rules = []rule{
	{"catalog/is_kept", checkCatalogKept},
	{"catalog/is_cheap", checkCatalogCheap},
	{"catalog/is_deterministic", checkCatalogDeterministic},
	{"catalog/server", checkServer},
	{"catalog/names", checkNames},
	{"catalog/entries", checkEntries},
	{"catalog/schemas", checkSchemas},
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
