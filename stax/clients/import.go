package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
	"github.com/slipway-mcp/slipway/stax/internal/tree"
)

// Imported are definitions that were made out of the file of a client.
type Imported struct {
	Config stax.Config
	// Values are the secrets that stood in the file, by key. They are in no
	// definition; whoever imports may put them where secrets belong.
	Values map[string]stax.Secret
}

// importer turns the entries of one file into definitions.
type importer struct {
	client *Client
	path   string
	text   []byte
	out    *Imported
	report *check.Report
}

// Import reads the servers in the file of a client. What a definition has no
// place for is reported. A value that looks like a secret becomes a declared
// secret. The error is one of reading the file.
func Import(c *Client, path string) (*Imported, *check.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	i := &importer{client: c, path: path, text: text, out: &Imported{Values: map[string]stax.Secret{}}, report: &check.Report{}}
	entries, err := edit.Get(text, c.target())
	if err != nil {
		return nil, nil, &fs.PathError{Op: "import", Path: path, Err: errors.New(err.Error())}
	}
	for _, e := range entries {
		i.entry(e)
	}
	return i.out, i.report, nil
}

func (i *importer) add(n *tree.Node, rule string, severity check.Severity, format string, args ...any) {
	f := check.Finding{Rule: "stax/" + rule, Severity: severity, File: i.path, Message: fmt.Sprintf(format, args...)}
	f.Line, f.Column = check.LineColumn(i.text, n.Start)
	i.report.Add(f)
}

// entry makes a definition of an entry.
func (i *importer) entry(e edit.Entry) {
	s := stax.Server{Name: e.Name}
	shape := i.shapeOf(e.Value, &s)
	if shape == nil {
		i.add(e.Value, "not-imported", check.Warning, "server %q has neither a command nor an address", e.Name)
		return
	}
	known := map[string]bool{"name": i.client.List, shape.Name: true}
	for _, f := range shape.Const {
		known[f.Name] = true
	}
	take := func(name string, read func(n *tree.Node)) {
		if n := e.Value.Get(name); name != "" && n != nil && !known[name] {
			known[name] = true
			read(n)
		}
	}
	refs := i.client.References
	take(shape.Command, func(n *tree.Node) {
		if s.Command = n.Text; shape.CommandList && len(n.Items) > 0 {
			s.Command, s.Args = n.Items[0].Text, texts(n)[1:]
		}
	})
	take(shape.Args, func(n *tree.Node) { s.Args = texts(n) })
	take(shape.Cwd, func(n *tree.Node) { s.Cwd = n.Text })
	take(shape.URL, func(n *tree.Node) { s.URL = n.Text })
	take("type", func(*tree.Node) {})
	take(shape.Env, func(n *tree.Node) { i.env(&s, n) })
	take(refs.EnvList, func(n *tree.Node) { s.Secrets = append(s.Secrets, texts(n)...) })
	if len(shape.Headers) > 0 {
		take(shape.Headers[0], func(n *tree.Node) {
			for _, name := range shape.Headers[1:] {
				n = n.Get(name)
			}
			if n != nil {
				i.headers(&s, n)
			}
		})
	}
	take(refs.BearerVar, func(n *tree.Node) { i.bind(&s, "Authorization", "Bearer {"+n.Text+"}", n.Text) })
	take(refs.HeaderVars, func(n *tree.Node) {
		for _, m := range n.Members {
			i.bind(&s, m.Key, "{"+m.Value.Text+"}", m.Value.Text)
		}
	})
	take(i.client.EnabledTools, func(n *tree.Node) {
		if s.EnabledTools = texts(n); slices.Equal(s.EnabledTools, []string{"*"}) {
			s.EnabledTools = nil
		}
	})
	take(i.client.DisabledTools, func(n *tree.Node) { s.DisabledTools = texts(n) })
	if t := i.client.Timeout; t != nil {
		take(t.Field, func(n *tree.Node) {
			v, _ := strconv.ParseFloat(n.Text, 64)
			if t.Unit == "s" {
				v *= 1000
			}
			s.ConnectTimeoutMS = int64(v)
		})
	}
	for name, off := range map[string]string{"disabled": "true", "enabled": "false"} {
		take(name, func(n *tree.Node) {
			if no := false; n.Text == off {
				s.Enabled = &no
			}
		})
	}
	for _, m := range e.Value.Members {
		if !known[m.Key] {
			i.add(m.Value, "not-imported", check.Warning, "a definition has no place for %q of server %q", m.Key, e.Name)
		}
	}
	i.bindings(&s)
	i.out.Config.Servers = append(i.out.Config.Servers, s)
}

// shapeOf finds out of which kind an entry is.
func (i *importer) shapeOf(n *tree.Node, s *stax.Server) *Shape {
	c := i.client
	kind := ""
	if t := n.Get("type"); t != nil {
		kind = t.Text
	}
	if c.Stdio != nil && n.Get(c.Stdio.Command) != nil {
		return c.Stdio
	}
	s.Transport = stax.HTTP
	for _, shape := range []*Shape{c.SSE, c.HTTP} {
		if shape == nil || n.Get(shape.URL) == nil {
			continue
		}
		constant := ""
		for _, f := range shape.Const {
			if f.Name == "type" {
				_ = json.Unmarshal(f.Value, &constant)
			}
		}
		if shape == c.SSE && (constant == "sse" && kind != "sse" || constant == "" && c.HTTP != nil && c.HTTP.URL == shape.URL && kind != "sse" || constant == "remote") {
			continue
		}
		if shape == c.SSE {
			s.Transport = stax.SSE
		}
		return shape
	}
	if c.HTTP == nil && n.Get("url") != nil {
		return remote("")
	}
	return nil
}

