package main

import (
	"strings"
	"testing"
)

// TestQuestions verifies the questions against their description in docs/search.md.
func TestQuestions(t *testing.T) {
	asked := make(map[string]bool)
	for line := range strings.Lines(questions) {
		question, pages, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(question, "#") {
			continue
		}
		if !ok || pages == "" || asked[question] {
			t.Errorf("%q is no question with pages, or is asked twice", line)
		}
		asked[question] = true
	}
	if len(asked) < 50 {
		t.Errorf("%d questions, want at least 50", len(asked))
	}
}
