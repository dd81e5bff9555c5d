package lines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/lines"
)

func TestWriter(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		want []string
	}{
		"nothing":           {"", nil},
		"ends":              {"a\nb\r\n\nc", []string{"a", "b", "", "c"}},
		"as long as may be": {"12345678\n", []string{"12345678"}},
		"too long":          {"123456789\nx\n", []string{"12345678", "9", "x"}},
		"endless":           {strings.Repeat("1", 20), []string{"11111111", "11111111", "1111"}},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= max(len(test.in), 1); size++ {
				var got []string
				w := &lines.Writer{Max: 8, Line: func(line string) error {
					got = append(got, line)
					return nil
				}}
				for piece := range slices.Chunk([]byte(test.in), size) {
					if n, err := w.Write(piece); n != len(piece) || err != nil {
						t.Fatalf("Write = %d, %v", n, err)
					}
				}
				if err := w.Flush(); err != nil || !slices.Equal(got, test.want) {
					t.Errorf("in pieces of %d: %q, %v, want %q", size, got, err, test.want)
				}
			}
		})
	}
}
