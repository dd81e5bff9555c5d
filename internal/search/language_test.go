package search

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/tabletest"
)

func TestLanguages(t *testing.T) {
	tabletest.Check(t, "languages.schema.json", "languages.json")
	if got, want := len(languages()), len(stemmers); got != want {
		t.Errorf("the table has %d languages, want %d as there are stemmers", got, want)
	}
	for _, l := range languages() {
		if l.stem == nil {
			t.Errorf("no stemmer for language %q", l.Code)
		}
	}
}
