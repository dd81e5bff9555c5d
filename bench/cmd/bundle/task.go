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
)

// task is one command line, with its best result of all rounds.
type task struct {
	name, who string
	line      []string
	result    string // a file that it creates, or empty
	folder    string // a folder that it creates, or empty

	cpu, wall time.Duration
	memory    int64 // peak resident bytes
	own       int64 // of these, without pages of program files
	size      int64 // of the result
	files     int   // in the folder
}

// measure runs the task once, after deleting its previous output.
func (t *task) measure(ctx context.Context) error {
	for _, made := range []string{t.result, t.folder} {
		if made != "" {
			if err := os.RemoveAll(made); err != nil {
				return err
			}
		}
	}
	cmd := exec.CommandContext(ctx, t.line[0], t.line[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	own := watchOwn(cmd.Process.Pid)
	err := cmd.Wait()
	wall := time.Since(start)
	t.own = max(t.own, own())
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", t.who, t.name, err, out.Bytes())
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

// look records the size of the output.
func (t *task) look() error {
	if t.result != "" {
		info, err := os.Stat(t.result)
		if err != nil {
			return err
		}
		t.size = info.Size()
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
	files, all := 0, int64(0)
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, infoErr := d.Info()
			if infoErr != nil {
				return infoErr
			}
			files, all = files+1, all+info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w,
		"A folder of %d files and %.1f MiB. Best of all rounds; memory is the most of all rounds, \"own\" without pages of program files.\n\n",
		files, float64(all)/(1<<20))
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "task\twho\tCPU\tclock\tmemory\town\tresult")
	for _, t := range tasks {
		result := ""
		switch {
		case t.size > 0:
			result = fmt.Sprintf("%d bytes", t.size)
		case t.files > 0:
			result = fmt.Sprintf("%d files", t.files)
		}
		fmt.Fprintf(tab, "%s\t%s\t%.2f s\t%.2f s\t%.0f MiB\t%.0f MiB\t%s\n",
			t.name, t.who, t.cpu.Seconds(), t.wall.Seconds(), float64(t.memory)/(1<<20), float64(t.own)/(1<<20), result)
	}
	return tab.Flush()
}