func texts(n *tree.Node) []string {
	list := []string{}
	for _, item := range n.Items {
		list = append(list, item.Text)
	}
	return list
}

// reference returns the variable that a value stands for, and what is around it.
func (i *importer) reference(value string) (before, key, behind string, ok bool) {
	form := i.client.References.Value
	if form == "" {
		return "", "", "", false
	}
	open, closing, _ := strings.Cut(form, "%s")
	m := regexp.MustCompile(`^(.*?)` + regexp.QuoteMeta(open) + `([A-Za-z_][A-Za-z0-9_]*)` + regexp.QuoteMeta(closing) + `(.*)$`).FindStringSubmatch(value)
	if m == nil {
		return "", "", "", false
	}
	return m[1], m[2], m[3], true
}

// declare adds a declaration, once.
func (i *importer) declare(d stax.Declaration) {
	if !slices.ContainsFunc(i.out.Config.Secrets, func(o stax.Declaration) bool { return o.Key == d.Key }) {
		i.out.Config.Secrets = append(i.out.Config.Secrets, d)
	}
}

func (i *importer) env(s *stax.Server, n *tree.Node) {
	for _, m := range n.Members {
		before, key, behind, ok := i.reference(m.Value.Text)
		switch {
		case ok && before == "" && behind == "":
			d := stax.Declaration{Key: key}
			if key != m.Key {
				d.ExposeAs.Env = m.Key
			}
			i.declare(d)
			s.Secrets = append(s.Secrets, key)
		case ok:
			i.add(m.Value, "not-imported", check.Warning, "a definition cannot put text around the reference in the variable %s of server %q", m.Key, s.Name)
		case stax.LooksSecret(m.Key, m.Value.Text, false) != "":
			i.keep(m.Value, m.Key, m.Value.Text)
			s.Secrets = append(s.Secrets, m.Key)
		default:
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			s.Env[m.Key] = m.Value.Text
		}
	}
}

// keep makes a declared secret of a value.
func (i *importer) keep(n *tree.Node, key, value string) {
	i.declare(stax.Declaration{Key: key})
	i.out.Values[key] = stax.NewSecret(value)
	i.add(n, "secret-literal", check.Warning, "the value of %s stands in the file; the definition names it only", key)
}

func (i *importer) headers(s *stax.Server, n *tree.Node) {
	for _, m := range n.Members {
		before, key, behind, ok := i.reference(m.Value.Text)
		switch {
		case ok:
			i.bind(s, m.Key, before+"{"+key+"}"+behind, key)
		case stax.LooksSecret(m.Key, m.Value.Text, true) != "":
			key := keyFor(s.Name, m.Key)
			scheme, value, spaced := strings.Cut(m.Value.Text, " ")
			template := scheme + " {" + key + "}"
			if !spaced {
				value, template = scheme, "{"+key+"}"
			}
			i.keep(m.Value, key, value)
			i.bind(s, m.Key, template, key)
		default:
			if s.Headers == nil {
				s.Headers = map[string]string{}
			}
			s.Headers[m.Key] = m.Value.Text
		}
	}
}

// keyFor makes a key out of the name of a server and of a header.
func keyFor(server, header string) string {
	if strings.EqualFold(header, "Authorization") {
		header = "token"
	}
	key := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, server+"_"+header)
	if key[0] >= '0' && key[0] <= '9' {
		key = "_" + key
	}
	return key
}

func (i *importer) bind(s *stax.Server, header, template, key string) {
	i.declare(stax.Declaration{Key: key})
	if !slices.Contains(s.Secrets, key) {
		s.Secrets = append(s.Secrets, key)
	}
	i.out.Config.Bindings = append(i.out.Config.Bindings, stax.Binding{Server: s.Name, Header: header, Template: template})
}

// bindings drops the binding that holds without being written.
func (i *importer) bindings(s *stax.Server) {
	var own []stax.Binding
	for _, b := range i.out.Config.Bindings {
		if b.Server == s.Name {
			own = append(own, b)
		}
	}
	if len(own) == 1 && len(s.Secrets) == 1 && strings.EqualFold(own[0].Header, "Authorization") && own[0].Template == "Bearer {"+s.Secrets[0]+"}" {
		i.out.Config.Bindings = slices.DeleteFunc(i.out.Config.Bindings, func(b stax.Binding) bool { return b.Server == s.Name })
	}
}

// Add takes another import on top: of servers with one name the first stays, and
// its differences are reported.
func (im *Imported) Add(other *Imported, report *check.Report, path string) {
	for _, s := range other.Config.Servers {
		old := im.Config.Server(s.Name)
		if old == nil {
			im.Config.Servers = append(im.Config.Servers, s)
			for _, b := range other.Config.Bindings {
				if b.Server == s.Name {
					im.Config.Bindings = append(im.Config.Bindings, b)
				}
			}
			continue
		}
		a, _ := json.Marshal(old)
		b, _ := json.Marshal(&s)
		if string(a) != string(b) {
			report.Add(check.Finding{Rule: "stax/not-imported", Severity: check.Warning, File: path,
				Message: fmt.Sprintf("server %q is another here than in a file before; the first stays", s.Name)})
		}
	}
	for _, d := range other.Config.Secrets {
		if !slices.ContainsFunc(im.Config.Secrets, func(o stax.Declaration) bool { return o.Key == d.Key }) {
			im.Config.Secrets = append(im.Config.Secrets, d)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(other.Values)) {
		if _, ok := im.Values[key]; !ok {
			im.Values[key] = other.Values[key]
		}
	}
}
