package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/system"
)

// setting is the first line of proxy.jsonl: the environment and the parameters of the
// measurements.
type setting struct {
	Date        string            `json:"date"`
	Go          string            `json:"go"`
	System      string            `json:"system"`
	Processor   string            `json:"processor"`
	Processors  int               `json:"processors"`
	Load        string            `json:"load_average"`
	Rounds      int               `json:"rounds"`
	Warmup      string            `json:"warmup"`
	Measure     string            `json:"measure"`
	Connections int               `json:"connections"`
	Versions    map[string]string `json:"versions"`
	LeftOut     []string          `json:"left_out,omitempty"`
}

func (b *bench) describe() setting {
	s := setting{
		Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Processor: system.CPUModel(), Processors: runtime.NumCPU(),
		Load: system.LoadAverage(), Rounds: b.rounds, Warmup: b.warmup.String(), Measure: b.measure.String(),
		Connections: b.connections, Versions: make(map[string]string), LeftOut: b.skipped,
	}
	for _, r := range b.rows {
		switch {
		case r.module != "":
			s.Versions[r.module[strings.LastIndexByte(r.module, '/')+1:]] = b.programs[r.program].version
		case r.program == supergateway:
			s.Versions[supergateway] = b.programs[r.program].version
		}
	}
	return s
}

// report renders the records as Markdown: the parameters, a table per workload, and the
// bounds.
func (b *bench) report(s setting) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured %s with %s on %s, %d processors (%s), load average %s at the start. ",
		s.Date, s.Go, s.System, s.Processors, s.Processor, s.Load)
	fmt.Fprintf(&out, "Rounds: %d, each %s after a warm-up of %s; %d connections.\n",
		s.Rounds, s.Measure, s.Warmup, s.Connections)
	if len(s.Versions) > 0 {
		names := make([]string, 0, len(s.Versions))
		for name, version := range s.Versions {
			names = append(names, name+" "+version)
		}
		slices.Sort(names)
		fmt.Fprintf(&out, "\nVersions: %s.\n", strings.Join(names, ", "))
	}
	for _, left := range s.LeftOut {
		fmt.Fprintf(&out, "\nLeft out: %s.\n", left)
	}
	for _, w := range fix.Proxied() {
		b.table(&out, w.Name)
	}
	b.bounds(&out)
	return out.String()
}

// table writes the medians of one workload.
func (b *bench) table(out *strings.Builder, workload string) {
	fmt.Fprintf(out, "\n### %s\n\n", workload)
	out.WriteString(
		"| behind | gateway | CPU us | of answering locally (lowest–highest) | req/s | p50 us | p99 us | RSS idle MB | after MB | peak MB | of these its own |\n")
	out.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range b.rows {
		s := b.of(workload, r.back, r.name)
		if len(s) == 0 {
			fmt.Fprintf(out, "| %s | %s | failed |  |  |  |  |  |  |  |  |\n", r.back, r.name)
			continue
		}
		ratio := spread(b.ratios(workload, key{r.back, r.name}, key{nothing, local}, cpu))
		mb := func(kb func(record) int64) string {
			return fmt.Sprintf("%.1f", s.median(func(r record) float64 { return float64(kb(r)) / 1024 }))
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.back, r.name,
			figures.Number(s.median(cpu)), ratio, figures.Number(s.median(func(r record) float64 { return r.PerSecond })),
			figures.Number(s.median(func(r record) float64 { return r.P50 })),
			figures.Number(s.median(func(r record) float64 { return r.P99 })),
			mb(func(r record) int64 { return r.IdleKB }), mb(func(r record) int64 { return r.AfterKB }),
			mb(func(r record) int64 { return r.PeakKB }), mb(func(r record) int64 { return r.OwnKB }))
	}
}

func cpu(r record) float64 { return r.CPU }

// sample contains the successful records of one row.
type sample []record

func (b *bench) of(workload, back, name string) sample {
	var s sample
	for _, r := range b.records {
		if r.Workload == workload && r.Back == back && r.Gateway == name && r.Error == "" {
			s = append(s, r)
		}
	}
	return s
}

func (s sample) median(field func(record) float64) float64 {
	values := make([]float64, len(s))
	for i, r := range s {
		values[i] = field(r)
	}
	return figures.Median(values)
}

// key identifies a row.
type key struct{ back, name string }

// ratios returns, round by round, a figure of one row divided by that of another.
func (b *bench) ratios(workload string, of, to key, field func(record) float64) []float64 {
	var all []float64
	for _, r := range b.of(workload, of.back, of.name) {
		for _, base := range b.of(workload, to.back, to.name) {
			if base.Round == r.Round && field(base) > 0 {
				all = append(all, field(r)/field(base))
			}
		}
	}
	return all
}

