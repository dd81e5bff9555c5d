package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/visible"
)

func newReplay() *cobra.Command {
	var o mcplog.ReplayOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "replay FILE SOURCE",
		Short: "Send recorded requests again and compare answers",
		Long: `Send the requests of a recording to a source, and compare its answers with the
recorded ones. Each line of stdout is one value that differs, with its JSON
pointer. Lists of tools, prompts and resources are compared as a whole, and
_meta is ignored. The exit code is 1 if an answer differs or is missing, or if
there was none to compare.

Secrets are redacted in the answers as in the recording, where [redacted] stands
for any text. Requests with a redacted argument are skipped.

Calls of tools that are not marked readOnlyHint may change something. On a
terminal you are asked once; otherwise they are skipped unless --yes is set.

` + sourceHelp,
		Example: `  slipway replay examples/recordings/http.mcplog examples/http-reference
  slipway replay examples/recordings/http.mcplog --ignore '$.content.*.text' \
      -- slipway serve --stdio examples/http-reference`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				args[0], args[1] = args[1], args[0] // the file comes first
			}
			rec, err := mcplog.ReadServer(args[0])
			var several *mcplog.ServerError
			if errors.As(err, &several) {
				return badInput(several.Hint(), "%s: %v", args[0], err)
			}
			var bad *mcplog.FormatError
			if errors.As(err, &bad) {
				return badInput("slipway record SOURCE -o FILE writes a recording", "%s: %v", args[0], err)
			}
			if err != nil {
				return badInput("slipway record SOURCE -o FILE writes a recording", "%s: %s", args[0], fsutil.Reason(err))
			}
			if rec.Cut {
				say(cmd.ErrOrStderr(), "%s: the last line is incomplete and is ignored", args[0])
			}
			return withSource(cmd, args[1], func(c *openSource) error {
				allowed := &yes
				if !cmd.Flags().Changed("yes") {
					allowed = nil
				}
				o.Changes = changes(cmd, allowed)
				o.Environment = os.Environ()
				t := newTracker(cmd, countOnly)
				done := int64(0)
				o.Done = func(*mcplog.Outcome) {
					done++
					t.update("replaying", done, 0)
				}
				outcomes, err := mcplog.Replay(cmd.Context(), rec, c.source, &o)
				t.finish()
				var path *mcplog.PathError
				if errors.As(err, &path) {
					return usage("a path begins with $., such as $.content.0.text", "replay: --ignore: %v", err)
				}
				if err != nil && len(outcomes) == 0 {
					return answered("replay", err)
				}
				if shown := showList(cmd, "requests", outcomes, printOutcomes); shown != nil {
					return shown
				}
				if err != nil {
					return answered("replay", err)
				}
				return summary(cmd, outcomes)
			})
		},
	}
	cmd.Args = takes(2, 2)
	acceptCommand(cmd)
	bundleFlags(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.Ignore, "ignore", nil,
		"do not compare the values at this `PATH` of results, such as $.content.0.text (repeatable)")
	o.Timeout = time.Minute
	flags.Var(longerThanZero(&o.Timeout), "timeout", "maximum `time` for each answer")
	flags.BoolVar(&yes, "yes", false, "also call tools that may change something")
	jsonFlag(cmd, "every request with its differences")
	return cmd
}

// changes returns whether tools that may change something are called: as told, or as
// answered to a question that is asked at the first of them, or not.
func changes(cmd *cobra.Command, told *bool) func(tool string) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	asks := ok && isTerminal(in) && isTerminal(cmd.ErrOrStderr())
	return func(tool string) bool {
		if told == nil {
			agreed := false
			if asks {
				fmt.Fprintf(cmd.ErrOrStderr(),
					"%s and perhaps other tools may change something. Call them again, as recorded? [y/N] ", visible.Line(tool))
				answer, _ := bufio.NewReader(in).ReadString('\n') // end of input means no
				answer = strings.ToLower(strings.TrimSpace(answer))
				agreed = answer == "y" || answer == "yes"
			}
			told = &agreed
		}
		return *told
	}
}

// printOutcomes prints a line for each difference and each missing answer.
func printOutcomes(w io.Writer, outcomes []*mcplog.Outcome) error {
	for _, o := range outcomes {
		request := visible.Line(strings.TrimSpace(o.Method + " " + o.Name))
		if o.Error != "" {
			fmt.Fprintf(w, "%s: %s\n", request, visible.Line(o.Error))
		}
		for _, d := range o.Differences {
			fmt.Fprintf(w, "%s %s\n  - %s\n  + %s\n",
				request, visible.Line(d.Pointer), excerpt(d.Before), excerpt(d.After))
		}
	}
	return nil
}

// maxExcerpt is how much of a value is printed.
const maxExcerpt = 200

// excerpt returns the first maxExcerpt bytes of a value on one line.
func excerpt(value []byte) string {
	if value == nil {
		return "(missing)"
	}
	if len(value) > maxExcerpt {
		return visible.Line(strings.ToValidUTF8(string(value[:maxExcerpt]), "")) + "..."
	}
	return visible.Line(string(value))
}

// skipReasons are the reasons for which requests are skipped, with what is reported, and the next
// step.
var skipReasons = []struct{ reason, text, hint string }{
	{mcplog.NotReadOnly, "not marked readOnlyHint", "--yes calls these tools as well"},
	{mcplog.RedactedArguments, "arguments are redacted in the recording", "record the same calls without secrets"},
	{mcplog.RedactedAnswer, "answers to questions of the server are redacted in the recording", ""},
}

// summary reports how many answers differ or are missing, as an error if any are, or if none was
// compared.
func summary(cmd *cobra.Command, outcomes []*mcplog.Outcome) error {
	if len(outcomes) == 0 {
		return no("record a client that calls tools or lists them", "replay: the recording has no answers to compare")
	}
	differ, missing, compared := 0, 0, 0
	skipped := make(map[string]int)
	for _, o := range outcomes {
		switch {
		case o.Skipped != "":
			skipped[o.Skipped]++
		case o.Error != "":
			missing++
		default:
			compared++
		}
		if len(o.Differences) > 0 {
			differ++
		}
	}
	stderr := cmd.ErrOrStderr()
	for _, r := range skipReasons {
		if n := skipped[r.reason]; n > 0 {
			say(stderr, "%s skipped: %s", count(n, "request"), r.text)
			if r.hint != "" {
				hint(stderr, r.hint)
			}
		}
	}
	verb := "differ"
	if differ == 1 {
		verb = "differs"
	}
	answers := count(compared+missing, "answer")
	const more = "--timeout sets how long to wait for each"
	switch {
	case differ > 0 && missing > 0:
		return no(more, "replay: %d of %s %s, %d missing", differ, answers, verb, missing)
	case differ > 0:
		return no("", "replay: %d of %s %s", differ, answers, verb)
	case missing > 0:
		return no(more, "replay: %d of %s missing", missing, answers)
	case compared == 0:
		return no("", "replay: no answer was compared: every request was skipped")
	}
	say(stderr, "%s, no differences", count(compared, "answer"))
	return nil
}
