package stax

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// Define is defineMcp for Go: it checks a Config against all rules and returns it as a
// document. The error lists every fault, one per line, by JSON pointer.
func Define(c Config) (*Document, error) {
	seen := map[string]bool{}
	for _, s := range c.Servers {
		if seen[s.Name] {
			return nil, fmt.Errorf("the server %q is defined twice", s.Name)
		}
		seen[s.Name] = true
	}
	text, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	d, report := Parse("", text, &ParseOptions{Format: JSON})
	report.Add(Merge(d).Check().Findings()...)
	if report.OK(false) {
		return d, nil
	}
	var faults []string
	for _, f := range report.Findings() {
		if f.Severity == check.Error {
			faults = append(faults, fmt.Sprintf("%s: %s [%s]", f.Pointer, f.Message, f.Rule))
		}
	}
	return nil, fmt.Errorf("%s", strings.Join(faults, "\n"))
}
