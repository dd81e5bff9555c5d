package registry

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/stax"
)

// launcher describes how packages of one type are started.
type launcher struct {
	// registryType is the type of the packages, as in [Package].
	registryType string
	programs     []string // the first is the default if the package names none of them
	// args builds a command line from its parts.
	args func(l *line) []string
}

// line contains the parts of a command line.
type line struct {
	program string
	what    string   // the package, with its version
	runtime []string // arguments of the program
	own     []string // arguments of the package
	env     []string // names of the variables that it needs
}

// launchers returns how to start packages of each kind, with the first program as the
// default. Flags that keep a launcher from prompting are added unless present.
func launchers() []launcher {
	return []launcher{
		{"npm", []string{"npx", "bunx"}, func(l *line) []string {
			yes := []string{"-y"}
			if l.program == "bunx" {
				yes = nil
			}
			return slices.Concat(missing(yes, l.runtime, "--yes"), l.runtime,
				[]string{l.what}, l.own)
		}},
		{"pypi", []string{"uvx"}, func(l *line) []string {
			n := len(l.runtime)
			if n > 0 && l.runtime[n-1] == "--from" {
				l.what = strings.Replace(l.what, "@", "==", 1) // a requirement, not a tool
			}
			return slices.Concat(l.runtime, []string{l.what}, l.own)
		}},
		{"oci", []string{"docker", "podman"}, func(l *line) []string {
			runtime := l.runtime
			if len(runtime) > 0 && runtime[0] == "run" {
				runtime = runtime[1:]
			}
			args := slices.Concat([]string{"run"}, missing([]string{"-i"}, runtime,
				"--interactive"),
				missing([]string{"--rm"}, runtime))
			for _, name := range l.env {
				args = append(args, "-e", name)
			}
			return slices.Concat(args, runtime, []string{l.what}, l.own)
		}},
		{"nuget", []string{"dnx", "dotnet"}, func(l *line) []string {
			args := []string{l.what}
			if l.program == "dotnet" {
				args = []string{"tool", "exec", l.what}
			}
			args = slices.Concat(args, missing([]string{"--yes"}, l.runtime, "-y"), l.runtime)
			if len(l.own) > 0 {
				args = append(append(args, "--"), l.own...)
			}
			return args
		}},
	}
}

// missing returns flags unless args contains one of them, or one of their aliases in
// others.
func missing(flags, args []string, others ...string) []string {
	for _, f := range append(others, flags...) {
		if slices.Contains(args, f) {
			return nil
		}
	}
	return flags
}

// launcherOf returns the launcher for a kind of package, or nil.
func launcherOf(registryType string) *launcher {
	all := launchers()
	if i := slices.IndexFunc(all, func(l launcher) bool {
		return l.registryType == registryType
	}); i >= 0 {
		return &all[i]
	}
	return nil
}

// pack converts a package.
func (b *builder) pack(p *Package) error {
	if strings.HasPrefix(p.Identifier, "-") ||
		strings.HasPrefix(p.Version, "-") ||
		strings.ContainsFunc(p.Identifier+p.Version, func(r rune) bool {
			return r <= ' ' || r == 0x7f
		}) {
		return &UnfitError{Why: fmt.Sprintf("%q is not a package", p.Identifier)}
	}
	s := b.server
	if p.FileSHA256 != "" {
		s.RegistryRef.Digest = "sha256:" + p.FileSHA256
	}
	l := &line{what: versioned(p)}
	_, digest, ok := strings.Cut(p.Identifier, "@sha256:")
	if ok && p.RegistryType == "oci" {
		s.RegistryRef.Digest = "sha256:" + digest
	}
	l.env = b.environment(p.EnvironmentVariables)
	var err error
	runtime := p.RuntimeArguments
	if p.RegistryType == "oci" {
		runtime = b.imageArguments(p, l)
	}
	if l.runtime, err = b.arguments(runtime); err != nil {
		return err
	}
	if l.own, err = b.arguments(p.PackageArguments); err != nil {
		return err
	}
	if p.RegistryType == "cargo" && (!crateName().MatchString(p.Identifier) ||
		p.Version != "" && !packVersion().MatchString(p.Version)) {
		return &UnfitError{Why: fmt.Sprintf("%.100q is not a crate of crates.io", l.what)}
	}
	switch kind := launcherOf(p.RegistryType); {
	case p.RegistryType == "mcpb" && p.FileSHA256 == "":
		return &UnfitError{
			Why: "the document has no fileSha256 for its bundle, which the schema requires: without it, the " +
				"bundle cannot be verified",
			Hint: "slipway add with the URL of the bundle adds it as it is now: " + secrets.URL(p.Identifier),
		}
	case p.RegistryType == "mcpb":
		b.out.Bundle = &Bundle{
			URL:    p.Identifier,
			SHA256: p.FileSHA256,
		}
		if len(l.runtime)+len(l.own) > 0 {
			b.lost(check.Warning, "arguments of a bundle are omitted: it has those of its own manifest")
		}
	case p.RegistryType == "cargo":
		if err := b.source(p, l); err != nil {
			return err
		}
		s.Command = p.Identifier
		s.Args = l.own
		b.todo("cargo install %s", strings.ReplaceAll(l.what, "@", " --version "))
	case kind == nil:
		return &UnfitError{
			Why:  fmt.Sprintf("unknown package type %q: it cannot be started", p.RegistryType),
			Hint: "it offers " + strings.Join(b.doc.Choices(), ", "),
		}
	default:
		l.program = kind.programs[0]
		if slices.Contains(kind.programs, p.RuntimeHint) {
			l.program = p.RuntimeHint
		} else if p.RuntimeHint != "" {
			b.lost(check.Note,
				"the package is to be started by %q; %s starts it instead", p.RuntimeHint, l.program)
		}
		if err := b.source(p, l); err != nil {
			return err
		}
		s.Command = l.program
		s.Args = kind.args(l)
	}
	return nil
}

