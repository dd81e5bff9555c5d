package clients

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
)

// forms returns the client's syntaxes for variables. The first group is the name, the
// second the default.
func (c *Client) forms() []*regexp.Regexp {
	var forms []*regexp.Regexp
	if c.References.Value != "" {
		forms = append(forms, formOf(c.References.Value))
	}
	if slices.Contains(c.Expands, "$NAME") {
		forms = append(forms, regexp.MustCompile(`\$`+variableForm+`()`))
	}
	if c.Inputs {
		forms = append(forms, regexp.MustCompile(`\$\{input:([A-Za-z0-9_.-]+)()\}`))
	}
	return forms
}

// variableForm matches the name of a variable as shells accept it.
const variableForm = `([A-Za-z_][A-Za-z0-9_]*)`

// formOf returns the expression for a syntax of references such as "${%s}". It also matches
// references with a default, and white space where the syntax has a space.
func formOf(reference string) *regexp.Regexp {
	open, closing, _ := strings.Cut(regexp.QuoteMeta(reference), "%s")
	return regexp.MustCompile(strings.ReplaceAll(open+variableForm+`(:-[^}]*)?`+closing, " ", `\s*`))
}

// reference is a reference to a variable in a text.
type reference struct {
	// start and end are the bytes of the reference in its value.
	start, end int
	// key is the name of the variable.
	key       string
	otherwise bool // it has a default
}

// references returns the references in a text, in order.
func (i *importer) references(text string) []reference {
	return find(text, i.forms)
}

// find returns the references in a text, in order of position.
func find(text string, forms []*regexp.Regexp) []reference {
	var all []reference
	for _, form := range forms {
		for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
			all = append(all, reference{m[0], m[1], keyFor("",
				text[m[2]:m[3]]), m[5] > m[4]})
		}
	}
	order.By(all, func(a, b reference) int { return a.start - b.start })
	return all
}

// refers reports whether the client would expand a part of the text, whether a variable
// or another reference.
func (i *importer) refers(text string) bool {
	if len(i.references(text)) > 0 {
		return true
	}
	return slices.ContainsFunc(i.client.Expands, func(form string) bool {
		return form != "NAME" && form != "%NAME%" && expansion(form).MatchString(text)
	})
}

// declare adds a declaration unless it exists.
func (i *importer) declare(key string) *stax.Declaration {
	c := &i.out.Config
	if c.Declaration(key) == nil {
		c.Secrets = append(c.Secrets, stax.Declaration{Key: key})
	}
	return c.Declaration(key)
}

// needs adds a secret to a server unless it is listed.
func needs(s *stax.Server, key string) {
	if !slices.Contains(s.Secrets, key) {
		s.Secrets = append(s.Secrets, key)
	}
}

// refer gives a server a secret that is a variable of the client, in a variable of the
// server.
func (i *importer) refer(s *stax.Server, n *tree.Node, key, variable string) {
	if i.out.Values[key].Reveal() != "" {
		i.lost(n, "%s of server %q is the variable of the client, and elsewhere in the file a value: both are one secret now",
			variable, s.Name)
	}
	i.named[key] = true
	i.expose(s, n, key, variable)
}

// expose gives a server a secret in a variable. A declaration has the same variable for
// all servers.
func (i *importer) expose(s *stax.Server, n *tree.Node, key, variable string) {
	d := i.declare(key)
	switch was, ok := i.variable[key]; {
	case !ok:
		if i.variable[key] = variable; variable != key {
			d.ExposeAs.Env = variable
		}
	case was != variable:
		i.lost(n, "server %q gets the secret %s as %s and not as %s: a secret has one variable for all servers", s.Name,
			key, was, variable)
	}
	needs(s, key)
}

// keep stores a value as a secret and returns its key. Different values get different
// keys.
func (i *importer) keep(s *stax.Server, name, value string) string {
	key := keyFor("", name)
	taken := func() bool {
		old, ok := i.out.Values[key]
		return i.named[key] || ok && old.Reveal() != value
	}
	if taken() {
		for other, old := range i.out.Values {
			if old.Reveal() == value && i.variable[other] == key {
				return other
			}
		}
		key = keyFor(s.Name, name)
	}
	for n, base := 2, key; taken(); n++ {
		key = fmt.Sprintf("%s_%d", base, n)
	}
	i.declare(key)
	i.out.Values[key] = stax.NewSecret(value)
	return key
}

