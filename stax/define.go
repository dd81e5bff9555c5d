package stax

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// Define is defineMcp for Go: it checks a Config against all rules and returns it as a
// document. The error lists every fault, one per line, by JSON pointer or server name.
func Define(c Config) (*Document, error) {
	seen := map[string]bool{}
	var faults []string
	c.Servers = slices.DeleteFunc(slices.Clone(c.Servers), func(s Server) bool {
		defined := seen[s.Name]
		if defined {
			faults = append(faults, fmt.Sprintf("the server %q is defined twice", s.Name))
		}
		seen[s.Name] = true
		return defined
	})
	text, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	d, report := Parse("", text, &ParseOptions{Format: JSON})
	report.Add(Merge(d).Check().Findings()...)
	if report.OK(false) && len(faults) == 0 {
		return d, nil
	}
	for _, f := range report.Findings() {
		if f.Severity == check.Error {
			faults = append(faults, fmt.Sprintf("%s: %s [%s]", f.Pointer,
				f.Message, f.Rule.ID))
		}
	}
	return nil, errors.New(strings.Join(faults, "\n"))
}
