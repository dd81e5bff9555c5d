package stax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// AddOptions configures [Add]. Nil and the zero value are the defaults.
type AddOptions struct {
	// Replace allows replacing a server that already has the name.
	Replace bool
}

// ExistsError is returned when another server of that name already exists.
type ExistsError struct{ Server string }

// Error implements the error interface.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("server %q already exists", e.Server)
}

// ErrScript is returned when the file is a script: scripts are read, never written.
var ErrScript = errors.New("scripts cannot be edited")

// Added is a definitions file with servers added to it.
type Added struct {
	// Text is the whole file, with everything outside the added servers unchanged.
	Text []byte
	// Undeclared lists the declarations omitted because the secrets of this file are
	// declared elsewhere. Optional secrets among them were also removed from their servers:
	// without a declaration they would be required.
	Undeclared []Declaration
	// Shared lists the secrets that another server in the file also uses.
	Shared []string
}

// Add adds the servers of c, with the declarations and bindings of their secrets, to the
// definitions file with the given text. No byte outside the added entries changes. The
// extension of name selects the format; text is empty for a new file. If the file already
// declares a secret, that declaration stays.
//
// A server that is already there with the same definition stays as it is. The error is an
// [*ExistsError], matches [ErrScript], or reports why the file cannot be read or
// edited in place. Add parses its result again and verifies it before returning it.
func Add(name string, text []byte, c *Config, opts *AddOptions) (*Added, error) {
	if opts == nil {
		opts = &AddOptions{}
	}
	a, err := newAdder(name, text)
	if err != nil {
		return nil, err
	}
	declared := a.declares(c)
	for i := range c.Servers {
		s := c.Servers[i]
		if !declared {
			s.Secrets = slices.DeleteFunc(slices.Clone(s.Secrets), func(key string) bool {
				d := c.Declaration(key)
				return d != nil && d.Optional()
			})
		}
		old := a.old.Server(s.Name)
		if old != nil && !opts.Replace && !old.equal(&s) {
			return nil, &ExistsError{Server: s.Name}
		}
		if err := a.server(&s, c.Bindings); err != nil {
			return nil, err
		}
	}
	if err := a.declare(c, declared); err != nil {
		return nil, err
	}
	return a.out, a.verify(name)
}

// adder edits one file.
type adder struct {
	// target is where the servers are in the file, old what it defined before, and out the
	// result so far.
	target edit.Target
	old    *Config
	out    *Added
}

// newAdder reads a file that is to be edited.
func newAdder(name string, text []byte) (*adder, error) {
	a := &adder{
		target: edit.Target{
			Format: tree.Format(FormatOf(name)),
			Root:   "servers",
		},
		out: &Added{Text: text},
	}
	switch {
	case FormatOf(name) == Script:
		return nil, ErrScript
	case a.target.Format == 0:
		return nil, fmt.Errorf("%s has none of the extensions of definitions: .json, .jsonc, .yaml, .toml", name)
	}
	return a, a.readable(name, text)
}

// readable parses the existing file. Missing servers are no error here.
func (a *adder) readable(name string, text []byte) error {
	a.old = &Config{}
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0 {
		return nil
	}
	doc, report := Parse(name, text, nil)
	for _, f := range report.Findings() {
		if f.Severity == check.Error && f.Rule.ID != "stax/servers" {
			return fmt.Errorf("line %d: %s", f.Line, f.Message)
		}
	}
	a.old = doc.Config
	return nil
}

// declares reports whether declarations belong in this file: it already has some, or no
// other server in it uses a secret.
func (a *adder) declares(c *Config) bool {
	others := slices.ContainsFunc(a.old.Servers, func(s Server) bool {
		return len(s.Secrets) > 0 && c.Server(s.Name) == nil
	})
	for _, s := range c.Servers {
		for _, key := range s.Secrets {
			shares := func(o Server) bool {
				return c.Server(o.Name) == nil && slices.Contains(o.Secrets, key)
			}
			if slices.ContainsFunc(a.old.Servers, shares) &&
				!slices.Contains(a.out.Shared, key) {
				a.out.Shared = append(a.out.Shared, key)
			}
		}
	}
	return len(a.old.Secrets) > 0 || !others
}

