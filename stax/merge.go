package stax

import (
	"fmt"
	"net/textproto"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Merged is the combination of several documents.
type Merged struct {
	Config *Config
	// From lists, for each server, the documents that define it, lowest precedence first.
	// The last one is in effect.
	From map[string][]*Document

	documents []*Document
}

// Merge combines documents, lowest precedence first. For each server name, the last
// definition wins as a whole, "enabled" included. The same applies to the declaration of
// a secret, the bindings of a server and the overrides of its tools. A server keeps the
// position of its first occurrence.
func Merge(documents ...*Document) *Merged {
	m := &Merged{Config: &Config{}, From: map[string][]*Document{}, documents: documents}
	for _, d := range documents {
		for _, s := range d.Config.Servers {
			if m.From[s.Name] == nil {
				m.Config.Servers = append(m.Config.Servers, s)
			} else {
				*m.Config.Server(s.Name) = s
			}
			if from := m.From[s.Name]; len(from) == 0 || from[len(from)-1] != d {
				m.From[s.Name] = append(from, d)
			}
		}
		for _, decl := range d.Config.Secrets {
			m.declare(decl)
		}
		for _, f := range d.Config.Extra {
			m.extra(f)
		}
		m.bind(d.Config.Bindings)
		m.override(d.Config.Overrides)
	}
	return m
}

func (m *Merged) declare(decl Declaration) {
	if old := m.Declaration(decl.Key); old != nil {
		*old = decl
		return
	}
	m.Config.Secrets = append(m.Config.Secrets, decl)
}

func (m *Merged) extra(f Field) {
	if i := slices.IndexFunc(m.Config.Extra, func(o Field) bool { return o.Name == f.Name }); i >= 0 {
		m.Config.Extra[i] = f
		return
	}
	m.Config.Extra = append(m.Config.Extra, f)
}

func (m *Merged) bind(bindings []Binding) {
	for _, b := range bindings {
		m.Config.Bindings = slices.DeleteFunc(m.Config.Bindings, func(o Binding) bool { return o.Server == b.Server })
	}
	m.Config.Bindings = append(m.Config.Bindings, bindings...)
}

// Declaration returns the declaration of a secret, or nil.
func (m *Merged) Declaration(key string) *Declaration {
	if i := slices.IndexFunc(m.Config.Secrets, func(d Declaration) bool { return d.Key == key }); i >= 0 {
		return &m.Config.Secrets[i]
	}
	return nil
}

// Origin returns the document with the effective definition of a server, or nil.
func (m *Merged) Origin(server string) *Document {
	from := m.From[server]
	if len(from) == 0 {
		return nil
	}
	return from[len(from)-1]
}

// Add merges the declarations and bindings of a document on top. Its servers are ignored.
func (m *Merged) Add(secrets *Document) {
	for _, decl := range secrets.Config.Secrets {
		m.declare(decl)
	}
	m.bind(secrets.Config.Bindings)
	m.documents = append(m.documents, secrets)
}

// Check reports the problems that only appear in the combination of the documents. If
// none of them declares secrets, missing declarations are only noted.
func (m *Merged) Check() *check.Report {
	report := &check.Report{}
	known := make([]string, 0, len(m.Config.Secrets))
	for _, d := range m.Config.Secrets {
		known = append(known, d.Key)
	}
	declares := slices.ContainsFunc(m.documents, func(d *Document) bool { return d.declares })
	unknown := ""
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		from := m.Origin(s.Name)
		for k, key := range s.Secrets {
			if unknown == "" && !declares {
				unknown = s.Name
			}
			if declares && m.Declaration(key) == nil {
				from.Reporter(report).Add(ruleSecretUndeclared, check.Pointer("servers", s.Name, "secrets", k),
					undeclared(key, known), "server %q needs the secret %s, which is not declared", s.Name,
					shown(key))
			}
		}
		if len(m.Unbound(s)) > 0 {
			hint := fmt.Sprintf(`beside the declarations: "bindings": {%q: {"X-Api-Key": "{%s}"}}`,
				s.Name, shown(s.Secrets[0]))
			from.Reporter(report).Add(RuleSecretUnbound, check.Pointer("servers", s.Name, "secrets"), hint,
				"server %q has several secrets, and it is not said which header each goes in", s.Name)
		}
	}
	if unknown != "" {
		m.Origin(unknown).Reporter(report).Add(ruleSecretsUnknown, check.Pointer("servers", unknown, "secrets"),
			"give the declarations with --secrets FILE", "no file declares secrets, so their keys are not checked")
	}
	m.checkBindings(report)
	m.checkOverrides(report)
	m.checkVariables(report)
	return report
}

// shown returns a key for a message. An invalid key may be a value, so it is redacted.
func shown(key string) string {
	if !variableName(key) || secrets.Known(key) != "" {
		return Redacted
	}
	return key
}

func undeclared(key string, known []string) string {
	if near := nearest.DidYouMean(key, known); near != "" {
		return "did you mean " + near + "?"
	}
	return fmt.Sprintf(`declare it: {"key": %q}`, shown(key))
}

func (m *Merged) checkBindings(report *check.Report) {
	for _, b := range m.Config.Bindings {
		at := check.Pointer("bindings", b.Server, b.Header)
		doc := m.documents[len(m.documents)-1]
		for _, d := range m.documents {
			if slices.Contains(d.Config.Bindings, b) {
				doc = d
			}
		}
		s := m.Config.Server(b.Server)
		message := ""
		switch {
		case s == nil:
			message = fmt.Sprintf("there is no server %q to bind a secret for", b.Server)
		case !s.Remote():
			message = fmt.Sprintf("server %q is started here; its secrets are variables and not headers", b.Server)
		default:
			for _, key := range b.Keys() {
				if !slices.Contains(s.Secrets, key) {
					message = fmt.Sprintf("server %q does not name the secret %s", b.Server, key)
				}
			}
			for name := range s.Headers {
				if sameHeader(name, b.Header) {
					message = fmt.Sprintf("server %q sets the header %s already", b.Server, name)
				}
			}
		}
		if message != "" {
			doc.Reporter(report).Add(ruleBinding, at, "", "%s", message)
		}
	}
}

// Unbound returns the secrets of a remote server that no binding assigns to a header. It
// returns none if the server has a single secret, which is the bearer token.
func (m *Merged) Unbound(s *Server) []string {
	if !s.Remote() {
		return nil
	}
	var unbound []string
	for _, key := range s.Secrets {
		if !slices.ContainsFunc(m.Config.Bindings, func(b Binding) bool {
			return b.Server == s.Name && slices.Contains(b.Keys(), key)
		}) {
			unbound = append(unbound, key)
		}
	}
	if len(s.Secrets) == 1 {
		return nil
	}
	return unbound
}

// sameHeader reports whether two names denote the same header.
func sameHeader(a, b string) bool {
	return textproto.CanonicalMIMEHeaderKey(a) == textproto.CanonicalMIMEHeaderKey(b)
}