// publicHosts returns the hosts of the registry that programs take packages of a type from.
func publicHosts(registryType string) []string {
	// Sources must not contain this address, as one in a lock file would bypass mirrors.
	const npm = "registry.npmjs" + ".org"
	return map[string][]string{
		"npm":   {npm},
		"pypi":  {"pypi.org"},
		"oci":   {"docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"},
		"nuget": {"api.nuget.org", "nuget.org", "www.nuget.org"},
		"cargo": {"crates.io", "index.crates.io", "static.crates.io"},
	}[registryType]
}

// source makes the program take the package from the registry that the document names. Otherwise
// it would start whatever has that name in the public one, which anyone may have put there.
func (b *builder) source(p *Package, l *line) error {
	if p.RegistryBaseURL == "" {
		return nil
	}
	u, err := url.Parse(p.RegistryBaseURL)
	valid := err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http")
	switch {
	case valid && slices.Contains(publicHosts(p.RegistryType), strings.ToLower(u.Host)):
		return nil
	case valid && p.RegistryType == "oci" && strings.HasPrefix(p.Identifier, strings.ToLower(u.Host)+"/"):
		return nil // images are named with their registry
	case valid && p.RegistryType == "oci" && strings.Trim(u.Path, "/") == "" && !namesRegistry(p.Identifier):
		l.what = strings.ToLower(u.Host) + "/" + l.what // older documents name the registry here only
		return nil
	case valid && l.program == "npx":
		flag := []string{"--registry=" + u.String()}
		l.runtime = append(missing(flag, l.runtime), l.runtime...)
		return nil
	}
	return &UnfitError{
		Why: fmt.Sprintf("the package %s is in the registry %s, and would be taken from the public one", p.Identifier,
			secrets.URL(p.RegistryBaseURL)),
		Hint: "write the definition yourself, with the option of the program for that registry, or choose another " +
			"package with --package: " + strings.Join(b.doc.Choices(), ", "),
	}
}

// namesRegistry reports whether the name of an image begins with the host of its registry.
func namesRegistry(image string) bool {
	first, _, found := strings.Cut(image, "/")
	return found && (strings.ContainsAny(first, ".:") || first == "localhost")
}

// imageArguments returns the arguments of docker run without the image and without
// variables that contain secrets, which must not appear on a command line. The container
// receives those by name.
func (b *builder) imageArguments(p *Package, l *line) []Argument {
	var rest []Argument
	name := imageName(p.Identifier)
	for _, a := range p.RuntimeArguments {
		if a.Type == "positional" && imageName(a.Value) == name {
			continue
		}
		variable, template, ok := strings.Cut(a.Value, "=")
		if ok && (a.Name == "-e" || a.Name == "--env") &&
			holdsSecret(template, a.Variables) {
			in := a.Input
			in.Value = template
			l.env = append(l.env, b.environment([]KeyValue{{variable, in}})...)
			continue
		}
		rest = append(rest, a)
	}
	return rest
}

// imageName returns an image without its tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// holdsSecret reports whether a template contains a secret variable.
func holdsSecret(template string, variables map[string]Input) bool {
	for name, in := range variables {
		if in.IsSecret && strings.Contains(template, "{"+name+"}") {
			return true
		}
	}
	return false
}

