package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// installing is the flags and the state of add.
type installing struct {
	adding
	clients.PlanOptions
	// yes writes without asking, and secretsFrom are the sources of secrets for the launcher.
	yes         bool
	secretsFrom []string

	file          string // of definitions
	entry         *open.Addition
	before, after []byte // of the definitions file
	// plan has the changes of client files, todo the steps that are left to the user, and report
	// what clients cannot represent.
	plan   *clients.Plan
	todo   []string
	report *check.Report
}

func newAdd() *cobra.Command {
	var a installing
	cmd := &cobra.Command{
		Use:   "add [SOURCE] [-- ARG...]",
		Short: "Add a server to your clients",
		Long: `Add a server to the config files of MCP clients on this machine, in one step.
SOURCE is one of:

  FOLDER, FILE          documents, a site, a table or another source of
                        "slipway serve", which the client starts
  FILE.mcpb, or its URL a bundle, pinned to its current content
  npm:NAME[@VERSION]    a package started by npx; arguments follow --
  pypi:NAME[==VERSION]  a package started by uvx; arguments follow --
  DOMAIN/NAME[@VERSION] a name in a registry; see "slipway search"
  server.json           of a registry, as a file or URL
  URL                   a server, or a site, which Slipway reads for the client
  definitions file      all its servers
  -- COMMAND ARG...     a command that is a server over stdin and stdout

The definition is written to servers.yaml in your config folder, or with --scope
project to the definitions of the project in the current folder. From there,
"slipway config apply" writes it again, and "slipway remove" removes it.

Changes, and the commands that clients will start, are shown before files are
written, and you are asked; --yes agrees. Clients are those given with --client,
or those that you choose among the installed ones; --yes without --client takes
all of them. The server is not started.

` + addedDocuments + `

` + addedNetworks + `

Exit codes: 1 another server or entry has the name, 2 without a terminal or
--yes, 3 a file cannot be edited. A file that cannot be edited does not keep the
others from being written.`,
		Example: `  slipway add examples/http-reference --client cursor --dry-run
  slipway add npm:@modelcontextprotocol/server-filesystem --client claude-code \
      --dry-run -- .
  slipway add examples/definitions/server.json --set WEATHER_PLACE=Vienna \
      --client codex --dry-run
  slipway add --client cursor --dry-run -- python3 server.py`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			typed, err := sourceOf(cmd, args)
			if err != nil {
				return err
			}
			a.Args = typed.args
			return a.run(cmd, typed.source)
		},
	}
	a.adding.flags(cmd)
	flags := cmd.Flags()
	flags.Var(eachClient(&a.Clients), "client", "`client` to add the server to (repeatable, or separated by commas)")
	flags.Var(oneOf(&a.Scope, "user", "project"), "scope", "`scope` of the definitions and client files: user or project")
	flags.Var(oneOf(&a.Via, "auto", "direct", "launcher"), "via",
		"`how` the client reaches the server: direct, launcher, or auto for the launcher where direct would lose a setting")
	flags.Var(eachOf(&a.secretsFrom, launcherSecrets), "secrets-from",
		"`source` of secrets when the server is started (repeatable); clients then start it through the launcher")
	flags.BoolVarP(&a.yes, "yes", "y", false, "write without asking")
	loginFlag(cmd)
	jsonFlag(cmd, "the definition, the plan, and the remaining steps")
	return cmd
}

