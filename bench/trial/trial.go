package trial

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/system"
)

// Options are the flags of every comparison.
type Options struct {
	// Rounds is how often each row is measured. Each round starts a new process.
	Rounds int
	// Warmup precedes the measured time, which lasts Measure.
	Warmup  time.Duration
	Measure time.Duration
	// Connections is the number of connections of the generator.
	Connections int
	// Out is the folder for the results. List prints the names and measures nothing.
	Out  string
	List bool
}

// Bind adds the flags. The fields that are set are the defaults; usage of rounds and
// measure may say more.
func (o *Options) Bind(flags *flag.FlagSet, results, rounds, measure string) {
	flags.IntVar(&o.Rounds, "rounds", o.Rounds,
		"rounds; medians are taken over them"+rounds)
	flags.DurationVar(&o.Warmup, "warmup", o.Warmup, "time before measuring")
	flags.DurationVar(&o.Measure, "measure", o.Measure, "time to measure"+measure)
	flags.IntVar(&o.Connections, "conns", 16,
		"connections of clients, one request in flight on each")
	flags.StringVar(&o.Out, "o", "results", "folder for "+results+", created if missing")
	flags.BoolVar(&o.List, "list", false, "print the available names and exit")
}

// Key identifies a row: the name of the measured program and, if it is a gateway, the
// kind of server that it connects to.
type Key struct{ Back, Name string }

// Row is a program to measure.
type Row interface {
	Key() Key
	// Required reports whether the trial fails if the program cannot be built.
	Required() bool
	Build(ctx context.Context) error
	// Version returns the measured library and its version, or "" if it has none.
	Version() (name, version string)
	// Does reports whether the program supports the workload.
	Does(w fix.Workload) bool
	// Measure starts the program and sets the figures of one measurement.
	Measure(ctx context.Context, w fix.Workload, f Figures) error
}

// Figures are the results of a measurement by their name in JSON.
type Figures map[string]float64

// Record is one measurement: a newly started program in one round of a workload.
type Record struct {
	Key
	// Round counts from 1.
	Round    int
	Workload string
	// Error is why there are no figures, or empty.
	Error   string
	Figures Figures
}

// MarshalJSON writes the figures next to the other fields, without zeros.
func (r Record) MarshalJSON() ([]byte, error) {
	all := map[string]any{"round": r.Round, "workload": r.Workload}
	if r.Back == "" {
		all["peer"] = r.Name
	} else {
		all["gateway"] = r.Name
		all["back"] = r.Back
	}
	if r.Error != "" {
		all["error"] = r.Error
	}
	for name, value := range r.Figures {
		if value != 0 {
			all[name] = value
		}
	}
	return json.Marshal(all)
}

// Trial compares programs.
type Trial struct {
	*Options
	Workloads []fix.Workload
	Rows      []Row // in the order of the report
	// Progress receives a line for each round of a workload and for each failure.
	Progress io.Writer
	// Complete, if not nil, adds figures that depend on other rows to the records of one
	// round and workload.
	Complete func(w fix.Workload, group []Record)
	// Turns is how often a row measures in a round; 0 means once.
	Turns int

	// Records and Setting are the results.
	Records []Record
	Setting Setting
}

// Prepare builds the programs of the rows. A row that cannot be built and is not required
// is skipped and listed.
func (t *Trial) Prepare(ctx context.Context, rows []Row) error {
	for _, r := range rows {
		err := r.Build(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && r.Required():
			return fmt.Errorf("build %s: %w", r.Key().Name, err)
		case err != nil:
			t.Setting.Skipped = append(t.Setting.Skipped, fmt.Sprintf("%s: %v",
				r.Key().Name, err))
			fmt.Fprintf(t.Progress, "skip %s: %v\n", r.Key().Name, err)
		default:
			t.Rows = append(t.Rows, r)
		}
	}
	t.describe()
	return nil
}

// Run takes the measurements, and writes NAME.jsonl with one line for each and NAME.md
// with the report, which it also prints. If it is interrupted, it reports the complete
// ones.
func (t *Trial) Run(
	ctx context.Context,
	name string,
	stdout io.Writer,
	report func() string,
) error {
	// A single processor keeps the generator cheap and leaves the others to the programs.
	runtime.GOMAXPROCS(1)
	if _, err := system.RaiseDescriptors(); err != nil {
		return err
	}
	if err := os.MkdirAll(t.Out, 0o755); err != nil {
		return err
	}
	lines, err := os.Create(filepath.Join(t.Out, name+".jsonl"))
	if err != nil {
		return err
	}
	defer lines.Close()
	runErr := t.measureAll(ctx, lines)
	if errors.Is(runErr, context.Canceled) {
		runErr = errors.New("interrupted; the report contains the complete measurements")
	}
	text := report()
	page := filepath.Join(t.Out, name+".md")
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		return err
	}
	fmt.Fprint(stdout, text)
	return errors.Join(runErr, lines.Close())
}

