package stax

import (
	"fmt"

	"github.com/slipway-mcp/slipway/check"
)

// checkVariables reports variables and headers that a server would receive twice across
// documents, since a declaration sets the name of the variable.
func (m *Merged) checkVariables(report *check.Report) {
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		add := func(message, hint string, at ...any) {
			report.Add(m.Origin(s.Name).Place(check.Finding{
				Rule:    "stax/secret-shadowed",
				Pointer: pointer(append([]any{"servers", s.Name}, at...)...),
				Message: message, Hint: hint,
			}))
		}
		if s.Remote() {
			m.checkBearer(s, add)
			continue
		}
		owner := map[string]string{}
		for k, key := range s.Secrets {
			for _, variable := range m.variables(key) {
				_, static := s.Env[variable]
				switch first, taken := owner[variable]; {
				case static && variable != key: // the other case is found without the declaration
					add(fmt.Sprintf("%s is a static variable, and the secret %s is given as it", variable, shown(key)),
						"take it out of env", "env", variable)
				case taken && first != key:
					add(fmt.Sprintf("the secrets %s and %s are given in one variable: %s", shown(first), shown(key), variable),
						"give each its own with exposeAs", "secrets", k)
				}
				owner[variable] = key
			}
		}
	}
}

// variables returns the variables that a secret is exposed in.
func (m *Merged) variables(key string) []string {
	var list []string
	d := m.Declaration(key)
	if d == nil {
		return []string{key}
	}
	if d.ExposeAs.File != "" && !isSecretPath(d.ExposeAs.File) {
		list = append(list, d.ExposeAs.File)
	}
	switch {
	case d.ExposeAs.Env != "":
		list = append(list, d.ExposeAs.Env)
	case d.ExposeAs.File == "":
		list = append(list, key)
	}
	return list
}

// checkBearer reports a static header that conflicts with the implicit bearer token.
// checkBindings covers explicit bindings.
func (m *Merged) checkBearer(s *Server, add func(message, hint string, at ...any)) {
	for _, b := range m.BindingsOf(s) {
		for name := range s.Headers {
			if sameHeader(name, b.Header) && len(s.Secrets) == 1 && !m.bound(s.Name) {
				add(fmt.Sprintf("the only secret of server %q is its bearer token, and it sets the header %s as well",
					s.Name, name), "take it out of headers", "headers", name)
			}
		}
	}
}

// bound reports whether a server has any binding.
func (m *Merged) bound(server string) bool {
	for _, b := range m.Config.Bindings {
		if b.Server == server {
			return true
		}
	}
	return false
}
