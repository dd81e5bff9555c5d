package clients

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// Imported is a set of definitions imported from a client's file.
type Imported struct {
	// Config has the definitions of the entries without a problem.
	Config stax.Config
	// Values are the secrets found in the file, by key. No definition contains them; the
	// caller may store them in a secret source.
	Values map[string]stax.Secret
	// Entries are all entries of the file, in its order, also those without a definition.
	Entries []FileEntry
}

// FileEntry is an entry of a client's file.
type FileEntry struct {
	// Name is the key of the entry.
	Name         string
	Line, Column int // of its value
	// Command is the program of a local server and its arguments, as the file has them.
	Command []string
	// Problem is why the entry is not a definition, or "".
	Problem string
}

// importer converts the entries of one file to definitions.
type importer struct {
	check.Reporter
	// client is the program whose file is read, and forms its syntaxes of references.
	client *Client
	forms  []*regexp.Regexp
	// out is the result so far.
	out *Imported

	named    map[string]bool   // keys of variables that the file references
	variable map[string]string // key to the variable in which servers receive it
}

// Import reads the servers in a client's file. Members that a definition cannot represent
// are reported. A value that looks like a secret becomes a declared secret. The error is
// one of reading the file.
func Import(c *Client, path string) (*Imported, *check.Report, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	i := &importer{
		client: c,
		forms:  c.forms(),
		Reporter: check.Reporter{
			Report:   &check.Report{},
			File:     path,
			Document: &check.Document{Text: text},
		},
		out:      &Imported{Values: map[string]stax.Secret{}},
		named:    map[string]bool{},
		variable: map[string]string{},
	}
	entries, err := edit.Get(text, c.target())
	if err != nil {
		return nil, nil, &fs.PathError{
			Op:   "import",
			Path: path,
			Err:  err,
		}
	}
	for _, e := range entries {
		e.Value = flat(e.Value)
		i.out.Entries = append(i.out.Entries, i.place(e))
		i.entry(e)
	}
	return i.out, i.Report, nil
}

// lost reports what a definition cannot represent, at the position of a value.
func (i *importer) lost(n *tree.Node, format string, args ...any) {
	i.At(n.Start).Add(RuleNotImported, "", "", format, args...)
}

// literal reports a secret that the definition does not contain.
func (i *importer) literal(n *tree.Node, format string, args ...any) {
	i.At(n.Start).Add(stax.RuleSecretLiteral.As(check.Warning), "", "", format, args...)
}

// entry converts an entry to a definition.
func (i *importer) entry(e edit.Entry) {
	s := stax.Server{Name: e.Name}
	shape, why := i.shapeOf(e.Value, &s)
	if e.Name == "" || strings.ContainsFunc(e.Name, unicode.IsControl) {
		shape = nil
		why = "no definition can have its name"
	}
	if shape == nil {
		i.out.Entries[len(i.out.Entries)-1].Problem = why
		i.lost(e.Value, "server %q is skipped: %s", e.Name, why)
		return
	}
	known := map[string]bool{
		"name":     i.client.List,
		shape.Name: true,
		"type":     true,
	}
	take := func(name string, read func(n *tree.Node)) {
		if n := e.Value.Get(name); name != "" && n != nil && !known[name] {
			known[name] = true
			read(n)
		}
	}
	i.program(&s, shape, take)
	i.address(&s, shape, take)
	i.common(&s, take)
	for _, m := range e.Value.Members {
		if !known[m.Key] {
			i.lost(m.Value, "a definition does not support %q of server %q", m.Key,
				e.Name)
		}
	}
	i.bindings(&s)
	i.out.Config.Servers = append(i.out.Config.Servers, s)
}

