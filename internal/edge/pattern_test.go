package edge

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPatterns compares the patterns of the endpoint with those of Go, also for texts with which a RegExp of JavaScript
// takes years. What Go does not have is not checked.
func TestPatterns(t *testing.T) {
	node := os.Getenv(nodeVariable)
	if node == "" {
		t.Skip("scripts/edge names the runtimes")
	}
	patterns := []string{
		`^(a+)+$`, `^(a|aa)+$`, `^([a-zA-Z0-9_.-]+)*@x$`, `^a{2,4}$`, `a{3}`, `^[a-z]+(\.[a-z]+)*$`, `(a|b)*c`,
		`^\d{4}-\d{2}-\d{2}$`, `\bfoo\b`, `x?y+z*`, `^$`, ``, `[^a-c]`, `^(?:ab|cd){1,3}?$`, `^\p{L}+$`, `^.{2}$`,
		`(?<n>a)b`, `\.`, `a|`, `(|a)b`, `^((a*)*)*$`, `[\]x]+`, `\x61`, `^\S+\s?\S*$`, `a{0}b`, `^a{2,}$`, `\Bb`,
		`(?=a)b`, `(a)\1`, `[`, `a**`, `(`, `^(((a{9}){9}){9}){9}$`,
	}
	texts := []string{
		"", "a", "aa", "aaa", "aaaaa", "ab", "abcd", "b", "c", "aab", "2026-01-02", "2026-1-2", "a foo b", "afoob", "xyz",
		"x", "abc.def", "abc.", "u@x", "ü", "😀", "😀😀", "a b", "a  b", "]x", ".", "abb",
		strings.Repeat("a", 40) + "!", strings.Repeat("a", 1000) + "!",
	}
	module, err := filepath.Abs("js/pattern.js")
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal([][]string{patterns, texts})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const script = `
const { matchesPattern } = await import(process.argv[1]);
const [patterns, texts] = JSON.parse(process.argv[2]);
console.log(JSON.stringify(patterns.map((p) => texts.map((t) => matchesPattern(p, t)))));`
	cmd := exec.CommandContext(ctx, node, "--input-type=module", "--eval", script, "file://"+module, string(input))
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]bool
	if err := json.Unmarshal(output, &got); err != nil {
		t.Fatal(err)
	}
	for i, pattern := range patterns {
		compiled, err := regexp.Compile(pattern)
		for j, text := range texts {
			want := err != nil || compiled.MatchString(text)
			if got[i][j] != want {
				t.Errorf("pattern %q and text %.40q: %v, want %v", pattern, text, got[i][j], want)
			}
		}
	}
}
