package docs_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// thousand returns a folder of 1,000 pages of about 6 KB, with links, code and
// tables.
func thousand() fstest.MapFS {
	subjects := strings.Fields(
		"kettle water temperature filter spout handle lid timer button cable steam pressure valve switch sensor " +
			"lamp base scale descaler manual")
	verbs := strings.Fields("configure measure replace clean connect restart inspect calibrate protect schedule")
	files := fstest.MapFS{}
	for i := range 1000 {
		subject, verb := subjects[i%len(subjects)], verbs[i/len(subjects)%len(verbs)]
		var b strings.Builder
		fmt.Fprintf(&b, "---\ndescription: How to %s the %s number %d.\n---\n# %s the %s %d\n",
			verb, subject, i, verb, subject, i)
		for s := range 8 {
			other := subjects[(i*7+s*3)%len(subjects)]
			fmt.Fprintf(&b, "\n## The %s and the %s\n\nBefore you %s the %s, read [another page](p%d.md) and at `%s.%s`. ",
				other, subject, verb, subject, (i*13+s)%1000, subject, other)
			b.WriteString(strings.Repeat("The "+other+" depends on how the "+subject+
				" is set up, and **not** on the time of day. ",
				5))
			fmt.Fprintf(&b,
				"\n\n| option | meaning |\n| --- | --- |\n| `%s%d` | what the %s does |\n\n```yaml\n%s:\n  %s: %d\n```\n",
				other, i, other, subject, other, i)
		}
		files[fmt.Sprintf("part%02d/p%d.md", i%20, i)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	return files
}

func BenchmarkThousandPages(b *testing.B) {
	files := thousand()
	for b.Loop() {
		set, err := docs.Read(b.Context(), files, "", nil)
		if err != nil {
			b.Fatal(err)
		}
		site, err := set.Site(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := sitewriter.Write(b.Context(), site, sitewriter.NewMemory(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
