package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/nearest"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// removing is the flags and the state of remove.
type removing struct {
	clients.Selection
	dryRun, yes bool

	file          string // of definitions
	before, after []byte // of the definitions file
	plan          *clients.Removal
}

func newRemove() *cobra.Command {
	var r removing
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a server from your clients",
		Long: `Remove a server that "slipway add" added: its definition in servers.yaml in your
config folder, or with --scope project in the definitions of the project, and
its entries in the config files of clients. Only entries that Slipway wrote are
removed; one that was changed since is kept, and the exit code is 1. With
--client, only the entries of these clients are removed, and the definition
stays.

"slipway config remove" removes entries from client files and never touches
definitions: "slipway config apply" writes them again.

On a terminal you are asked before files are written; --yes agrees.`,
		Example: `  slipway remove handbook --dry-run
  slipway remove handbook --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.Var(each(&r.Clients, knownClient), "client", "only from this `client` (repeatable, or separated by commas)")
	flags.Var(oneOf(&r.Scope, "user", "project"), "scope", "`scope` of the definitions and client files: user or project")
	flags.BoolVar(&r.dryRun, "dry-run", false, "print the changes without writing")
	flags.BoolVarP(&r.yes, "yes", "y", false, "write without asking")
	jsonFlag(cmd, "the plan")
	return cmd
}

// run removes a server from the definitions and the client files: plan, print, ask on a
// terminal, then write. Entries that were changed since Slipway wrote them are kept, and make
// the exit code 1.
func (r *removing) run(cmd *cobra.Command, name string) error {
	if err := r.makePlan(name); err != nil {
		return err
	}
	if !wantsJSON(cmd) {
		out := &strings.Builder{}
		files := r.plan.Files
		if !bytes.Equal(r.before, r.after) {
			files = append([]*clients.FilePlan{r.definitionsPlan(name)}, files...)
		}
		printPlan(out, files)
		if _, err := io.WriteString(cmd.OutOrStdout(), visible.Lines(out.String())); err != nil {
			return err
		}
	}
	if !r.dryRun {
		// Without a terminal, the command itself is the consent.
		if ask := questionsOf(cmd); ask != nil && !r.yes {
			fmt.Fprint(ask.out, "Write these files? [y/N] ")
			if !saysYes(ask.in) {
				return denied("", "nothing was written")
			}
		}
		if err := r.write(); err != nil {
			return err
		}
	}
	if wantsJSON(cmd) {
		if err := printJSON(cmd.OutOrStdout(), map[string]any{
			"dryRun": r.dryRun,
			"file":   r.file,
			"server": name,
			"diff":   stax.Diff(r.file, r.before, r.after),
			"files":  r.plan.Files,
		}); err != nil {
			return err
		}
	} else {
		r.conclude(cmd.OutOrStdout(), name)
	}
	return outcome("remove", r.plan.Files, r.plan.Conflicts(),
		"remove them manually, or take them over with slipway add --replace first")
}

// makePlan determines the changes. It writes nothing.
func (r *removing) makePlan(name string) error {
	var err error
	if r.Scope == "" {
		r.Scope = clients.User
		r.file, err = userFile()
	} else if r.file = projectFile(); r.file == "" {
		r.file = defaultDefinitions
	}
	if err != nil {
		return err
	}
	path, err := filepath.Abs(r.file)
	if err != nil {
		return err
	}
	if r.before, err = readDefinitions(r.file); err != nil {
		return err
	}
	r.after = r.before
	state, err := openState()
	if err != nil {
		return err
	}
	r.Servers = []string{name}
	// Only entries that were written from this file are removed.
	r.Sources = []string{path}
	r.plan = state.Remove(&r.Selection)
	after, err := stax.Remove(r.file, r.before, name)
	switch {
	case errors.Is(err, stax.ErrNoServer) && len(r.plan.Files) == 0:
		return r.unknown(name)
	// The definition stays if it does not exist, or if the server is removed from some clients
	// only.
	case errors.Is(err, stax.ErrNoServer), len(r.Clients) > 0 && err == nil:
	case err != nil:
		return notWritten(r.file, err)
	default:
		r.after = after
	}
	if len(r.Clients) > 0 && len(r.plan.Files) == 0 {
		return no("slipway config diff and slipway config clients show files",
			"remove: no entry %q of Slipway is in the files of %s", name, strings.Join(r.Clients, ", "))
	}
	return nil
}

// unknown returns the error for a name that nothing has.
func (r *removing) unknown(name string) error {
	known := serversIn(r.file, r.before)
	hint := "slipway config check " + shell.PathWord(r.file) + " reads the file"
	switch near := nearest.DidYouMean(name, known); {
	case r.otherScopeHas(name):
		hint = "it is in the definitions of the project: slipway remove --scope project " + shell.LastWord(name)
		if r.Scope == clients.Project {
			hint = "it is in your own definitions: slipway remove " + shell.LastWord(name)
		}
	case near != "":
		hint = "did you mean " + near + "?"
	case len(known) > 0:
		hint = "it has " + strings.Join(known, ", ")
	case len(known) == 0:
		hint = "slipway add SOURCE adds a server; slipway config remove removes entries of other definitions"
	}
	return no(hint, "remove: no server is named %q in %s", name, r.file)
}

// serversIn returns the names of the servers in a definitions file.
func serversIn(file string, text []byte) []string {
	doc, _ := stax.Parse(file, text, nil)
	return names(doc.Config.Servers, func(s stax.Server) string { return s.Name })
}

// otherScopeHas reports whether the definitions of the other scope have a server of that name.
func (r *removing) otherScopeHas(name string) bool {
	file := projectFile()
	if r.Scope == clients.Project {
		file, _ = userFile()
	}
	if file == "" {
		return false
	}
	text, err := readDefinitions(file)
	return err == nil && slices.Contains(serversIn(file, text), name)
}

// definitionsPlan returns the change of the definitions file in the form of a plan.
func (r *removing) definitionsPlan(name string) *clients.FilePlan {
	f := &clients.FilePlan{
		Name: "Definitions",
		Path: r.file,
		Steps: []clients.Step{{
			Server: name,
			Action: clients.Delete,
		}},
	}
	f.Diff = stax.Diff(f.Short(), r.before, r.after)
	return f
}

// write writes the files of clients, and then the definitions: if the former fail, the
// definition stays, and remove can be repeated.
func (r *removing) write() error {
	err := r.plan.Apply()
	if slices.ContainsFunc(r.plan.Files, func(f *clients.FilePlan) bool { return f.Problem != "" }) {
		r.after = r.before // the caller reports the problem
		return nil
	}
	if err != nil {
		return badInput("slipway remove tries again", "remove: nothing was removed: %v", err)
	}
	if bytes.Equal(r.before, r.after) {
		return nil
	}
	if err := stax.WriteFile(r.file, r.before, r.after); err != nil {
		return badInput("slipway remove tries again", "%s: %s", r.file, fsutil.Reason(err))
	}
	return nil
}

// conclude prints what was done.
func (r *removing) conclude(w io.Writer, name string) {
	var from []string
	for _, f := range r.plan.Files {
		kept := slices.ContainsFunc(f.Steps, func(s clients.Step) bool {
			return s.Action == clients.Conflict
		})
		if f.Problem == "" && !kept {
			from = append(from, f.Name)
		}
	}
	if !bytes.Equal(r.before, r.after) {
		from = append(from, filepath.Base(r.file))
	}
	if len(from) == 0 {
		return
	}
	word := "removed"
	if r.dryRun {
		word = "would remove"
	}
	fmt.Fprintf(w, "%s %s from %s\n", word, visible.Line(name), strings.Join(from, ", "))
	if bytes.Equal(r.before, r.after) && len(r.Clients) > 0 {
		fmt.Fprintf(w, "  %s keeps its definition: slipway config apply writes it again\n", filepath.Base(r.file))
	}
}
