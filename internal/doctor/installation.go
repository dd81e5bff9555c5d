package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// Installation checks this installation, the user's definitions, and all installed clients.
func (d *Doctor) Installation(ctx context.Context) {
	const about = "installation"
	d.Add(about, "version", func(check.Reporter) string { return d.opts.Version })
	if d.opts.Program != "" {
		d.Add(about, "PATH", d.checkPath)
	}
	if d.opts.StateDir != "" {
		d.Add(about, "state", d.checkState)
	}
	if d.opts.Addr != "" {
		d.Add(about, "port", d.checkPort)
	}
	found := clients.Installed(&d.opts.Place)
	d.Add(about, "clients", func(r check.Reporter) string {
		if len(found) == 0 {
			r.Add(ruleNoClients, "", "slipway config clients", "no client is installed for this user")
			return "none"
		}
		return check.Count(len(found), "client")
	})
	d.userDefinitions(ctx)
	for i := range found {
		d.Client(ctx, &found[i])
	}
}

// checkPath checks that the running program is the first of its name on the PATH.
func (d *Doctor) checkPath(r check.Reporter) string {
	folder := filepath.Dir(d.opts.Program)
	first, err := d.lookPath(baseName(d.opts.Program), nil)
	if err != nil {
		r.Add(rulePathMissing, "", d.prependPath(folder), "%s is not in a folder of the PATH", d.opts.Program)
		return "missing"
	}
	if !sameFile(first, d.opts.Program) {
		r.Add(rulePathShadowed, "", d.prependPath(folder), "%s runs instead of %s", first, d.opts.Program)
	}
	return first
}

// sameFile reports whether two paths lead to the same file, through links or not.
func sameFile(a, b string) bool {
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(one, other)
}

// checkState checks that the record of written entries can be read. Without it, config apply
// cannot tell its own entries from others.
func (d *Doctor) checkState(r check.Reporter) string {
	state, err := clients.OpenState(d.opts.StateDir)
	if err != nil {
		r.Add(ruleState, "", d.setAside(d.opts.StateDir),
			"%s; without it, slipway config apply --replace takes over the entries again", fsutil.Reason(err))
		return clients.ShortPath(d.opts.StateDir)
	}
	n := len(state.Servers(&clients.Selection{}))
	return fmt.Sprintf("%s, %s written to clients", clients.ShortPath(d.opts.StateDir), check.Count(n, "server"))
}

// checkPort checks that the address of slipway serve is free.
func (d *Doctor) checkPort(r check.Reporter) string {
	return d.tryAddress(r, d.opts.Addr, "slipway serve SOURCE")
}

// nextFree returns the next address with a free port, or with port 0.
func (d *Doctor) nextFree(addr string) string {
	const tries = 20
	host, port, err := net.SplitHostPort(addr)
	first, _ := strconv.Atoi(port) // it was listened on
	for n := first + 1; err == nil && n < first+tries; n++ {
		next := net.JoinHostPort(host, strconv.Itoa(n))
		if l, err := d.opts.Listen("tcp", next); err == nil {
			_ = l.Close() // nothing has connected
			return next
		}
	}
	return net.JoinHostPort(host, "0")
}

// userDefinitions checks the user's definitions file and its servers.
func (d *Doctor) userDefinitions(ctx context.Context) {
	const about = "definitions"
	name := d.opts.Definitions
	if name == "" {
		d.Add(about, "file", func(r check.Reporter) string {
			r.Add(ruleConfigFolder, "", d.setHome(), "the config folder is unknown: %s is not set", d.homeVariable())
			return "unknown"
		})
		return
	}
	folder := filepath.Dir(name)
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		d.Add(about, "file", func(r check.Reporter) string {
			r.Add(ruleConfigFolder, "", d.setAside(folder),
				"%s is not a folder", folder)
			return clients.ShortPath(name)
		})
		return
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		d.Add(about, "file", func(check.Reporter) string {
			return clients.ShortPath(name) + " does not exist yet"
		})
		return
	}
	d.Definitions(ctx, about, name)
}

// homeVariable returns the variable that locates the config folder.
func (d *Doctor) homeVariable() string {
	if d.opts.Place.OS == "windows" {
		return "APPDATA"
	}
	return "HOME"
}

// setHome returns the command that sets the variable of the config folder. A tilde alone
// would expand to the missing value.
func (d *Doctor) setHome() string {
	if d.opts.Place.OS == "windows" {
		return `set APPDATA=%USERPROFILE%\AppData\Roaming`
	}
	return `export HOME="$(eval echo "~$(id -un)")"`
}

// Definitions checks the definitions file called name: its syntax, its secrets, and its
// servers, which are started only with [Options.Start].
func (d *Doctor) Definitions(ctx context.Context, about, name string) {
	var merged *stax.Merged
	var doc *stax.Document
	if !d.Add(about, "file", func(r check.Reporter) string {
		var report *check.Report
		var err error
		doc, report, err = stax.ReadFile(name)
		if err != nil {
			r.In(name).Add(ruleDefinitions, "", d.unlock(name, err), "%s", fsutil.Reason(err))
			return clients.ShortPath(name)
		}
		merged = stax.Merge(doc)
		all := &check.Report{}
		all.Merge(report)
		all.Merge(merged.Check())
		for _, f := range all.Findings() {
			if f.Severity == check.Error {
				if f.Rule.ID == "stax/syntax" {
					f.Hint = d.edit(name, f.Line, f.Column)
				}
				r.Report.Add(f)
			}
		}
		return fmt.Sprintf("%s, %s", clients.ShortPath(name), check.Count(len(merged.Config.Servers), "server"))
	}) {
		return
	}
	var skip []string // servers without a program
	d.Add(about, "servers", func(r check.Reporter) string {
		var enabled int
		enabled, skip = d.checkServers(ctx, doc.Reporter(r.Report), merged)
		return fmt.Sprintf("%d enabled", enabled)
	})
	if d.opts.Start {
		d.start(ctx, &starting{
			about: about,
			from:  name,
			skip:  skip,
			edit: func(server string) string {
				return d.editAt(doc.Reporter(&check.Report{}).Under(serverPointer(server)))
			},
		}, merged)
	}
}

// checkServers checks the programs and the secrets of the enabled servers of definitions.
// It returns their number, and those without a program.
func (d *Doctor) checkServers(
	ctx context.Context,
	r check.Reporter,
	m *stax.Merged,
) (enabled int, broken []string) {
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		if s.Disabled() {
			continue
		}
		enabled++
		if !s.Remote() && d.checkProgram(r.Under(serverPointer(s.Name)), &local{
			name: s.Name,
			argv: append([]string{s.Command}, s.Args...),
			env:  s.Env,
		}) == "" {
			broken = append(broken, s.Name)
		}
	}
	for _, f := range d.opts.Resolver.Find(ctx, m) {
		if f.Required && f.Source == "" {
			server := f.Servers[0]
			r.Under(serverPointer(server)).Add(ruleSecret, "", d.setVariable(f.Key),
				"%s needs the secret %s, which is not set", server, f.Key)
		}
	}
	return enabled, broken
}

// serverPointer returns the JSON pointer of a server in definitions.
func serverPointer(name string) string {
	return "/servers/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