// measureAll runs all rounds. In each round and workload, the rows run one after another,
// in alternating order, so that other activity on the machine affects all of them.
func (t *Trial) measureAll(ctx context.Context, lines io.Writer) error {
	to := json.NewEncoder(lines)
	if err := to.Encode(t.Setting); err != nil {
		return err
	}
	for round := range t.Rounds {
		order := slices.Clone(t.Rows)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, w := range t.Workloads {
			fmt.Fprintf(t.Progress, "round %d of %d, %s\n", round+1, t.Rounds, w.Name)
			group, err := t.measureGroup(ctx, order, w, round+1)
			if err != nil {
				return err
			}
			t.Records = append(t.Records, group...)
			for _, r := range group {
				if err := to.Encode(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measureGroup measures a workload once with each row that supports it, in the given order. An
// error means that the trial was interrupted.
func (t *Trial) measureGroup(
	ctx context.Context,
	order []Row,
	w fix.Workload,
	round int,
) ([]Record, error) {
	var group []Record
	for _, r := range order {
		if !r.Does(w) {
			continue
		}
		rec := t.measure(ctx, r, w)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rec.Round = round
		group = append(group, rec)
	}
	if t.Complete != nil {
		t.Complete(w, group)
	}
	return group, nil
}

// grace is how far a measurement may exceed its expected duration before it is killed.
const grace = 30 * time.Second

// measure measures one row. A failure is part of the record, so the others still run. The time
// limit allows for every extension of a run.
func (t *Trial) measure(ctx context.Context, r Row, w fix.Workload) Record {
	turns := time.Duration(max(t.Turns, 1))
	limit := t.Warmup + 4*turns*t.Measure + 2*grace
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rec := Record{
		Key:      r.Key(),
		Workload: w.Name,
		Figures:  make(Figures),
	}
	if err := r.Measure(ctx, w, rec.Figures); err != nil {
		rec.Error = err.Error()
		rec.Figures = nil
		fmt.Fprintf(t.Progress, "%s: %v\n", rec.Name, err)
	}
	return rec
}

// Failure returns the error of the first measurement that failed.
func (t *Trial) Failure() error {
	for _, r := range t.Records {
		if r.Error != "" {
			return fmt.Errorf("%s, %s: %s", r.Name, r.Workload, r.Error)
		}
	}
	return nil
}

// settle is how long a process that has answered is left alone before its idle memory is read:
// a program may release what its start needed some time after it serves.
const settle = 200 * time.Millisecond

// UnderLoad checks one answer, runs the load, and sets the figures of the process, whose
// children are not counted, and of this one.
func (o *Options) UnderLoad(pid int, g *load.Generator, f Figures) error {
	if err := g.Check(); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	time.Sleep(settle)
	err := readMemory(pid, f, map[string]func(int) (int64, error){
		"rss_idle_kb": system.ResidentKB,
	})
	if err != nil {
		return err
	}
	var begin, end [2]time.Duration
	plan := load.Plan{
		Warmup:  o.Warmup,
		Measure: o.Measure,
	}
	plan.Begin = func() (err error) {
		begin, err = readClocks(pid)
		return err
	}
	plan.End = func() (err error) {
		end, err = readClocks(pid)
		return err
	}
	result, err := g.Run(plan)
	switch {
	case err != nil:
		return err
	case result.Requests == 0:
		return fmt.Errorf("no request was answered in %v", result.Elapsed)
	}
	requests := float64(result.Requests)
	seconds := result.Elapsed.Seconds()
	client := end[1] - begin[1]
	f["requests"] = requests
	f["seconds"] = seconds
	f["requests_per_second"] = requests / seconds
	f["server_cpu_us"] = Micros(end[0]-begin[0]) / requests
	f["generator_cpu_us"] = Micros(client) / requests
	f["generator_cores"] = client.Seconds() / seconds
	f["p50_us"] = Micros(result.Latency.Quantile(0.5))
	f["p99_us"] = Micros(result.Latency.Quantile(0.99))
	return readMemory(pid, f, map[string]func(int) (int64, error){
		"rss_kb": system.ResidentKB, "rss_peak_kb": system.PeakKB, "rss_own_kb": system.OwnMemoryKB,
	})
}

// readClocks returns the CPU times of a process and of this one.
func readClocks(pid int) (now [2]time.Duration, err error) {
	for i, pid := range []int{pid, os.Getpid()} {
		if now[i], err = system.CPUTime(pid); err != nil {
			return now, err
		}
	}
	return now, nil
}

// readMemory adds figures about the memory of a process, in KiB.
func readMemory(pid int, f Figures, figures map[string]func(int) (int64, error)) error {
	for name, read := range figures {
		kb, err := read(pid)
		if err != nil {
			return err
		}
		f[name] = float64(kb)
	}
	return nil
}

// Micros returns d in microseconds.
func Micros(d time.Duration) float64 {
	return float64(d) / float64(time.Microsecond)
}
