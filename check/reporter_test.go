package check_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
)

var rules check.RuleSet

var (
	ruleLate  = rules.Warning("a/late", "something late", "be early")
	ruleEarly = rules.Error("a/early", "something early")
)

func TestReporter(t *testing.T) {
	var r check.Report
	reporter := check.Reporter{
		Report:   &r,
		File:     "a.json",
		Document: &check.Document{Text: []byte("\ufeff{\"x\":\n {\"y\": 1}}")},
		Redact:   func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") },
	}
	reporter.Add(ruleLate, "/x/y", "", "%d is %s", 1, "hunter2")
	reporter.Add(ruleLate.As(check.Note), "/x/z", "not hunter2", "missing")
	reporter.At(3).Add(ruleEarly, "", "", "the whole")
	reporter.Under("/x").Add(ruleEarly, "/y", "", "under x")
	reporter.In("b.json").Add(ruleEarly, "/x", "", "no position")
	var got []string
	for _, f := range r.Findings() {
		got = append(got, strings.TrimSuffix(f.String()+" "+f.Hint, " "))
	}
	want := []string{
		"a.json:1:1: error: the whole [a/early]",
		"a.json:2:2: note: missing [a/late] not ***",
		"a.json:2:8: warning: 1 is *** [a/late] be early",
		"a.json:2:8: error: under x [a/early]",
		"b.json: error: /x: no position [a/early]",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}

func TestReporterStopsAtTheLimit(t *testing.T) {
	looked := 0
	r := check.Report{Limit: 2}
	reporter := check.Reporter{Report: &r, Document: &check.Document{Find: func(string) int {
		looked++
		return 0
	}}}
	for range 5 {
		reporter.Add(ruleLate, "/x", "", "late")
	}
	reporter.Add(ruleEarly, "/x", "", "early")
	if looked != 3 || r.Count(check.Warning) != 5 || r.Omitted() != 3 || r.OK(false) {
		t.Errorf("%d positions were looked up for %s, %d omitted, want 3, 5 warnings, 3", looked, r.Summary(), r.Omitted())
	}
}

func TestDocumentPosition(t *testing.T) {
	for _, text := range []string{"", "one", "\ufeffone\nzwö\n\nfour", "a\r\nb\r\n"} {
		var offsets []int
		for at := range text + "!" {
			offsets = append(offsets, at)
		}
		backwards := slices.Clone(offsets)
		slices.Reverse(backwards)
		d := &check.Document{Text: []byte(text)}
		for _, at := range slices.Concat(offsets, backwards, []int{0, len(text) + 1}) {
			line, column := d.Position(at)
			if wantLine, wantColumn := check.LineColumn(d.Text, at); line != wantLine || column != wantColumn {
				t.Errorf("Position(%d) of %q = %d:%d, want %d:%d", at, text, line, column, wantLine, wantColumn)
			}
		}
	}
}

func TestRuleInJSON(t *testing.T) {
	text, err := json.Marshal([]check.Rule{ruleLate})
	if err != nil || string(text) != `["a/late"]` {
		t.Errorf("got %s, %v", text, err)
	}
	var rules []check.Rule
	if err := json.Unmarshal(text, &rules); err != nil || rules[0].ID != ruleLate.ID || ruleLate.Anchor() != "a-late" {
		t.Errorf("got %v, %v", rules, err)
	}
}
