package peer_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/slipway-mcp/slipway/internal/peer"
)

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	tests := map[string]struct {
		in   string
		want []string
		err  error
	}{
		"empty":            {"", nil, io.EOF},
		"lines":            {"a\nb\n", []string{"a", "b"}, io.EOF},
		"no last newline":  {"a\nb", []string{"a", "b"}, io.EOF},
		"blank lines":      {"\n \r\na\n\t\n", []string{"a"}, io.EOF},
		"white space":      {" a\r\n", []string{" a\r"}, io.EOF},
		"beyond a buffer":  {long + "\nb\n", []string{long, "b"}, io.EOF},
		"too long":         {"a\n" + long + long + "\nb\n", []string{"a"}, peer.ErrTooLong},
		"too long, no end": {long + long, nil, peer.ErrTooLong},
	}
	for name, tt := range tests {
		for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.HalfReader(strings.NewReader(tt.in))} {
			t.Run(name, func(t *testing.T) {
				var got []string
				r := peer.NewLineReader(in, 128<<10)
				line, err := r.Next()
				for ; err == nil; line, err = r.Next() {
					got = append(got, string(line))
				}
				if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
					t.Errorf("%.80q, %v, want %.80q, %v", got, err, tt.want, tt.err)
				}
			})
		}
	}
}
