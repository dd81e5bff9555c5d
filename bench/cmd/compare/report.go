package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/system"
)

// setting is the first line of results.jsonl: the environment and the parameters of the
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
	Skipped     []string          `json:"skipped,omitempty"`
}

func describe(o *options, peers []installedPeer, skipped []string) setting {
	s := setting{
		Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Processor: system.CPUModel(), Processors: runtime.NumCPU(),
		Load: system.LoadAverage(), Rounds: o.rounds, Warmup: o.warmup.String(), Measure: o.measure.String(),
		Connections: o.connections, Versions: map[string]string{}, Skipped: skipped,
	}
	for _, p := range peers {
		s.Versions[p.name] = p.version
	}
	return s
}

// report renders the records as Markdown: the parameters, one table of ratios for all
// workloads, and one table of details per workload.
func report(s setting, workloads []fix.Workload, peers []installedPeer, records []record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s with %s on %s, %d processors (%s), load average %s at the start. ",
		s.Date, s.Go, s.System, s.Processors, s.Processor, s.Load)
	fmt.Fprintf(&b, "Rounds: %d, each %s after a warm-up of %s; %d HTTP connections.\n\n",
		s.Rounds, s.Measure, s.Warmup, s.Connections)
	b.WriteString(versions(s, peers))
	ratios(&b, workloads, peers, records)
	memory(&b, workloads, peers, records)
	for _, w := range workloads {
		details(&b, w, peers, records)
	}
	return b.String()
}

func versions(s setting, peers []installedPeer) string {
	var b strings.Builder
	b.WriteString("Versions:")
	for _, p := range peers {
		if p.module != "" {
			fmt.Fprintf(&b, " %s %s,", p.name, p.version)
		}
	}
	text := strings.TrimSuffix(b.String(), ",") + ".\n\n"
	if text == "Versions:.\n\n" {
		text = ""
	}
	for _, skip := range s.Skipped {
		text += "Skipped " + skip + ".\n\n"
	}
	return text
}

// ratios writes the table of median ratios: one row per workload, one column per peer.
func ratios(b *strings.Builder, workloads []fix.Workload, peers []installedPeer, records []record) {
	overview(b, "Server CPU per request as a multiple of the floor (start-up: time as a multiple of the floor's), medians of the rounds:",
		slices.DeleteFunc(slices.Clone(workloads), func(w fix.Workload) bool { return w.Kind.Idle() }),
		peers, records, func(r record) float64 { return r.Ratio })
}

// memory writes the table of the memory per idle client.
func memory(b *strings.Builder, workloads []fix.Workload, peers []installedPeer, records []record) {
	overview(b, "Resident memory of each client at rest in bytes, medians of the rounds:",
		slices.DeleteFunc(slices.Clone(workloads), func(w fix.Workload) bool { return !w.Kind.Idle() }),
		peers, records, func(r record) float64 { return r.Each })
}

// overview writes a table of medians: one row per workload, one column per peer.
func overview(
	b *strings.Builder,
	title string,
	workloads []fix.Workload,
	peers []installedPeer,
	records []record,
	field func(record) float64,
) {
	var columns []installedPeer
	for _, p := range peers {
		if !p.floor {
			columns = append(columns, p)
		}
	}
	if len(columns) == 0 || len(workloads) == 0 {
		return
	}
	b.WriteString(title + "\n\n| workload |")
	for _, p := range columns {
		fmt.Fprintf(b, " %s |", p.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	for _, w := range workloads {
		fmt.Fprintf(b, "| %s |", w.Name)
		for _, p := range columns {
			fmt.Fprintf(b, " %s |", overviewCell(of(records, w, p), p.does(w), field))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

func overviewCell(s sample, does bool, field func(record) float64) string {
	switch {
	case !does:
		return "–"
	case s.failed != "":
		return "failed"
	case len(s.ok) == 0:
		return ""
	default:
		return figures.Number(s.median(field))
	}
}

// column is a column in a table of details.
type column struct {
	head string
	cell func(sample) string
}

func medianOf(field func(record) float64) func(sample) string {
	return func(s sample) string { return figures.Number(s.median(field)) }
}

func spreadOf(field func(record) float64) func(sample) string {
	return func(s sample) string {
		low, high := s.extremes(field)
		return fmt.Sprintf("%s (%s–%s)", figures.Number(s.median(field)), figures.Number(low), figures.Number(high))
	}
}

func columnsOf(w fix.Workload) []column {
	spread := column{"ratio (lowest–highest)", spreadOf(func(r record) float64 { return r.Ratio })}
	cpu := func(r record) float64 { return r.ServerCPU }
	each := column{"RSS each B (lowest–highest)", spreadOf(func(r record) float64 { return r.Each })}
	resident := column{"RSS MB", medianOf(func(r record) float64 { return float64(r.ResidentKB) / 1024 })}
	if w.Kind.Idle() {
		return []column{each, resident}
	}
	if w.Kind == fix.StartHTTP || w.Kind == fix.StartStdio {
		return []column{spread,
			{"to first answer ms", medianOf(func(r record) float64 { return r.Start })},
			{"CPU ms", medianOf(func(r record) float64 { return r.ServerCPU / 1e3 })},
			resident}
	}
	all := []column{spread,
		{"server CPU us", medianOf(cpu)},
		{"req/s", medianOf(func(r record) float64 { return r.PerSecond })},
		{"of the floor's", medianOf(func(r record) float64 { return r.Rate })},
	}
	if w.Window <= 1 {
		all = append(all,
			column{"p50 us", medianOf(func(r record) float64 { return r.P50 })},
			column{"p99 us", medianOf(func(r record) float64 { return r.P99 })})
	}
	return append(all, resident,
		column{"generator us", medianOf(func(r record) float64 { return r.ClientCPU })},
		column{"generator cores", medianOf(func(r record) float64 { return r.Generator })})
}

// details writes all figures of one workload, one row per peer.
func details(b *strings.Builder, w fix.Workload, peers []installedPeer, records []record) {
	columns := columnsOf(w)
	fmt.Fprintf(b, "### %s\n\n| peer |", w.Name)
	for _, c := range columns {
		fmt.Fprintf(b, " %s |", c.head)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	for _, p := range peers {
		s := of(records, w, p)
		if s.failed != "" {
			fmt.Fprintf(b, "| %s | failed: %s |\n", p.name, strings.ReplaceAll(s.failed, "|", "\\|"))
			continue
		}
		if len(s.ok) == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s |", p.name)
		for _, c := range columns {
			fmt.Fprintf(b, " %s |", c.cell(s))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// sample contains the records of all rounds for one peer and workload. One failure
// invalidates it: medians over fewer rounds would not be comparable.
type sample struct {
	ok     []record
	failed string
}

func of(records []record, w fix.Workload, p installedPeer) sample {
	var s sample
	for _, r := range records {
		switch {
		case r.Workload != w.Name || r.Peer != p.name:
		case r.Error != "":
			s.failed = r.Error
		default:
			s.ok = append(s.ok, r)
		}
	}
	return s
}

func (s sample) values(field func(record) float64) []float64 {
	values := make([]float64, len(s.ok))
	for i, r := range s.ok {
		values[i] = field(r)
	}
	return values
}

func (s sample) median(field func(record) float64) float64 { return figures.Median(s.values(field)) }

func (s sample) extremes(field func(record) float64) (low, high float64) {
	values := s.values(field)
	return slices.Min(values), slices.Max(values)
}