func spread(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s–%s)",
		figures.Number(figures.Median(values)), figures.Number(slices.Min(values)), figures.Number(slices.Max(values)))
}

// bound is a requirement on a figure.
type bound struct {
	workload, what string
	of, to         key
	field          func(record) float64
	most           float64 // or, if it is 0,
	least          float64
	room           float64 // with -short, the factor by which the bound is relaxed
	unit           string
}

func allBounds() []bound {
	stdio, http := key{child, slipway}, key{remote, slipway}
	megabytes := func(kb func(record) int64) func(record) float64 {
		return func(r record) float64 { return float64(kb(r)) / 1024 }
	}
	idle := megabytes(func(r record) int64 { return r.IdleKB })
	after := megabytes(func(r record) int64 { return r.AfterKB })
	return []bound{
		{"echo", "CPU before a child, of answering locally", stdio, key{nothing, local}, cpu, 1.6, 0, 2, ""},
		{"text-10k", "CPU before a child, of answering locally", stdio, key{nothing, local}, cpu, 1.6, 0, 2, ""},
		{"echo", "CPU of typed mcp-go before a child, of slipway's", key{child, typedMCPGo}, stdio, cpu, 0, 3, 2, ""},
		{"text-10k", "CPU of typed mcp-go before a child, of slipway's", key{child, typedMCPGo}, stdio, cpu, 0, 15, 2, ""},
		{"echo", "CPU before HTTP, of ReverseProxy's", http, key{remote, reverse}, cpu, 60.0 / 104, 0, 1.7, ""},
		{"echo", "CPU before HTTP, of ReverseProxy's with 64 idle connections", http, key{remote, tuned}, cpu, 1, 0, 1.5, ""},
		{"text-10k", "CPU before HTTP, of ReverseProxy's", http, key{remote, reverse}, cpu, 1, 0, 1.5, ""},
		{"echo", "RSS before a child, after one call", stdio, key{}, idle, 20, 0, 1.25, "MB"},
		{"echo", "RSS before a child, under load", stdio, key{}, after, 20, 0, 1.25, "MB"},
		{"echo", "RSS before HTTP, after one call", http, key{}, idle, 20, 0, 1.25, "MB"},
		{"echo", "RSS before HTTP, under load", http, key{}, after, 20, 0, 1.25, "MB"},
	}
}

// value returns the median for a bound, and false if it was not measured.
func (b *bench) value(l bound) (float64, bool) {
	if l.to == (key{}) {
		s := b.of(l.workload, l.of.back, l.of.name)
		return s.median(l.field), len(s) > 0
	}
	ratios := b.ratios(l.workload, l.of, l.to, l.field)
	return figures.Median(ratios), len(ratios) > 0
}

// holds returns the bound for this run, and whether the value satisfies it.
func (b *bench) holds(l bound, value float64) (text string, ok bool) {
	room := 1.0
	if b.short {
		room = l.room
	}
	if l.most > 0 {
		return strings.TrimSpace("≤ " + figures.Number(l.most*room) + " " + l.unit), value <= l.most*room
	}
	return "≥ " + figures.Number(l.least/room), value >= l.least/room
}

func (b *bench) bounds(out *strings.Builder) {
	out.WriteString("\n### Bounds\n\n| workload | what | measured | bound | |\n| --- | --- | ---: | ---: | --- |\n")
	for _, l := range allBounds() {
		value, measured := b.value(l)
		if !measured {
			continue
		}
		text, ok := b.holds(l, value)
		verdict := "ok"
		if !ok {
			verdict = "EXCEEDED"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", l.workload, l.what, figures.Number(value), text, verdict)
	}
}

// verdict returns an error if a gateway failed or a bound is exceeded.
func (b *bench) verdict() error {
	exceeded, measured := 0, 0
	for _, l := range allBounds() {
		value, ok := b.value(l)
		if !ok {
			continue
		}
		measured++
		if _, ok := b.holds(l, value); !ok {
			exceeded++
		}
	}
	var errs []error
	if exceeded > 0 {
		errs = append(errs, fmt.Errorf("%d of the bounds exceeded", exceeded))
	}
	if measured == 0 {
		errs = append(errs, errors.New("nothing with a bound was measured"))
	}
	for _, r := range b.records {
		if r.Error != "" {
			errs = append(errs, fmt.Errorf("%s before %s, %s: %s", r.Gateway, r.Back, r.Workload, r.Error))
			break
		}
	}
	return errors.Join(errs...)
}
