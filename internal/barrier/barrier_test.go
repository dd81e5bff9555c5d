package barrier_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/barrier"
)

func TestRun(t *testing.T) {
	var nothing []int
	sentinel := errors.New("no")
	tests := []struct {
		name string
		do   func() error
		want string
	}{
		{"success", func() error { return nil }, ""},
		{"error", func() error { return sentinel }, "no"},
		{
			"runtime error",
			func() error { _ = nothing[len(nothing)]; return nil },
			"read x: internal error: runtime error: index out of range [0] with length 0",
		},
		{"any value", func() error { panic("odd") }, "read x: internal error: odd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := barrier.Run("read x", test.do)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			var panicked *barrier.PanicError
			if errors.As(err, &panicked) && !strings.Contains(panicked.Stack, "barrier_test.go") {
				t.Errorf("the stack does not name the place: %s", panicked.Stack)
			}
		})
	}
}
