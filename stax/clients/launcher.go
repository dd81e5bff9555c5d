package clients

import (
	"runtime"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
)

// program returns the command of the launcher.
func (o *Options) program() string {
	if o.Program == "" {
		return "slipway"
	}
	return o.Program
}

// system returns the operating system of the client.
func (o *Options) system() string {
	if o.OS == "" {
		return runtime.GOOS
	}
	return o.OS
}

// passedOn returns the secrets that the client passes to the launcher: none if the
// launcher's flags select other sources, and only the required ones if the client starts
// no server while a variable is unset.
func passedOn(c *Client, m *stax.Merged, s *stax.Server, opts *Options) []string {
	elsewhere := false
	for i, flag := range opts.Flags {
		if flag == "--secrets-from" && i+1 < len(opts.Flags) {
			if opts.Flags[i+1] == "env" {
				elsewhere = false
				break
			}
			elsewhere = true
		}
	}
	if elsewhere {
		return nil
	}
	if !slices.Contains(c.References.Needed, c.References.EnvList) {
		return s.SecretKeys()
	}
	return slices.DeleteFunc(slices.Clone(s.SecretKeys()), func(key string) bool {
		d := m.Config.Declaration(key)
		return d != nil && d.Optional()
	})
}

// launch returns the arguments that make the launcher run a server. A name that looks
// like a flag is placed after all flags.
func launch(name string, opts *Options) []string {
	run := slices.Concat(opts.ProgramArgs, []string{"config", "run"})
	if strings.HasPrefix(name, "-") {
		return slices.Concat(run,
			opts.Flags,
			[]string{"--"},
			opts.Sources,
			[]string{name})
	}
	return slices.Concat(run, opts.Sources, []string{name}, opts.Flags)
}

// launcherThere reports a launcher that entries need but that is not on the PATH of this
// process.
func launcherThere(entries []Entry, m *stax.Merged, opts *Options, report *check.Report) {
	i := slices.IndexFunc(entries, func(e Entry) bool {
		return e.Launched && e.LeftOut == ""
	})
	if i < 0 {
		return
	}
	if _, err := (&stax.Resolver{}).LookPath(opts.program()); err != nil {
		name := entries[i].Name
		m.Origin(name).Reporter(report).Add(ruleCommandNotFound, pointer(m.Config.Server(name), ""),
			"write its whole path with --launcher", "the launcher %q is not found here", opts.program())
	}
}
