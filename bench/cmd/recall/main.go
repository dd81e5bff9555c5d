// Command recall measures the search of a site built from documents: it builds the
// documentation of a well-known project, asks the questions in questions.tsv, and prints
// for how many the right page is among the first five results.
//
//	go -C bench run ./cmd/recall
//
// The documentation is that of Traefik, Markdown inside a Go module, which the go command
// downloads to its module cache. The exit code is 1 if the recall is less than -least.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/trial"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/sitebuild/docs"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// corpus is the module with the documentation, and folder its location in the module.
const (
	corpus = "github.com/traefik/traefik/v3@v3.7.13"
	folder = "docs"
)

//go:embed questions.tsv
var questions string

func main() { trial.Main("recall", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var least float64
	var verbose bool
	var dir string
	err := trial.Parse("recall", args, stderr, func(flags *flag.FlagSet) {
		flags.Float64Var(&least, "least", 0.9, "the recall@5 below which the exit code is 1")
		flags.BoolVar(&verbose, "v", false, "print every question with the places of its page")
		flags.StringVar(&dir, "dir", "", "a folder with the documentation (default: "+corpus+", fetched)")
	})
	if err != nil {
		return err
	}
	if dir == "" {
		fetched, err := fetch(ctx)
		if err != nil {
			return err
		}
		dir = filepath.Join(fetched, folder)
	}
	site, err := open(ctx, dir, stdout)
	if err != nil {
		return err
	}
	defer site.Close()
	var asked, first, five int
	var took time.Duration
	for line := range strings.Lines(questions) {
		question, pages, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(question, "#") {
			continue
		}
		start := time.Now()
		found, err := ask(ctx, site, question)
		if err != nil {
			return err
		}
		took += time.Since(start)
		asked++
		top := found[:min(5, len(found))]
		isRight := func(page string) bool { return slices.Contains(strings.Split(pages, " "), page) }
		place := slices.IndexFunc(found, isRight)
		if place == 0 {
			first++
		}
		right := slices.ContainsFunc(top, isRight)
		if right {
			five++
		}
		if verbose || !right {
			fmt.Fprintf(stdout, "%2d  %s  (%s; found %s)\n", place+1, question, pages, strings.Join(top, " "))
		}
	}
	recall := float64(five) / float64(asked)
	fmt.Fprintf(stdout, "%d questions: recall@1 %.2f, recall@5 %.2f, %.1f ms a question\n",
		asked, float64(first)/float64(asked), recall, float64(took.Microseconds())/1000/float64(asked))
	if recall < least {
		return fmt.Errorf("recall@5 is %.2f, less than %.2f", recall, least)
	}
	return nil
}

// fetch returns the folder of the module with the documentation.
func fetch(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", corpus)
	cmd.Dir = os.TempDir()
	out, err := cmd.Output()
	var said struct{ Dir, Error string }
	if json.Unmarshal(out, &said) == nil && said.Error != "" {
		return "", fmt.Errorf("fetch %s: %s", corpus, said.Error)
	}
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", corpus, err)
	}
	return said.Dir, nil
}

// open builds the site in memory.
func open(ctx context.Context, dir string, stdout io.Writer) (*staticmcp.Site, error) {
	input, err := docs.Dir(dir, &docs.Options{Name: "traefik"})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	made, err := input.Site(ctx)
	if err != nil {
		return nil, err
	}
	memory := sitebuild.NewMemory()
	result, err := sitebuild.Write(ctx, made, memory, nil)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stdout, "%s: %d files, %d bytes, built in %d ms; %s\n",
		corpus, result.Files, result.Bytes, time.Since(start).Milliseconds(), result.Report.Summary())
	return staticmcp.Open(ctx, memory, &staticmcp.Options{Poll: -1})
}

// pathLine is the line with the path of a page in an answer.
var pathLine = regexp.MustCompile(`(?m)^   path: (\S+)$`)

// ask returns the pages in the search results, in order, as a client would see them.
func ask(ctx context.Context, site *staticmcp.Site, question string) ([]string, error) {
	arguments, err := json.Marshal(map[string]string{"query": question})
	if err != nil {
		return nil, err
	}
	result, err := site.CallTool(ctx, &mcp.CallToolParams{Name: "search", Arguments: arguments})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, c := range result.Content {
		for _, m := range pathLine.FindAllStringSubmatch(c.Text, -1) {
			found = append(found, m[1])
		}
	}
	return found, nil
}
