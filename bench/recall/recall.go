// Package recall measures how well search finds the pages that answer a question.
//
// [Corpora] are documentations of public projects, which [Corpus.Fetch] downloads from the
// registries where they are published. The questions about them, in the folder questions,
// were written from the lists of pages alone, before any result was seen, in the words of
// a person who does not know the titles. The weights of the search were chosen with the
// corpora marked Tuned; the others show what to expect of documents that are new to it.
//
//	go -C bench run ./cmd/recall     compare Slipway with other search libraries
//	go -C bench test ./recall        verify the goals on corpora that were not used for tuning
package recall

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-mcp/slipway/internal/eval"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

//go:embed questions/*.tsv
var questionFiles embed.FS

// Questions returns the questions about a corpus.
func (c *Corpus) Questions() ([]eval.Question, error) {
	name := "questions/" + c.Name + ".tsv"
	f, err := questionFiles.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := eval.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// Page is a page as other search libraries index it.
type Page struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Sections []Section `json:"sections"`
}

// Section is a part of a page.
type Section struct {
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// Built is the site of a corpus.
type Built struct {
	// Site answers searches, and Pages are its documents.
	Site  *staticmcp.Site
	Pages []Page
}

// Build builds the site of the documents in dir, in memory. Searches use the vectors, if there are any. Close its Site
// after use.
func Build(ctx context.Context, name, dir string, vectors *staticmcp.Vectors) (*Built, error) {
	input, err := sitebuild.Open(dir, &sitebuild.InputOptions{As: "docs", Name: name})
	if err != nil {
		return nil, err
	}
	made, err := input.Site(ctx)
	if err != nil {
		return nil, err
	}
	memory := sitebuild.NewMemory()
	if _, err := sitebuild.Write(ctx, made, memory, nil); err != nil {
		return nil, err
	}
	site, err := staticmcp.Open(ctx, memory, &staticmcp.Options{Poll: -1, Vectors: vectors})
	if err != nil {
		return nil, err
	}
	b := &Built{Site: site}
	catalog, err := site.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range catalog.Resources {
		if r.MIMEType != "text/markdown" {
			continue
		}
		result, err := site.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r.URI, err)
		}
		text, err := textOf(result)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r.URI, err)
		}
		b.Pages = append(b.Pages, Page{
			ID:       strings.TrimPrefix(r.URI, "docs://"),
			Title:    r.Name,
			Sections: sections(text),
		})
	}
	return b, nil
}

// textOf returns the text of a resource.
func textOf(result *mcp.ReadResourceResult) (string, error) {
	if result.Raw == nil {
		return result.Contents[0].Text, nil
	}
	var stored struct {
		Contents []struct{ Text string }
	}
	err := json.Unmarshal(result.Raw.Bytes(), &stored)
	if err != nil || len(stored.Contents) == 0 {
		return "", cmp.Or(err, fmt.Errorf("no contents"))
	}
	return stored.Contents[0].Text, nil
}

var heading = regexp.MustCompile(`^#{1,6} +(.+?)[ #]*$`)

// sections cuts Markdown at its headings, except within fenced code.
func sections(text string) []Section {
	list := []Section{{}}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if m := heading.FindStringSubmatch(line); m != nil && !fenced {
			list = append(list, Section{Heading: m[1]})
			continue
		}
		last := &list[len(list)-1]
		last.Text += line + "\n"
	}
	return list
}

// Search returns the pages in the search results for some phrasings, in order, as a client
// would see them.
func (b *Built) Search(ctx context.Context, phrasings ...string) ([]string, error) {
	return eval.Find(ctx, b.Site, "search", phrasings...)
}
