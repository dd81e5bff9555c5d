package check_test

import (
	"fmt"
	"os"

	"github.com/slipway-mcp/slipway/check"
)

var (
	exampleRules check.RuleSet
	ruleName     = exampleRules.Error("example/name", "a name that is not lower case", "use lower case")
)

func Example() {
	text := []byte("{\n  \"name\": \"Weather\"\n}\n")
	report := &check.Report{}
	reporter := check.Reporter{
		Report:   report,
		File:     "server.json",
		Document: &check.Document{Text: text},
	}
	reporter.Add(ruleName, "/name", "", "the name %q has upper case letters", "Weather")

	if err := report.WriteText(os.Stdout, false); err != nil {
		fmt.Println(err)
	}
	fmt.Println("valid:", report.OK(false))
	// Output:
	// server.json:2:11: error: the name "Weather" has upper case letters [example/name]
	//   hint: use lower case
	// valid: false
}
