package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/lock"
)

// lockHelp is the paragraph about locks, in the help of each command that uses them.
const lockHelp = `A lock pins sources to the state that was reviewed. Changed and new items are
hidden and refused by serve, config run, ls, call, read, prompt, complete and
site freeze until they are approved.`

func newLock() *cobra.Command {
	var l locking
	cmd := &cobra.Command{
		Use:   "lock SOURCE...",
		Short: "Lock sources to their current tools",
		Long: `Record the tools, prompts, resources, templates, instructions and identity of
sources, and how each is started or reached, in a lock file: for definitions, of
each server. Review the file before you rely on it: it contains all text that
models will read.

An existing lock is not overwritten; use "slipway lock approve".

` + lockHelp + `

` + sourceHelp,
		Example: `  slipway lock examples/definitions/site.yaml -o my.lock
  slipway lock examples/http-reference`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.create(cmd, args)
		},
	}
	cmd.Flags().StringVarP(&l.file, "output", "o", "",
		"`FILE` to write, or - for stdout (default: slipway.lock next to the definitions, or in the current folder)")
	l.flags(cmd)
	jsonFlag(cmd, "the file and its sources")
	cmd.AddCommand(newLockVerify(), newLockDiff(), newLockApprove())
	return cmd
}

// create records what the sources offer now, and writes it to a new lock file. All sources
// must answer: a lock with some of them missing would block these. An existing lock is an
// error, because only a review may change it.
func (l *locking) create(cmd *cobra.Command, args []string) error {
	path, err := l.path(cmd, args)
	if err != nil {
		return err
	}
	subjects, err := l.subjects(cmd, args)
	if err != nil {
		return err
	}
	if len(l.known) == 0 {
		return no("", "lock: no sources to lock")
	}
	for _, name := range l.servers {
		if !slices.ContainsFunc(subjects, func(s lock.Subject) bool { return s.Name == name }) {
			return no(didYouMean(name, l.known, "name one of "+strings.Join(l.known, ", ")),
				"lock: no enabled server or source is named %q", name)
		}
	}
	wait := waitForSubjects(cmd, subjects)
	now, report, err := lock.RecordAll(cmd.Context(), subjects)
	wait.finish()
	if err != nil {
		return unrecorded(err)
	}
	// Warnings do not prevent a lock: it records what there is to review.
	report.Add(lock.CheckShadowing(now)...)
	printFindings(cmd, report)
	file := &lock.File{
		Sources:     now,
		Definitions: lock.DefinitionsOf(targetsOf(args)),
	}
	if path == "-" {
		return file.Write(cmd.OutOrStdout())
	}
	// Create fails if the file exists, also if it was created meanwhile.
	err = fsutil.Create(path, 0o644, file.Write)
	if errors.Is(err, fs.ErrExist) {
		return badInput(reviewHint(l.file, args...),
			"%s: a lock already exists", path)
	}
	if err != nil {
		return badInput("", "%s: %s", path, fsutil.Reason(err))
	}
	if wantsJSON(cmd) {
		return printJSON(cmd.OutOrStdout(), map[string]any{"lock": path, "sources": lockedSources(subjects, now)})
	}
	for _, s := range subjects {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", visible.Line(s.Name), now[s.Name].Summary())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: written; review it, and commit it with the definitions\n", path)
	return nil
}

// lockedSource is a source in a new lock.
type lockedSource struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	Items   []string `json:"items"`
}

// lockedSources returns the sources with their items sorted, for --json.
func lockedSources(subjects []lock.Subject, entries map[string]*lock.Entry) []lockedSource {
	return names(subjects, func(s lock.Subject) lockedSource {
		e := entries[s.Name]
		items := make([]string, 0, len(e.Items))
		for item := range e.Items {
			items = append(items, item.String())
		}
		slices.Sort(items)
		return lockedSource{
			Name:    s.Name,
			Version: e.Version,
			Items:   items,
		}
	})
}
