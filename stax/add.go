package stax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
	"github.com/slipway-mcp/slipway/stax/internal/tree"
)

// AddOptions configure [Add]. Nil and the zero value are the defaults.
type AddOptions struct {
	// Replace takes the place of a server that has the name already.
	Replace bool
}

// ErrExists is why a server is not added: there is one of its name.
var ErrExists = errors.New("there is a server of that name")

// ErrScript is why a server is not added: the file is a script, which is read and
// not written.
var ErrScript = errors.New("a script is read and not written")

// Added is a file of definitions with servers put in.
type Added struct {
	Text []byte
	// Undeclared are the declarations that were left out, as the secrets of this
	// file are declared elsewhere. Optional secrets among them were left out of
	// their servers, too: without a declaration they would be required.
	Undeclared []Declaration
	// Shared are secrets that another server of the file names as well.
	Shared []string
}

// Add puts the servers of c, with the declarations of their secrets and their
// bindings, into a file of definitions that reads text. No byte outside the entries
// changes. name says what the format is; text is empty for a new file. The
// declaration of a secret that the file has already stays.
//
// The error matches [ErrExists], [ErrScript], or says that the file cannot be read
// or cannot be edited in place. What is returned was read again, and found to hold
// what it should.
func Add(name string, text []byte, c *Config, opts *AddOptions) (*Added, error) {
	if opts == nil {
		opts = &AddOptions{}
	}
	a := &adder{target: edit.Target{Format: tree.Format(FormatOf(name)), Root: "servers"}, out: &Added{Text: text}}
	if FormatOf(name) == Script {
		return nil, ErrScript
	}
	if a.target.Format == 0 {
		return nil, fmt.Errorf("%s has none of the extensions of definitions: .json, .jsonc, .yaml, .toml", name)
	}
	if err := a.readable(name, text); err != nil {
		return nil, err
	}
	declared := a.declares(c)
	for i := range c.Servers {
		s := c.Servers[i]
		if a.old.Server(s.Name) != nil && !opts.Replace {
			return nil, ErrExists
		}
		if !declared {
			s.Secrets = slices.DeleteFunc(slices.Clone(s.Secrets), func(key string) bool {
				d := declaration(c, key)
				return d != nil && d.Optional()
			})
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

func declaration(c *Config, key string) *Declaration {
	if i := slices.IndexFunc(c.Secrets, func(d Declaration) bool { return d.Key == key }); i >= 0 {
		return &c.Secrets[i]
	}
	return nil
}

// adder edits one file.
type adder struct {
	target edit.Target
	old    *Config
	out    *Added
}

// readable reads the file as it is.
func (a *adder) readable(name string, text []byte) error {
	a.old = &Config{}
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0 {
		return nil
	}
	doc, report := Parse(name, text, nil)
	for _, f := range report.Findings() {
		if f.Severity == check.Error && f.Rule != "stax/servers" {
			return fmt.Errorf("line %d: %s", f.Line, f.Message)
		}
	}
	a.old = doc.Config
	return nil
}

// declares reports whether declarations belong into this file: it has some, or no
// other server of it names a secret.
func (a *adder) declares(c *Config) bool {
	others := slices.ContainsFunc(a.old.Servers, func(s Server) bool { return len(s.Secrets) > 0 && c.Server(s.Name) == nil })
	for _, s := range c.Servers {
		for _, key := range s.Secrets {
			shares := func(o Server) bool { return c.Server(o.Name) == nil && slices.Contains(o.Secrets, key) }
			if slices.ContainsFunc(a.old.Servers, shares) && !slices.Contains(a.out.Shared, key) {
				a.out.Shared = append(a.out.Shared, key)
			}
		}
	}
	return len(a.old.Secrets) > 0 || !others
}

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
			headers.Members = append(headers.Members, tree.Member{Key: b.Header, Value: &tree.Node{Kind: tree.String, Text: b.Template}})
		}
	}
	if len(headers.Members) > 0 {
		a.out.Text, err = edit.Set(a.out.Text, target, s.Name, headers)
		return err
	}
	if slices.ContainsFunc(a.old.Bindings, func(b Binding) bool { return b.Server == s.Name }) {
		a.out.Text, err = edit.Remove(a.out.Text, target, s.Name)
	}
	return err
}

// entry is a server as it is written by hand: what goes without saying is left out.
func (s *Server) entry() (*tree.Node, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	n, err := tree.FromJSON(body)
	if err == nil && s.Enabled == nil {
		n.Members = slices.DeleteFunc(n.Members, func(m tree.Member) bool { return m.Key == "enabled" })
	}
	return n, err
}

// declare adds declarations that the file does not have.
func (a *adder) declare(c *Config, here bool) error {
	target := a.target
	target.Root = "secrets"
	for _, d := range c.Secrets {
		if declaration(a.old, d.Key) != nil {
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

// verify reads what was made.
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

// Diff returns the difference between two texts of a file as diff -u writes it,
// without what looks like a secret. It is empty if there is none.
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

// ErrChanged is why a file is not written: it does not read any more what it read.
var ErrChanged = errors.New("somebody changed it meanwhile")

// WriteFile puts a file in place of one that reads before, whole or not at all.
// Mode and symbolic links stay; a new file has mode 0644. The error matches
// [ErrChanged] if the file reads something else.
func WriteFile(name string, before, after []byte) error {
	now, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(after)
		return err
	}
	if err != nil {
		if len(before) > 0 {
			return ErrChanged
		}
		return fsutil.Create(name, 0o644, write)
	}
	if !bytes.Equal(now, before) {
		return ErrChanged
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return fsutil.Replace(name, info.Mode().Perm(), write)
}
