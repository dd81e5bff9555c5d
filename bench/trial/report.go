package trial

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/system"
)

// Setting is the first line of the results: the environment and the parameters of the
// measurements.
type Setting struct {
	Date       string `json:"date"`
	Go         string `json:"go"`
	System     string `json:"system"`
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
	// Load is the load average of the machine before the first round: other work distorts figures.
	Load        string `json:"load_average"`
	Rounds      int    `json:"rounds"`
	Warmup      string `json:"warmup"`
	Measure     string `json:"measure"`
	Connections int    `json:"connections"`
	// Versions are those of the measured programs. Skipped names the rows that could not run, with
	// the reason.
	Versions map[string]string `json:"versions"`
	Skipped  []string          `json:"skipped,omitempty"`
}

// Describe returns the environment.
func Describe() Setting {
	model, average := system.Machine()
	return Setting{
		Date:       time.Now().UTC().Format(time.DateOnly),
		Go:         runtime.Version(),
		System:     runtime.GOOS + "/" + runtime.GOARCH,
		Processor:  model,
		Processors: runtime.NumCPU(),
		Load:       average,
		Versions:   make(map[string]string),
	}
}

// Machine describes the environment in words.
func (s Setting) Machine() string {
	return fmt.Sprintf("%s, %d processors (%s), load average %s at the start",
		s.System, s.Processors, s.Processor, s.Load)
}

// describe fills in the setting when all rows are prepared.
func (t *Trial) describe() {
	skipped := t.Setting.Skipped
	t.Setting = Describe()
	s := &t.Setting
	s.Skipped = skipped
	s.Rounds = t.Rounds
	s.Connections = t.Connections
	s.Warmup = t.Warmup.String()
	s.Measure = t.Measure.String()
	for _, r := range t.Rows {
		if name, version := r.Version(); name != "" {
			s.Versions[name] = version
		}
	}
}

// Heading describes the environment and the parameters of the measurements in words.
func (t *Trial) Heading() string {
	s := t.Setting
	text := fmt.Sprintf("Measured %s with %s on %s. Rounds: %d, each %s after a warm-up of %s; %d connections.\n\n",
		s.Date, s.Go, s.Machine(), s.Rounds, s.Measure, s.Warmup, s.Connections)
	if len(s.Versions) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
			all = append(all, name+" "+s.Versions[name])
		}
		text += "Versions: " + strings.Join(all, ", ") + ".\n\n"
	}
	for _, skipped := range s.Skipped {
		text += "Skipped " + skipped + ".\n\n"
	}
	return text
}

// Table returns a Markdown table under a title. All columns but the first are aligned to
// the right, except the given number of additional ones.
func Table(title string, left int, head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString(title + "\n\n")
	line(head)
	texts := strings.Repeat(" --- |", left+1)
	numbers := strings.Repeat(" ---: |", len(head)-left-1)
	b.WriteString("|" + texts + numbers + "\n")
	for _, row := range rows {
		line(row)
	}
	return b.String() + "\n"
}

// Column is a column of figures.
type Column struct {
	// Head is the title with its unit, and Cell formats the figure of one row.
	Head string
	Cell func(Sample) string
}

// Median returns a column with the median of a figure divided by unit.
func Median(head, figure string, unit float64) Column {
	return Column{head, func(s Sample) string {
		return figures.Number(figures.Median(s.Values(figure)) / unit)
	}}
}

// Spread formats the median of the values and, in parentheses, the lowest and highest.
func Spread(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s–%s)",
		figures.Number(figures.Median(values)), figures.Number(slices.Min(values)), figures.Number(slices.Max(values)))
}

// Cells returns the cells of a row: its labels, and the figures of its sample. It returns
// the failure instead of the figures if there is one, and nil if there is nothing.
func (s Sample) Cells(columns []Column, labels ...string) []string {
	switch {
	case s.Failed != "":
		return append(labels, "failed: "+s.Failed)
	case len(s.Records) == 0:
		return nil
	}
	for _, c := range columns {
		labels = append(labels, c.Cell(s))
	}
	return labels
}

// Heads returns the heads of the columns after those of the labels.
func Heads(columns []Column, labels ...string) []string {
	for _, c := range columns {
		labels = append(labels, c.Head)
	}
	return labels
}

// Sample contains the records of all rounds for one row and workload. One failure
// invalidates it: medians over fewer rounds would not be comparable.
type Sample struct {
	// Records has one record of each round. Failed is the first error, or empty.
	Records []Record
	Failed  string
}

// Of returns the sample of a row.
func (t *Trial) Of(workload string, k Key) Sample {
	var s Sample
	for _, r := range t.Records {
		switch {
		case r.Workload != workload || r.Key != k:
		case r.Error != "":
			s.Failed = r.Error
		default:
			s.Records = append(s.Records, r)
		}
	}
	return s
}

// Values returns a figure of all rounds.
func (s Sample) Values(figure string) []float64 {
	values := make([]float64, len(s.Records))
	for i, r := range s.Records {
		values[i] = r.Figures[figure]
	}
	return values
}

// Ratios returns, round by round, a figure of one row divided by that of another.
func (t *Trial) Ratios(workload string, of, to Key, figure string) []float64 {
	var all []float64
	for _, r := range t.Of(workload, of).Records {
		for _, base := range t.Of(workload, to).Records {
			if base.Round == r.Round && base.Figures[figure] > 0 {
				all = append(all, r.Figures[figure]/base.Figures[figure])
			}
		}
	}
	return all
}
