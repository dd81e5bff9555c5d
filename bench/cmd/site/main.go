// Command site builds a synthetic encyclopedia as a StaticMCP site, twice, and prints the
// time and memory of each build.
//
//	go -C bench run ./cmd/site -pages 600000 -dir /tmp/encyclopaedia
//
// Each page is the answer of a tool and, with -resources, a listed resource. The titles
// are in several scripts, so that many of them have the same encoded name. With -keep,
// the folder is kept, to be served.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/bench/trial"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
)

func main() { trial.Main("site", run) }

// run builds a large site twice: into an empty folder, and again without a change.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var pages, size int
	var dir string
	var keep, resources bool
	err := trial.Parse("site", args, stderr, func(flags *flag.FlagSet) {
		flags.IntVar(&pages, "pages", 600_000, "pages")
		flags.IntVar(&size, "size", 1900, "bytes of a page")
		flags.StringVar(&dir, "dir", "", "folder to write (default: a temporary one)")
		flags.BoolVar(&keep, "keep", false, "keep the folder")
		flags.BoolVar(&resources, "resources", false, "also list each page as a resource")
	})
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "encyclopaedia-*"); err != nil {
			return err
		}
	}
	if !keep {
		defer os.RemoveAll(dir)
	}
	for _, round := range []string{"first build", "built again"} {
		start := time.Now()
		result, err := sitebuild.Write(ctx, encyclopaedia(pages, size, resources),
			sitebuild.Dir(dir), nil)
		if err != nil {
			return fmt.Errorf("%w: %v", err, result.Report.Findings())
		}
		fmt.Fprintf(stdout,
			"%s: %d answers, %d files, %.1f MB in %.1f s; %d created, %d updated, %d unchanged; %s; peak resident %s\n",
			round, result.Answers, result.Files, float64(result.Bytes)/1e6, time.Since(start).Seconds(),
			result.Created, result.Changed, result.Unchanged, result.Report.Summary(), peak())
	}
	return nil
}

// peak returns the peak memory of the process.
func peak() string {
	if kb, err := system.PeakKB(os.Getpid()); err == nil {
		return fmt.Sprintf("%d kB", kb)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%d kB (of the Go heap)", m.Sys>>10)
}

// title returns a different title for every number. One in a hundred is in a script whose
// letters are dropped from file names, so that only the length remains.
func title(n int) string {
	if n%100 == 0 {
		var b strings.Builder
		for rest := n; rest > 0 || b.Len() == 0; rest /= 10 {
			b.WriteRune('一' + rune(rest%10)*37)
		}
		return b.String()
	}
	return fmt.Sprintf("Article %d of the Encyclopædia", n)
}

// encyclopaedia returns a site whose answers are generated while it is written, so that the
// memory measured is that of the build.
func encyclopaedia(pages, size int, resources bool) *sitebuild.Site {
	text := strings.Repeat("All that is known of this. ", size/27+1)[:size]
	site := &sitebuild.Site{
		Server: mcp.Implementation{
			Name:    "encyclopaedia",
			Version: "1.0.0",
		},
		Tools: []mcp.Tool{{
			Name: "get_article", Description: "An article by its title.",
			InputSchema: []byte(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`),
		}},
	}
	site.Answers = func(yield func(*sitebuild.Answer, error) bool) {
		for n := range pages {
			page := fmt.Sprintf("%d. %s", n, text)
			if !yield(sitebuild.Text("get_article",
				map[string]string{"title": title(n)}, page), nil) {
				return
			}
			if resources &&
				!yield(sitebuild.TextResource(fmt.Sprintf("article://%d", n),
					"text/plain", page), nil) {
				return
			}
		}
	}
	if !resources {
		return site
	}
	site.Resources = func(yield func(*mcp.Resource, error) bool) {
		for n := range pages {
			r := &mcp.Resource{
				URI:         fmt.Sprintf("article://%d", n),
				Name:        title(n),
				Description: title(n),
				MIMEType:    "text/plain",
			}
			if !yield(r, nil) {
				return
			}
		}
	}
	return site
}
