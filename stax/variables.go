package stax

import (
	"github.com/slipway-mcp/slipway/check"
)

// checkVariables reports variables and headers that a server would receive twice across
// documents, since a declaration sets the name of the variable.
func (m *Merged) checkVariables(report *check.Report) {
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		r := m.Origin(s.Name).Reporter(report).Under(check.Pointer("servers", s.Name))
		if s.Remote() {
			m.checkBearer(s, r)
			continue
		}
		owner := map[string]string{}
		for k, key := range s.Secrets {
			for _, variable := range m.variables(key) {
				_, static := s.Env[variable]
				switch first, taken := owner[variable]; {
				case static && variable != key: // the other case is found without the declaration
					r.Add(ruleSecretShadowed, check.Pointer("env", variable), "remove it from env",
						"%s is a static variable, and the secret %s is given as it", variable, shown(key))
				case taken && first != key:
					r.Add(ruleSecretShadowed, check.Pointer("secrets", k), "give each its own with exposeAs",
						"the secrets %s and %s are given in one variable: %s", shown(first), shown(key), variable)
				}
				owner[variable] = key
			}
		}
	}
}

// variables returns the variables that a secret is exposed in.
func (m *Merged) variables(key string) []string {
	var list []string
	d := m.Config.Declaration(key)
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
func (m *Merged) checkBearer(s *Server, r check.Reporter) {
	for _, b := range m.BindingsOf(s) {
		for name := range s.Headers {
			if sameHeader(name, b.Header) && len(s.Secrets) == 1 &&
				len(ofServer(m.Config.Bindings, s.Name)) == 0 {
				r.Add(ruleSecretShadowed, check.Pointer("headers", name), "remove it from headers",
					"the only secret of server %q is its bearer token, and it sets the header %s as well", s.Name,
					name)
			}
		}
	}
}
