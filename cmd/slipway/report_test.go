package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
)

func TestReporting(t *testing.T) {
	warning := check.Finding{Rule: check.Rule{ID: "a/b"}, Severity: check.Warning, File: "f.json", Line: 2, Column: 1,
		Message: "m"}
	fault := check.Finding{Rule: check.Rule{ID: "a/c"}, File: "f.json", Message: "n"}
	tests := map[string]struct {
		args           []string
		findings       []check.Finding
		stdout, stderr string
		failure        string
	}{
		"clean":   {nil, nil, "", "x: no findings\n", ""},
		"warning": {nil, []check.Finding{warning}, "f.json:2:1: warning: m [a/b]\n", "x: 1 warning\n", ""},
		"warning, strict": {[]string{"--strict"}, []check.Finding{warning}, "f.json:2:1: warning: m [a/b]\n", "",
			"x: 1 warning"},
		"error":          {nil, []check.Finding{fault}, "f.json: error: n [a/c]\n", "", "x: 1 error"},
		"clean, as JSON": {[]string{"--json"}, nil, `{"findings":[]}` + "\n", "x: no findings\n", ""},
		"an error as JSON": {[]string{"--json"}, []check.Finding{fault},
			`{"findings":[{"rule":"a/c","severity":"error","file":"f.json","line":0,"column":0,"pointer":"","message":"n",` +
				`"hint":""}]}` + "\n", "", "x: 1 error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var o reporting
			var stdout, stderr bytes.Buffer
			cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, _ []string) error {
				var r check.Report
				r.Add(tt.findings...)
				return o.print(cmd, []string{"x"}, &r)
			}}
			o.flags(cmd)
			cmd.SetArgs(append([]string{}, tt.args...))
			cmd.SetOut(&stdout)
			cmd.SetErr(&stderr)
			err := cmd.Execute()
			var f *failure
			got := ""
			if errors.As(err, &f) {
				got = f.text
			}
			if got != tt.failure || f != nil && f.code != exitNo {
				t.Errorf("failure = %v, want %q", err, tt.failure)
			}
			if stdout.String() != tt.stdout || stderr.String() != tt.stderr {
				t.Errorf("printed %q and %q, want %q and %q", stdout.String(), stderr.String(), tt.stdout, tt.stderr)
			}
			if strings.Contains(stdout.String(), "\x1b") {
				t.Error("coloured without a terminal")
			}
		})
	}
}

// TestPrintBriefly guards a command with many notes about its input: of each rule, the first are printed, and all
// warnings.
func TestPrintBriefly(t *testing.T) {
	var r check.Report
	for line := range shownNotes + 3 {
		r.Add(
			check.Finding{Rule: check.Rule{ID: "a/b"}, Severity: check.Note, File: "f", Line: line + 1, Message: "m"},
			check.Finding{Rule: check.Rule{ID: "a/b"}, Severity: check.Warning, File: "f", Line: line + 1, Message: "w"},
		)
	}
	r.Add(check.Finding{Rule: check.Rule{ID: "a/c"}, Severity: check.Note, File: "g", Line: 1, Message: "m"})
	var stderr strings.Builder
	cmd := &cobra.Command{}
	cmd.SetErr(&stderr)
	printBriefly(cmd, &r)
	text := stderr.String()
	for want, times := range map[string]int{
		": note: m [a/b]\n": shownNotes, ": warning: w [a/b]\n": shownNotes + 3, "g:1: note: m [a/c]\n": 1,
		"and 3 more that are not shown: --json lists them\n": 1,
	} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("%q is printed %d times, want %d:\n%s", want, n, times, text)
		}
	}
	if !strings.Contains(text, "f:5: note") || strings.Contains(text, "f:6: note") {
		t.Errorf("the first notes are not shown:\n%s", text)
	}
}