// versioned returns a package with its version, in the syntax of its program.
func versioned(p *Package) string {
	if p.Version == "" || p.Version == "latest" {
		return p.Identifier
	}
	if p.RegistryType == "oci" {
		name := p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:]
		if strings.ContainsAny(name, ":@") {
			return p.Identifier
		}
		return p.Identifier + ":" + p.Version
	}
	return p.Identifier + "@" + p.Version
}

// arguments converts arguments to words of a command line. The value of a flag with two
// dashes follows "=" (schema, NamedArgument); that of a flag with one dash is the next
// word.
func (b *builder) arguments(args []Argument) ([]string, error) {
	var words []string
	for i := range args {
		a := &args[i]
		name := a.Name
		if a.Type == "positional" {
			name = a.ValueHint
		}
		value, ok, err := b.argument(name, a)
		switch {
		case err != nil:
			return nil, err
		case a.Type == "named" && a.Format == "boolean" && ok: // a switch
			if value == "true" {
				words = append(words, a.Name)
			}
		case a.Type == "positional" && ok:
			words = append(words, value)
		case a.Type == "named" && a.Value == "" && a.Default == "" && !ok:
			if bare(&a.Input) {
				words = append(words, a.Name)
			}
		case a.Type == "named" && ok && strings.HasPrefix(a.Name, "--"):
			words = append(words, a.Name+"="+value)
		case a.Type == "named" && ok:
			words = append(words, a.Name, value)
		}
	}
	return words, nil
}

// bare reports whether a flag takes no value: its description mentions none.
func bare(in *Input) bool {
	return in.Description == "" &&
		in.Placeholder == "" &&
		in.Format == "" &&
		in.Choices == nil &&
		!in.IsRequired &&
		!in.IsSecret
}

// argument returns the value of an argument. Secrets must not be on a command line, which
// other users can read.
func (b *builder) argument(name string, a *Argument) (value string, ok bool, err error) {
	if a.Value != "" {
		value, secrets, err := b.fill(a.Value, a.Variables, false)
		if err == nil && len(secrets) > 0 {
			err = b.secretArgument(name)
		}
		return value, err == nil, err
	}
	if a.Type == "named" && bare(&a.Input) && a.Default == "" {
		return "", false, nil
	}
	if a.IsSecret {
		if a.IsRequired {
			return "", false, b.secretArgument(name)
		}
		b.lost(check.Warning, "the argument %s is omitted: it is a secret, and others can read command lines", name)
		return "", false, nil
	}
	in := b.input(name, &a.Input, stax.LooksSecret)
	if in.secret && a.IsRequired {
		return "", false, b.secretArgument(name)
	}
	return in.value, in.ok, nil // an optional one that only looks like a secret is omitted
}

// secretArgument returns the error for a required argument that is a secret.
func (b *builder) secretArgument(name string) error {
	return &UnfitError{
		Why: fmt.Sprintf("the argument %s is a secret, which a definition does not support in a command line", name),
		Hint: "write the definition yourself, with the secret as a variable, or choose another package with --package: " +
			strings.Join(b.doc.Choices(), ", "),
	}
}

// environment adds variables to the definition, and returns the names of those that the
// server receives.
func (b *builder) environment(variables []KeyValue) (names []string) {
	s := b.server
	for i := range variables {
		v := &variables[i]
		if v.Value == "" {
			switch in := b.input(v.Name, &v.Input, stax.LooksSecret); {
			case in.secret:
				b.declare(v.Name, &v.Input)
			case in.ok:
				b.set(v.Name, in.value)
			default:
				continue
			}
			names = append(names, v.Name)
			continue
		}
		named := s.Secrets
		declared := b.out.Config.Secrets
		todo := b.out.Todo
		value, secrets, _ := b.fill(v.Value, v.Variables, false)
		switch {
		case len(secrets) == 0:
			b.set(v.Name, value)
		case len(secrets) == 1 && value == "{"+secrets[0]+"}":
			b.expose(secrets[0], v.Name)
		default:
			b.lost(check.Warning, "the variable %s is omitted: a definition does not support text around a secret",
				v.Name)
			s.Secrets = named
			b.out.Config.Secrets = declared
			b.out.Todo = todo
			continue
		}
		names = append(names, v.Name)
	}
	return names
}

// set sets an environment variable with a fixed value.
func (b *builder) set(name, value string) {
	if b.server.Env == nil {
		b.server.Env = map[string]string{}
	}
	b.server.Env[name] = value
}

// expose declares that a secret is in a variable of another name.
func (b *builder) expose(key, name string) {
	if key != name {
		b.out.Config.Declaration(key).ExposeAs.Env = name
	}
}
