package doc

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// guideWords is the largest number of words in a guide. A longer page is two guides, or a
// guide and a reference page.
const guideWords = 1200

// references are the pages outside docs/reference that readers search instead of reading:
// the help texts of all commands, and tables of threats and of other programs.
func references() []string {
	return []string{"docs/cli.md", "docs/compare.md", "docs/threat-model.md"}
}

// isGuide reports whether a page is read from its beginning: the pages of docs, except
// references and the records of decisions, and the pages at the root.
func isGuide(name string) bool {
	switch {
	case slices.Contains(references(), name):
		return false
	case strings.HasPrefix(name, "docs/"):
		return !strings.HasPrefix(name, "docs/reference/") && !strings.HasPrefix(name, "docs/decisions/")
	default:
		return path.Dir(name) == "."
	}
}

// proseWords counts the words of a page outside code blocks and tables. Punctuation that
// stands alone, such as a dash, is no word.
func proseWords(p Page) int {
	n := 0
	p.fences(func(_ int, text string, at fence, _ string) bool {
		if at != outside || strings.HasPrefix(text, "|") || strings.HasPrefix(text, "<!--") {
			return true
		}
		for word := range strings.FieldsSeq(text) {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				n++
			}
		}
		return true
	})
	return n
}

// checkLength reports a guide that is too long to read in one go.
func checkLength(p Page) []Problem {
	n := proseWords(p)
	if !isGuide(p.Path) || n <= guideWords {
		return nil
	}
	const fix = "split it, or move facts to docs/reference"
	return []Problem{{Path: p.Path, Text: fmt.Sprintf("%d words, at most %d: %s", n, guideWords, fix)}}
}

func TestCheckLength(t *testing.T) {
	fits := strings.Repeat("word ", guideWords)
	tests := map[string]struct {
		path, text string
		want       int
	}{
		"fits":               {"docs/one.md", fits, 0},
		"a word too many":    {"docs/one.md", fits + "\nword", 1},
		"a journey":          {"docs/journeys/one.md", fits + "\nword", 1},
		"a page at the root": {"CONTRIBUTING.md", fits + "\nword", 1},
		"code and tables":    {"docs/one.md", fits + "\n```sh\nword\n```\n| word |\n<!-- from word -->\n", 0},
		"after code":         {"docs/one.md", fits + "\n```sh\n```\nword", 1},
		"punctuation":        {"docs/one.md", fits + " — - …", 0},
		"a reference":        {"docs/reference/one.md", fits + "\nword", 0},
		"a listed reference": {"docs/threat-model.md", fits + "\nword", 0},
		"a decision":         {"docs/decisions/0001-x.md", fits + "\nword", 0},
		"a page of a folder": {"examples/x/README.md", fits + "\nword", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := checkLength(Page{Path: tt.path, Lines: strings.Split(tt.text, "\n")})
			if len(got) != tt.want {
				t.Errorf("checkLength = %v, want %d problems", got, tt.want)
			}
		})
	}
}
