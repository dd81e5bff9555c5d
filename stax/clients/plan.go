package clients

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// Action is what happens to one server in one file.
type Action string

// The actions.
const (
	Create    Action = "create"
	Update    Action = "update"    // the entry is ours and changes
	Unchanged Action = "unchanged" // the entry is up to date
	Conflict  Action = "conflict"  // the name is taken by another entry, or ours was changed; it stays
	LeftOut   Action = "left out"  // the client does not get it
	Delete    Action = "remove"    // the entry is ours and no longer defined
)

// Step is what happens to one server in one file.
type Step struct {
	// Server is the name of the entry, Action what happens to it, and Why the reason.
	Server string `json:"server"`
	Action Action `json:"action"`
	Why    string `json:"why,omitempty"`
	// Fields lists the members that differ from the current entry.
	Fields []string `json:"fields,omitempty"`
	// From is the provenance of the definition, the digest first.
	From string `json:"from,omitempty"`

	// entry is the value to write, or nil.
	entry *tree.Node
}

// FilePlan is what happens to the file of one client.
type FilePlan struct {
	// Client is the id of the program, and Name its name.
	Client string `json:"client"`
	Name   string `json:"name"`
	// Scope and Path identify the file, and Exists reports whether it exists yet.
	Scope  Scope  `json:"scope"`
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
	// Steps are the entries to write, keep or remove, in order.
	Steps []Step `json:"steps"`
	// Todo lists the remaining steps for the user.
	Todo []string `json:"todo,omitempty"`
	// Diff is the change as a unified diff, with existing secrets redacted.
	Diff string `json:"diff,omitempty"`
	// Problem is why the file cannot be edited. It is left unchanged.
	Problem string `json:"problem,omitempty"`
	// Unsafe reports whether the problem is one of security.
	Unsafe bool `json:"unsafe,omitempty"`

	// client is the program, and entries are those that the plan writes.
	client  *Client
	entries []Entry
	from    map[string]string // for servers from a registry
	// takeOver permits replacing entries that others have written.
	takeOver bool
	// before is the content when the plan was made, which Apply compares, and after the new one.
	before, after []byte
}

// Plan is the set of changes that [Plan.Apply] makes.
type Plan struct {
	// Files are the files in the order of the table of clients.
	Files []*FilePlan `json:"files"`

	// state records what was written, and sources are the definitions files of the plan.
	state   *State
	sources []string
	servers []string // nil means all
	// elsewhere are servers that are defined, but not by the definitions of the plan.
	elsewhere []string
}

// PlanOptions configures [NewPlan]. The zero value and nil are the defaults.
type PlanOptions struct {
	Options
	// Place is the computer and the project whose files are meant.
	Place Place
	// Scope is the scope of the files. Empty is Project.
	Scope Scope
	// Clients are the clients to configure. Nil means those whose file exists.
	Clients []Client
	// Servers restricts the plan to these servers: entries of others stay as they are. Nil
	// means all servers of the definitions.
	Servers []string
	// Elsewhere are servers of the same definitions files that the definitions of the plan omit:
	// their entries stay too.
	Elsewhere []string
	// Replace replaces entries that are not ours or were changed.
	Replace bool
}

