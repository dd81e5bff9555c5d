package schema

import (
	"regexp/syntax"
	"testing"
)

// TestProgramSize guards large patterns that are small enough: an estimate that is too high would leave them unchecked.
func TestProgramSize(t *testing.T) {
	for _, pattern := range []string{
		"", "abc", "^[a-z]+$", "(ab|c)*d?", "(?:a[0-9]){3,}", "x{0,}", "(x[a-z]){1,}", "^([A-Z][0-9]-){1,1000}$",
		".{2,7}", "(a|bc|[d-f]){4}", `^\w{1,30}(-\w{1,30}){0,20}$`,
	} {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(re.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		want := len(program.Inst) - 2 // without the end and the failure
		if got := programSize(re); got < want || got > want+3 {
			t.Errorf("programSize(%q) = %d, want %d", pattern, got, want)
		}
	}
	if err := CheckPattern("^([A-Z][0-9]-){1,1000}$"); err != nil {
		t.Errorf("a pattern of 6,000 instructions is not checked: %v", err)
	}
}
