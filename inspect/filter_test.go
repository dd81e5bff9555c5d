package inspect

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestFilter(t *testing.T) {
	x := &exchange{
		Frame: &Frame{
			Event: mcplog.Event{
				Seq:    7,
				Kind:   mcplog.Request,
				Method: "tools/call",
				Name:   "create_issue",
				ID:     []byte("9"),
				Bytes:  2000,
				Status: 401,
			},
			body: []byte(`{"text":"Not Found: Ärger"}`),
		},
		other:  &Frame{Event: mcplog.Event{Took: 250e6}},
		source: "petstore",
	}
	for text, want := range map[string]bool{
		"":                        true,
		"not":                     true,
		`"not found"`:             true,
		`-"not found"`:            false,
		"nowhere":                 false,
		"method:tools/*":          true,
		"method:tools":            false,
		"-method:ping create":     true,
		"name:create_* @petstore": true,
		"@pet":                    false,
		`@"pet"`:                  false,
		"slow:>200ms":             true,
		"slow:<200ms":             false,
		"slow:250ms":              false,
		"larger:1kB":              true,
		"smaller:1KiB":            false,
		"status:4xx id:9 seq:1..": true,
		"seq:8..":                 false,
		"is:error":                true,
		"is:open":                 false,
		"unknown:x":               false,
	} {
		f, err := parseFilter(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := f.matches(x); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, wrong := range []string{"slow:x", "is:what", "larger:big", "at:noon", "seq:a", "call:x"} {
		if _, err := parseFilter("fine " + wrong); err == nil || err.at != [2]int{5, 5 + len(wrong)} {
			t.Errorf("%s: %+v", wrong, err)
		}
	}
}

// FuzzFilter ensures that a mistake is within the filter, and that others can be applied.
func FuzzFilter(f *testing.F) {
	f.Add(`method:tools/call -"a b" slow:>1s @x at:12:00..12:01`)
	f.Add(`"`)
	x := &exchange{Frame: &Frame{body: []byte("body")}}
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		parsed, err := parseFilter(text)
		if err != nil {
			if err.at[0] < 0 || err.at[1] > len(text) || err.at[0] > err.at[1] {
				t.Errorf("the mistake is at %v of %d", err.at, len(text))
			}
			return
		}
		parsed.matches(x)
	})
}
