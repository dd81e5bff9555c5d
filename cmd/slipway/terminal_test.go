package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

// TestAbandonedQuestion ensures that a line goes to the question that waits for it, after an
// earlier one was withdrawn while the user was typing.
func TestAbandonedQuestion(t *testing.T) {
	in, keyboard := io.Pipe()
	var out bytes.Buffer
	q := &questions{
		in:  bufio.NewReader(in),
		out: &out,
	}
	withdrawn, cancel := context.WithCancel(t.Context())
	cancel()
	if text, err := q.line(withdrawn, "first: "); !errors.Is(err, context.Canceled) {
		t.Fatalf("line = %q, %v", text, err)
	}
	go func() {
		_, _ = io.WriteString(keyboard, "one\r\ntwo\nlast")
		_ = keyboard.Close()
	}()
	for _, want := range []string{"one", "two", "last"} {
		if got, err := q.secret(t.Context(), "next: "); got != want || err != nil {
			t.Errorf("line = %q, %v, want %q", got, err, want)
		}
	}
	if text, err := q.line(t.Context(), ""); !errors.Is(err, io.EOF) {
		t.Errorf("line at the end = %q, %v", text, err)
	}
	if got := out.String(); got != "first: next: next: next: " {
		t.Errorf("prompts: %q", got)
	}
}
