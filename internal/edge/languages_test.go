package edge

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// TestLanguages verifies that the module has the stemmers of all indexes of a site.
func TestLanguages(t *testing.T) {
	in, err := sitebuild.Open("testdata/editions", nil)
	if err != nil {
		t.Fatal(err)
	}
	site, err := in.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := sitebuild.NewMemory()
	if _, err := sitebuild.Write(t.Context(), site, files, nil); err != nil {
		t.Fatal(err)
	}
	main, err := Language(files.ReadFile)
	if err != nil || main != "en" {
		t.Errorf("language %q, %v", main, err)
	}
	others, err := OtherLanguages(files.ReadFile)
	if err != nil || !slices.Equal(others, []string{"de"}) {
		t.Errorf("other languages %q, %v", others, err)
	}
	text, err := module(main, others, &config{})
	if err != nil || !strings.Contains(string(text), `LANGUAGES["de"] = (() => {`) {
		t.Errorf("no other stemmer in the module, %v", err)
	}
}
