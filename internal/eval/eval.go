// Package eval measures how often a search tool finds the page that answers a question.
//
// [Read] reads questions from a text file, [Run] asks them, and the [Report] has the share
// of questions whose page was found, and the questions that were missed.
package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/mcp"
)

// Question is a question with the pages that answer it.
type Question struct {
	// Phrasings ask for the same thing in different words.
	Phrasings []string `json:"phrasings"`
	// Pages are the paths of the pages, any of which is right. A path that begins with "*"
	// is any page that ends in the rest.
	Pages []string `json:"pages"`
}

// Answers reports whether a page answers the question.
func (q *Question) Answers(page string) bool {
	return slices.ContainsFunc(q.Pages, func(want string) bool {
		if end, ok := strings.CutPrefix(want, "*"); ok {
			return strings.HasSuffix(page, end)
		}
		return page == want
	})
}

// Single returns each phrasing as a question of its own.
func Single(questions []Question) []Question {
	var list []Question
	for _, q := range questions {
		for _, phrasing := range q.Phrasings {
			list = append(list, Question{[]string{phrasing}, q.Pages})
		}
	}
	return list
}

// Limits of a file of questions.
const (
	maxQuestions = 10_000
	maxLine      = 64 << 10
)

// Read reads questions, one a line: one to four phrasings and the paths of pages, all
// separated by tabs; several paths are separated by spaces. Empty lines and those that
// begin with "#" are skipped. The error names the line.
func Read(r io.Reader) ([]Question, error) {
	var list []Question
	lines := make(map[string]int) // of phrasings
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		last := len(fields) - 1
		q := Question{
			Phrasings: fields[:last],
			Pages:     strings.Fields(fields[last]),
		}
		if last < 1 || last > 4 || len(q.Pages) == 0 || slices.Contains(q.Phrasings, "") {
			return nil, fmt.Errorf("line %d: want one to four phrasings and the paths of pages, separated by tabs", n)
		}
		for _, phrasing := range q.Phrasings {
			if before := lines[phrasing]; before > 0 {
				return nil, fmt.Errorf("line %d: %q is also in line %d", n, phrasing, before)
			}
			lines[phrasing] = n
		}
		if list = append(list, q); len(list) > maxQuestions {
			return nil, fmt.Errorf("line %d: more than %d questions", n, maxQuestions)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no questions")
	}
	return list, nil
}

// Score is the share of questions whose page is the first, or among the first five or ten
// results.
type Score struct {
	At1  float64 `json:"at1"`
	At5  float64 `json:"at5"`
	At10 float64 `json:"at10"`
}

// Rate asks the questions with find, which returns pages, the best first.
func Rate(questions []Question, find func(q *Question) []string) Score {
	var s Score
	each := 1 / float64(len(questions))
	for i := range questions {
		place := slices.IndexFunc(find(&questions[i]), questions[i].Answers)
		for limit, share := range map[int]*float64{1: &s.At1, 5: &s.At5, 10: &s.At10} {
			if place >= 0 && place < limit {
				*share += each
			}
		}
	}
	return s
}

// Mean returns the mean of scores.
func Mean(scores []Score) Score {
	var m Score
	for _, s := range scores {
		m.At1 += s.At1 / float64(len(scores))
		m.At5 += s.At5 / float64(len(scores))
		m.At10 += s.At10 / float64(len(scores))
	}
	return m
}

// Report is the outcome of [Run].
type Report struct {
	// Questions is their number. One is the score of single phrasings, Together that of all
	// phrasings of a question in one call.
	Questions int   `json:"questions"`
	One       Score `json:"one"`
	Together  Score `json:"together"`
	// Missed are the phrasings whose page is not among the first five results.
	Missed []Miss `json:"missed"`
}

// Miss is a phrasing that does not find its page.
type Miss struct {
	Question string `json:"question"`
	// Want are the pages that answer it, and Found the first five results.
	Want  []string `json:"want"`
	Found []string `json:"found"`
}

// Run asks questions with a search tool of a source: of any documentation site, it is
// called search.
func Run(ctx context.Context, source mcp.Source, tool string, questions []Question) (*Report, error) {
	var failed error
	find := func(q *Question) []string {
		if failed != nil {
			return nil
		}
		found, err := Find(ctx, source, tool, q.Phrasings...)
		failed = err
		return found
	}
	r := &Report{
		Questions: len(questions),
		Missed:    []Miss{},
	}
	r.One = Rate(Single(questions), func(q *Question) []string {
		found := find(q)
		first := found[:min(5, len(found))]
		if failed == nil && !slices.ContainsFunc(first, q.Answers) {
			r.Missed = append(r.Missed, Miss{q.Phrasings[0], q.Pages, append([]string{}, first...)})
		}
		return found
	})
	r.Together = r.One
	if slices.ContainsFunc(questions, func(q Question) bool { return len(q.Phrasings) > 1 }) {
		r.Together = Rate(questions, find)
	}
	return r, failed
}

// pathLine is the line with the path of a page in an answer.
var pathLine = lazyregexp.New(`(?m)^   path: (\S+)$`)

// Find returns the pages in the results of a search tool for some phrasings of a question,
// in order.
func Find(ctx context.Context, source mcp.Source, tool string, phrasings ...string) ([]string, error) {
	given := map[string]any{"query": phrasings[0]}
	if len(phrasings) > 1 {
		given["queries"] = phrasings[1:]
	}
	arguments, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	result, err := source.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	text, err := textOf(result)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", tool, err)
	}
	if result.IsError {
		return nil, fmt.Errorf("%s: %s", tool, text)
	}
	var found []string
	for _, m := range pathLine().FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found, nil
}

// textOf returns the texts of a result.
func textOf(result *mcp.CallToolResult) (string, error) {
	content := result.Content
	if result.Raw != nil {
		var stored mcp.CallToolResult
		if err := json.Unmarshal(result.Raw.Bytes(), &stored); err != nil {
			return "", err
		}
		content = stored.Content
	}
	var all strings.Builder
	for _, c := range content {
		all.WriteString(c.Text + "\n")
	}
	return all.String(), nil
}
