package doc

import (
	"regexp"
	"slices"
	"strings"
)

// JourneyFolder contains the pages that scripts/journeys executes in an empty environment.
const JourneyFolder = "docs/journeys/"

// fileMarker is the line above a file of a journey.
var fileMarker = regexp.MustCompile(`^<!-- save as (\S+) -->$`)

// IsJourney reports whether the page is executed as a whole, by a shell, in the order of its
// blocks.
func (p Page) IsJourney() bool { return strings.HasPrefix(p.Path, JourneyFolder) }

// Journey returns the steps of a page in order: the commands of its console blocks, each as
// one shell command in Args, and its files. A block is a file if the line above it is
//
//	<!-- save as NAME -->
func Journey(p Page) ([]Step, []Problem) {
	sessions, problems := Sessions(p)
	var steps []Step
	for _, s := range sessions {
		steps = append(steps, s.Steps...)
	}
	steps = append(steps, p.files()...)
	slices.SortFunc(steps, func(a, b Step) int { return a.Line - b.Line })
	return steps, problems
}

// files returns the code blocks that a page stores as files: those after a comment that names one.
func (p Page) files() []Step {
	var files []Step
	open := false
	p.fences(func(line int, text string, at fence, _ string) bool {
		switch {
		case at == opening && line > 1:
			m := fileMarker.FindStringSubmatch(p.Lines[line-2])
			open = m != nil
			if open {
				files = append(files, Step{
					Line: line,
					File: m[1],
				})
			}
		case at == inside && open:
			last := &files[len(files)-1]
			last.Output = append(last.Output, text)
		}
		return true
	})
	return files
}

// matchLine reports whether a line of terminal output equals that on the page, where "…"
// stands for any text.
func matchLine(want, got string) bool {
	parts := strings.Split(want, "…")
	if len(parts) == 1 {
		return want == got
	}
	rest, ok := strings.CutPrefix(got, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