// NewPlan determines the changes that give clients the servers of the definitions, and
// reports what is lost in the process. It writes nothing.
func NewPlan(m *stax.Merged, state *State, opts *PlanOptions) (*Plan, *check.Report, error) {
	if opts == nil {
		opts = &PlanOptions{}
	}
	scope := opts.Scope
	if scope == "" {
		scope = Project
	}
	all := opts.Clients
	if all == nil {
		all = Present(&opts.Place, scope)
	}
	if scope == Project {
		inProject := *opts
		inProject.Project = cmp.Or(opts.Project, opts.Place.Dir, ".")
		opts = &inProject
	}
	plan := &Plan{
		state:   state,
		sources: opts.Sources,
		servers: opts.Servers,

		elsewhere: opts.Elsewhere,
	}
	if opts.Servers != nil {
		m = m.Only(opts.Servers...)
	}
	report := &check.Report{}
	texts := map[string][]byte{} // two clients may share a file
	var launched []Entry
	from := provenance(m)
	for i := range all {
		c := &all[i]
		path, exists, err := opts.Place.Path(c, scope)
		if err != nil {
			return nil, nil, err
		}
		entries, lost := Translate(c, m, &opts.Options)
		report.Add(lost.Findings()...)
		agree(c, path, entries, all, m, opts, scope, report)
		launched = append(launched, entries...)
		f := &FilePlan{
			Client:   c.ID,
			Name:     c.Name,
			Scope:    scope,
			Path:     path,
			Exists:   exists,
			client:   c,
			entries:  entries,
			from:     from,
			takeOver: opts.Replace,
			Steps:    []Step{},
		}
		plan.Files = append(plan.Files, f)
		if f.Problem = opts.Place.leadsOut(path, scope); f.Problem != "" {
			f.Unsafe = true
			continue
		}
		path = oneName(path)
		f.Path = path
		if f.Problem = cmp.Or(fsutil.ReadOnly(path), fsutil.BrokenLink(path)); f.Problem != "" {
			continue
		}
		text, seen := texts[path]
		if !seen {
			if text, err = readFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				f.Problem = fsutil.Reason(err)
				continue
			}
		}
		f.before = text
		plan.file(f)
		texts[path] = f.after
	}
	if opts.Place.OS == "" || opts.Place.OS == runtime.GOOS {
		commands(m, report)
		launcherThere(launched, m, &opts.Options, report)
	}
	return plan, report, nil
}

// Present returns the clients whose file exists.
func Present(place *Place, scope Scope) []Client {
	present := []Client{}
	for _, c := range All() {
		_, exists, err := place.Path(&c, scope)
		if err == nil && exists {
			present = append(present, c)
		}
	}
	return present
}

// Installed returns the clients that seem to be installed for this user: their file exists,
// or the folder that the client itself creates for it.
func Installed(place *Place) []Client {
	installed := []Client{}
	for _, c := range All() {
		if place.installed(&c) {
			installed = append(installed, c)
		}
	}
	return installed
}

// commands reports programs that are not on the PATH of this process. The client may have
// a different PATH.
func commands(m *stax.Merged, report *check.Report) {
	resolver := &stax.Resolver{}
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		if s.Remote() || s.Disabled() {
			continue
		}
		if _, err := resolver.LookPath(s.Command); err != nil {
			m.Origin(s.Name).Reporter(report).Add(ruleCommandNotFound, pointer(s, "command"), "",
				"the command %q of server %q is not found here", s.Command, s.Name)
		}
	}
}

// file plans one file.
func (p *Plan) file(f *FilePlan) {
	f.Steps = []Step{}
	f.Todo = nil
	f.Diff = ""
	f.after = f.before
	there, err := edit.Get(f.before, f.client.target())
	if err != nil {
		f.Problem = "the file cannot be read: " + err.Error()
		return
	}
	kept := p.state.files[f.Path]
	var variables []string
	for _, e := range f.entries {
		step := decide(e, entryOf(there, e.Name), kept, f.takeOver)
		step.From = f.from[e.Name]
		f.Steps = append(f.Steps, step)
		if step.Action != Conflict && step.Action != LeftOut {
			variables = append(variables, e.Variables...)
		}
	}
	f.Steps = append(f.Steps, p.leftovers(f.entries, there, kept)...)
	for _, s := range f.Steps {
		var text []byte
		switch s.Action {
		case Create, Update:
			text, err = edit.Set(f.after, f.client.target(), s.Server, s.entry)
		case Delete:
			text, err = edit.Remove(f.after, f.client.target(), s.Server)
		default:
			continue
		}
		if err != nil {
			f.Problem = err.Error()
			f.after = f.before
			return
		}
		f.after = text
	}
	f.finish(variables)
}

// provenance returns the origin of each server that came from a registry.
func provenance(m *stax.Merged) map[string]string {
	from := map[string]string{}
	for i := range m.Config.Servers {
		if s := &m.Config.Servers[i]; s.RegistryRef != nil {
			from[s.Name] = s.RegistryRef.String()
		}
	}
	return from
}

// entryOf returns the entry of a file, or nil.
func entryOf(there []edit.Entry, name string) *tree.Node {
	for _, e := range there {
		if e.Name == name {
			return e.Value
		}
	}
	return nil
}

