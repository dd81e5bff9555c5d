package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/calltest"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/open"
)

// callTest is the flags and the outcome of test.
type callTest struct {
	reporting
	// only are the names of the calls to make, or empty for all, and names those of the sources, in
	// their order.
	only  []string
	names []string
	calltest.Options

	outcomes []*calltest.Outcome
}

func newTest() *cobra.Command {
	var o callTest
	cmd := &cobra.Command{
		Use:   "test FILE SOURCE...",
		Short: "Make saved calls and verify the answers",
		Long: `Make the calls of a file, one after the other, and verify the answers against
the expectations in the file. The page of "slipway inspect --calls FILE" writes
such files; docs/saved-calls.md describes them. A call without expectations must
succeed. The exit code is 1 if an answer is not as expected.

One source gets all calls. Of several, each call goes to the one that its member
source names: the name of the folder, file, host or program, or that of --name.

All calls are made, also of tools that change something: use a server for tests.

` + sourceHelp,
		Example: `  slipway test examples/calls/http.calls.json examples/http-reference
  slipway test examples/calls/http.calls.json --only 'a missing page' \
      -- slipway serve --stdio examples/http-reference`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				args = append(args[1:], args[0]) // the file comes first, the command last
			}
			return o.run(cmd, args[0], args[1:])
		},
	}
	cmd.Args = takes(2, -1)
	acceptCommand(cmd)
	bundleFlags(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.only, "only", nil, "make only the call with this `NAME` (repeatable)")
	flags.StringArrayVar(&o.names, "name", nil,
		"`NAME` of a source in the file, in the order of the sources (repeatable)")
	o.Timeout = time.Minute
	flags.Var(longerThanZero(&o.Timeout), "timeout", "maximum `time` for each answer")
	o.flags(cmd)
	cmd.Flags().Lookup("json").Usage = "print every call with its answer and its problems as JSON"
	return cmd
}

// run repeats the calls of a file at the sources, and reports answers that differ from the
// expected ones. The calls are assigned to the sources before these are opened, so that a
// mistake in the file starts no server.
func (o *callTest) run(cmd *cobra.Command, path string, args []string) error {
	if err := oneTokenOneServer(args); err != nil {
		return err
	}
	names, err := o.sourceNames(args)
	if err != nil {
		return err
	}
	file, err := readCalls(cmd, path)
	if err != nil {
		return err
	}
	if err := o.choose(file); err != nil {
		return err
	}
	report := &check.Report{}
	var servers []calltest.Server
	for _, name := range names {
		servers = append(servers, calltest.Server{Name: name})
	}
	if file.Assign(servers, report, o.Only) == nil {
		printFindings(cmd, report)
		return badInput("", "%s: %s", path, report.Summary())
	}
	return withSources(cmd, args, func(opened []*openSource) error {
		for i, c := range opened {
			servers[i].Source = c.source
		}
		return o.test(cmd, file, servers)
	})
}

// sourceNames returns the names of the sources: those of --name, then those of the arguments.
func (o *callTest) sourceNames(args []string) ([]string, error) {
	if len(o.names) > len(args) {
		return nil, usage("", "test: %s, but %s", count(len(o.names), "name"), count(len(args), "source"))
	}
	names := uniqueNames(args)
	for i, name := range o.names {
		if name == "" {
			return nil, usage("", "test: --name: the name is empty")
		}
		names[i] = name
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, usage("give each source its own name with --name", "test: two sources are named %q", name)
		}
	}
	return names, nil
}

// test makes the calls and prints the outcomes.
func (o *callTest) test(
	cmd *cobra.Command,
	file *calltest.File,
	servers []calltest.Server,
) error {
	report := &check.Report{}
	t := newTracker(cmd, countOnly)
	t.update("testing", 0, int64(len(file.Calls)))
	t.tick()
	done := int64(0)
	o.Done = func(*calltest.Outcome) {
		done++
		t.update("testing", done, int64(len(file.Calls)))
	}
	var err error
	o.outcomes, err = file.Run(cmd.Context(), servers, report, &o.Options)
	t.finish()
	if err != nil {
		return answered("test", err)
	}
	for _, c := range o.outcomes {
		o.cases = append(o.cases, check.Case{
			File:    file.Name,
			Pointer: c.Pointer,
			Name:    c.Name,
			Took:    c.Took,
		})
	}
	o.own = func(w io.Writer, format check.Format) error {
		if format == check.JSON {
			return printJSON(w, map[string]any{"calls": o.outcomes})
		}
		return o.list(w, colored(w))
	}
	return o.print(cmd, []string{file.Name}, report)
}

// readCalls reads a file of saved calls, and prints its problems.
func readCalls(cmd *cobra.Command, path string) (*calltest.File, error) {
	if open.Argument(path).IsRecording() {
		return nil, badInput("slipway replay "+shell.PathWord(path)+" SOURCE",
			"%s: a recording, not a file of saved calls", path)
	}
	text, err := fsutil.ReadFile(path, calltest.MaxFile)
	if err != nil {
		return nil, badInput("slipway inspect --calls FILE SOURCE writes such a file", "%s: %s", path, fsutil.Reason(err))
	}
	file, report := calltest.Read(path, text)
	if file == nil {
		printFindings(cmd, report)
		return nil, badInput("", "%s: %s", path, report.Summary())
	}
	return file, nil
}

// choose selects the calls of --only.
func (o *callTest) choose(file *calltest.File) error {
	var names []string
	for _, c := range file.Calls {
		names = append(names, c.Name)
	}
	for _, name := range o.only {
		if !slices.Contains(names, name) {
			return usage(didYouMean(name, names, "the calls are "+orList(names)), "test: there is no call %q in %s", name,
				file.Name)
		}
	}
	if len(o.only) > 0 {
		o.Only = func(c *calltest.Call) bool { return slices.Contains(o.only, c.Name) }
	}
	return nil
}

// list prints a line for each call, followed by its problems.
func (o *callTest) list(w io.Writer, color bool) error {
	width := 0
	for _, c := range o.outcomes {
		width = max(width, min(40, len(visible.Line(c.Name))))
	}
	for _, c := range o.outcomes {
		verdict := style.Success.If(color).Paint("ok") + "  "
		if !c.OK {
			verdict = style.Error.If(color).Paint("FAIL")
		}
		fmt.Fprintf(w, "%s  %-*s  %s\n", verdict, width, visible.Line(c.Name), c.Took.Round(10*time.Microsecond))
		for _, p := range c.Problems {
			fmt.Fprintf(w, "      %s\n", visible.Line(p.Message))
		}
	}
	return nil
}
