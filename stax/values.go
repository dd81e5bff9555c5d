package stax

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// rules checks the values of one server against the format.
func (d *decoder) rules(s *Server, at string) {
	d.command(s, at)
	d.address(s, at)
	d.lists(s, at)
	d.environment(s, at)
	d.headers(s, at)
	d.callerHeaders(s, at)
	d.forwards(s, at)
	d.elsewhere(s, at)
	for i, arg := range s.Args {
		if why := LooksSecretArgument(s.Args, i); why != "" {
			d.literal(check.Warning, at+check.Pointer("args", i), why)
		}
		d.reference(arg, at+check.Pointer("args", i))
	}
	if s.RegistryRef != nil && s.RegistryRef.Package != "" {
		d.Add(ruleProvenance, at+"/registryRef", s.RegistryRef.hint(), "server %q comes from a registry: %s",
			s.Name, s.RegistryRef)
	}
	if s.Disabled() {
		d.Add(ruleDisabled, at+"/enabled", "",
			"server %q is disabled: it is kept, and neither started nor configured", s.Name)
	}
}

// shellMarks are characters that only a shell interprets. Parentheses are omitted: names
// of folders on Windows contain them.
const shellMarks = "|&;<>$`*?\"'\n\r"

// command reports what only a shell would understand: commands are started without one.
func (d *decoder) command(s *Server, at string) {
	if strings.TrimSpace(s.Command) == "" {
		n, _ := d.doc.root.Find(at + "/command")
		if n != nil && n.Kind == tree.String {
			d.Add(ruleCommand, at+"/command", "", "the command is empty")
		}
		return
	}
	if strings.ContainsRune(s.Command, 0) ||
		slices.ContainsFunc(s.Args, func(a string) bool {
			return strings.ContainsRune(a, 0)
		}) {
		d.Add(ruleCommand, at+"/command", "", "a program cannot be given a zero byte")
	}
	first, rest, spaced := strings.Cut(s.Command, " ")
	switch i := strings.IndexAny(s.Command, shellMarks); {
	case i >= 0:
		d.Add(ruleShell, at+"/command", "put it into a script and name the script",
			"%q has a meaning only in a shell, and commands run without one", rune(s.Command[i]))
	case strings.HasPrefix(s.Command, "~"):
		d.Add(ruleShell, at+"/command", "write the whole path",
			"only a shell expands ~, and commands run without one")
	case strings.Contains(first, "=") && spaced:
		d.Add(ruleShell, at+"/command", "put it into env",
			"only a shell sets a variable before a command, and commands run without one")
	case spaced && !strings.ContainsAny(first, `/\`):
		d.Add(ruleCommandLine, at+"/command", fmt.Sprintf("write command %q and args %s", first,
			quoted(redactArguments(strings.Fields(rest)))), "the command looks like a whole line")
	}
}

// redactArguments replaces the arguments that look like secrets.
func redactArguments(args []string) []string {
	out := slices.Clone(args)
	for i := range args {
		if LooksSecretArgument(args, i) != "" {
			out[i] = Redacted
		}
	}
	return out
}

// elsewhere reports credentials in members that do not usually contain any.
func (d *decoder) elsewhere(s *Server, at string) {
	texts := map[string]string{
		"command":     s.Command,
		"cwd":         s.Cwd,
		"description": s.Description,
	}
	args := strings.Fields(s.Command)
	if len(texts["command"]) > 0 && !slices.Equal(redactArguments(args), args) {
		d.literal(check.Warning, at+"/command", "because it contains an argument")
		delete(texts, "command")
	}
	for name, value := range s.Metadata {
		texts["metadata"+check.Pointer(name)] = value
	}
	for _, f := range s.Extra {
		texts[jsonscan.EscapeToken(f.Name)] = string(f.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if why := secrets.Known(texts[name]); why != "" {
			d.literal(check.Warning, at+"/"+name, why)
		}
	}
}

// address reports invalid URLs, and secrets in or on the way to valid ones.
func (d *decoder) address(s *Server, at string) {
	if s.URL == "" {
		n, _ := d.doc.root.Find(at + "/url")
		if n != nil && n.Kind == tree.String && n.Text == "" {
			d.Add(ruleURL, at+"/url", "", "the url is empty")
		}
		return
	}
	at += "/url"
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		d.Add(ruleURL, at, "", "this is not a URL")
		return
	case u.Scheme != "http" && u.Scheme != "https":
		d.Add(ruleURL, at, "", "the url is not http or https")
		return
	case u.Hostname() == "":
		d.Add(ruleURL, at, "", "the url has no host")
		return
	}
	if _, given := u.User.Password(); given {
		d.literal(check.Warning, at, "a password before the host")
	}
	for name, values := range u.Query() {
		if why := LooksSecret(name, strings.Join(values, "")); why != "" {
			d.literal(check.Warning, at, why)
		}
	}
	if u.Scheme == "http" &&
		(len(s.Secrets) > 0 || s.Auth != nil) &&
		!netguard.IsLoopbackHost(u.Hostname()) && !strings.HasSuffix(u.Hostname(), ".localhost") { // RFC 6761
		d.Add(rulePlainHttp, at, "use https", "a secret would travel over plain http")
	}
	d.reference(s.URL, at)
}

// lists reports faults in the lists of secrets and tools.
func (d *decoder) lists(s *Server, at string) {
	for name, list := range map[string][]string{
		"secrets":       s.Secrets,
		"enabledTools":  s.EnabledTools,
		"disabledTools": s.DisabledTools,
	} {
		seen := map[string]bool{}
		for i, item := range list {
			if item == "" && name != "secrets" {
				d.Add(ruleType, at+check.Pointer(name, i), "remove it",
					"the name of a tool is empty")
			}
			if seen[item] {
				d.Add(ruleDuplicateItem, at+check.Pointer(name, i), "",
					"%q is repeated in %s", item, name)
			}
			seen[item] = true
		}
	}
	for i, tool := range s.DisabledTools {
		if slices.Contains(s.EnabledTools, tool) {
			d.Add(ruleToolsOverlap, at+check.Pointer("disabledTools", i), "remove it from one of the lists",
				"the tool %q is enabled and disabled", tool)
		}
	}
	if s.EnabledTools != nil && len(s.EnabledTools) == 0 {
		d.Add(ruleNoTools, at+"/enabledTools", "omit enabledTools to allow all",
			"an empty list allows no tool at all")
	}
	for i, key := range s.Secrets {
		here := at + check.Pointer("secrets", i)
		if !variableName(key) || secrets.Known(key) != "" {
			message := "this is not a key of a secret"
			if why := LooksSecret("", key); why != "" {
				message = "this looks like a value (" + why + "), and only a key is allowed here"
			}
			d.Add(ruleSecretKey, here, "letters, digits and _, as in GITHUB_TOKEN",
				"%s", message)
			continue
		}
		if _, both := s.Env[key]; both {
			d.Add(ruleSecretShadowed, at+check.Pointer("env", key), "remove it from env",
				"%s is a secret and a static variable", key)
		}
	}
}

// variableName reports whether s is a valid variable name on all systems.
func variableName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') &&
			(i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// environment reports secrets and references in static variables.
func (d *decoder) environment(s *Server, at string) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value := s.Env[name]
		here := at + check.Pointer("env", name)
		if name == "" || strings.ContainsAny(name, "=\x00") ||
			strings.ContainsRune(value, 0) {
			d.Add(ruleEnvName, here, "", "an environment cannot contain this variable")
		}
		if why := LooksSecret(name, value); why != "" {
			d.literal(check.Error, here, why)
			continue
		}
		d.reference(value, here)
	}
}

// headers reports secrets and references in static headers.
func (d *decoder) headers(s *Server, at string) {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		value := s.Headers[name]
		here := at + check.Pointer("headers", name)
		if !headerName(name) || strings.ContainsFunc(value, func(r rune) bool {
			return r < ' ' && r != '\t' || r == 0x7f
		}) {
			d.Add(ruleHeader, here, "", "HTTP cannot carry this header")
		}
		if why := LooksSecretHeader(name, value); why != "" {
			d.literal(check.Error, here, why)
			continue
		}
		d.reference(value, here)
	}
}

// headerName reports whether s is a token of RFC 9110.
func headerName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// literal reports a secret without its value.
func (d *decoder) literal(severity check.Severity, at, why string) {
	d.Add(RuleSecretLiteral.As(severity), at,
		`name it in "secrets" and give it when the server starts; if it was ever shared, replace it`,
		"this looks like the value of a secret: %s", why)
}

// reference warns of "${...}", which other programs expand and this format does not.
func (d *decoder) reference(value, at string) {
	_, rest, ok := strings.Cut(value, "${")
	if ok && strings.Contains(rest, "}") {
		d.Add(ruleReference, at, `name secrets in "secrets"`,
			"nothing is expanded here: the server receives ${...} unchanged")
	}
}

// quoted returns a list as JSON.
func quoted(list []string) string {
	text, _ := marshal(list)
	return string(text)
}