// program reads the members of a local server.
func (i *importer) program(s *stax.Server, shape *Shape, take func(string, func(*tree.Node))) {
	if shape.Command == "" {
		return
	}
	arguments := func(items []*tree.Node) {
		first := len(s.Args)
		for _, item := range items {
			s.Args = append(s.Args, i.word(s, "an argument", item))
		}
		for at := first; at < len(s.Args); at++ {
			i.argument(s, at, items[at-first])
		}
	}
	take(shape.Command, func(n *tree.Node) {
		if n.Kind != tree.Array {
			s.Command = i.word(s, "the command", n)
			return
		}
		s.Command = i.word(s, "the command", n.Items[0])
		arguments(n.Items[1:])
	})
	take(shape.Args, func(n *tree.Node) {
		if n.Kind != tree.Array {
			i.lost(n, "the arguments of server %q are %s", s.Name, n.Kind)
		}
		arguments(n.Items)
	})
	cwd := shape.Cwd
	if cwd == "" {
		cwd = "cwd"
	}
	take(cwd, func(n *tree.Node) { s.Cwd = i.word(s, "cwd", n) })
	take(shape.Env, func(n *tree.Node) { i.env(s, n) })
	take(i.client.References.EnvList, func(n *tree.Node) {
		for _, item := range n.Items {
			i.refer(s, item, item.Text, item.Text)
		}
	})
}

// address reads the members of a remote server.
func (i *importer) address(s *stax.Server, shape *Shape, take func(string, func(*tree.Node))) {
	if shape.URL == "" {
		return
	}
	refs := i.client.References
	if refs.Header != "" {
		// The headers themselves contain the references.
		take(refs.EnvList, func(*tree.Node) {})
	}
	if len(shape.Headers) > 0 {
		take(shape.Headers[0], func(n *tree.Node) {
			for _, name := range shape.Headers[1:] {
				n = n.Get(name)
			}
			if n != nil {
				i.headers(s, n)
			}
		})
	}
	take(refs.BearerVar, func(n *tree.Node) {
		i.bind(s, "Authorization", "Bearer {"+n.Text+"}", n.Text)
	})
	if refs.BearerVar != "" {
		take("bearer_token", func(n *tree.Node) {
			i.header(s, "Authorization", "Bearer "+n.Text, n)
		})
	}
	take(refs.HeaderVars, func(n *tree.Node) {
		for _, m := range n.Members {
			i.bind(s, m.Key, "{"+m.Value.Text+"}", m.Value.Text)
		}
	})
	take(shape.URL, func(n *tree.Node) { i.url(s, n) })
}

// common reads the members of both kinds.
func (i *importer) common(s *stax.Server, take func(string, func(*tree.Node))) {
	take(i.client.EnabledTools, func(n *tree.Node) {
		if s.EnabledTools = texts(n); slices.Equal(s.EnabledTools, []string{"*"}) {
			s.EnabledTools = nil
		}
	})
	take(i.client.DisabledTools, func(n *tree.Node) {
		s.DisabledTools = texts(n)
	})
	timeout := func(name string, factor float64) {
		take(name, func(n *tree.Node) {
			v, _ := strconv.ParseFloat(n.Text, 64)
			s.ConnectTimeoutMS = int64(v * factor)
		})
	}
	if t := i.client.Timeout; t != nil && t.Unit == "s" {
		timeout(t.Field, 1000)
		timeout(strings.TrimSuffix(t.Field, "_sec")+"_ms", 1)
	} else if t != nil {
		timeout(t.Field, 1)
	}
	take("description", func(n *tree.Node) {
		if n.Kind == tree.String {
			s.Description = n.Text
		}
	})
	for name, off := range map[string]string{"disabled": "true", "enabled": "false"} {
		take(name, func(n *tree.Node) {
			if no := false; n.Text == off {
				s.Enabled = &no
			}
		})
	}
}