// stands reports that a value of the file became a secret.
func (i *importer) stands(n *tree.Node, key string) {
	i.literal(n, "the file contains the value of %s; the definition only names it", key)
}

// env imports the variables of an entry: a reference or a literal secret becomes a secret,
// and everything else stays static.
func (i *importer) env(s *stax.Server, n *tree.Node) {
	i.object(s, "the variables", n)
	for _, m := range n.Members {
		value := m.Value.Text
		refs := i.references(value)
		switch {
		case m.Value.Kind == tree.Null || m.Value.Kind == tree.Array ||
			m.Value.Kind == tree.Object:
			i.lost(m.Value, "the variable %s of server %q is %s", m.Key, s.Name,
				m.Value.Kind)
		case len(refs) == 1 && refs[0].start == 0 && refs[0].end == len(value) &&
			keyFor("", m.Key) == m.Key:
			if refs[0].otherwise {
				i.lost(m.Value,
					"the default of the variable %s of server %q is lost", refs[0].key, s.Name)
			}
			i.refer(s, m.Value, refs[0].key, m.Key)
		case stax.LooksSecret(m.Key, value) != "":
			key := i.keep(s, m.Key, value)
			variable := keyFor("", m.Key)
			if i.stands(m.Value, key); variable != m.Key {
				i.lost(m.Value,
					"no secret can be in a variable called %q: server %q gets %s", m.Key, s.Name, variable)
			}
			i.expose(s, m.Value, key, variable)
		default:
			if i.refers(value) {
				i.lost(m.Value,
					"the variable %s of server %q contains a reference that definitions do not support: it stays as text, "+
						"and is not expanded",
					m.Key, s.Name)
			}
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			s.Env[m.Key] = value
		}
	}
}

// argument replaces a secret in an argument, where definitions do not support references.
func (i *importer) argument(s *stax.Server, at int, n *tree.Node) {
	if stax.LooksSecretArgument(s.Args, at) == "" {
		return
	}
	name := ""
	value := s.Args[at]
	flag, rest, ok := strings.Cut(value, "=")
	switch {
	case ok && strings.Trim(flag, "-") != "" && !strings.ContainsAny(flag, " :/"):
		name = flag
		value = rest
	case at > 0 && strings.HasPrefix(s.Args[at-1], "-"):
		name = s.Args[at-1]
	}
	if name = strings.TrimLeft(name, "-"); name == "" {
		name = fmt.Sprintf("ARGUMENT_%d", at+1)
	}
	key := i.keep(s, keyFor(s.Name, name), value)
	needs(s, key)
	s.Args[at] = strings.TrimSuffix(s.Args[at], value) + "<" + key + ">"
	i.literal(n, "argument %d of server %q contains a secret, which a definition cannot refer to there: <%s> "+
		"replaces it, and the server receives the variable %s", at+1, s.Name, key, key)
}

// object reports a value that should be a table.
func (i *importer) object(s *stax.Server, what string, n *tree.Node) {
	if n.Kind != tree.Object {
		i.lost(n, "%s of server %q are %s", what, s.Name, n.Kind)
	}
}

// headers imports the headers of a remote server, in the order of the file.
func (i *importer) headers(s *stax.Server, n *tree.Node) {
	i.object(s, "the headers", n)
	for _, m := range n.Members {
		i.header(s, m.Key, m.Value.Text, m.Value)
	}
}