// server adds or replaces one entry with its bindings, and removes bindings that a
// replaced entry had.
func (a *adder) server(s *Server, bindings []Binding) error {
	value, err := s.entry()
	if err != nil {
		return err
	}
	if a.out.Text, err = edit.Set(a.out.Text, a.target, s.Name, value); err != nil {
		return err
	}
	target := a.target
	target.Root = "bindings"
	headers := &tree.Node{Kind: tree.Object}
	for _, b := range bindings {
		if b.Server == s.Name {
			headers.Members = append(headers.Members,
				tree.Member{
					Key: b.Header,
					Value: &tree.Node{
						Kind: tree.String,
						Text: b.Template,
					},
				})
		}
	}
	if len(headers.Members) > 0 {
		a.out.Text, err = edit.Set(a.out.Text, target, s.Name, headers)
		return err
	}
	if slices.ContainsFunc(a.old.Bindings, func(b Binding) bool {
		return b.Server == s.Name
	}) {
		a.out.Text, err = edit.Remove(a.out.Text, target, s.Name)
	}
	return err
}

// equal reports whether two definitions are the same, apart from fields that only an
// encoding can tell apart, such as an absent and an empty list.
func (s *Server) equal(other *Server) bool {
	a, err := s.MarshalJSON()
	if err != nil {
		return false
	}
	b, err := other.MarshalJSON()
	return err == nil && bytes.Equal(a, b)
}

// entry returns the server as a person would write it, without defaults.
func (s *Server) entry() (*tree.Node, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	n, err := tree.FromJSON(body)
	if err == nil && s.Enabled == nil {
		n.Members = slices.DeleteFunc(n.Members, func(m tree.Member) bool {
			return m.Key == "enabled"
		})
	}
	return n, err
}

// declare adds the declarations that the file does not have yet.
func (a *adder) declare(c *Config, here bool) error {
	target := a.target
	target.Root = "secrets"
	for _, d := range c.Secrets {
		if a.old.Declaration(d.Key) != nil {
			continue
		}
		if !here {
			a.out.Undeclared = append(a.out.Undeclared, d)
			continue
		}
		body, err := json.Marshal(d)
		if err != nil {
			return err
		}
		value, err := tree.FromJSON(body)
		if err != nil {
			return err
		}
		if a.out.Text, err = edit.Append(a.out.Text, target, value); err != nil {
			return err
		}
	}
	return nil
}

// verify parses the result and checks it.
func (a *adder) verify(name string) error {
	doc, report := Parse(name, a.out.Text, nil)
	report.Add(Merge(doc).Check().Findings()...)
	for _, f := range report.Findings() {
		if f.Severity == check.Error {
			return fmt.Errorf("with the server in it, line %d: %s", f.Line, f.Message)
		}
	}
	return nil
}

// Diff returns the difference between two versions of a file in the format of diff -u,
// with likely secrets redacted. It is empty if they are equal.
func Diff(name string, before, after []byte) string {
	text := string(diff.Diff(name, before, name, after))
	_, text, _ = strings.Cut(text, "\n") // "diff a b"
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if i > 1 && line != "" && line[0] != '@' {
			lines[i] = line[:1] + Redact(line[1:])
		}
	}
	return strings.Join(lines, "")
}

// ErrChanged is returned when a file no longer has its expected content.
var ErrChanged = errors.New("it was changed in the meantime")

// WriteFile atomically replaces the content of a file with after, provided that it still
// is before. Mode and symbolic links are kept; a new file gets mode 0644. If the content
// has changed, the error matches [ErrChanged]. A file that its owner may not write, and a
// link to a file that does not exist, are refused.
func WriteFile(name string, before, after []byte) error {
	now, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		if len(before) > 0 {
			return ErrChanged
		}
		if why := fsutil.BrokenLink(name); why != "" {
			return refused(name, why)
		}
		return fsutil.Create(name, 0o644, fsutil.Content(after))
	}
	if !bytes.Equal(now, before) {
		return ErrChanged
	}
	if why := fsutil.ReadOnly(name); why != "" {
		return refused(name, why)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return fsutil.Replace(name, info.Mode().Perm(), fsutil.Content(after))
}

// refused returns the error for a file that must not be written.
func refused(name, why string) error {
	return &fs.PathError{
		Op:   "write",
		Path: name,
		Err:  errors.New(why),
	}
}