// run adds a source in steps: the definition, the clients, the plan, consent, writing.
func (a *installing) run(cmd *cobra.Command, source string) error {
	warning, err := a.begin(cmd)
	if err != nil {
		return err
	}
	wait := waitFor(cmd, publicName(source))
	defer wait.finish()
	a.EntryOptions.Progress = wait.bytes()
	if a.entry, err = a.openEntry(cmd, source, wait.finish); err != nil {
		return notAdded(err)
	}
	defer closeAddition(a.entry)
	// Up to write, everything happens in memory.
	added, merged, err := a.define()
	if err != nil {
		return err
	}
	ask := questionsOf(cmd)
	if err := a.choose(cmd, ask); err != nil {
		return err
	}
	if err := a.makePlan(merged); err != nil {
		return err
	}
	todo, report := a.entry.Review(a.file, added)
	a.todo = todo
	a.report.Add(report.Findings()...)
	if warning != "" {
		say(cmd.ErrOrStderr(), "add: %s", warning)
	}
	if !wantsJSON(cmd) {
		printWarnings(cmd, a.report)
		a.show(cmd.OutOrStdout())
	}
	// Without changes, there is nothing to agree to.
	idle := !a.changes()
	if !idle && !a.dryRun {
		if err := a.usable(); err != nil {
			return err
		}
		if err := a.consent(ask); err != nil {
			return err
		}
		if err := a.write(); err != nil {
			return err
		}
	}
	if wantsJSON(cmd) {
		if err := a.printJSON(cmd.OutOrStdout()); err != nil {
			return err
		}
	} else {
		a.conclude(cmd.OutOrStdout(), idle)
	}
	return outcome("add", a.plan.Files, a.plan.Conflicts(), takenHint)
}

// openEntry opens the source, and again after a login if the server requires one and the
// user agrees. opened is called each time.
func (a *installing) openEntry(
	cmd *cobra.Command,
	source string,
	opened func(),
) (entry *open.Addition, err error) {
	err = withLogin(cmd, func() error {
		if entry != nil {
			closeAddition(entry)
		}
		entry, err = open.Entry(cmd.Context(), source, &a.EntryOptions)
		opened()
		if err == nil && entry.Login != nil {
			return entry.Login
		}
		return err
	})
	if errors.As(err, new(*identity.LoginRequiredError)) && entry != nil {
		err = nil // it is one of the remaining steps
	}
	return entry, err
}

// begin sets the options that are not bound to flags.
func (a *installing) begin(cmd *cobra.Command) (warning string, err error) {
	if a.Scope == "" {
		a.Scope = clients.User
	}
	switch {
	case a.Via == clients.Direct && len(a.secretsFrom) > 0:
		return "", usage("omit --via, or use --via launcher", "add: --secrets-from requires the launcher")
	case len(a.secretsFrom) > 0:
		a.Via = clients.Launcher
	case a.Via == "":
		a.Via = clients.Auto
	}
	if err := a.complete(cmd); err != nil {
		return "", err
	}
	a.EntryOptions.Program, warning = launcher(a.Scope)
	a.PlanOptions.Program = a.EntryOptions.Program[0]
	a.ProgramArgs = a.EntryOptions.Program[1:]
	for _, word := range a.secretsFrom {
		a.Flags = append(a.Flags, "--secrets-from", word)
	}
	a.PlanOptions.Replace = a.AddOptions.Replace
	if a.Scope == clients.User {
		a.file, err = userFile()
	} else if a.file = projectFile(); a.file == "" {
		a.file = defaultDefinitions
	}
	if a.Scope == clients.Project {
		a.Dir = "."
	}
	return warning, err
}

// define adds the servers to the text of the definitions file.
func (a *installing) define() (*stax.Added, *stax.Merged, error) {
	var err error
	if a.before, err = readDefinitions(a.file); err != nil {
		return nil, nil, err
	}
	added, err := stax.Add(a.file, a.before, &a.entry.Config, &a.AddOptions)
	if errors.Is(err, stax.ErrScript) {
		return nil, nil, notExact("slipway config add "+shell.PathWord(a.file)+" SOURCE prints what to paste",
			"%s: scripts cannot be edited", a.file)
	}
	if err != nil {
		return nil, nil, notWritten(a.file, err)
	}
	a.after = added.Text
	doc, _ := stax.Parse(a.file, added.Text, nil) // stax.Add has checked it
	return added, stax.Merge(doc), nil
}

// servers returns the names of the servers to add.
func (a *installing) servers() []string {
	return names(a.entry.Config.Servers, func(s stax.Server) string { return s.Name })
}

