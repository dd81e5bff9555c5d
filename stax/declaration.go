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
	// Key is the name of the secret: letters, digits and "_".
	Key      string `json:"key"`
	Required *bool  `json:"required,omitempty"` // nil is true
	// Description tells the user what to get, and where.
	Description string `json:"description,omitempty"`
	Kind        string `json:"kind,omitempty"` // one of [SecretKinds]; informational
	// ExposeAs names the variable or file in which a local server expects the secret; by
	// default, the variable is called Key.
	ExposeAs ExposeAs `json:"exposeAs,omitzero"`
	// Extra are members that the format does not define, in file order.
	Extra []Field `json:"-"`
}

// isSecretPath reports whether exposeAs.file is the path of the file rather than the name
// of a variable: a clean path that is absolute on this system or on Unix.
func isSecretPath(file string) bool {
	if strings.ContainsFunc(file, func(r rune) bool {
		return r < ' ' || r == 0x7f
	}) || strings.HasSuffix(file, "/") {
		return false
	}
	return strings.HasPrefix(file, "/") && path.Clean(file) == file ||
		filepath.IsAbs(file) && filepath.Clean(file) == file
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
func (d *Declaration) Optional() bool {
	return d.Required != nil && !*d.Required
}

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
	// Server is the name of a remote server, and Header the name of the HTTP header.
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
	d.object(root, "", fields{
		"specVersion": d.specVersion,
		"secrets":     d.declarations,
		"bindings":    d.bindings,
		"$schema":     forbidden(func(*tree.Node, string) {}),
	}, &d.doc.Config.Extra)
}

// declarations decodes the list of secrets. A key that looks like a value is reported as a
// secret in the file, and not repeated in the message.
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
		case !variableName(decl.Key) && LooksSecret("", decl.Key) != "":
			d.literal(check.Error, here, "only a key is allowed here")
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

// declaration decodes one declaration. Values do not belong into definitions, which are
// shared.
func (d *decoder) declaration(decl *Declaration, n *tree.Node, at string) {
	noValue := forbidden(func(_ *tree.Node, at string) {
		d.literal(check.Error, at, "a declaration has no value")
	})
	d.object(n, at, fields{
		"key":         &decl.Key,
		"description": &decl.Description,
		"required":    &decl.Required,
		"kind": func(n *tree.Node, at string) {
			if d.read(n, at, &decl.Kind) && !slices.Contains(SecretKinds(), decl.Kind) {
				d.Add(ruleSecretKind, at, "one of "+strings.Join(SecretKinds(), ", "),
					"unknown kind of secret %s", quote(decl.Kind))
			}
		},
		"exposeAs": func(n *tree.Node, at string) {
			d.object(n, at, fields{
				"env": func(n *tree.Node, at string) {
					d.expose(&decl.ExposeAs.Env, n, at)
				},
				"file": func(n *tree.Node, at string) {
					d.exposeFile(&decl.ExposeAs.File, n, at)
				},
			}, &decl.Extra)
		},
		"value":   noValue,
		"default": noValue,
	}, &decl.Extra)
}

// expose reads the name of the variable that contains a secret.
func (d *decoder) expose(into *string, n *tree.Node, at string) {
	if d.read(n, at, into) && !variableName(*into) {
		d.Add(ruleSecretDeclaration, at, "", "invalid variable name %q", *into)
	}
}

// exposeFile reads the variable for the path of a file with a secret, or that path.
func (d *decoder) exposeFile(into *string, n *tree.Node, at string) {
	if d.read(n, at, into) && !variableName(*into) && !isSecretPath(*into) {
		d.Add(ruleSecretDeclaration, at,
			"write a variable, which gets the path of a file, or a path such as /run/secrets/token",
			"%q is neither a variable nor the absolute path of a file", *into)
	}
}

// bindings decodes the headers that carry the secrets of remote servers.
func (d *decoder) bindings(n *tree.Node, at string) {
	if !d.kind(n, at, tree.Object) {
		return
	}
	for _, m := range members(n) {
		table := map[string]string{}
		at := at + check.Pointer(m.Key)
		d.read(m.Value, at, &table)
		for _, header := range slices.Sorted(maps.Keys(table)) {
			b := Binding{
				Server:   m.Key,
				Header:   header,
				Template: table[header],
			}
			here := at + check.Pointer(header)
			switch {
			case !headerName(header):
				d.Add(ruleHeader, here, "", "HTTP cannot carry this header")
			case len(b.Keys()) == 0 && LooksSecretHeader(header, b.Template) != "":
				d.literal(check.Error, here, "write {KEY} for the secret")
			case len(b.Keys()) == 0:
				d.Add(ruleBinding, here, `write {KEY} for it, as in "Bearer {GITHUB_TOKEN}"`,
					"the binding does not contain a secret")
			default:
				d.doc.Config.Bindings = append(d.doc.Config.Bindings, b)
			}
		}
	}
}

func (b Binding) server() string { return b.Server }

// bindingTable returns bindings in the layout of the format.
func bindingTable(bindings []Binding) *object {
	return byServer(bindings, func(headers *object, b Binding) {
		headers.add(b.Header, b.Template)
	})
}
