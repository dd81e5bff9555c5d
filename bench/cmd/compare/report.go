package main

import (
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// report renders the records as Markdown: the parameters, one table of ratios and one of
// memory for all workloads, and one table of details per workload.
func report(t *trial.Trial) string {
	var idle, active []fix.Workload
	for _, w := range t.Workloads {
		if w.Kind.Idle() {
			idle = append(idle, w)
		} else {
			active = append(active, w)
		}
	}
	text := t.Heading() +
		overview(t, "Server CPU per request as a multiple of the floor (start-up: time as a multiple of the floor's), "+
			"medians of the rounds:", active, "ratio") +
		overview(t, "Resident memory of each idle client in bytes, medians of the rounds:", idle, "rss_each")
	for _, w := range t.Workloads {
		text += details(t, w)
	}
	return text
}

// overview returns a table of medians: one row per workload, one column per peer.
func overview(t *trial.Trial, title string, workloads []fix.Workload, figure string) string {
	head := []string{"workload"}
	rows := make([][]string, len(workloads))
	for i, w := range workloads {
		rows[i] = []string{w.Name}
	}
	for _, p := range t.Rows {
		if p.Required() {
			continue // a floor
		}
		head = append(head, p.Key().Name)
		for i, w := range workloads {
			rows[i] = append(rows[i], overviewCell(t.Of(w.Name, p.Key()),
				p.Does(w), figure))
		}
	}
	if len(head) == 1 || len(rows) == 0 {
		return ""
	}
	return trial.Table(title, 0, head, rows)
}

// overviewCell returns the median of a figure, "–" for a workload that the peer does not
// support, and "failed" for one that it answered wrongly.
func overviewCell(s trial.Sample, does bool, figure string) string {
	switch {
	case !does:
		return "–"
	case s.Failed != "":
		return "failed"
	case len(s.Records) == 0:
		return ""
	default:
		return figures.Number(figures.Median(s.Values(figure)))
	}
}

// spreadOf returns a column with the median of a figure, and its lowest and highest value.
func spreadOf(head, figure string) trial.Column {
	return trial.Column{
		Head: head,
		Cell: func(s trial.Sample) string {
			return trial.Spread(s.Values(figure))
		},
	}
}

// intervalOf returns a column with the median of a figure and the interval of that median.
func intervalOf(head, figure string) trial.Column {
	return trial.Column{
		Head: head + " (95 % interval of the median)",
		Cell: func(s trial.Sample) string {
			values := s.Values(figure)
			low, high, ok := figures.Interval(values)
			if !ok {
				return trial.Spread(values)
			}
			return fmt.Sprintf("%.3f (%.3f–%.3f)", figures.Median(values), low, high)
		},
	}
}

// slicesColumns are those of peers that took turns with their floor.
func slicesColumns() []trial.Column {
	return []trial.Column{
		intervalOf("ratio", "ratio"),
		intervalOf("of the floor to itself", "null_ratio"),
		trial.Median("server CPU us", "server_cpu_us", 1), trial.Median("floor CPU us", "floor_cpu_us", 1),
		trial.Median("cores of other programs", "other_cores", 1),
	}
}

// columnsOf returns the columns that have a meaning for a workload. With several requests in
// flight, latency measures the queue, so it is omitted.
func columnsOf(w fix.Workload) []trial.Column {
	ratio := spreadOf("ratio (lowest–highest)", "ratio")
	resident := trial.Median("RSS MB", "rss_kb", 1024)
	switch {
	case w.Kind.Idle():
		return []trial.Column{spreadOf("RSS each B (lowest–highest)", "rss_each"), resident}
	case w.Kind == fix.StartHTTP || w.Kind == fix.StartStdio:
		return []trial.Column{ratio, trial.Median("to first answer ms", "start_ms", 1),
			trial.Median("CPU ms", "server_cpu_us", 1e3), resident}
	}
	all := []trial.Column{ratio, trial.Median("server CPU us", "server_cpu_us", 1),
		trial.Median("req/s", "requests_per_second", 1), trial.Median("of the floor's", "rate", 1)}
	if w.Window <= 1 {
		all = append(all, trial.Median("p50 us", "p50_us", 1), trial.Median("p99 us", "p99_us", 1))
	}
	return append(all, resident, trial.Median("generator us", "generator_cpu_us", 1),
		trial.Median("generator cores", "generator_cores", 1))
}

// details returns all figures of one workload, one row per peer.
func details(t *trial.Trial, w fix.Workload) string {
	columns := columnsOf(w)
	sliced := slices.ContainsFunc(t.Records, func(r trial.Record) bool {
		return r.Figures["null_ratio"] > 0
	})
	if sliced {
		columns = slicesColumns()
	}
	var rows [][]string
	for _, p := range t.Rows {
		row := t.Of(w.Name, p.Key()).Cells(columns, p.Key().Name)
		if row != nil {
			rows = append(rows, row)
		}
	}
	return trial.Table("### "+w.Name, 0, trial.Heads(columns, "peer"), rows)
}
