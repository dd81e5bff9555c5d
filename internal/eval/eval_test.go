package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/eval"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func TestRead(t *testing.T) {
	got, err := eval.Read(strings.NewReader("# about\n\n" +
		"how to install\tget it\tguide/install *home\n" +
		"limits\treference/limits\n"))
	want := []eval.Question{
		{Phrasings: []string{"how to install", "get it"}, Pages: []string{"guide/install", "*home"}},
		{Phrasings: []string{"limits"}, Pages: []string{"reference/limits"}},
	}
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, message := range map[string]string{
		"no page":            "line 1: want one to four phrasings",
		"a\tb\n\n\tb":        "line 3: want one to four",
		"a\tp\nb\ta\tp":      `line 2: "a" is also in line 1`,
		"a\tb\tc\td\te\tf":   "line 1: want one to four",
		"# only a comment\n": "no questions",
	} {
		if _, err := eval.Read(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("Read(%q) = %v, want %s", text, err, message)
		}
	}
}

func TestRun(t *testing.T) {
	input, err := sitebuild.Open("../../examples/handbook", nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := input.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	memory := sitebuild.NewMemory()
	if _, err := sitebuild.Write(t.Context(), made, memory, nil); err != nil {
		t.Fatal(err)
	}
	site, err := staticmcp.Open(t.Context(), memory, &staticmcp.Options{Poll: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	report, err := eval.Run(t.Context(), site, "search", []eval.Question{
		{Phrasings: []string{"metrics in the format of Prometheus", "xylophone"}, Pages: []string{"reference/metrics"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Report{
		Questions: 1,
		One:       eval.Score{At1: 0.5, At5: 0.5, At10: 0.5},
		Together:  eval.Score{At1: 1, At5: 1, At10: 1},
		Missed:    []eval.Miss{{Question: "xylophone", Want: []string{"reference/metrics"}, Found: []string{}}},
	}
	if diff := cmp.Diff(report, want); diff != "" {
		t.Error(diff)
	}
	if _, err := eval.Run(t.Context(), site, "missing", []eval.Question{{Phrasings: []string{"a"}}}); err == nil {
		t.Error("no error for a tool that does not exist")
	}
}
