package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/lock"
)

const lockHelp = `A lock holds sources to what they offered when somebody looked at it. Once there
is one, what has changed or is new is hidden and refused by serve, config run,
ls, call, read, prompt, complete and site freeze, until it is approved.`

func newLock() *cobra.Command {
	var l locking
	cmd := &cobra.Command{
		Use:   "lock SOURCE...",
		Short: "Hold sources to what they offer now",
		Long: `Ask sources what they offer, and write it into a lock: of each server of
definitions, and of each other source, all tools, prompts, resources, templates,
the instructions, what it calls itself, and how it is started or reached. Look
at it before you rely on it: it has the whole text that models will read.

A lock that is there is not written over: slipway lock approve does that.

` + lockHelp + `

` + sourceHelp,
		Example: `  slipway lock examples/definitions/site.yaml -o my.lock
  slipway lock examples/http-reference`,
		Args: takesSource(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return l.create(cmd, sourceFirst(cmd, args)) },
	}
	cmd.Flags().StringVarP(&l.file, "output", "o", "", "the `FILE` to write, or - for stdout (default: slipway.lock beside the definitions, or here)")
	l.flags(cmd)
	cmd.AddCommand(newLockVerify(), newLockDiff(), newLockApprove())
	return cmd
}

func (l *locking) create(cmd *cobra.Command, args []string) error {
	path, err := l.path(cmd, args)
	if err != nil {
		return err
	}
	subjects, err := l.subjects(cmd, args)
	if err != nil {
		return err
	}
	if len(subjects) == 0 {
		return no("", "lock: there is no source to lock")
	}
	now, report, err := lock.RecordAll(cmd.Context(), subjects)
	if err != nil {
		return unrecorded(err)
	}
	report.Add(lock.Mentions(now)...)
	if err := report.WriteText(cmd.ErrOrStderr(), colored(cmd.ErrOrStderr())); err != nil {
		return err
	}
	file := &lock.File{Sources: now, Definitions: lock.DefinitionsOf(targetsOf(args))}
	if path == "-" {
		return file.Write(cmd.OutOrStdout())
	}
	err = fsutil.Create(path, 0o644, file.Write)
	if errors.Is(err, fs.ErrExist) {
		return &failure{code: exitInput, text: path + ": there is a lock already",
			hint: "slipway lock diff shows what is different, slipway lock approve accepts it"}
	}
	if err != nil {
		return &failure{code: exitInput, text: path + ": " + fsutil.Reason(err)}
	}
	for _, s := range subjects {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", visible.Line(s.Name), now[s.Name].Summary())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: written; look at it, and keep it with the definitions\n", path)
	return nil
}
