package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// task is one command line, and the best that it did in any round.
type task struct {
	name, who string
	line      []string
	result    string // a file that it makes, or empty
	folder    string // a folder that it makes, or empty

	cpu, wall time.Duration
	memory    int64 // bytes, resident, at the most
	bytes     int64 // of the result
	files     int   // in the folder
}

// measure runs the task once. What it made before is taken away first.
func (t *task) measure(ctx context.Context) error {
	for _, made := range []string{t.result, t.folder} {
		if made != "" {
			if err := os.RemoveAll(made); err != nil {
				return err
			}
		}
	}
	cmd := exec.CommandContext(ctx, t.line[0], t.line[1:]...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(start)
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", t.who, t.name, err, out)
	}
	state := cmd.ProcessState
	least(&t.cpu, state.UserTime()+state.SystemTime())
	least(&t.wall, wall)
	t.memory = max(t.memory, peak(state))
	return t.look()
}

func least(best *time.Duration, d time.Duration) {
	if *best == 0 || d < *best {
		*best = d
	}
}

// look counts what was made.
func (t *task) look() error {
	if t.result != "" {
		info, err := os.Stat(t.result)
		if err != nil {
			return err
		}
		t.bytes = info.Size()
	}
	if t.folder == "" {
		return nil
	}
	t.files = 0
	return filepath.WalkDir(t.folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			t.files++
		}
		return err
	})
}

func printTable(w io.Writer, folder string, tasks []task) error {
	files, bytes := 0, int64(0)
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, infoErr := d.Info()
			if infoErr != nil {
				return infoErr
			}
			files, bytes = files+1, bytes+info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "A folder of %d files and %.1f MiB. Best of all rounds; memory is the most of all rounds.\n\n", files, float64(bytes)/(1<<20))
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "task\twho\tCPU\tclock\tmemory\tresult")
	for _, t := range tasks {
		result := ""
		switch {
		case t.bytes > 0:
			result = fmt.Sprintf("%d bytes", t.bytes)
		case t.files > 0:
			result = fmt.Sprintf("%d files", t.files)
		}
		fmt.Fprintf(tab, "%s\t%s\t%.2f s\t%.2f s\t%.0f MiB\t%s\n", t.name, t.who, t.cpu.Seconds(), t.wall.Seconds(), float64(t.memory)/(1<<20), result)
	}
	return tab.Flush()
}
