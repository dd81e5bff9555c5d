package registry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/stax/registry"
)

// TestRules verifies the page against the table of rules.
func TestRules(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "definitions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range registry.Rules() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", r.ID, r.Severity, r.About); !strings.Contains(string(text), row) {
			t.Errorf("docs/reference/definitions.md lacks the row %s", row)
		}
	}
}
