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
	// Config has the servers of all documents, each as the last one defines it.
	Config *Config
	// From lists, for each server, the documents that define it, lowest precedence first.
	// The last one is in effect.
	From map[string][]*Document

	// documents are all documents, lowest precedence first.
	documents []*Document
}

// Merge combines documents, lowest precedence first. For each server name, the last
// definition wins as a whole, "enabled" included. The same applies to the declaration of
// a secret, the bindings of a server and the overrides of its tools. A server keeps the
// position of its first occurrence.
func Merge(documents ...*Document) *Merged {
	m := &Merged{
		Config:    &Config{},
		From:      map[string][]*Document{},
		documents: documents,
	}
	for _, d := range documents {
		for _, s := range d.Config.Servers {
			if m.From[s.Name] == nil {
				m.Config.Servers = append(m.Config.Servers, s)
			} else {
				m.replace(s)
			}
			from := m.From[s.Name]
			if len(from) == 0 || from[len(from)-1] != d {
				m.From[s.Name] = append(from, d)
			}
		}
		for _, decl := range d.Config.Secrets {
			m.declare(decl)
		}
		for _, f := range d.Config.Extra {
			m.extra(f)
		}
		m.Config.Bindings = replaceItems(m.Config.Bindings, d.Config.Bindings)
		m.Config.Overrides = replaceItems(m.Config.Overrides, d.Config.Overrides)
	}
	return m
}

// replace replaces the server of that name, including the binding that its auth is.
func (m *Merged) replace(s Server) {
	old := m.Config.Server(s.Name)
	if b, ok := old.headerBinding(); ok {
		m.Config.Bindings = slices.DeleteFunc(m.Config.Bindings, func(other Binding) bool { return other == b })
	}
	*old = s
}

// declare adds or replaces the declaration of a secret.
func (m *Merged) declare(decl Declaration) {
	if old := m.Config.Declaration(decl.Key); old != nil {
		*old = decl
		return
	}
	m.Config.Secrets = append(m.Config.Secrets, decl)
}

// extra adds or replaces a top-level member that the format does not define.
func (m *Merged) extra(f Field) {
	if i := slices.IndexFunc(m.Config.Extra, func(o Field) bool {
		return o.Name == f.Name
	}); i >= 0 {
		m.Config.Extra[i] = f
		return
	}
	m.Config.Extra = append(m.Config.Extra, f)
}

// serverItem is a part of a Config that belongs to a server.
type serverItem interface {
	comparable
	server() string
}

// ofServer returns the items of a server, in order.
func ofServer[T serverItem](list []T, server string) (all []T) {
	for _, item := range list {
		if item.server() == server {
			all = append(all, item)
		}
	}
	return all
}

// replaceItems returns old with the items of every server in list replaced.
func replaceItems[T serverItem](old, list []T) []T {
	old = slices.DeleteFunc(old, func(o T) bool {
		return len(ofServer(list, o.server())) > 0
	})
	return append(old, list...)
}

// byServer returns an object with a member for each server. add writes an item to it.
func byServer[T serverItem](list []T, add func(*object, T)) *object {
	var servers object
	written := map[string]bool{}
	for _, item := range list {
		name := item.server()
		if written[name] {
			continue
		}
		written[name] = true
		var items object
		for _, item := range ofServer(list, name) {
			add(&items, item)
		}
		servers.add(name, &items)
	}
	return &servers
}

// lastWith returns the last document for which has returns true, or else the last one.
func (m *Merged) lastWith(has func(*Document) bool) *Document {
	for _, d := range slices.Backward(m.documents) {
		if has(d) {
			return d
		}
	}
	return m.documents[len(m.documents)-1]
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
	m.Config.Bindings = replaceItems(m.Config.Bindings, secrets.Config.Bindings)
	m.documents = append(m.documents, secrets)
}

// Only returns the combination restricted to some servers, with their bindings and
// overrides. All declarations of secrets remain.
func (m *Merged) Only(servers ...string) *Merged {
	others := func(name string) bool { return !slices.Contains(servers, name) }
	only := *m
	only.Config = &Config{
		Servers: slices.DeleteFunc(slices.Clone(m.Config.Servers), func(s Server) bool {
			return others(s.Name)
		}),
		Secrets: m.Config.Secrets,
		Bindings: slices.DeleteFunc(slices.Clone(m.Config.Bindings), func(b Binding) bool {
			return others(b.Server)
		}),
		Overrides: slices.DeleteFunc(slices.Clone(m.Config.Overrides), func(o Override) bool {
			return others(o.Server)
		}),
		Extra: m.Config.Extra,
	}
	return &only
}

