package open

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/registry"
)

// packaged creates a definition that starts a package of npm or PyPI.
func (e *entries) packaged() (*Addition, error) {
	doc, err := registry.ParsePackage(e.arg, e.opts.Args)
	if err != nil {
		return nil, e.fail(err, "for example npm:@scope/server, npm:server@1.2.3 or pypi:server==1.2.3")
	}
	o := e.opts.Document
	o.Package = ""
	o.Name = cmp.Or(o.Name, shortName(Argument(doc.Packages[0].Identifier).Name()))
	entry, err := doc.Entry(&o)
	if err != nil {
		return nil, e.fail(err, "")
	}
	entry.Server().RegistryRef = nil // it would repeat the command
	return &Addition{Entry: entry}, nil
}

// shortName returns the name of a program without the words that only say that it is a
// server: mcp-server-time becomes time.
func shortName(name string) string {
	short := name
	for _, prefix := range []string{"mcp-server-", "server-", "mcp-"} {
		short = strings.TrimPrefix(short, prefix)
	}
	for _, suffix := range []string{"-mcp-server", "-mcp"} {
		short = strings.TrimSuffix(short, suffix)
	}
	if short == "server" || short == "" {
		return name
	}
	return short
}

// named creates a definition of a server in the registry.
func (e *entries) named(ctx context.Context, name, version string) (*Addition, error) {
	r := e.opts.Registry
	if r == nil {
		r = &registry.Client{AllowNetwork: e.opts.AllowNetwork}
	}
	doc, err := r.Get(ctx, name, version)
	var answer *registry.APIError
	switch {
	case err == nil:
		return e.entryOf(ctx, doc, cmp.Or(r.URL, registry.OfficialURL))
	case errors.Is(err, registry.ErrNotFound):
		what := "server of this name"
		if version != "" {
			what = "server of this name and version"
		}
		return nil, &Error{
			Arg: e.arg,
			Why: "no such file or folder, and the registry has no " + what,
			Err: err,
			Hint: "slipway search " + process.ShellWord(name[strings.LastIndexByte(name, '/')+1:]) +
				"; a URL starts with https://",
		}
	case errors.As(err, &answer):
		return nil, &Error{
			Arg:  e.arg,
			Why:  "registry " + answer.Error(),
			Kind: Remote,
			Err:  err,
		}
	}
	failure := remoteError(e.arg, err)
	failure.Why = "no such file or folder, and the registry does not answer: " + failure.Why
	failure.Hint = "if it is a name in a registry, check the connection; --registry selects another one"
	return nil, failure
}
