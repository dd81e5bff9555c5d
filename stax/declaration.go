package stax

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Declaration describes a secret. It never contains the value.
type Declaration struct {
	Key         string   `json:"key"`
	Required    *bool    `json:"required,omitempty"` // nil is true
	Description string   `json:"description,omitempty"`
	Kind        string   `json:"kind,omitempty"` // one of [SecretKinds]; informational
	ExposeAs    ExposeAs `json:"exposeAs,omitzero"`
	Extra       []Field  `json:"-"`
}

// isSecretPath reports whether exposeAs.file is the path of the file rather than the name
// of a variable: a clean path that is absolute on this system or on Unix.
func isSecretPath(file string) bool {
	if strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.HasSuffix(file, "/") {
		return false
	}
	return strings.HasPrefix(file, "/") && path.Clean(file) == file || filepath.IsAbs(file) && filepath.Clean(file) == file
}

// ExposeAs selects how a local server receives a secret.
type ExposeAs struct {
	// Env is the variable that contains the secret. Empty means Key, unless File is set.
	Env string `json:"env,omitempty"`
	// File is the variable that contains the path of a file with the secret or, if File is
	// an absolute path, that path itself.
	File string `json:"file,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (d Declaration) MarshalJSON() ([]byte, error) {
	type alias Declaration
	body, err := marshal(alias(d))
	if err != nil {
		return nil, err
	}
	return appendFields(body, d.Extra)
}

// Optional reports whether the server can start without the secret.
func (d *Declaration) Optional() bool { return d.Required != nil && !*d.Required }

// SecretKinds returns the valid values of Kind.
func SecretKinds() []string {
	return []string{"api-key", "token", "password", "certificate", "connection-string", "url", "opaque"}
}

// Binding assigns the secrets of a remote server to a header. The headers of the format
// are static, so bindings are written next to the declarations:
//
//	"bindings": {"analytics": {"X-Api-Key": "{ANALYTICS_TOKEN}"}}
//
// A remote server with one secret and no binding receives it as a bearer token.
type Binding struct {
	Server string
	Header string
	// Template is the header value, with {KEY} as the placeholder of a secret.
	Template string
}

// Keys returns the keys of the secrets in the template.
func (b *Binding) Keys() []string {
	var keys []string
	rest := b.Template
	for {
		_, after, ok := strings.Cut(rest, "{")
		key, behind, closed := strings.Cut(after, "}")
		if !ok || !closed {
			return keys
		}
		if variableName(key) {
			keys = append(keys, key)
		}
		rest = behind
	}
}

// secretsOnly decodes a file that contains only declarations.
func (d *decoder) secretsOnly() {
	root := d.doc.root
	if root.Kind == tree.Array {
		d.declarations(root, "")
		return
	}
	if root.Kind != tree.Object || root.Get("secrets") == nil {
		d.Add(ruleSecretDeclaration, "/secrets", `write {"secrets": [{"key": "GITHUB_TOKEN"}]}`,
			"the file declares no secrets")
		return
	}
	for _, m := range members(root) {
		switch m.Key {
		case "specVersion":
			d.specVersion(m.Value)
		case "secrets":
			d.declarations(m.Value, "/secrets")
		case "bindings":
			d.bindings(m.Value)
		case "$schema":
		default:
			d.unknown(m, "", []string{"specVersion", "secrets", "bindings"}, &d.doc.Config.Extra)
		}
	}
}

func (d *decoder) declarations(n *tree.Node, at string) {
	if !d.kind(n, at, tree.Array) {
		return
	}
	d.doc.declares = true
	seen := map[string]bool{}
	for i, item := range n.Items {
		here := at + check.Pointer(i)
		decl := Declaration{}
		if item.Kind == tree.String { // the key alone
			decl.Key = item.Text
		} else if d.kind(item, here, tree.Object) {
			d.declaration(&decl, item, here)
		} else {
			continue
		}
		switch {
		case !variableName(decl.Key) && secretValue("", decl.Key) != "":
			d.literal(check.Error, here, "a key belongs here")
			continue
		case !variableName(decl.Key):
			d.Add(ruleSecretDeclaration, here, "letters, digits and _, as in GITHUB_TOKEN",
				"the declaration has no key that a variable can have")
			continue
		case seen[decl.Key]:
			d.Add(ruleDuplicateName, here, "", "the secret %s is declared twice", decl.Key)
		}
		seen[decl.Key] = true
		d.doc.Config.Secrets = append(d.doc.Config.Secrets, decl)
	}
}

func (d *decoder) declaration(decl *Declaration, n *tree.Node, at string) {
	for _, m := range members(n) {
		here := at + check.Pointer(m.Key)
		switch m.Key {
		case "key":
			d.text(m.Value, here, &decl.Key)
		case "description":
			d.text(m.Value, here, &decl.Description)
		case "required":
			if d.kind(m.Value, here, tree.Bool) {
				required := m.Value.Text == "true"
				decl.Required = &required
			}
		case "kind":
			if d.text(m.Value, here, &decl.Kind) && !slices.Contains(SecretKinds(), decl.Kind) {
				d.Add(ruleSecretKind, here, "one of "+strings.Join(SecretKinds(), ", "),
					"there is no kind of secret %s", quote(decl.Kind))
			}
		case "exposeAs":
			d.exposeAs(decl, m.Value, here)
		case "value", "default":
			d.literal(check.Error, here, "a declaration has no value")
		default:
			d.unknown(m, at, []string{"key", "required", "description", "kind", "exposeAs"}, &decl.Extra)
		}
	}
}

func (d *decoder) exposeAs(decl *Declaration, n *tree.Node, at string) {
	if !d.kind(n, at, tree.Object) {
		return
	}
	for _, m := range members(n) {
		into, ok := map[string]*string{"env": &decl.ExposeAs.Env, "file": &decl.ExposeAs.File}[m.Key]
		here := at + check.Pointer(m.Key)
		if !ok {
			d.unknown(m, at, []string{"env", "file"}, &decl.Extra)
			continue
		}
		switch {
		case !d.text(m.Value, here, into) || variableName(*into):
		case m.Key == "file" && isSecretPath(*into):
		case m.Key == "file":
			d.Add(ruleSecretDeclaration, here,
				"write a variable, which gets the path of a file, or a path such as /run/secrets/token",
				"%q is neither a variable nor the absolute path of a file", *into)
		default:
			d.Add(ruleSecretDeclaration, here, "", "no variable can be called %q", *into)
		}
	}
}

func (d *decoder) bindings(n *tree.Node) {
	if !d.kind(n, "/bindings", tree.Object) {
		return
	}
	for _, m := range members(n) {
		table := map[string]string{}
		at := check.Pointer("bindings", m.Key)
		d.table(m.Value, at, &table)
		for _, header := range slices.Sorted(maps.Keys(table)) {
			b := Binding{Server: m.Key, Header: header, Template: table[header]}
			here := at + check.Pointer(header)
			switch {
			case !headerName(header):
				d.Add(ruleHeader, here, "", "HTTP cannot carry this header")
			case len(b.Keys()) == 0 && secretHeader(header, b.Template) != "":
				d.literal(check.Error, here, "write {KEY} for the secret")
			case len(b.Keys()) == 0:
				d.Add(ruleBinding, here, `write {KEY} for it, as in "Bearer {GITHUB_TOKEN}"`,
					"the binding holds no secret")
			default:
				d.doc.Config.Bindings = append(d.doc.Config.Bindings, b)
			}
		}
	}
}

// bindingTable returns bindings in the layout of the format.
func bindingTable(bindings []Binding) *object {
	var servers object
	for i, b := range bindings {
		if slices.ContainsFunc(bindings[:i], func(o Binding) bool { return o.Server == b.Server }) {
			continue
		}
		var headers object
		for _, o := range bindings[i:] {
			if o.Server == b.Server {
				headers.add(o.Header, o.Template)
			}
		}
		servers.add(b.Server, &headers)
	}
	return &servers
}
