package check

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// maxAnnotations is the number of annotations of each severity that GitHub shows for one
// step. It drops all others.
const maxAnnotations = 10

// workflowCommands are the commands that annotate, by severity.
var workflowCommands = [...]string{
	Error:   "error",
	Warning: "warning",
	Note:    "notice",
}

// writeGitHub writes findings as workflow commands, the most serious first, and those over
// the limit as plain lines in a group of the log.
func (r *Report) writeGitHub(w io.Writer, opts *WriteOptions) error {
	var b strings.Builder
	var rest []string
	sorted := slices.Clone(r.Findings())
	order.StableBy(sorted, func(f, g Finding) int {
		return int(f.Severity) - int(g.Severity)
	})
	var shown [Note + 1]int
	for i := range sorted {
		f := &sorted[i]
		if shown[f.Severity]++; shown[f.Severity] > maxAnnotations {
			rest = append(rest, f.String())
			continue
		}
		b.WriteString(workflowCommand(f, opts.placeOf(f)))
	}
	if n := r.Omitted(); n > 0 {
		rest = append(rest, fmt.Sprintf("and %d more that are not shown", n))
	}
	if len(rest) > 0 {
		fmt.Fprintf(&b, "::group::findings without annotations\n")
		for _, line := range rest {
			// The runner runs commands that begin a line with ::, and those of an earlier syntax,
			// ##[...], anywhere in it.
			fmt.Fprintf(&b, "- %s\n",
				strings.ReplaceAll(visible.Line(line), "##[", `#\u0023[`))
		}
		b.WriteString("::endgroup::\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// workflowCommand returns the line that annotates one finding.
func workflowCommand(f *Finding, p place) string {
	properties := []string{"title=" + escapeProperty(f.Rule.ID)}
	add := func(name string, n int) {
		if n > 0 {
			properties = append(properties, name+"="+strconv.Itoa(n))
		}
	}
	if p.file != "" && !isURL(p.file) {
		properties = append(properties, "file="+escapeProperty(p.file))
		add("line", p.line)
		add("col", p.column)
		if p.endColumn > 0 {
			add("endLine", p.line)
			add("endColumn", p.endColumn)
		}
	}
	// The log shows only the message, so it repeats the place.
	message := f.describe()
	if where := f.where(); where != "" {
		message = visible.Line(where) + ": " + message
	}
	return "::" + workflowCommands[f.Severity] + " " + strings.Join(properties, ",") + "::" + escapeData(message) + "\n"
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A",
		":", "%3A", ",", "%2C")
)

// escapeData escapes the message of a workflow command.
func escapeData(s string) string { return dataEscapes.Replace(s) }

// escapeProperty escapes the value of a property of a workflow command.
func escapeProperty(s string) string { return propertyEscapes.Replace(s) }
