package visible_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/visible"
)

func TestEscapes(t *testing.T) {
	for name, test := range map[string]struct{ in, line, text string }{
		"plain":                 {"a b", "a b", "a b"},
		"other scripts":         {"Größe 日本語", "Größe 日本語", "Größe 日本語"},
		"clear the screen":      {"\x1b[2Jx", `\u001b[2Jx`, `\u001b[2Jx`},
		"set the title":         {"\x1b]0;x\a", `\u001b]0;x\u0007`, `\u001b]0;x\u0007`},
		"C1":                    {"\u009b2J", `\u009b2J`, `\u009b2J`},
		"C1 as a bare byte":     {"\x9b2J", `\x9b2J`, `\x9b2J`},
		"delete":                {"a\x7f", `a\u007f`, `a\u007f`},
		"direction":             {"a\u202eb\u2066\u200f", `a\u202eb\u2066\u200f`, `a\u202eb\u2066\u200f`},
		"tags":                  {"a\U000e0041", `a\udb40\udc41`, `a\udb40\udc41`},
		"line ends":             {"a\nb\r\nc\td", `a\u000ab\u000d\u000ac\u0009d`, "a\nb\r\nc\td"},
		"a return alone":        {"good\rbad", `good\u000dbad`, `good\u000dbad`},
		"separators":            {"a\u2028b", `a\u2028b`, `a\u2028b`},
		"a space without width": {"a\u200bb", `a\u200bb`, "a\u200bb"},
		"a family":              {"👩\u200d👧", "👩\u200d👧", "👩\u200d👧"},
		"a replacement":         {"\ufffd", "\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := visible.Line(test.in); got != test.line {
				t.Errorf("Line(%q) = %q, want %q", test.in, got, test.line)
			}
			if got := visible.Text(test.in); got != test.text {
				t.Errorf("Text(%q) = %q, want %q", test.in, got, test.text)
			}
			// The result does not depend on how the stream is split.
			for size := 1; size <= len(test.in); size++ {
				var out bytes.Buffer
				w := visible.NewWriter(&out)
				for rest := test.in; rest != ""; {
					n := min(size, len(rest))
					if _, err := w.Write([]byte(rest[:n])); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if err := w.Flush(); err != nil || out.String() != test.text {
					t.Errorf("%q in pieces of %d = %q, %v, want %q", test.in, size, out.String(), err, test.text)
				}
			}
		})
	}
}

// TestJSON verifies that an escaped document keeps its meaning.
func TestJSON(t *testing.T) {
	const text = "a\u0085\u009b\u202e\u2066\U000e0041\u007f\x1bé\ufffd日\n"
	doc, err := json.Marshal(map[string]string{text: text})
	if err != nil {
		t.Fatal(err)
	}
	safe := visible.JSON(doc)
	if got := visible.Text(string(safe)); got != string(safe) {
		t.Errorf("JSON leaves what a terminal acts on: %q", safe)
	}
	var back map[string]string
	if err := json.Unmarshal(safe, &back); err != nil || back[text] != text {
		t.Errorf("%s means %q, %v", safe, back, err)
	}
	if want := `\udb40\udc41`; !strings.Contains(string(safe), want) {
		t.Errorf("%s has no %s", safe, want)
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "\x1b[2J", "\u009b", "\x9b\r", "a\r\n",
		"👩\u200d👧", strings.Repeat("\u202e", 50)} {
		f.Add(seed)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, s string) {
		for name, got := range map[string]string{"Line": visible.Line(s), "Text": visible.Text(s)} {
			if !utf8.ValidString(got) {
				t.Errorf("%s(%q) = %q, which is not UTF-8", name, s, got)
			}
			if again := visible.Text(got); again != got {
				t.Errorf("%s(%q) = %q leaves what a terminal acts on", name, s, got)
			}
			if len(got) > 6*len(s) {
				t.Errorf("%s(%q) has %d bytes", name, s, len(got))
			}
		}
	})
}

// TestFind verifies that a carriage return is found unless it is part of a line ending.
func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\nb\tc\n":          "",
		"good\rbad":            "\r",
		"a\r\n\rb\u202e\u202e": "\r\u202e",
		"a\r":                  "\r",
	} {
		if got := string(visible.Find(text)); got != want {
			t.Errorf("Find(%q) = %q, want %q", text, got, want)
		}
	}
}
