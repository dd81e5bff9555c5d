package main

import (
	"errors"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// report renders the records as Markdown: the parameters, a table per workload, and the
// bounds.
func (b *bench) report() string {
	const mb = 1024
	text := b.Heading()
	for _, w := range b.Workloads {
		var rows [][]string
		for _, r := range b.Rows {
			k := r.Key()
			columns := []trial.Column{
				trial.Median("CPU us", "cpu_us", 1),
				{
					Head: "of answering locally (lowest–highest)",
					Cell: func(trial.Sample) string {
						return trial.Spread(b.Ratios(w.Name, k, trial.Key{
							Back: nothing,
							Name: local,
						}, "cpu_us"))
					},
				},
				trial.Median("req/s", "requests_per_second", 1), trial.Median("p50 us", "p50_us", 1),
				trial.Median("p99 us", "p99_us", 1), trial.Median("RSS idle MB",
					"rss_idle_kb", mb),
				trial.Median("after MB", "rss_after_kb", mb), trial.Median("peak MB", "rss_peak_kb", mb),
				trial.Median("of these its own", "rss_own_kb", mb),
			}
			if rows == nil {
				rows = append(rows, trial.Heads(columns, "behind", "gateway"))
			}
			row := b.Of(w.Name, k).Cells(columns, k.Back, k.Name)
			if row != nil {
				rows = append(rows, row)
			}
		}
		text += trial.Table("### "+w.Name, 1, rows[0], rows[1:])
	}
	var rows [][]string
	for _, r := range b.judge().Rows() {
		rows = append(rows, []string{
			r.What,
			r.Figure,
			r.Value,
			r.Bound,
			r.Verdict,
		})
	}
	return text + trial.Table("### Bounds", 1,
		[]string{"workload", "what", "measured", "bound", ""}, rows)
}

// bound is a requirement on a figure, or on its ratio to that of another row.
type bound struct {
	workload, what string
	of, to         trial.Key
	// figure is the name of the figure in the records.
	figure string
	most   float64 // or, if it is 0,
	least  float64
	room   float64 // with -short, the factor by which the bound is relaxed
}

// allBounds returns the promises about the gateway. Ratios to another row of the same run do not
// depend on the machine.
func allBounds() []bound {
	stdio := trial.Key{
		Back: child,
		Name: slipway,
	}
	http := trial.Key{
		Back: remote,
		Name: slipway,
	}
	here := trial.Key{
		Back: nothing,
		Name: local,
	}
	typed := trial.Key{
		Back: child,
		Name: typedMCPGo,
	}
	proxy := trial.Key{
		Back: remote,
		Name: reverse,
	}
	many := trial.Key{
		Back: remote,
		Name: tuned,
	}
	const cpu, idle, after = "cpu_us", "rss_idle_kb", "rss_after_kb"
	var none trial.Key
	return []bound{
		{"echo", "CPU before a child, of answering locally", stdio, here, cpu, 1.6, 0, 2},
		{"text-10k", "CPU before a child, of answering locally", stdio, here, cpu, 1.6, 0, 2},
		{"echo", "CPU of typed mcp-go before a child, of slipway's", typed, stdio, cpu, 0, 3, 2},
		{"text-10k", "CPU of typed mcp-go before a child, of slipway's", typed, stdio, cpu, 0, 15, 2},
		{"echo", "CPU before HTTP, of ReverseProxy's", http, proxy, cpu, 60.0 / 104, 0, 1.7},
		{"echo", "CPU before HTTP, of ReverseProxy's with 64 idle connections", http, many, cpu, 1, 0, 1.5},
		{"text-10k", "CPU before HTTP, of ReverseProxy's", http, proxy, cpu, 1, 0, 1.5},
		{"echo", "RSS before a child, after one call", stdio, none, idle, 20, 0, 1.25},
		{"echo", "RSS before a child, under load", stdio, none, after, 20, 0, 1.25},
		{"echo", "RSS before HTTP, after one call", http, none, idle, 20, 0, 1.25},
		{"echo", "RSS before HTTP, under load", http, none, after, 20, 0, 1.25},
	}
}

// judge compares the medians with the bounds. A bound on memory is in MB.
func (b *bench) judge() *figures.Table {
	var table figures.Table
	for _, l := range allBounds() {
		room := 1.0
		unit := ""
		if b.short {
			room = l.room
		}
		values := b.Ratios(l.workload, l.of, l.to, l.figure)
		if l.to == (trial.Key{}) {
			unit = " MB"
			for _, kb := range b.Of(l.workload, l.of).Values(l.figure) {
				values = append(values, kb/1024)
			}
		}
		value := figures.Median(values)
		switch {
		case len(values) == 0: // not measured
		case l.most > 0:
			most := l.most * room
			table.Judge(l.workload, l.what, figures.Number(value),
				"≤ "+figures.Number(most)+unit, value <= most)
		default:
			least := l.least / room
			table.Judge(l.workload, l.what, figures.Number(value),
				"≥ "+figures.Number(least), value >= least)
		}
	}
	return &table
}

// verdict returns an error if a gateway failed, a bound is exceeded, or there was nothing
// with a bound.
func (b *bench) verdict() error {
	return errors.Join(b.judge().Verdict(), b.Failure())
}