// makePlan plans the changes of client files.
func (a *installing) makePlan(merged *stax.Merged) error {
	path, err := filepath.Abs(a.file)
	if err != nil {
		return err
	}
	a.Sources = []string{path}
	a.Servers = a.servers()
	state, err := openState()
	if err != nil {
		return err
	}
	if a.plan, a.report, err = clients.NewPlan(merged, state, &a.PlanOptions); err != nil {
		return clientFileFailure("add", err)
	}
	return nil
}

// definitionsPlan returns the change of the definitions file in the form of a plan.
func (a *installing) definitionsPlan() *clients.FilePlan {
	f := &clients.FilePlan{
		Name: "Definitions",
		Path: a.file,
	}
	for i := range a.entry.Config.Servers {
		s := &a.entry.Config.Servers[i]
		step := clients.Step{
			Server: s.Name,
			Action: clients.Create,
		}
		old, _ := stax.Parse(a.file, a.before, nil)
		switch {
		case bytes.Equal(a.before, a.after):
			step.Action = clients.Unchanged
		case old.Config.Server(s.Name) != nil:
			step.Action = clients.Update
		}
		f.Steps = append(f.Steps, step)
	}
	f.Diff = stax.Diff(f.Short(), a.before, a.after)
	return f
}

// takenHint is the hint for entries that others wrote.
const takenHint = "--replace takes over the entries; --name adds the new one under another name"

// changes reports whether any file would change.
func (a *installing) changes() bool {
	return !bytes.Equal(a.before, a.after) ||
		slices.ContainsFunc(a.plan.Files, (*clients.FilePlan).Changes)
}

// usable returns an error if no client would get any of the servers: then nothing is
// written.
func (a *installing) usable() error {
	for _, f := range a.plan.Files {
		if f.Problem == "" && slices.ContainsFunc(f.Steps, func(s clients.Step) bool {
			return s.Action == clients.Create ||
				s.Action == clients.Update ||
				s.Action == clients.Unchanged
		}) {
			return nil
		}
	}
	err := outcome("add: nothing was written", a.plan.Files, a.plan.Conflicts(), takenHint)
	if err == nil {
		err = no("choose another client with --client", "add: nothing was written: no client can use the server")
	}
	return err
}

// consent asks for agreement to what was shown.
func (a *installing) consent(ask *questions) error {
	if a.yes || a.allowExec {
		return nil
	}
	if ask == nil {
		return usage(retyped("--yes"), "add: nothing was written: no terminal to ask for confirmation")
	}
	starts := ""
	if slices.ContainsFunc(a.entry.Config.Servers, func(s stax.Server) bool { return !s.Remote() }) {
		starts = "Clients will start the command above. "
	}
	defer prompting(ask.out)()
	fmt.Fprintf(ask.out, "%sWrite these files? [y/N] ", starts)
	if !saysYes(ask.in) {
		return denied("", "nothing was written")
	}
	return nil
}

// write writes the definitions, and then the files of clients. Problems with the latter
// are noted in the plan.
func (a *installing) write() error {
	if err := a.entry.Keep(); err != nil {
		return err
	}
	if !bytes.Equal(a.before, a.after) {
		const private = 0o700
		err := os.MkdirAll(filepath.Dir(a.file), private)
		if err == nil {
			err = stax.WriteFile(a.file, a.before, a.after)
		}
		if err != nil {
			return badInput("nothing was written", "%s: %s", a.file, fsutil.Reason(err))
		}
	}
	if err := a.plan.Apply(); err != nil && !slices.ContainsFunc(a.plan.Files, func(f *clients.FilePlan) bool {
		return f.Problem != ""
	}) {
		return badInput("slipway config apply tries again",
			"add: %s was written, but no client file: %v", a.file, err)
	}
	return nil
}