// shapeOf returns the shape of an entry, or the reason why it has none.
func (i *importer) shapeOf(n *tree.Node, s *stax.Server) (shape *Shape, why string) {
	c := i.client
	if c.Stdio != nil && n.Get(c.Stdio.Command) != nil {
		return i.starts(n)
	}
	for _, shape := range []*Shape{c.HTTP, c.SSE, {
		URL:     "url",
		Headers: []string{"headers"},
	}} {
		if shape == nil || n.Get(shape.URL) == nil {
			continue
		}
		u := n.Get(shape.URL)
		if address := strings.ToLower(u.Text); u.Kind != tree.String ||
			!strings.HasPrefix(address, "http://") &&
				!strings.HasPrefix(address, "https://") &&
				len(i.references(address)) == 0 {
			return nil, "its address is not http or https"
		}
		kind := ""
		if t := n.Get("type"); t != nil {
			kind = strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(t.Text))
		}
		switch kind {
		case "sse":
			s.Transport = stax.SSE
		case "http", "streamablehttp", "remote":
			s.Transport = stax.HTTP
		case "":
			s.Transport = c.untyped(shape.URL)
		default:
			return nil, "a definition has no transport of its type"
		}
		return shape, ""
	}
	return nil, "it has neither a command nor an address"
}

// flat returns an entry in the current format: the first versions of Zed had the command
// as a nested object.
func flat(n *tree.Node) *tree.Node {
	command := n.Get("command")
	if command == nil || command.Kind != tree.Object {
		return n
	}
	out := *n
	out.Members = nil
	for _, m := range n.Members {
		switch {
		case m.Key == "command":
			for _, inner := range command.Members {
				if inner.Key == "path" {
					inner.Key = "command"
				}
				out.Members = append(out.Members, inner)
			}
		case m.Key != "source":
			out.Members = append(out.Members, m)
		}
	}
	return &out
}

