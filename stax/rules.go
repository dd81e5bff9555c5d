package stax

import "github.com/slipway-mcp/slipway/check"

// Rule is one rule for definitions.
type Rule struct {
	ID       string         // "stax/slug"
	Severity check.Severity // the highest severity it is reported with
	About    string         // what it requires, in one line of Markdown
}

// hints maps rules to the hint for findings without a more specific one. It includes the
// rules of package stax/clients.
func hints() map[string]string {
	return map[string]string{
		"stax/syntax":             "mend this place: nothing behind it is read",
		"stax/script":             "write the value out, or generate a .json file with a program of yours",
		"stax/duplicate-name":     "give each its own name, or take one out",
		"stax/no-servers":         `write "servers": {"name": {"command": "..."}}`,
		"stax/spec-version":       `write "1.0.0"`,
		"stax/name":               "use letters, digits, - and _, which every client can carry",
		"stax/url":                "write it whole, as in https://mcp.example.com/mcp",
		"stax/env-name":           "a name has no = in it, and neither name nor value a zero byte",
		"stax/header":             "a name is letters, digits and -, and a value has no line end",
		"stax/command":            `write the name or the path of a program, as in "npx"`,
		"stax/secret-declaration": "letters, digits and _, as in GITHUB_TOKEN",
		"stax/binding":            `bindings are written {"server": {"Header": "Bearer {KEY}"}}, for a secret of that server`,
		"stax/duplicate-item":     "take one out",
		"stax/override":           "overrides are written below the name of the server and its own name of the tool",
		"stax/tool-collision":     "give one of them another name",
		"stax/isolate":            `write "isolate": "session"`,
		"stax/disabled":           `"enabled": true starts it, also in a file that is merged on top`,

		"stax/lossy":               "--via auto sends the server through the launcher, which keeps it",
		"stax/client-name":         "give the server another name, of letters, digits, - and _",
		"stax/client-transport":    "--via auto sends it through the launcher, which can",
		"stax/would-expand":        "--via auto sends the server through the launcher, which expands nothing",
		"stax/secret-no-reference": "--via auto sends the server through the launcher, which gives it the secret",
		"stax/not-written":         "nothing is to be done: it describes, and changes nothing",
		"stax/not-portable":        "keep the file in the project, or do not commit the entry",
		"stax/via-launcher":        "--via direct writes what the client can say itself",
		"stax/not-exported":        "write it where people find out how to set the server up",
		"stax/command-not-found":   "install it, or write its whole path",
	}
}

// Rules returns all rules for definitions, by name. Package stax/clients has those for
// what other programs can represent.
func Rules() []Rule {
	return []Rule{
		{"stax/syntax", check.Error, "the file can be read in its format"},
		{"stax/script", check.Error, "a script uses only what can be worked out without running it"},
		{"stax/size", check.Error, "a file has at most 1 MB"},
		{"stax/duplicate-name", check.Error, "no name is given twice in one object"},
		{"stax/servers", check.Error, "there is an object `servers`"},
		{"stax/no-servers", check.Warning, "`servers` has at least one server"},
		{"stax/spec-version", check.Error, "`specVersion` is a version, and its first number is not above 1"},
		{"stax/name", check.Error, "a server has a name without control characters"},
		{"stax/kind", check.Error, "a server has exactly one of `command`, and `url` with `transport`"},
		{"stax/transport", check.Error, "`transport` is `http` or `sse`"},
		{"stax/type", check.Error, "a member has the type of the format"},
		{"stax/isolate", check.Error,
			"`isolate` is `session` or `principal`, and its numbers of processes are between 1 and 10,000"},
		{"stax/wrong-kind-field", check.Error, "`args`, `env` and `cwd` go with `command`, `headers` with `url`"},
		{"stax/unknown-field", check.Warning, "a member is one of the format; others are kept"},
		{"stax/url", check.Error, "`url` is absolute, http or https, with a host"},
		{"stax/plain-http", check.Warning, "a secret does not travel over plain http to another machine"},
		{"stax/env-name", check.Error, "a variable has a name that an environment can hold"},
		{"stax/header", check.Error, "a header has a name and a value that HTTP can carry"},
		{"stax/command", check.Error, "`command` is not empty, and neither it nor an argument holds a zero byte"},
		{"stax/shell", check.Warning, "`command` needs no shell: no pipes, redirects, variables"},
		{"stax/command-line", check.Warning, "`command` is a program, its arguments are in `args`"},
		{"stax/reference", check.Warning, "`env`, `headers` and the rest are static: `${NAME}` is not expanded"},
		{
			"stax/secret-literal",
			check.Error,
			"no value of a secret stands in `env` or `headers`, or (a warning) elsewhere in a server",
		},
		{"stax/secret-key", check.Error, "the key of a secret is a name that a variable can have"},
		{"stax/secret-shadowed", check.Error, "a secret is not set by `env` or `headers` as well"},
		{"stax/secret-undeclared", check.Error, "every secret that a server names is declared, in all files together"},
		{"stax/secret-declaration", check.Error, "a declaration has a key, and its members the types of the format"},
		{"stax/secret-kind", check.Warning, "the kind of a secret is one of the format"},
		{"stax/secret-unbound", check.Warning, "it is known in which header each secret of a remote server goes"},
		{"stax/binding", check.Error, "a binding is for a remote server, and its secrets are named by it"},
		{"stax/secrets-unknown", check.Note, "there are declarations to hold the secrets against"},
		{"stax/duplicate-item", check.Warning, "nothing stands twice in a list"},
		{"stax/tools-overlap", check.Error, "no tool is enabled and disabled"},
		{"stax/no-tools", check.Warning, "an empty list of enabled tools allows none, which is seldom meant"},
		{
			"stax/override",
			check.Error,
			"an override is for a tool of a server that is defined, which its lists allow; the new name is one that a tool can have",
		},
		{"stax/tool-collision", check.Error, "no two tools of a server are shown by one name"},
		{"stax/digest", check.Warning, "a digest names its algorithm and has its length"},
		{"stax/provenance", check.Note, "where a server came from: digest, package, version, registry"},
		{"stax/disabled", check.Note, "a server is disabled: it is kept, and neither started nor configured"},
	}
}
