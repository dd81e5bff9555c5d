package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
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
		s.Command, s.Args = argv[0], argv[1:]
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

// locking is the flags of the lock commands.
type locking struct {
	file    string
	servers []string // only these
	secrets definitions
}

func (l *locking) flags(cmd *cobra.Command) {
	l.secrets.flags(cmd)
	valueFlags(cmd)
	cmd.Flags().StringArray("secrets-from", nil, "a `source` of the secrets of definitions, asked in the order given (repeatable)")
	networkFlag(cmd)
	cmd.Flags().StringArrayVar(&l.servers, "server", nil, "only this `server` of definitions, or source (repeatable)")
}

// lockFlag adds --lock to a command for an existing lock.
func (l *locking) lockFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.file, "lock", "", "the lock `FILE` (default: slipway.lock beside the definitions, or here)")
}

// path returns the path of the lock.
func (l *locking) path(cmd *cobra.Command, args []string) (string, error) {
	switch l.file {
	case "":
	case lockOff, lockRequired:
		return "", usage("name a file, or leave --lock out for slipway.lock",
			"%s: --lock %s is for commands that open sources", cmd.Name(), l.file)
	default:
		return l.file, nil
	}
	candidates := lockCandidates(args)
	if len(candidates) > 1 {
		return "", usage("say which with --lock FILE, or -o FILE", "%s: the sources have several folders", cmd.Name())
	}
	return candidates[0], nil
}

// subject is a source to lock.
type subject struct {
	name, origin string
	open         func(ctx context.Context) (mcp.Source, error)
}

// subjects returns the sources that args name: for definitions, each enabled server.
func (l *locking) subjects(cmd *cobra.Command, args []string) (all []subject, err error) {
	opts, err := sourceOptions(cmd, nil, nil)
	if err != nil {
		return nil, err
	}
	names := sourceNames(args)
	for i, arg := range args {
		if !isDefinitionsFile(arg) {
			all = append(all, subject{names[i], originOf(arg), func(ctx context.Context) (mcp.Source, error) { return open.Open(ctx, arg, opts) }})
			continue
		}
		servers, err := l.serversIn(cmd, arg, opts)
		if err != nil {
			return nil, err
		}
		all = append(all, servers...)
	}
	seen := make(map[string]bool)
	for _, s := range all {
		if seen[s.name] {
			return nil, usage("lock them in files of their own: -o FILE", "%s: two sources are called %q", cmd.Name(), s.name)
		}
		seen[s.name] = true
	}
	if len(l.servers) > 0 {
		all = slices.DeleteFunc(all, func(s subject) bool { return !slices.Contains(l.servers, s.name) })
	}
	return all, nil
}

func (l *locking) serversIn(cmd *cobra.Command, file string, opts *open.Options) (all []subject, err error) {
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
		all = append(all, subject{s.Name, origin, func(ctx context.Context) (mcp.Source, error) {
			return opts.Definitions.Resolver.Open(ctx, merged, s.Name, &stax.OpenOptions{Live: opts.Live.Source, Whole: true})
		}})
	}
	return all, nil
}

// snapshots reads the catalogs of all sources concurrently. A source that cannot be read
// is an error, because nothing is known about it.
func snapshots(ctx context.Context, subjects []subject) (map[string]*lock.Entry, *check.Report, error) {
	taken := make([]*lock.Entry, len(subjects))
	reports := make([]*check.Report, len(subjects))
	errs := make([]error, len(subjects))
	var all sync.WaitGroup
	for i, s := range subjects {
		all.Go(func() {
			src, err := s.open(ctx)
			if err != nil {
				errs[i] = unasked(s.name, err)
				return
			}
			defer closeSource(src)
			if taken[i], reports[i], err = lock.Record(ctx, s.name, src, s.origin); err != nil {
				errs[i] = answered(s.name, err)
			}
		})
	}
	all.Wait()
	out, report := make(map[string]*lock.Entry), &check.Report{}
	for i, s := range subjects {
		if errs[i] != nil {
			return nil, nil, errs[i]
		}
		out[s.name] = taken[i]
		report.Merge(reports[i])
	}
	return out, report, nil
}

// unasked returns the error for a source whose catalog cannot be read.
func unasked(name string, err error) error {
	var opening *open.Error
	if errors.As(err, &opening) {
		return err
	}
	text := "server " + name + ": " + err.Error()
	if f := blocked(text, err); f != nil {
		return f
	}
	next := cmp.Or(open.Hint(err, "FILE"), "--server NAME leaves the others alone")
	f := &failure{code: exitRemote, text: text, hint: next}
	var missing *stax.MissingError
	var command *client.CommandError
	switch {
	case errors.As(err, &missing):
		f.code, f.hint = exitNo, "--secrets-from says where secrets are"
	case errors.As(err, &command):
		f.code = exitInput
	}
	return f
}

// compared is a lock and the current catalogs of its sources.
type compared struct {
	path   string
	text   []byte // of the lock
	file   *lock.File
	now    map[string]*lock.Entry
	drifts []lock.Drift
	report *check.Report // findings about the catalogs, without the drifts

	definitions []string // names of the definitions files
}

// compare reads the lock and the catalogs of the sources.
func (l *locking) compare(cmd *cobra.Command, args []string) (*compared, error) {
	path, err := l.path(cmd, args)
	if err != nil {
		return nil, err
	}
	c := &compared{path: path, definitions: definitionsOf(args)}
	if c.file, c.text, err = readLock(path); err != nil {
		return nil, err
	}
	subjects, err := l.subjects(cmd, args)
	if err != nil {
		return nil, err
	}
	for _, name := range l.servers {
		if c.file.Sources[name] == nil && !slices.ContainsFunc(subjects, func(s subject) bool { return s.name == name }) {
			return nil, no("", "%s: there is no server or source %q", cmd.Name(), name)
		}
	}
	if c.now, c.report, err = snapshots(cmd.Context(), subjects); err != nil {
		return nil, err
	}
	all := maps.Clone(c.file.Sources)
	maps.Copy(all, c.now)
	c.report.Add(lock.Mentions(all)...)
	for _, s := range subjects {
		c.drifts = append(c.drifts, lock.Compare(s.name, c.file.Sources[s.name], c.now[s.name])...)
	}
	for _, name := range c.file.Names() {
		if c.now[name] == nil && (len(l.servers) == 0 || slices.Contains(l.servers, name)) {
			c.drifts = append(c.drifts, lock.Compare(name, c.file.Sources[name], nil)...)
		}
	}
	return c, nil
}
