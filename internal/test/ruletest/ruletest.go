// Package ruletest verifies that the tests of a package violate every rule it declares. A
// package with rules runs its tests with [Main], and the tests read the findings of a
// report with [Findings]:
//
//	func TestMain(m *testing.M) { ruletest.Main(m, mcpb.Rules()) }
//
//	for _, f := range ruletest.Findings(report) { ... }
//
// A rule counts if a test has read one of its findings. Naming the rule is not enough, and
// neither is a finding that no test reads.
package ruletest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/check"
)

// violated is the set of the rules whose findings were read.
var violated sync.Map

// Findings returns the findings of a report and records their rules.
func Findings(r *check.Report) []check.Finding { return Record(r.Findings()...) }

// Record records the rules of findings that are in no report, and returns the findings.
func Record(findings ...check.Finding) []check.Finding {
	for _, f := range findings {
		violated.Store(f.Rule.ID, true)
	}
	return findings
}

// Main runs the tests of a package and exits. If they pass, but have read no finding of
// one of the rules, the exit code is 1. Rules are not verified if flags select some of the
// tests, or on Windows, where tests that need symbolic links or modes are skipped.
func Main(m *testing.M, rules []check.Rule) {
	code := m.Run()
	if code == 0 && !selected() && runtime.GOOS != "windows" {
		for _, id := range unread(rules) {
			fmt.Fprintf(os.Stderr, "no test reads a finding of the rule %s\n", id)
			code = 1
		}
	}
	os.Exit(code)
}

// unread returns the IDs of the rules of which no finding was read.
func unread(rules []check.Rule) (ids []string) {
	for _, r := range rules {
		if _, ok := violated.Load(r.ID); !ok {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// selected reports whether the flags of the test select some of the tests, or none.
func selected() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	return testing.Short()
}
