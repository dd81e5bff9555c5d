package registry

import (
	"path/filepath"
	"slices"
	"strings"
)

// sourceKey is the metadata name for the URL of a downloaded bundle, since the command
// has a local path.
const sourceKey = "source"

// SourceKey returns the name in a definition's metadata that contains the URL of its
// bundle.
func SourceKey() string { return sourceKey }

// program returns the name of a command, without its folder and its Windows extension.
func program(command string) string {
	base := strings.ToLower(filepath.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		base = strings.TrimSuffix(base, ending)
	}
	return base
}

// packageOf returns the package that a command line starts. If there is none, it reports
// why and returns nil.
func (e *exporter) packageOf() *Package {
	s := e.server
	name := program(s.Command)
	if strings.ContainsAny(s.Command, `/\`) && name != "slipway" {
		e.lost("command", "the path of %s is omitted", name)
	}
	switch name {
	case "npx", "bunx":
		return e.runner("npm", name, s.Args, []string{"-y", "--yes", "-q", "--quiet"})
	case "uvx":
		return e.runner("pypi", name, s.Args,
			[]string{"-q", "--quiet", "--isolated", "--no-cache", "-n", "--native-tls", "--offline"})
	case "docker", "podman":
		return e.image(name, s.Args)
	case "dnx":
		return e.tool(name, s.Args)
	case "dotnet":
		if len(s.Args) > 2 && s.Args[0] == "tool" &&
			(s.Args[1] == "exec" || s.Args[1] == "execute") {
			return e.tool(name, s.Args[2:])
		}
	case "slipway":
		if len(s.Args) > 2 &&
			s.Args[0] == "bundle" &&
			s.Args[1] == "run" {
			return e.bundle(s.Args[2:])
		}
	}
	e.lost("command", "%s does not start a package of a known registry", name)
	return nil
}

// runner returns the package in a command line of npx or uvx. flags are the program's
// flags without a value.
func (e *exporter) runner(kind, name string, args, flags []string) *Package {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		// Followed by the package, then its program.
		if kind == "pypi" && args[i] == "--from" {
			i++
			break
		}
		if !slices.Contains(flags, args[i]) && !strings.Contains(args[i], "=") {
			e.lost("args", "what %s makes of %s cannot be represented", name, args[i])
			return nil
		}
		i++
	}
	if i == len(args) {
		e.lost("args", "%s has no package", name)
		return nil
	}
	p := &Package{
		RegistryType:     kind,
		RuntimeHint:      name,
		RuntimeArguments: wordsOf(withoutAny(args[:i], "-y", "--yes")),
		PackageArguments: wordsOf(args[i+1:]),
	}
	p.Identifier, p.Version = cutVersion(kind, args[i])
	if !e.plainPackage(p) {
		return nil
	}
	e.pinned(p)
	return p
}

// plainPackage reports whether a package is from a registry rather than a folder or a
// repository.
func (e *exporter) plainPackage(p *Package) bool {
	id := strings.TrimPrefix(p.Identifier, "@")
	if strings.ContainsAny(id, ":\\ ") ||
		strings.HasPrefix(id, ".") ||
		strings.HasPrefix(id, "/") ||
		strings.Count(id, "/") > 1 ||
		strings.Contains(id, "/") && !strings.HasPrefix(p.Identifier, "@") {
		e.lost("args", "%s is not a package of a registry", p.Identifier)
		return false
	}
	return true
}

// pinned reports a package without an exact version.
func (e *exporter) pinned(p *Package) {
	if p.Version == "latest" || strings.ContainsAny(p.Version, "^~<>=*|") {
		e.lost("args", "a registry accepts one version of %s, which %q is not",
			p.Identifier, p.Version)
		p.Version = ""
	}
	if p.Version == "" {
		if ref := e.server.RegistryRef; ref != nil {
			p.Version = ref.Version
		}
	}
}

// cutVersion splits a package from its version: name@1.0, @scope/name@1.0, name==1.0.
func cutVersion(kind, word string) (identifier, version string) {
	id, v, ok := strings.Cut(word, "==")
	if ok && kind == "pypi" {
		return id, v
	}
	if i := strings.LastIndexByte(word, '@'); i > 0 {
		return word[:i], word[i+1:]
	}
	return word, ""
}

// withoutAny returns args without those in drop. args itself stays as it is.
func withoutAny(args []string, drop ...string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return slices.Contains(drop, a)
	})
}

// wordsOf converts words of a command line to positional arguments with fixed values,
// since programs differ in their syntax for named arguments.
func wordsOf(args []string) []Argument {
	var out []Argument
	for _, a := range args {
		out = append(out, Argument{
			Type:  "positional",
			Input: Input{Value: a},
		})
	}
	return out
}

// imageFlags returns the flags of docker run that take a value, and those that do not.
func imageFlags() (valued, plain []string) {
	return []string{
			"-e", "--env", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "--net",
			"-u", "--user", "-w", "--workdir", "--entrypoint", "--platform", "--pull", "-m", "--memory",
			"--cpus", "--env-file", "-l", "--label", "--add-host", "--dns", "--tmpfs", "--cap-add",
			"--cap-drop", "--security-opt", "--shm-size", "--gpus", "--device", "-h", "--hostname",
			"--runtime", "--stop-timeout", "--ulimit", "--pids-limit",
		},
		[]string{
			"-i", "--interactive", "--rm", "--init", "--read-only", "--privileged", "-q", "--quiet",
			"--no-healthcheck", "-P", "--publish-all",
		}
}

// image returns the container image in a command line of docker run.
func (e *exporter) image(name string, args []string) *Package {
	if len(args) == 0 || args[0] != "run" {
		e.lost("args", "only %s run can be represented", name)
		return nil
	}
	p := &Package{
		RegistryType: "oci",
		RuntimeHint:  name,
	}
	valued, plain := imageFlags()
	i := 1
	for ; i < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		flag := args[i]
		// As in -iq.
		letters := len(flag) > 2 && flag[1] != '-' && strings.Trim(flag[1:], "iqP") == ""
		switch {
		case slices.Contains([]string{"-i", "--interactive", "--rm"}, flag):
		case flag == "-t" || flag == "--tty" || flag == "-it":
			e.lost("args", "%s asks for a terminal, which a server over stdin and stdout has none of", flag)
			return nil
		case slices.Contains(plain, flag) || letters:
			p.RuntimeArguments = append(p.RuntimeArguments, wordsOf([]string{flag})...)
		case strings.HasPrefix(flag, "--") && strings.Contains(flag, "="):
			p.RuntimeArguments = append(p.RuntimeArguments, wordsOf([]string{flag})...)
		case slices.Contains(valued, flag) && i+1 < len(args):
			i++
			if (flag == "-e" || flag == "--env") &&
				!strings.Contains(args[i], "=") && e.provides(args[i]) {
				p.EnvironmentVariables = append(p.EnvironmentVariables, KeyValue{Name: args[i]})
				continue
			}
			p.RuntimeArguments = append(p.RuntimeArguments, wordsOf([]string{flag, args[i]})...)
		default:
			e.lost("args", "unknown option %s of %s run: the image cannot be determined", flag,
				name)
			return nil
		}
	}
	if i == len(args) {
		e.lost("args", "%s run has no image", name)
		return nil
	}
	// The tag is part of the identifier, so Version stays empty.
	p.Identifier = args[i]
	p.PackageArguments = wordsOf(args[i+1:])
	_, digest, ok := strings.Cut(p.Identifier, "@sha256:")
	if !ok || digest == "" {
		if tag := p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:]; !strings.Contains(tag, ":") ||
			strings.HasSuffix(tag, ":latest") {
			e.lost("args", "the image %s is not one version", p.Identifier)
		}
	}
	return p
}

// provides reports whether the definition gives the server a variable.
func (e *exporter) provides(name string) bool {
	_, ok := e.server.Env[name]
	if ok || slices.Contains(e.server.Secrets, name) {
		return true
	}
	for _, key := range e.server.Secrets {
		d := e.merged.Config.Declaration(key)
		if d != nil && d.ExposeAs.Env == name {
			return true
		}
	}
	return false
}

// tool returns the NuGet package in a command line of dnx or dotnet tool exec.
func (e *exporter) tool(name string, args []string) *Package {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		e.lost("args", "%s has no package", name)
		return nil
	}
	p := &Package{
		RegistryType: "nuget",
		RuntimeHint:  name,
	}
	p.Identifier, p.Version = cutVersion("nuget", args[0])
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	} else {
		p.PackageArguments = wordsOf(args[end+1:])
	}
	for i := 1; i < end; i++ {
		if args[i] == "--version" && i+1 < end {
			i++
			p.Version = args[i]
			continue
		}
		if args[i] != "--yes" && args[i] != "-y" {
			p.RuntimeArguments = append(p.RuntimeArguments, wordsOf(args[i:i+1])...)
		}
	}
	e.pinned(p)
	return p
}

// bundle returns a bundle that was downloaded.
func (e *exporter) bundle(args []string) *Package {
	p := &Package{
		RegistryType: "mcpb",
		Identifier:   e.server.Metadata[sourceKey],
	}
	if ref := e.server.RegistryRef; ref != nil {
		p.Version = ref.Version
		p.FileSHA256, _ = strings.CutPrefix(ref.Digest, "sha256:")
	}
	for i := 1; i < len(args); i++ {
		if args[i] == "--sha256" && i+1 < len(args) {
			i++
			p.FileSHA256 = args[i]
			continue
		}
		e.lost("args", "a registry does not support %s of a bundle", args[i])
	}
	if !strings.HasPrefix(p.Identifier, "https://") &&
		!strings.HasPrefix(p.Identifier, "http://") {
		e.lost("args", "a registry names a bundle by its URL, and metadata has no %q with one", sourceKey)
		return nil
	}
	if len(p.FileSHA256) != 64 {
		e.lost("registryRef", "a registry requires the SHA-256 of a bundle, and registryRef has no digest")
		return nil
	}
	return p
}
