package stax

import (
	"errors"
	"slices"

	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// ErrNoServer is returned when a definitions file has no server of that name.
var ErrNoServer = errors.New("no server has that name")

// Remove removes a server from the definitions file with the given text: its entry, its
// bindings and overrides, and the declarations of secrets that no other server of the file
// uses. No other byte changes. The extension of name selects the format.
//
// A declaration that cannot be removed in place stays, since it has no effect. The error
// matches [ErrNoServer] or [ErrScript], or reports why the file cannot be read or edited in
// place. Remove parses its result again and verifies it before returning it.
func Remove(name string, text []byte, server string) ([]byte, error) {
	a, err := newAdder(name, text)
	if err != nil {
		return nil, err
	}
	old := a.old.Server(server)
	if old == nil {
		return nil, ErrNoServer
	}
	for _, root := range []string{"servers", "bindings", "tools"} {
		target := a.target
		target.Root = root
		if a.out.Text, err = edit.Remove(a.out.Text, target, server); err != nil {
			return nil, err
		}
		if root != "servers" {
			a.out.Text = edit.Prune(a.out.Text, target)
		}
	}
	target := edit.Target{
		Format: a.target.Format,
		Root:   "secrets",
		List:   true,
		Key:    "key",
	}
	for _, key := range old.Secrets {
		used := slices.ContainsFunc(a.old.Servers, func(s Server) bool {
			return s.Name != server && slices.Contains(s.Secrets, key)
		})
		if used || a.old.Declaration(key) == nil {
			continue
		}
		if without, err := edit.Remove(a.out.Text, target, key); err == nil {
			a.out.Text = edit.Prune(without, target)
		}
	}
	return a.out.Text, a.verify(name)
}
