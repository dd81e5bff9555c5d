// Package recall measures the search of a site built from documents: it builds the
// documentation of a well-known project, asks the questions in questions.tsv, and requires
// that the right page is among the first five results for nine of ten.
//
//	go -C bench test ./recall -v
//
// The documentation is that of Traefik, Markdown inside a Go module, which the go command
// downloads to its module cache.
package recall

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// corpus is the module with the documentation, and folder its location in the module.
const (
	corpus = "github.com/traefik/traefik/v3@v3.7.13"
	folder = "docs"
)

var (
	dir = flag.String("dir", "", "a folder with the documentation (default: "+corpus+", fetched)")
	all = flag.Bool("all", false, "print every question with the places of its page, not only the missed ones")
)

// least is the required recall@5.
const least = 0.9

//go:embed questions.tsv
var questions string

// question is a question with the pages that answer it.
type question struct {
	text  string
	pages []string
}

// readQuestions reads the questions, which must be at least 50, each with a page and asked
// once, as docs/search.md describes.
func readQuestions(t *testing.T) []question {
	t.Helper()
	var list []question
	asked := make(map[string]bool)
	for line := range strings.Lines(questions) {
		text, pages, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(text, "#") {
			continue
		}
		if !ok || pages == "" || asked[text] {
			t.Errorf("%q is not a question with pages, or is asked twice", line)
		}
		asked[text] = true
		list = append(list, question{text, strings.Split(pages, " ")})
	}
	if len(list) < 50 {
		t.Errorf("%d questions, want at least 50", len(list))
	}
	return list
}

func TestRecall(t *testing.T) {
	list := readQuestions(t)
	from := *dir
	if from == "" {
		fetched, err := fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		from = filepath.Join(fetched, folder)
	}
	site, err := open(t, from)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	var first, five int
	start := time.Now()
	for _, q := range list {
		found, err := ask(t.Context(), site, q.text)
		if err != nil {
			t.Fatal(err)
		}
		place := slices.IndexFunc(found, func(page string) bool { return slices.Contains(q.pages, page) })
		right := place >= 0 && place < 5
		if place == 0 {
			first++
		}
		if right {
			five++
		}
		if *all || !right {
			top := found[:min(5, len(found))]
			t.Logf("%2d  %s  (%s; found %s)", place+1, q.text, strings.Join(q.pages, " "), strings.Join(top, " "))
		}
	}
	n := float64(len(list))
	recall := float64(five) / n
	t.Logf("%d questions: recall@1 %.2f, recall@5 %.2f, %.1f ms a question",
		len(list), float64(first)/n, recall, time.Since(start).Seconds()*1000/n)
	if recall < least {
		t.Errorf("recall@5 is %.2f, less than %.2f", recall, least)
	}
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
func open(t *testing.T, dir string) (*staticmcp.Site, error) {
	ctx := t.Context()
	input, err := sitebuild.Open(dir, &sitebuild.InputOptions{As: "docs", Name: "traefik"})
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
	t.Logf("%s: %d files, %d bytes, built in %d ms; %s",
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
