package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// stateHelp is the paragraph about the ledger, in the help of each command that uses it.
const stateHelp = `Written entries are recorded in clients.json in $SLIPWAY_STATE_DIR, or in the
state folder of the system.`

// applying is the flags of config apply.
type applying struct {
	definitions
	translating
	// endpoints are names of a gateway's endpoints, which are written instead of its servers.
	endpoints []string
	dryRun    bool
}

func newConfigApply() *cobra.Command {
	var a applying
	cmd := &cobra.Command{
		Use:   "apply [FILE...]",
		Short: "Write definitions to client config files",
		Long: `Write server definitions to the config files of clients: those given with
--client, or all that have one. Files are edited in place; bytes outside the
entries of these servers do not change. An entry that Slipway did not write, or
that was changed since, is a conflict and is kept unless --replace is set.
Entries written earlier whose server is no longer defined, or is disabled, are
removed.

Prints the plan with a diff of each file: + create, ~ update, = unchanged,
- remove, ! conflict, . skipped. Settings that a client cannot represent are
reported on stderr.

--endpoint writes an endpoint of a gateway instead of its servers: FILE is the
configuration of slipway serve, and clients get the address /mcp/NAME below its
public URL. Entries of its other endpoints stay.

Exit codes: 1 conflict, 3 a file cannot be edited, 5 with --exact if a setting
would be lost, 6 a project file leads outside the project through a link.

` + stateHelp + `

` + filesHelp + `

` + defaultsHelp,
		Example: `  slipway config apply examples/definitions/mcp.yaml --client claude-code \
      --dry-run
  slipway config apply examples/definitions/mcp.yaml --client codex --client \
      zed --via auto --dry-run
  slipway config apply examples/policy/slipway.yaml --client cursor \
      --endpoint support --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd, args)
		},
	}
	a.definitions.flags(cmd)
	a.translating.flags(cmd)
	cmd.Flags().Var(oneOf(&a.Scope, "project", "user"), "scope", "`scope` of the file: user or project")
	cmd.Flags().Var(eachClient(&a.Clients), "client",
		"`client` to write for (repeatable, or separated by commas); see slipway config clients")
	cmd.Flags().StringSliceVar(&a.endpoints, "endpoint", nil,
		"write the endpoint `NAME` of a gateway instead of its servers; FILE configures the gateway (repeatable)")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "print the plan without writing")
	cmd.Flags().BoolVar(&a.Replace, "replace", false, "overwrite entries that Slipway did not write, or that were changed")
	jsonFlag(cmd, "the plan")
	return cmd
}

// openState reads the state of the current user.
func openState() (*clients.State, error) {
	dir, err := stateDir()
	if err != nil {
		return nil, err
	}
	state, err := clients.OpenState(dir)
	if errors.As(err, new(*fs.PathError)) {
		return nil, badInput("it records what was written, so nothing is changed without it", "%v", err)
	}
	if err != nil {
		return nil, badInput("it records what was written; move it away to start over", "%v", err)
	}
	return state, nil
}

// plan creates the plan for files.
func (a *applying) plan(cmd *cobra.Command, files []string) (*clients.Plan, *check.Report, error) {
	if err := a.complete(files, a.secrets); err != nil {
		return nil, nil, err
	}
	var merged *stax.Merged
	var err error
	if cmd.Flags().Changed("endpoint") {
		merged, a.Elsewhere, err = endpointDefinitions(cmd, files, a.endpoints)
	} else {
		merged, err = a.valid(cmd, files)
	}
	if err != nil {
		return nil, nil, err
	}
	state, err := openState()
	if err != nil {
		return nil, nil, err
	}
	plan, report, err := clients.NewPlan(merged, state, &a.PlanOptions)
	if err != nil {
		return nil, nil, clientFileFailure("config apply", err)
	}
	if len(plan.Files) == 0 {
		return nil, nil, no("name one with --client; slipway config clients lists them",
			"%s: no client has a file for a %s here", cmd.Name(), cmp.Or(a.Scope, clients.Project))
	}
	return plan, report, nil
}

// run plans the changes of client files, prints them, and writes them unless --dry-run is
// set. With --exact, a definition that a client cannot represent stops the run before
// anything is written. Conflicting entries are kept and make the exit code 1.
func (a *applying) run(cmd *cobra.Command, files []string) error {
	added := len(files) == 0
	files, err := defaultFiles(cmd, files, &a.Scope)
	if err != nil {
		return err
	}
	if added && a.Scope == clients.User && !cmd.Flags().Changed("via") {
		a.Via = clients.Auto // as slipway add wrote them
	}
	plan, report, err := a.plan(cmd, files)
	if err != nil {
		return err
	}
	printFindings(cmd, report)
	inexact := a.inexact("config apply", losses(report))
	switch {
	case wantsJSON(cmd):
		err = printJSON(cmd.OutOrStdout(), map[string]any{
			"dryRun":   a.dryRun || inexact != nil,
			"files":    plan.Files,
			"findings": append([]check.Finding{}, report.Findings()...),
		})
	case inexact == nil:
		printPlan(cmd.OutOrStdout(), plan.Files)
	}
	if err = cmp.Or(err, inexact); err != nil {
		return err
	}
	if !a.dryRun {
		if err := plan.Apply(); err != nil {
			return badInput("", "config apply: %v", err)
		}
	}
	return outcome("config apply", plan.Files, plan.Conflicts(), "--replace takes over the entries")
}

// losses returns the findings about what clients cannot represent: it omits those about
// this machine, and about secrets that are written in plain text.
func losses(report *check.Report) *check.Report {
	lost := &check.Report{}
	for _, f := range report.Findings() {
		if f.Rule.ID != "stax/command-not-found" && f.Rule.ID != "stax/secret-literal" {
			lost.Add(f)
		}
	}
	return lost
}

// outcome returns the result of a command that changed files, or would have.
func outcome(what string, files []*clients.FilePlan, conflicts int, hint string) error {
	for _, f := range files {
		if f.Problem == "" {
			continue
		}
		fail := badInput
		if f.Unsafe {
			fail = denied
		}
		return fail("it was not changed: repair it, and repeat the command", "%s: %s: %s", what, f.Short(), f.Problem)
	}
	if conflicts > 0 {
		return no(hint, "%s: conflicts: %d", what, conflicts)
	}
	return nil
}

// marks are the signs of actions in a plan; "." means any other.
var marks = map[clients.Action]string{
	clients.Create:    "+",
	clients.Update:    "~",
	clients.Unchanged: "=",
	clients.Conflict:  "!",
	clients.Delete:    "-",
}

// printPlan prints the changes of each file.
func printPlan(w io.Writer, files []*clients.FilePlan) {
	for _, f := range files {
		fmt.Fprintf(w, "%s: %s\n", f.Name, f.Short())
		if f.Problem != "" {
			fmt.Fprintf(w, "  ! %s\n", f.Problem)
		}
		for _, s := range f.Steps {
			line := fmt.Sprintf("  %s %s: %s", cmp.Or(marks[s.Action], "."), s.Server, s.Action)
			if len(s.Fields) > 0 {
				line += " (" + strings.Join(s.Fields, ", ") + ")"
			}
			if s.Why != "" {
				line += ": " + s.Why
			}
			if s.From != "" {
				line += "; from " + s.From
			}
			fmt.Fprintln(w, line)
		}
		for _, todo := range f.Todo {
			fmt.Fprintf(w, "  then: %s\n", todo)
		}
		fmt.Fprint(w, f.Diff)
	}
}
