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
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// clientFile is a config file of a client that was read.
type clientFile struct {
	// client is the program that reads the file, scope whether it is the user's or a project's,
	// and path its full name.
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
	var seen []string
	for _, scope := range c.Scopes(d.opts.Place.OS) {
		path, exists, err := d.opts.Place.Path(c, scope)
		if err != nil || !exists {
			continue
		}
		if slices.ContainsFunc(seen, func(other string) bool { return sameFile(other, path) }) {
			continue // in the home folder, the file of the project is that of the user
		}
		seen = append(seen, path)
		f := &clientFile{
			client: c,
			scope:  scope,
			path:   path,
		}
		if d.Add(c.ID, string(scope)+" config", func(r check.Reporter) string {
			r.File = path
			if f.Imported, _, err = clients.Import(c, path); err != nil {
				d.reportUnreadable(r, c, err)
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
	if len(seen) == 0 {
		d.Add(c.ID, "config", func(r check.Reporter) string {
			r.Add(ruleNoFile, "", "slipway add SOURCE --client "+c.ID, "%s has no config file", c.Name)
			return "none"
		})
	}
	for _, f := range read {
		if d.opts.Start {
			d.start(ctx, &starting{
				about:  c.ID,
				from:   c.ID,
				values: literals(f.Values),
				skip:   f.skip,
				edit:   func(name string) string { return f.edit(d, name) },
			}, f.merged())
		}
	}
}

// reportUnreadable reports a file that a client cannot read, either, at the place of the
// fault.
func (d *Doctor) reportUnreadable(r check.Reporter, c *clients.Client, err error) {
	var fault *clients.SyntaxError
	if errors.As(err, &fault) {
		r.AtLine(fault.Line, fault.Column).Add(ruleClientFile, "", d.edit(r.File, fault.Line, fault.Column),
			"%s; until it is corrected, %s may ignore all servers of the file", fault.Message, c.Name)
		return
	}
	r.Add(ruleClientFile, "", d.unlock(r.File, err), "%s", fsutil.Reason(err))
}

// shadowed reports entries that replace those of the same name in files read before.
func (f *clientFile) shadowed(r check.Reporter, d *Doctor, before []*clientFile) {
	for _, e := range f.Entries {
		for _, other := range before {
			at := slices.IndexFunc(other.Entries, func(o clients.FileEntry) bool {
				return o.Name == e.Name
			})
			if at < 0 {
				continue
			}
			if other.skip = append(other.skip, e.Name); f.same(other, e.Name) {
				continue
			}
			place := fmt.Sprintf("%s:%d", clients.ShortPath(other.path), other.Entries[at].Line)
			r.AtLine(e.Line, e.Column).Add(ruleShadowed, "", d.removeEntry(other, e.Name),
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
			r.Add(ruleVariable, "", d.setVariable(key),
				"server %q refers to the variable %s, which is not set here; %s needs it where it is started", s.Name, key,
				f.client.Name)
		}
	}
	if !s.Remote() && d.checkProgram(r, &local{
		name:   s.Name,
		client: f.client,
		scope:  f.scope,
		argv:   append([]string{s.Command}, s.Args...),
		env:    s.Env,
	}) == "" {
		f.skip = append(f.skip, s.Name)
	}
}

// setVariable returns the command that sets a variable.
func (d *Doctor) setVariable(name string) string {
	return d.assign(name, "VALUE")
}

// assign returns the command that gives a variable a value.
func (d *Doctor) assign(name, value string) string {
	if d.opts.Place.OS == "windows" {
		return "setx " + name + " " + d.quote(value)
	}
	return "export " + name + "=" + d.quote(value)
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
		r.Add(ruleEntry, "", d.addAgain(e.Name, f), "server %q: %s", e.Name, e.Problem)
		return
	}
	d.checkProgram(r, &local{
		name:   e.Name,
		client: f.client,
		scope:  f.scope,
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
	file := words[0]
	server := words[len(words)-1]
	if !filepath.IsAbs(file) && f.scope == clients.User {
		return // relative to a folder that only the client knows
	}
	if doc, _, err := stax.ReadFile(file); err != nil {
		r.Add(ruleLauncher, "", d.removeEntry(f, e.Name), "server %q is started from %s: %s", e.Name, file,
			fsutil.Reason(err))
	} else if doc.Config.Server(server) == nil && len(words) == 2 {
		r.Add(ruleLauncher, "", d.removeEntry(f, e.Name), "server %q is started from %s, which has no server %q", e.Name,
			file, server)
	}
}

// addAgain returns the command that replaces an entry.
func (d *Doctor) addAgain(name string, f *clientFile) string {
	return fmt.Sprintf("slipway add SOURCE --name %s --client %s --scope %s --replace", d.quote(name), f.client.ID,
		f.scope)
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