// show prints what would be added, and to which files.
func (a *installing) show(w io.Writer) {
	out := &strings.Builder{}
	for i := range a.entry.Config.Servers {
		s := &a.entry.Config.Servers[i]
		head := s.Name
		if s.Description != "" {
			head += ": " + s.Description
		}
		if a.entry.Offers != "" {
			head += " (" + a.entry.Offers + ")"
		}
		fmt.Fprintln(out, visible.Line(head))
		describeServer(out, s)
	}
	files := []*clients.FilePlan{a.definitionsPlan()}
	for _, f := range a.plan.Files {
		short := *f
		short.Todo = nil // they come last
		files = append(files, &short)
	}
	printPlan(out, files)
	_, _ = io.WriteString(w, visible.Lines(out.String()))
}

// conclude prints what was done, and what is left to the user.
func (a *installing) conclude(w io.Writer, idle bool) {
	out := &strings.Builder{}
	var done, todo []string
	for _, f := range a.plan.Files {
		if f.Problem != "" {
			continue
		}
		// A file counts only if at least one entry in it is as planned.
		if slices.ContainsFunc(f.Steps, func(s clients.Step) bool {
			return s.Action != clients.Conflict && s.Action != clients.LeftOut
		}) {
			done = append(done, f.Name)
		}
		for _, t := range f.Todo {
			todo = append(todo, f.Name+": "+t)
		}
	}
	if len(done) == 0 && !idle {
		if bytes.Equal(a.before, a.after) {
			return // the error says what prevented it
		}
		done = []string{filepath.Base(a.file)}
	}
	what := "added"
	switch {
	case idle:
		what = "nothing to do:"
	case a.dryRun:
		what = "would add"
	}
	fmt.Fprintf(out, "%s %s", what, strings.Join(a.servers(), ", "))
	if len(done) > 0 {
		word := "to"
		if idle {
			word = "is in"
		}
		fmt.Fprintf(out, " %s %s", word, strings.Join(done, ", "))
	}
	out.WriteString("\n")
	if !idle {
		for _, t := range slices.Concat(a.todo, todo) {
			fmt.Fprintf(out, "  then: %s\n", t)
		}
	}
	_, _ = io.WriteString(w, visible.Lines(out.String()))
}

// installedJSON is the output of add --json. Fields may be added.
type installedJSON struct {
	// File is the definitions file, Servers the names in it, and Starts the commands that clients
	// will run.
	DryRun  bool       `json:"dryRun"`
	File    string     `json:"file"`
	Servers []string   `json:"servers"`
	Starts  [][]string `json:"starts,omitempty"`
	// Definition is the new entry, and Diff the change of File in unified form.
	Definition json.RawMessage     `json:"definition"`
	Diff       string              `json:"diff"`
	Files      []*clients.FilePlan `json:"files"`
	Todo       []string            `json:"todo"`
	Findings   []check.Finding     `json:"findings"`
}

// printJSON prints what the run did, or with --dry-run would do. Starts has the command lines
// of local servers, since these are what the user agrees to run.
func (a *installing) printJSON(w io.Writer) error {
	definition, err := json.Marshal(&a.entry.Config)
	if err != nil {
		return err
	}
	out := installedJSON{
		DryRun:     a.dryRun,
		File:       a.file,
		Servers:    a.servers(),
		Definition: definition,
		Diff:       stax.Diff(a.file, a.before, a.after),
		Files:      a.plan.Files,
		Todo:       append([]string{}, a.todo...),
		Findings:   append([]check.Finding{}, a.report.Findings()...),
	}
	for i := range a.entry.Config.Servers {
		if s := &a.entry.Config.Servers[i]; !s.Remote() {
			out.Starts = append(out.Starts, append([]string{s.Command}, s.Args...))
		}
	}
	return printJSON(w, out)
}

// printWarnings prints findings to stderr without notes, which are for those who edit
// definitions.
func printWarnings(cmd *cobra.Command, report *check.Report) {
	warnings := &check.Report{}
	for _, f := range report.Findings() {
		if f.Severity != check.Note {
			warnings.Add(f)
		}
	}
	printFindings(cmd, warnings)
}