// header imports a header. Secrets in it become a binding with a template, so that text
// around them stays.
func (i *importer) header(s *stax.Server, name, value string, n *tree.Node) {
	forms := i.forms
	if form := i.client.References.Header; form != "" {
		forms = []*regexp.Regexp{formOf(form)}
	}
	if refs := find(value, forms); len(refs) > 0 {
		var b strings.Builder
		at := 0
		var keys []string
		for _, r := range refs {
			if r.otherwise {
				i.lost(n,
					"the default of the variable %s of server %q is lost", r.key, s.Name)
			}
			b.WriteString(value[at:r.start] + "{" + r.key + "}")
			at = r.end
			keys = append(keys, r.key)
			i.named[r.key] = true
		}
		i.bind(s, name, b.String()+value[at:], keys...)
		return
	}
	if stax.LooksSecretHeader(name, value) != "" {
		scheme, rest, spaced := strings.Cut(value, " ")
		before := scheme + " "
		if !spaced || strings.Contains(rest, " ") {
			rest = value
			before = ""
		}
		key := i.keep(s, headerKey(s.Name, name), rest)
		i.stands(n, key)
		i.bind(s, name, before+"{"+key+"}", key)
		return
	}
	if i.refers(value) {
		i.lost(n,
			"the header %s of server %q contains a reference that definitions do not support: it stays as text, and is not "+
				"expanded",
			name, s.Name)
	}
	if s.Headers == nil {
		s.Headers = map[string]string{}
	}
	s.Headers[name] = value
}

// url removes secrets from a URL. A password before the host becomes the equivalent
// header.
func (i *importer) url(s *stax.Server, n *tree.Node) {
	s.URL = i.word(s, "the address", n)
	u, err := url.Parse(s.URL)
	if err != nil || i.refers(s.URL) {
		return
	}
	password, ok := u.User.Password()
	if ok && password != "" {
		key := i.keep(s, keyFor(s.Name, "basic"),
			base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
		i.stands(n, key)
		i.bind(s, "Authorization", "Basic {"+key+"}", key)
		u.User = nil
		s.URL = u.String()
	}
	parts := strings.Split(u.RawQuery, "&")
	for at, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(value)
		if err != nil || stax.LooksSecret(name, plain) == "" {
			continue
		}
		key := i.keep(s, keyFor(s.Name, name), plain)
		parts[at] = name + "=<" + key + ">"
		i.literal(n, "the URL of server %q contains a secret, which a definition cannot refer to "+
			"there: <%s> "+
			"replaces it", s.Name, key)
	}
	if query := strings.Join(parts, "&"); query != u.RawQuery {
		before, _, _ := strings.Cut(s.URL, "?")
		s.URL = before + "?" + query
	}
}

// headerKey returns the key of the secret in a header. The one in Authorization is a token,
// whose name should not depend on how it is sent.
func headerKey(server, header string) string {
	if strings.EqualFold(header, "Authorization") {
		header = "token"
	}
	return keyFor(server, header)
}

// keyFor returns a key built from the names of a server and of one of its parts. A valid
// variable name is kept as is.
func keyFor(server, name string) string {
	text := name
	if server != "" {
		text = server + "_" + name
	}
	upper := server != ""
	for _, r := range name {
		upper = upper ||
			r != '_' &&
				(r < 'A' || r > 'Z') &&
				(r < 'a' || r > 'z') &&
				(r < '0' || r > '9')
	}
	key := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z' && upper:
			return r - 'a' + 'A'
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, text)
	if key == "" || key[0] >= '0' && key[0] <= '9' {
		key = "_" + key
	}
	return key
}

// bind records that a header carries secrets.
func (i *importer) bind(s *stax.Server, header, template string, keys ...string) {
	for _, key := range keys {
		i.declare(key)
		needs(s, key)
	}
	i.out.Config.Bindings = append(i.out.Config.Bindings,
		stax.Binding{
			Server:   s.Name,
			Header:   header,
			Template: template,
		})
}

// bindings drops a binding that is equivalent to the default.
func (i *importer) bindings(s *stax.Server) {
	var own []stax.Binding
	for _, b := range i.out.Config.Bindings {
		if b.Server == s.Name {
			own = append(own, b)
		}
	}
	if len(own) == 1 &&
		len(s.Secrets) == 1 &&
		strings.EqualFold(own[0].Header, "Authorization") &&
		own[0].Template == "Bearer {"+s.Secrets[0]+"}" {
		i.out.Config.Bindings = slices.DeleteFunc(i.out.Config.Bindings, func(b stax.Binding) bool {
			return b.Server == s.Name
		})
	}
}