// Check reports the problems that only appear in the combination of the documents. If
// none of them declares secrets, missing declarations are only noted.
func (m *Merged) Check() *check.Report {
	report := &check.Report{}
	known := make([]string, 0, len(m.Config.Secrets))
	for _, d := range m.Config.Secrets {
		known = append(known, d.Key)
	}
	declares := slices.ContainsFunc(m.documents, func(d *Document) bool {
		return d.declares
	})
	unknown := ""
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		from := m.Origin(s.Name)
		for k, key := range s.SecretKeys() {
			at := check.Pointer("servers", s.Name, "secrets", k)
			if k >= len(s.Secrets) {
				at = check.Pointer("servers", s.Name, "auth")
			}
			if unknown == "" && !declares {
				unknown = s.Name
			}
			if declares && m.Config.Declaration(key) == nil {
				from.Reporter(report).Add(ruleSecretUndeclared, at,
					undeclared(key, known), "server %q needs the secret %s, which is not declared", s.Name,
					shown(key))
			}
		}
		if len(m.Unbound(s)) > 0 {
			hint := fmt.Sprintf(`next to the declarations: "bindings": {%q: {"X-Api-Key": "{%s}"}}`,
				s.Name, shown(s.Secrets[0]))
			from.Reporter(report).Add(RuleSecretUnbound, check.Pointer("servers",
				s.Name, "secrets"), hint,
				"server %q has several secrets, and nothing binds them to headers", s.Name)
		}
	}
	if unknown != "" {
		member := "secrets"
		if len(m.Config.Server(unknown).Secrets) == 0 {
			member = "auth"
		}
		m.Origin(unknown).Reporter(report).Add(ruleSecretsUnknown, check.Pointer("servers", unknown, member),
			"pass the declarations with --secrets FILE", "no file declares secrets, so their keys are not checked")
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

// undeclared returns the hint for a key without a declaration: the nearest declared key, or
// else the declaration to add.
func undeclared(key string, known []string) string {
	if near := nearest.DidYouMean(key, known); near != "" {
		return "did you mean " + near + "?"
	}
	return fmt.Sprintf(`declare it: {"key": %q}`, shown(key))
}

// checkBindings reports bindings without effect. They can only be checked after merging,
// since a server may be in another document.
func (m *Merged) checkBindings(report *check.Report) {
	for _, b := range m.Config.Bindings {
		at := check.Pointer("bindings", b.Server, b.Header)
		doc := m.lastWith(func(d *Document) bool {
			return slices.Contains(d.Config.Bindings, b)
		})
		s := m.Config.Server(b.Server)
		message := ""
		switch {
		case s == nil:
			message = fmt.Sprintf("no server is named %q, so nothing can be bound to it", b.Server)
		case !s.Remote():
			message = fmt.Sprintf("server %q is started here; its secrets are variables and not headers", b.Server)
		default:
			for _, key := range b.Keys() {
				if !slices.Contains(s.Secrets, key) {
					message = fmt.Sprintf("server %q does not name the secret %s",
						b.Server, key)
				}
			}
			for name := range s.Headers {
				if sameHeader(name, b.Header) {
					message = fmt.Sprintf("server %q sets the header %s already",
						b.Server, name)
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
	if !s.Remote() || len(s.Secrets) == 1 && s.Auth == nil {
		return nil
	}
	bindings := ofServer(m.Config.Bindings, s.Name)
	return slices.DeleteFunc(slices.Clone(s.Secrets), func(key string) bool {
		return slices.ContainsFunc(bindings, func(b Binding) bool {
			return slices.Contains(b.Keys(), key)
		})
	})
}

// sameHeader reports whether two names denote the same header.
func sameHeader(a, b string) bool {
	return textproto.CanonicalMIMEHeaderKey(a) == textproto.CanonicalMIMEHeaderKey(b)
}