// starts is shapeOf for an entry with a command.
func (i *importer) starts(n *tree.Node) (shape *Shape, why string) {
	shape = i.client.Stdio
	words := shape.words(n)
	if len(words) == 0 || strings.TrimSpace(words[0]) == "" {
		return nil, "its command is empty"
	}
	base := strings.TrimSuffix(words[0][strings.LastIndexAny(words[0], `/\`)+1:], ".exe")
	if base == "slipway" && len(words) > 3 && words[1] == "config" && words[2] == "run" {
		return nil, "it is started by slipway config run, from existing definitions"
	}
	return shape, ""
}

// words returns the program and the arguments of an entry.
func (s *Shape) words(n *tree.Node) []string {
	command := n.Get(s.Command)
	if command == nil {
		return nil
	}
	words := texts(command)
	if command.Kind == tree.String {
		words = []string{command.Text}
	}
	if args := n.Get(s.Args); args != nil {
		words = append(words, texts(args)...)
	}
	return words
}

// place returns an entry with its position.
func (i *importer) place(e edit.Entry) FileEntry {
	found := FileEntry{Name: e.Name}
	if e.Value.Start > 0 {
		found.Line, found.Column = check.LineColumn(i.Document.Text, e.Value.Start)
	}
	stdio := i.client.Stdio
	if stdio != nil && stdio.Command != "" {
		found.Command = stdio.words(e.Value)
	}
	return found
}

// untyped returns the transport of a URL without a type.
func (c *Client) untyped(member string) stax.Transport {
	switch {
	case c.Untyped != "":
		return c.Untyped
	case c.HTTP != nil && c.HTTP.URL != member && c.SSE != nil && c.SSE.URL == member:
		return stax.SSE
	}
	return stax.HTTP
}

// texts returns the elements of a list as text.
func texts(n *tree.Node) []string {
	list := []string{}
	for _, item := range n.Items {
		list = append(list, item.Text)
	}
	return list
}

// word reads a text in which a definition does not support references.
func (i *importer) word(s *stax.Server, what string, n *tree.Node) string {
	switch {
	case n.Kind == tree.Array || n.Kind == tree.Object:
		i.lost(n,
			"%s of server %q is %s", what, s.Name, n.Kind)
	case i.refers(n.Text):
		i.lost(n,
			"%s of server %q contains a reference that definitions do not support: it stays as unexpanded text", what,
			s.Name)
	}
	return n.Text
}

// Add merges another import. If both have a server of the same name, the first stays and
// any difference is reported. If secrets with the same name have different values, the
// second is renamed.
func (im *Imported) Add(other *Imported, report *check.Report, path string) {
	warn := func(format string, args ...any) {
		check.Reporter{
			Report: report,
			File:   path,
		}.Add(RuleNotImported, "", "", format, args...)
	}
	var dropped []string
	for _, s := range other.Config.Servers {
		old := im.Config.Server(s.Name)
		if old == nil {
			continue
		}
		dropped = append(dropped, s.Name)
		a, _ := json.Marshal(old)
		b, _ := json.Marshal(&s)
		if string(a) != string(b) {
			warn("server %q differs from the one in an earlier file; the first is kept", s.Name)
		}
	}
	other.drop(dropped)
	for _, d := range slices.Clone(other.Config.Secrets) {
		old := im.Config.Declaration(d.Key)
		mine, has := im.Values[d.Key]
		theirs, given := other.Values[d.Key]
		switch {
		case old == nil:
		case given && (!has || mine.Reveal() != theirs.Reveal()):
			other.rename(d.Key, func(key string) bool {
				return im.Config.Declaration(key) == nil &&
					other.Config.Declaration(key) == nil
			})
			continue
		case has && !given:
			warn("%s is a variable of the client here, and a value in a file before: both are one secret now", d.Key)
		case old.ExposeAs != d.ExposeAs:
			warn("%s is given to servers in another variable here than in a file before; the first stays", d.Key)
		}
	}
	for _, d := range other.Config.Secrets {
		if im.Config.Declaration(d.Key) == nil {
			im.Config.Secrets = append(im.Config.Secrets, d)
		}
	}
	im.Config.Servers = append(im.Config.Servers, other.Config.Servers...)
	im.Config.Bindings = append(im.Config.Bindings, other.Config.Bindings...)
	for key, value := range other.Values {
		if _, ok := im.Values[key]; !ok {
			im.Values[key] = value
		}
	}
}

// drop removes servers and the secrets that only they use.
func (im *Imported) drop(servers []string) {
	c := &im.Config
	c.Servers = slices.DeleteFunc(c.Servers, func(s stax.Server) bool {
		return slices.Contains(servers, s.Name)
	})
	c.Bindings = slices.DeleteFunc(c.Bindings, func(b stax.Binding) bool {
		return slices.Contains(servers, b.Server)
	})
	unused := func(key string) bool {
		return !slices.ContainsFunc(c.Servers, func(s stax.Server) bool {
			return slices.Contains(s.Secrets, key)
		})
	}
	c.Secrets = slices.DeleteFunc(c.Secrets, func(d stax.Declaration) bool {
		return unused(d.Key)
	})
	maps.DeleteFunc(im.Values, func(key string, _ stax.Secret) bool {
		return unused(key)
	})
}

// rename gives a secret a new key that is still free. Servers keep receiving it in the
// same variable.
func (im *Imported) rename(old string, free func(string) bool) {
	key := ""
	for n := 2; key == "" || !free(key); n++ {
		key = fmt.Sprintf("%s_%d", old, n)
	}
	for i := range im.Config.Servers {
		s := &im.Config.Servers[i]
		if at := slices.Index(s.Secrets, old); at >= 0 {
			s.Secrets[at] = key
		}
		for a := range s.Args {
			s.Args[a] = strings.ReplaceAll(s.Args[a], "<"+old+">", "<"+key+">")
		}
		s.URL = strings.ReplaceAll(s.URL, "<"+old+">", "<"+key+">")
	}
	for i := range im.Config.Bindings {
		b := &im.Config.Bindings[i]
		b.Template = strings.ReplaceAll(b.Template, "{"+old+"}", "{"+key+"}")
	}
	d := im.Config.Declaration(old)
	if d.Key = key; d.ExposeAs.Env == "" && !im.remoteOnly(key) {
		d.ExposeAs.Env = old
	}
	im.Values[key] = im.Values[old]
	delete(im.Values, old)
}

// remoteOnly reports whether no local server uses the secret.
func (im *Imported) remoteOnly(key string) bool {
	return !slices.ContainsFunc(im.Config.Servers, func(s stax.Server) bool {
		return !s.Remote() && slices.Contains(s.Secrets, key)
	})
}
