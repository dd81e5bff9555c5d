package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
)

func report() *check.Report {
	r := &check.Report{}
	r.Add(
		check.Finding{Rule: check.Rule{ID: "a/late"}, Severity: check.Warning, File: "b.json", Line: 2, Column: 3,
			Pointer: "/x",
			Message: "late", Hint: "go"},
		check.Finding{Rule: check.Rule{ID: "a/note"}, Severity: check.Note, Message: "of nothing"},
		check.Finding{Rule: check.Rule{ID: "a/early"}, File: "a.json", Pointer: "/y", Message: "a \u001b[2J in it"},
	)
	return r
}

func TestText(t *testing.T) {
	var b strings.Builder
	if err := report().WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	want := `note: of nothing [a/note]
a.json: error: /y: a \u001b[2J in it [a/early]
b.json:2:3: warning: late [a/late]
  hint: go
`
	if diff := cmp.Diff(b.String(), want); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := report().WriteText(&b, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "a.json: \x1b[31merror: \x1b[0m/y") {
		t.Errorf("no colour: %q", b.String())
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := (&check.Report{}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "{\"findings\":[]}\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.Reset()
	if err := report().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct{ Findings []check.Finding }
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.Findings, report().Findings()); diff != "" {
		t.Error(diff)
	}
	if want := `{"rule":"a/late","severity":"warning","file":"b.json","line":2,"column":3,"pointer":"/x",` +
		`"message":"late","hint":"go"}`; !strings.Contains(b.String(), want) {
		t.Errorf("got %s, want %s in it", b.String(), want)
	}
}

func TestVerdict(t *testing.T) {
	tests := map[string]struct {
		severities []check.Severity
		ok, strict bool
		summary    string
	}{
		"nothing": {nil, true, true, "no findings"},
		"note":    {[]check.Severity{check.Note}, true, true, "1 note"},
		"warning": {[]check.Severity{check.Warning, check.Note}, true, false, "1 warning, 1 note"},
		"errors":  {[]check.Severity{check.Error, check.Error}, false, false, "2 errors"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r check.Report
			for _, s := range test.severities {
				r.Add(check.Finding{Rule: check.Rule{ID: "a/b"}, Severity: s, Message: "m"})
			}
			if r.OK(false) != test.ok || r.OK(true) != test.strict || r.Summary() != test.summary {
				t.Errorf("got %v %v %q, want %v %v %q", r.OK(false), r.OK(true), r.Summary(), test.ok, test.strict, test.summary)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	r := check.Report{Limit: 2}
	for range 5 {
		r.Add(check.Finding{Rule: check.Rule{ID: "a/b"}, Severity: check.Warning, Message: "m"})
	}
	r.Add(check.Finding{Rule: check.Rule{ID: "a/c"}, Message: "an error is not crowded out"})
	if len(r.Findings()) != 3 || r.Omitted() != 3 || r.Count(check.Warning) != 5 || r.OK(false) {
		t.Errorf("got %d findings, %d omitted, %d warnings", len(r.Findings()), r.Omitted(), r.Count(check.Warning))
	}
	var b strings.Builder
	if err := r.WriteJSON(&b); err != nil || !strings.Contains(b.String(), `"omitted":3`) {
		t.Errorf("%s: %v", b.String(), err)
	}
}

func TestMerge(t *testing.T) {
	many := check.Report{Limit: 2}
	for range 5 {
		many.Add(check.Finding{Rule: check.Rule{ID: "a/b"}, Severity: check.Warning, Message: "m"})
	}
	all := report()
	all.Merge(&many)
	if all.Count(check.Warning) != 6 || all.Count(check.Error) != 1 || len(all.Findings()) != 5 || all.Omitted() != 3 {
		t.Errorf("got %s, %d kept, %d omitted, want 1 error, 6 warnings, 1 note, 5 and 3",
			all.Summary(), len(all.Findings()), all.Omitted())
	}
}

func TestPlaces(t *testing.T) {
	const doc = "\ufeff{\n  \"a\": [1, {\"ä\\\"b\": 2, \"c\": 3}],\n  \"x/y~z\": {\"\": true}, \"a2\":\n null\n}"
	tests := map[string]struct {
		pointer   string
		ok        bool
		line, col int
	}{
		"whole":          {"", true, 1, 1},
		"member":         {"/a", true, 2, 8},
		"element":        {"/a/1", true, 2, 12},
		"in an element":  {"/a/1/c", true, 2, 29},
		"quotes in key":  {"/a/1/ä\"b", true, 2, 21},
		"escaped":        {"/x~1y~0z", true, 3, 12},
		"empty name":     {"/x~1y~0z/", true, 3, 17},
		"next line":      {"/a2", true, 4, 2},
		"missing":        {"/a/1/d", false, 2, 12},
		"missing deeper": {"/q/r/s", false, 1, 1},
		"no index":       {"/a/x", false, 2, 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := []byte(doc)
			body := text[3:]
			at, ok := check.Offset(body, test.pointer)
			if line, col := check.LineColumn(text, at+3); ok != test.ok || line != test.line || col != test.col {
				t.Errorf("got %d:%d %v, want %d:%d %v", line, col, ok, test.line, test.col, test.ok)
			}
		})
	}
}
