package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
)

// originOf returns the digest of how a source is started or reached, or "" if it is a
// path, which may differ on another machine.
func originOf(arg string) string {
	s := &stax.Server{}
	if command, ok := strings.CutPrefix(arg, "exec:"); ok {
		var argv []string
		if json.Unmarshal([]byte(command), &argv) != nil || len(argv) == 0 {
			return ""
		}
		s.Command = argv[0]
		s.Args = argv[1:]
	} else {
		s.URL = strings.TrimPrefix(strings.TrimPrefix(arg, "live:"), "site:")
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" {
			return ""
		}
	}
	origin, err := s.Origin()
	if err != nil {
		return "" // not UTF-8; no server has such a name
	}
	return origin
}

// targetsOf returns the sources that arguments name, with distinct names.
func targetsOf(args []string) (targets []lock.Target) {
	for i, name := range sourceNames(args) {
		t := lock.Target{
			Name:   name,
			Origin: originOf(args[i]),
		}
		if isDefinitionsFile(args[i]) {
			t.Definitions = args[i]
		}
		targets = append(targets, t)
	}
	return targets
}

// locking is the flags of the lock commands.
type locking struct {
	file    string
	servers []string // only these
	known   []string // the names of all enabled servers and sources, set by subjects
	secrets definitions
}

// flags defines the flags that all lock commands share.
func (l *locking) flags(cmd *cobra.Command) {
	l.secrets.flags(cmd)
	valueFlags(cmd)
	cmd.Flags().StringArray("secrets-from", nil,
		"`source` of secrets for definitions, searched in the given order (repeatable)")
	networkFlag(cmd)
	cmd.Flags().StringArrayVar(&l.servers, "server", nil,
		"only this `server` of definitions, or this source (repeatable)")
}

// lockFlag adds --lock to a command for an existing lock.
func (l *locking) lockFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.file, "lock", "",
		"lock `FILE` (default: slipway.lock next to the definitions, or in the current folder)")
}

// path returns the path of the lock.
func (l *locking) path(cmd *cobra.Command, args []string) (string, error) {
	switch l.file {
	case "":
	case lockOff, lockRequired:
		return "", usage("name a file, or omit --lock for slipway.lock",
			"%s: --lock %s is for commands that open sources", cmd.Name(), l.file)
	default:
		return l.file, nil
	}
	candidates := lock.Paths(targetsOf(args))
	if len(candidates) > 1 {
		return "", usage("say which with --lock FILE, or -o FILE", "%s: the sources have several folders", cmd.Name())
	}
	return candidates[0], nil
}

// subjects returns the sources that args name: for definitions, each enabled server.
func (l *locking) subjects(cmd *cobra.Command, args []string) (all []lock.Subject, err error) {
	opts, err := sourceOptions(cmd, nil, nil)
	if err != nil {
		return nil, err
	}
	for i, t := range targetsOf(args) {
		if t.Definitions == "" {
			all = append(all, lock.Subject{
				Name:   t.Name,
				Origin: t.Origin,
				Open: func(ctx context.Context) (mcp.Source, error) {
					return open.Open(ctx, args[i], opts)
				},
			})
			continue
		}
		servers, err := l.serversIn(cmd, t.Definitions, opts)
		if err != nil {
			return nil, err
		}
		all = append(all, servers...)
	}
	// The names are the keys of the lock file.
	seen := make(map[string]bool)
	for _, s := range all {
		if seen[s.Name] {
			return nil, usage("lock them in separate files: -o FILE",
				"%s: two sources are named %q", cmd.Name(), s.Name)
		}
		seen[s.Name] = true
		l.known = append(l.known, s.Name)
	}
	if len(l.servers) > 0 {
		all = slices.DeleteFunc(all, func(s lock.Subject) bool {
			return !slices.Contains(l.servers, s.Name)
		})
	}
	return all, nil
}

// serversIn returns the enabled servers of a definitions file. Each is opened with its whole
// catalog, before overrides and tool lists apply, because the lock contains the server's own
// names.
func (l *locking) serversIn(
	cmd *cobra.Command,
	file string,
	opts *open.Options,
) (all []lock.Subject, err error) {
	merged, err := l.secrets.valid(cmd, []string{file})
	if err != nil {
		return nil, err
	}
	for i := range merged.Config.Servers {
		s := &merged.Config.Servers[i]
		if s.Disabled() {
			continue
		}
		origin, err := s.Origin()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		all = append(all, lock.Subject{
			Name:   s.Name,
			Origin: origin,
			Open: func(ctx context.Context) (mcp.Source, error) {
				return opts.Definitions.Resolver.Open(ctx, merged, s.Name, &stax.OpenOptions{
					Live:  opts.Live.Source,
					Whole: true,
				})
			},
		})
	}
	return all, nil
}

// waitForSubjects returns a tracker that shows which of the subjects have not opened.
func waitForSubjects(cmd *cobra.Command, subjects []lock.Subject) *tracker {
	wait := startWait(cmd, len(subjects), nil)
	for i := range subjects {
		s := &subjects[i]
		open := s.Open
		wait.begin(s.Name)
		s.Open = func(ctx context.Context) (mcp.Source, error) {
			src, err := open(ctx)
			wait.end(s.Name)
			return src, err
		}
	}
	return wait
}

// compare opens the lock and compares it with the current offer of the sources.
func (l *locking) compare(cmd *cobra.Command, args []string) (path string, c *lock.Comparison, err error) {
	if path, err = l.path(cmd, args); err != nil {
		return "", nil, err
	}
	file, err := openLock(path)
	if err != nil {
		return "", nil, err
	}
	subjects, err := l.subjects(cmd, args)
	if err != nil {
		return "", nil, err
	}
	defer waitForSubjects(cmd, subjects).finish()
	c, err = file.Verify(cmd.Context(), subjects, l.servers)
	return path, c, notSelected(cmd, unrecorded(err))
}

// notSelected returns the error for a selection that matches nothing. It returns other
// errors as they are.
func notSelected(cmd *cobra.Command, err error) error {
	var selection *lock.SelectionError
	if errors.As(err, &selection) {
		return no(selection.Hint, "%s: %s", cmd.Name(), selection.Message)
	}
	return err
}

// unrecorded returns the error for a source that could not be recorded. It returns other
// errors as they are.
func unrecorded(err error) error {
	var subject *lock.SubjectError
	var opening *open.Error
	switch {
	case !errors.As(err, &subject):
		return err
	case subject.Opened:
		return answered(subject.Name, subject.Err)
	case errors.As(err, &opening):
		return subject.Err
	}
	name := subject.Name
	err = subject.Err
	text := "server " + name + ": " + err.Error()
	if f := blocked(text, err); f != nil {
		return f
	}
	next := cmp.Or(serverHint(err, "FILE"), "--server NAME skips the others")
	f := remoteFailed(next, "%s", text)
	var missing *stax.MissingError
	var command *client.CommandError
	switch {
	case errors.As(err, &missing):
		f.code = exitNo
	case errors.As(err, &command):
		f.code = exitInput
	}
	return f
}
