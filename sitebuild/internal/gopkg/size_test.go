package gopkg_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/sitebuild/internal/gopkg"
)

// TestStructuredSize: in the answers about the standard library, structured content is at most
// twice as large as the text that says the same.
func TestStructuredSize(t *testing.T) {
	race.SkipLong(t)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no Go toolchain:", err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	in, err := gopkg.New(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	site, err := in.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	for a, err := range site.Answers {
		if err != nil {
			t.Fatal(err)
		}
		if a.Tool == "" {
			continue
		}
		var result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
		if err := json.Unmarshal(a.Result, &result); err != nil {
			t.Fatal(err)
		}
		if result.StructuredContent == nil {
			continue
		}
		answers++
		// What is quoted has the same letters as the text, but the names of members come on top:
		// a few lines have more names than text.
		const few = 1000
		text, _ := json.Marshal(result.Content[0].Text)
		if got := len(result.StructuredContent); got > few && got > 2*len(text) {
			t.Errorf("%s %s: %d bytes of structured content for %d of text", a.Tool, a.Arguments, got, len(text))
		}
	}
	if answers < 1000 {
		t.Errorf("only %d answers", answers)
	}
}
