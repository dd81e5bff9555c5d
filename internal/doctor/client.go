package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// clientFile is a config file of a client that was read.
type clientFile struct {
	client *clients.Client
	scope  clients.Scope
	path   string
	*clients.Imported

	skip []string // servers that cannot be started, or are replaced
}

// Client checks the config files of a client, in all scopes, and the servers in them. It
// starts and contacts servers only with [Options.Start]. A client without files is reported.
func (d *Doctor) Client(ctx context.Context, c *clients.Client) {
	var read []*clientFile
	files := 0
	for _, scope := range c.Scopes(d.opts.Place.OS) {
		path, exists, err := d.opts.Place.Path(c, scope)
		if err != nil || !exists {
			continue
		}
		files++
		f := &clientFile{
			client: c,
			scope:  scope,
			path:   path,
		}
		if d.Add(c.ID, string(scope)+" config", func(r check.Reporter) string {
			r.File = path
			if f.Imported, _, err = clients.Import(c, path); err != nil {
				reportUnreadable(r, c, err)
				return clients.ShortPath(path)
			}
			f.shadowed(r, d, read)
			for _, e := range f.Entries {
				d.checkEntry(r.AtLine(e.Line, e.Column), f, &e)
			}
			return fmt.Sprintf("%s, %s", clients.ShortPath(path), check.Count(len(f.Entries), "server"))
		}) || f.Imported != nil {
			read = append(read, f)
		}
	}
	if files == 0 {
		d.Add(c.ID, "config", func(r check.Reporter) string {
			r.Add(ruleNoFile, "", "slipway add SOURCE --client "+c.ID, "%s has no config file", c.Name)
			return "none"
		})
	}
	for _, f := range read {
		if d.opts.Start {
			d.start(ctx, c.ID, c.ID, f.merged(), literals(f.Values), f.skip)
		}
	}
}

// reportUnreadable reports a file that a client cannot read, either, at the place of the
// fault.
func reportUnreadable(r check.Reporter, c *clients.Client, err error) {
	var fault *clients.SyntaxError
	if errors.As(err, &fault) {
		r.AtLine(fault.Line, fault.Column).Add(ruleClientFile, "",
			fmt.Sprintf("correct line %d; until then %s may ignore all servers of the file", fault.Line, c.Name),
			"%s", fault.Message)
		return
	}
	r.Add(ruleClientFile, "", "ls -l "+process.ShellWord(r.File), "%s", fsutil.Reason(err))
}

// shadowed reports entries that replace those of the same name in files read before.
func (f *clientFile) shadowed(r check.Reporter, d *Doctor, before []*clientFile) {
	for _, e := range f.Entries {
		for _, other := range before {
			at := slices.IndexFunc(other.Entries, func(o clients.FileEntry) bool { return o.Name == e.Name })
			if at < 0 {
				continue
			}
			if other.skip = append(other.skip, e.Name); f.same(other, e.Name) {
				continue
			}
			place := fmt.Sprintf("%s:%d", clients.ShortPath(other.path), other.Entries[at].Line)
			r.AtLine(e.Line, e.Column).Add(ruleShadowed, "", d.unshadow(f.client, e.Name, other.scope, place),
				"server %q replaces another one in the %s's file, %s", e.Name, other.scope, place)
		}
	}
}

// same reports whether a server is the same in two files.
func (f *clientFile) same(other *clientFile, name string) bool {
	a := f.Config.Server(name)
	b := other.Config.Server(name)
	return a != nil && b != nil && reflect.DeepEqual(a, b)
}

// unshadow returns how to remove the entry that is replaced.
func (d *Doctor) unshadow(c *clients.Client, name string, scope clients.Scope, place string) string {
	if state, err := clients.OpenState(d.opts.StateDir); err == nil && d.opts.StateDir != "" {
		ours := state.Servers(&clients.Selection{
			Clients: []string{c.ID},
			Scope:   scope,
			Servers: []string{name},
		})
		if len(ours) > 0 {
			return fmt.Sprintf("slipway config remove %s --client %s --scope %s", process.ShellWord(name), c.ID, scope)
		}
	}
	return "rename one of them, or delete the entry in " + place
}

