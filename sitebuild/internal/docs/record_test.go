package docs_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// TestRefreshReadsSkippedAgain ensures that a PDF that could not be read is tried again by the next build: the program
// that reads it may be installed meanwhile, or have failed because the machine was busy.
func TestRefreshReadsSkippedAgain(t *testing.T) {
	race.SkipLong(t)
	defer docs.SetMaxFull(10_000)()
	r := newRefreshed(t, sitewriter.Packed)
	r.compare("the first build")
	edit := func(when string, want bool) {
		t.Helper()
		r.put("part01/p1.md", r.get("part01/p1.md")+"\nAnother sentence.\n")
		before := r.patches
		r.compare(when)
		if got := r.patches > before; got != want {
			t.Errorf("%s: a patch is %t, want %t", when, got, want)
		}
	}
	edit("without PDFs", true)
	r.put("part01/manual.pdf", "%PDF-1.7 is all that there is")
	r.age()
	r.compare("with a PDF")
	edit("with a PDF that could not be read", false)
}
