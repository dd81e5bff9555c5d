package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/eval"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func newSiteEval() *cobra.Command {
	var tool, vectors string
	var least float64
	cmd := &cobra.Command{
		Use:   "eval SOURCE QUESTIONS.tsv",
		Short: "Measure how often search finds the right page",
		Long: `Ask the questions of a file with the search tool of SOURCE, and print the share
whose page is the first result (recall@1) or among the first five or ten, and
the questions that miss it.

Each line of the file has one to four phrasings of a question and the paths of
the pages that answer it, separated by tabs; several paths are separated by
spaces, and "*" with the end of a path means any page with that end. Write
questions in the words of your users, before you see any result.

` + sourceHelp,
		Example: `  slipway site eval examples/handbook examples/handbook/questions.tsv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			questions, err := readQuestions(args[1])
			if err != nil {
				return err
			}
			words, err := openVectors(vectors)
			if err != nil {
				return err
			}
			change := func(o *open.Options) {
				if words != nil {
					o.Site = &staticmcp.Options{
						Vectors: words,
						Logger:  warningLog(cmd), // why they are not used
					}
				}
			}
			return withSourceOptions(cmd, args[0], change, func(s *openSource) error {
				report, err := eval.Run(cmd.Context(), s.source, tool, questions)
				if err != nil {
					return answered("eval", err)
				}
				if err := show(cmd, report, printEval); err != nil {
					return err
				}
				if report.One.At5 < least {
					return no("", "eval: recall@5 is %.2f, want at least %.2f", report.One.At5, least)
				}
				return nil
			})
		},
	}
	bundleFlags(cmd)
	cmd.Flags().StringVar(&tool, "tool", "search", "name of the search tool")
	cmd.Flags().Var(within(&least, 0, 1), "min-recall", "exit with 1 if recall@5 of single phrasings is lower")
	cmd.Flags().StringVar(&vectors, "vectors", "", vectorsUsage)
	jsonFlag(cmd, "the report")
	return cmd
}

// readQuestions reads a file of questions.
func readQuestions(name string) ([]eval.Question, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	questions, err := eval.Read(f)
	if err != nil {
		return nil, badInput("", "%s: %v", name, err)
	}
	return questions, nil
}

// printEval prints the misses, and the scores last.
func printEval(w io.Writer, r *eval.Report) error {
	out := newLayout(w)
	for _, m := range r.Missed {
		out.line(plain("missed: " + m.Question))
		out.line(plain(fmt.Sprintf("  want   %v", m.Want)))
		out.line(plain(fmt.Sprintf("  found  %v", m.Found)))
	}
	score := func(name string, s eval.Score) {
		out.line(plain(fmt.Sprintf("%-22s recall@1 %.2f  @5 %.2f  @10 %.2f", name, s.At1, s.At5, s.At10)))
	}
	score("one phrasing", r.One)
	score("all phrasings together", r.Together)
	return out.flush()
}
