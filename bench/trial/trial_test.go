package trial_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/trial"
)

func TestParse(t *testing.T) {
	n := 0
	bind := func(flags *flag.FlagSet) { flags.IntVar(&n, "n", 1, "a number") }
	if err := trial.Parse("test", []string{"-n", "7"}, io.Discard, bind); err != nil || n != 7 {
		t.Errorf("Parse: %v, n is %d", err, n)
	}
	for _, args := range [][]string{{"more"}, {"-x"}, {"-n", "a"}} {
		if trial.Parse("test", args, io.Discard, bind) == nil {
			t.Errorf("Parse(%q) succeeds", args)
		}
	}
}

func TestRecordAsJSON(t *testing.T) {
	for want, r := range map[string]trial.Record{
		`{"cpu_us":1.5,"peer":"a","round":1,"workload":"w"}`: {Key: trial.Key{Name: "a"}, Round: 1, Workload: "w",
			Figures: trial.Figures{"cpu_us": 1.5, "p50_us": 0}},
		`{"back":"http","error":"no","gateway":"a","round":2,"workload":"w"}`: {Key: trial.Key{Back: "http", Name: "a"},
			Round: 2, Workload: "w", Error: "no"},
	} {
		if got, err := json.Marshal(r); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// program is a row that records when it is measured.
type program struct {
	name string
	err  error
	log  *[]string
}

func (p program) Key() trial.Key              { return trial.Key{Name: p.name} }
func (p program) Required() bool              { return p.name == "a" }
func (p program) Build(context.Context) error { return p.err }
func (p program) Version() (string, string)   { return p.name, "v1" }
func (p program) Does(w fix.Workload) bool    { return p.name == "a" || !w.Session }

func (p program) Measure(_ context.Context, w fix.Workload, f trial.Figures) error {
	*p.log = append(*p.log, w.Name+" "+p.name)
	f["cpu_us"] = float64(len(*p.log))
	return nil
}

// TestRun verifies the order of measurements and the files.
func TestRun(t *testing.T) {
	var log []string
	o := &trial.Options{Rounds: 2, Out: t.TempDir()}
	tr := &trial.Trial{
		Options:   o,
		Workloads: []fix.Workload{{Name: "one"}, {Name: "two", Session: true}},
		Progress:  io.Discard,
	}
	rows := []trial.Row{program{"a", nil, &log}, program{"b", nil, &log}, program{"c", errors.New("no npm"), &log}}
	if err := tr.Prepare(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tr.Run(t.Context(), "test", &out, tr.Heading); err != nil || tr.Failure() != nil {
		t.Fatal(err, tr.Failure())
	}
	if got, want := strings.Join(log, ", "), "one a, one b, two a, one b, one a, two a"; got != want {
		t.Errorf("measured %s, want %s", got, want)
	}
	for _, want := range []string{"Versions: a v1, b v1.", "Skipped c: no npm."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q: %s", want, &out)
		}
	}
	text, err := os.ReadFile(filepath.Join(o.Out, "test.jsonl"))
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 7 {
		t.Errorf("%d lines, %v, want the setting and 6 records", lines, err)
	}
	if got := tr.Ratios("one", trial.Key{Name: "b"}, trial.Key{Name: "a"}, "cpu_us"); len(got) != 2 || got[0] != 2 {
		t.Errorf("Ratios = %v, want one for each round", got)
	}
	if err := tr.Prepare(t.Context(), []trial.Row{program{"a", errors.New("broken"), &log}}); err == nil {
		t.Error("a required program that cannot be built is skipped")
	}
}

func TestTable(t *testing.T) {
	got := trial.Table("### t", 1, []string{"a", "b", "c"}, [][]string{{"1", "x|y", "3"}})
	want := "### t\n\n| a | b | c |\n| --- | --- | ---: |\n| 1 | x\\|y | 3 |\n\n"
	if got != want {
		t.Errorf("Table:\n%swant:\n%s", got, want)
	}
}
