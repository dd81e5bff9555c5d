package open

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// starts makes a definition start Slipway with these arguments.
func (e *entries) starts(s *stax.Server, args []string) {
	s.Command = e.opts.Program[0]
	s.Args = slices.Concat(e.opts.Program[1:], args)
}

// served creates a definition that serves a source: a path, which becomes absolute, or a
// URL. The source is opened, so that the definition has its name, and mistakes show now.
func (e *entries) served(ctx context.Context, source string) (*Addition, error) {
	o := &Options{
		Live:     e.opts.Live,
		ListOnly: true,
	}
	src, err := Open(ctx, source, o)
	if err != nil {
		return nil, err
	}
	defer closeSource(src)
	cat, err := src.Catalog(ctx)
	if err != nil {
		return nil, e.fail(err, "")
	}
	if !strings.Contains(source, "://") {
		if source, err = e.placed(source); err != nil {
			return nil, unreadable(e.arg, err)
		}
	}
	s := stax.Server{
		Name:        cmp.Or(e.opts.Document.Name, entryName(cat.Server.Name), Argument(e.arg).Name()),
		Description: cat.Server.Title,
	}
	args := []string{"serve", "--stdio", source}
	if e.opts.Title != "" {
		args = append(args, "--title", e.opts.Title)
	}
	e.starts(&s, args)
	return &Addition{
		Entry:  &registry.Entry{Config: stax.Config{Servers: []stax.Server{s}}},
		Offers: offersOf(cat),
	}, nil
}

// entryName returns the name of a server in the form for definitions, or "" if it is
// unfit.
func entryName(own string) string {
	const most = 64
	if own = toName(own); len(own) > most {
		return ""
	}
	return own
}

// placed returns a path as it is written in the definition: absolute, or relative to the
// project if it is in it.
func (e *entries) placed(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil || e.opts.Dir == "" {
		return abs, err
	}
	dir, err := filepath.Abs(e.opts.Dir)
	if err != nil {
		return "", err
	}
	within, err := filepath.Rel(dir, abs)
	switch {
	case err != nil || !filepath.IsLocal(within):
		return abs, nil
	case within == ".":
		return within, nil
	}
	return "./" + filepath.ToSlash(within), nil
}

// offersOf counts what a catalog offers.
func offersOf(cat *mcp.Catalog) string {
	var words []string
	for _, kind := range []struct {
		n    int
		what string
	}{
		{len(cat.Tools), "tool"},
		{len(cat.Resources) + len(cat.Templates), "resource"},
		{len(cat.Prompts), "prompt"},
	} {
		switch {
		case kind.n == 1:
			words = append(words, "1 "+kind.what)
		case kind.n > 1:
			words = append(words, fmt.Sprintf("%d %ss", kind.n, kind.what))
		}
	}
	return strings.Join(words, ", ")
}

// isSite reports whether a StaticMCP site is at the typed URL.
func (e *entries) isSite(ctx context.Context) bool {
	site, err := openURL(ctx, parse(e.arg), &Options{Live: e.opts.Live})
	if err != nil {
		return false
	}
	closeSource(site)
	return true
}

// command creates a definition from a command line.
func (e *entries) command(t *target) (*Addition, error) {
	if t.argv == nil {
		return nil, &Error{
			Arg:  e.arg,
			Why:  "the text after exec: is not a JSON array of strings",
			Hint: "type the command as it is after --",
		}
	}
	s := stax.Server{
		Name:    cmp.Or(e.opts.Document.Name, shortName(Argument(e.arg).Name())),
		Command: t.argv[0],
		Args:    t.argv[1:],
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, e.fail(err, "")
	}
	e.anchor(&s, here)
	return &Addition{Entry: &registry.Entry{Config: stax.Config{Servers: []stax.Server{s}}}}, nil
}

// anchor makes a local server independent of the folder in which the client starts it: a
// relative path of the program becomes absolute, and a server with a relative path among
// its arguments gets dir as its folder. A project's own definitions stay relative.
func (e *entries) anchor(s *stax.Server, dir string) {
	if s.Remote() || e.opts.Dir != "" {
		return
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		s.Cwd = filepath.Join(dir, s.Cwd)
	}
	base := cmp.Or(s.Cwd, dir)
	if strings.ContainsRune(s.Command, filepath.Separator) && !filepath.IsAbs(s.Command) {
		s.Command = filepath.Join(base, s.Command)
	}
	if s.Cwd == "" && slices.ContainsFunc(s.Args, func(word string) bool {
		return namesFile(dir, word)
	}) {
		s.Cwd = dir
	}
}

// namesFile reports whether a word of a command line is the relative path of a file or
// folder in dir. A flag may have one after "=".
func namesFile(dir, word string) bool {
	_, value, ok := strings.Cut(word, "=")
	if ok && strings.HasPrefix(word, "-") {
		word = value
	}
	if word == "" || strings.HasPrefix(word, "-") || filepath.IsAbs(word) {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, word))
	return err == nil
}

// definitions creates an Addition of the servers in a definitions file, or in the config
// file of a client.
func (e *entries) definitions(path string) (*Addition, error) {
	doc, report, err := stax.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	merged := stax.Merge(doc)
	report.Add(merged.Check().Findings()...)
	entry := &registry.Entry{Config: *merged.Config}
	if !report.OK(false) {
		imported := importClientFile(path)
		if imported == nil {
			return nil, invalidDefinitions(path, report)
		}
		entry.Config = *imported.Merged.Config
		for _, key := range slices.Sorted(maps.Keys(imported.Secrets)) {
			entry.Todo = append(entry.Todo, "set "+key+": its value stays in "+path)
		}
	}
	entry.Config.Servers = slices.DeleteFunc(slices.Clone(entry.Config.Servers), func(s stax.Server) bool {
		return s.Disabled()
	})
	switch n := len(entry.Config.Servers); {
	case n == 0:
		return nil, e.fail(errors.New("it defines no server that is enabled"), entryHint)
	case n == 1:
		entry.Server().Name = cmp.Or(e.opts.Document.Name, entry.Server().Name)
	case e.opts.Document.Name != "":
		return nil, e.fail(fmt.Errorf("it defines %d servers, which have their own names", n), "omit --name")
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, unreadable(path, err)
	}
	for i := range entry.Config.Servers {
		e.anchor(&entry.Config.Servers[i], dir)
	}
	return &Addition{Entry: entry}, nil
}

// extend adds what the caller knows about a server to its definition.
func (e *entries) extend(a *Addition) error {
	if len(e.opts.Env)+len(e.opts.Secrets) == 0 && e.opts.Title == "" {
		return nil
	}
	s := a.Server()
	if len(a.Config.Servers) > 1 {
		return e.fail(errors.New("it defines several servers, which have their own settings"),
			"omit --title, --env and --secret")
	}
	s.Description = cmp.Or(e.opts.Title, s.Description)
	if s.Remote() && len(e.opts.Env) > 0 {
		return e.fail(errors.New("a server at a URL has no environment"),
			"--secret KEY names its bearer token")
	}
	for name, value := range e.opts.Env {
		setEnv(s, name, value)
	}
	for _, key := range e.opts.Secrets {
		if slices.Contains(s.Secrets, key) {
			continue
		}
		s.Secrets = append(s.Secrets, key)
		a.Config.Secrets = append(a.Config.Secrets, stax.Declaration{Key: key})
	}
	return nil
}
