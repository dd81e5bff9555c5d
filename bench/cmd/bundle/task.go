package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/slipway-mcp/slipway/bench/system"
)

// task is one command line, with its best result of all rounds.
type task struct {
	// name is what is done, and who does it. line is the command with its arguments.
	name, who string
	line      []string
	made      string // the file or folder that it creates, or empty

	// cpu is the time of the process and its children, wall that of the clock.
	cpu, wall time.Duration
	memory    int64 // peak resident bytes
	own       int64 // of these, without pages of program files, which the system can drop
	files     int   // that it creates
	size      int64 // of these
}

// measure runs the task once, after deleting its previous output.
func (t *task) measure(ctx context.Context) error {
	if t.made != "" {
		if err := os.RemoveAll(t.made); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, t.line[0], t.line[1:]...)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	own := watchMemory(cmd.Process.Pid)
	err := cmd.Wait()
	wall := time.Since(start)
	t.own = max(t.own, own())
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", t.who, t.name, err, out.Bytes())
	}
	state := cmd.ProcessState
	keepLeast(&t.cpu, state.UserTime()+state.SystemTime())
	keepLeast(&t.wall, wall)
	t.memory = max(t.memory, peak(state))
	if t.made != "" {
		t.files, t.size, err = measureFiles(t.made)
	}
	return err
}

// keepLeast keeps the least of the durations so far; 0 means none.
func keepLeast(best *time.Duration, d time.Duration) {
	if *best == 0 || d < *best {
		*best = d
	}
}

// watchMemory monitors the private resident memory of a process. The returned function
// stops the monitoring and returns the peak in bytes, or 0 if the system does not report
// it.
func watchMemory(pid int) (most func() int64) {
	stop := make(chan struct{})
	result := make(chan int64, 1)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for high := int64(0); ; {
			// An error means that it has exited, or is not reported.
			kb, _ := system.OwnMemoryKB(pid)
			high = max(high, kb<<10)
			select {
			case <-stop:
				result <- high
				return
			case <-tick.C:
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-result
	}
}

// measureFiles returns the number and the size of the files in a folder, or of one file.
func measureFiles(path string) (files int, size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files++
			size += info.Size()
		}
		return err
	})
	return files, size, err
}

// printTable prints the results, one task a line.
func printTable(w io.Writer, folder string, tasks []*task) error {
	const mib = 1 << 20
	files, size, err := measureFiles(folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "A folder of %d files and %.1f MiB. Best of all rounds; memory is the maximum of all rounds, "+
		"\"own\" without pages of program files.\n\n", files, float64(size)/mib)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "task\twho\tCPU\tclock\tmemory\town\tresult")
	for _, t := range tasks {
		result := ""
		switch {
		case filepath.Ext(t.made) != "":
			result = fmt.Sprintf("%d bytes", t.size)
		case t.made != "":
			result = fmt.Sprintf("%d files", t.files)
		}
		fmt.Fprintf(tab, "%s\t%s\t%.2f s\t%.2f s\t%.0f MiB\t%.0f MiB\t%s\n",
			t.name,
			t.who,
			t.cpu.Seconds(),
			t.wall.Seconds(),
			float64(t.memory)/mib,
			float64(t.own)/mib,
			result)
	}
	return tab.Flush()
}