// checkEntry checks an entry of a client's file without starting anything.
func (d *Doctor) checkEntry(r check.Reporter, f *clientFile, e *clients.FileEntry) {
	s := f.Config.Server(e.Name)
	if s == nil {
		d.checkLauncher(r, f, e)
		return
	}
	if s.Disabled() {
		return
	}
	for _, key := range s.Secrets {
		_, literal := f.Values[key]
		if value, _ := d.opts.Place.LookupEnv(key); !literal && value == "" {
			r.Add(ruleVariable, "", d.setVariable(key)+" where "+f.client.Name+" is started",
				"server %q refers to the variable %s, which is not set here", s.Name, key)
		}
	}
	if !s.Remote() && d.checkProgram(r, &local{
		name:   s.Name,
		client: f.client,
		argv:   append([]string{s.Command}, s.Args...),
		env:    s.Env,
	}) == "" {
		f.skip = append(f.skip, s.Name)
	}
}

// setVariable returns the command that sets a variable.
func (d *Doctor) setVariable(name string) string {
	if d.opts.Place.OS == "windows" {
		return "setx " + name + " VALUE"
	}
	return "export " + name + "=VALUE"
}

// checkLauncher checks an entry that starts a server of definitions through Slipway, which
// is not imported.
func (d *Doctor) checkLauncher(r check.Reporter, f *clientFile, e *clients.FileEntry) {
	at := -1
	for i := range e.Command {
		if i > 0 && e.Command[i-1] == "config" && e.Command[i] == "run" {
			at = i
		}
	}
	if at < 0 {
		r.Add(ruleEntry, "", removeOrAdd(e.Name, f), "server %q: %s", e.Name, e.Problem)
		return
	}
	d.checkProgram(r, &local{
		name:   e.Name,
		client: f.client,
		argv:   e.Command,
	})
	var words []string
	skip := false
	for _, w := range e.Command[at+1:] {
		if !skip && !strings.HasPrefix(w, "-") {
			words = append(words, w)
		}
		skip = slices.Contains([]string{"--secrets", "--secrets-from", "--allow-network"}, w)
	}
	if len(words) < 2 {
		return
	}
	file, server := words[0], words[len(words)-1]
	if !filepath.IsAbs(file) && f.scope == clients.User {
		return // relative to a folder that only the client knows
	}
	if doc, _, err := stax.ReadFile(file); err != nil {
		r.Add(ruleLauncher, "", removeEntry(e.Name, f), "server %q is started from %s: %s", e.Name, file, fsutil.Reason(err))
	} else if doc.Config.Server(server) == nil && len(words) == 2 {
		r.Add(ruleLauncher, "", removeEntry(e.Name, f), "server %q is started from %s, which has no server %q", e.Name, file,
			server)
	}
}

// removeOrAdd returns how to repair an entry that says neither what to start nor where to
// connect.
func removeOrAdd(name string, f *clientFile) string {
	place := "--client " + f.client.ID + " --scope " + string(f.scope)
	return "delete the entry, then slipway add SOURCE --name " + process.ShellWord(name) + " " + place
}

// removeEntry returns the command that removes an entry of Slipway.
func removeEntry(name string, f *clientFile) string {
	return fmt.Sprintf("slipway config remove %s --client %s --scope %s", process.ShellWord(name), f.client.ID, f.scope)
}

// merged returns the servers of the file as definitions.
func (f *clientFile) merged() *stax.Merged {
	return stax.Merge(&stax.Document{
		Name:   f.path,
		Config: &f.Config,
	})
}

// literals are secrets that a client's file contains.
type literals map[string]stax.Secret

// String implements stax.SecretStore.
func (l literals) String() string { return "the file" }

// Lookup implements stax.SecretStore.
func (l literals) Lookup(_ context.Context, key string) (stax.Secret, bool, error) {
	secret, ok := l[key]
	return secret, ok, nil
}