// decide returns the step for one defined server.
func decide(e Entry, there *tree.Node, kept *record, takeOver bool) Step {
	step := Step{
		Server: e.Name,
		entry:  e.Value,
	}
	ours := kept.pristine(e.Name, there)
	switch {
	case e.LeftOut != "" && ours:
		step.Action = Delete
		step.Why = e.LeftOut
	case e.LeftOut != "":
		step.Action = LeftOut
		step.Why = e.LeftOut
	case there == nil:
		step.Action = Create
	case equal(there, e.Value):
		step.Action = Unchanged
	case ours || takeOver:
		step.Action = Update
		step.Fields = differing(there, e.Value)
	default:
		step.Action = Conflict
		step.Fields = differing(there, e.Value)
		step.Why = "an entry that slipway did not write has the name"
		if kept != nil {
			if _, was := kept.Servers[e.Name]; was {
				step.Why = "it was changed since it was written"
			}
		}
	}
	if e.Launched && step.Action != LeftOut {
		step.Why = strings.TrimPrefix(step.Why+", through the launcher", ", ")
	}
	return step
}

// differing returns the members in which two entries differ.
func differing(a, b *tree.Node) []string {
	var fields []string
	for _, m := range a.Members {
		other := b.Get(m.Key)
		if other == nil || !equal(other, m.Value) {
			fields = append(fields, m.Key)
		}
	}
	for _, m := range b.Members {
		if a.Get(m.Key) == nil {
			fields = append(fields, m.Key)
		}
	}
	return fields
}

// leftovers returns steps for entries that were written from the same definitions files
// but are no longer defined.
func (p *Plan) leftovers(entries []Entry, there []edit.Entry, kept *record) []Step {
	if kept == nil {
		return nil
	}
	var steps []Step
	for _, e := range there {
		w, ours := kept.Servers[e.Name]
		defined := slices.ContainsFunc(entries, func(d Entry) bool {
			return d.Name == e.Name
		})
		if !ours || defined || !p.manages(e.Name, w) {
			continue
		}
		if same(w.Entry, e.Value) {
			steps = append(steps, Step{
				Server: e.Name,
				Action: Delete,
				Why:    "it is no longer defined",
			})
		} else {
			steps = append(steps,
				Step{
					Server: e.Name,
					Action: Conflict,
					Why:    "it is no longer defined, and was changed since it was written",
				})
		}
	}
	return steps
}

// manages reports whether an entry was written from the definitions of the plan, and the
// plan includes its server.
func (p *Plan) manages(server string, w written) bool {
	return slices.Equal(w.Sources, p.sources) && !slices.Contains(p.elsewhere, server) &&
		(p.servers == nil || slices.Contains(p.servers, server))
}

// finish adds the diff and the remaining steps.
func (f *FilePlan) finish(variables []string) {
	if !f.Changes() {
		return
	}
	f.Diff = unified(f, f.before, f.after)
	slices.Sort(variables)
	if variables = slices.Compact(variables); len(variables) > 0 {
		f.Todo = append(f.Todo, "set "+strings.Join(variables, ", ")+" where "+f.Name+" is started")
	}
	f.Todo = append(f.Todo, f.client.Todos(f.Scope, len(variables) > 0)...)
}

// Short returns [ShortPath] of the path.
func (f *FilePlan) Short() string { return ShortPath(f.Path) }

// ShortPath returns a path for display: relative if it is in the working folder, or with ~
// for the home folder.
func ShortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	for _, dir := range []string{dir, filepath.Dir(oneName(filepath.Join(dir, "x")))} {
		rel, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	if home, err := os.UserHomeDir(); err == nil && filepath.Dir(home) != home {
		rel, err := filepath.Rel(home, path)
		if err == nil && filepath.IsLocal(rel) {
			return filepath.Join("~", rel)
		}
	}
	return path
}

// Changes reports whether the content of the file changes.
func (f *FilePlan) Changes() bool {
	return string(f.before) != string(f.after)
}

// Conflicts returns the number of entries with a conflict, which are left unchanged.
func (p *Plan) Conflicts() int {
	n := 0
	for _, f := range p.Files {
		for _, s := range f.Steps {
			if s.Action == Conflict {
				n++
			}
		}
	}
	return n
}
