package mcpb

import (
	"cmp"
	"strings"
)

// commandLine is a command line of a manifest, as written.
type commandLine struct {
	pointer  string // of mcp_config, or of an override
	platform string // of an override, else ""
	Override
}

// commandLines returns mcp_config, if the manifest has it, followed by its overrides in
// the order of their platforms.
func (m *Manifest) commandLines() []commandLine {
	const pointer = "/server/mcp_config"
	c := m.Server.Config
	if c == nil {
		return nil
	}
	lines := []commandLine{{pointer, "", Override{c.Command, c.Args, c.Env}}}
	for _, platform := range sortedKeys(c.Overrides) {
		at := pointerTo(pointer+"/platform_overrides", platform)
		lines = append(lines, commandLine{at, platform, c.Overrides[platform]})
	}
	return lines
}

// over returns the command and the arguments of a platform: those that the override lacks
// come from base.
func (o *Override) over(base *Config) (command string, args []string) {
	if o.Args == nil {
		return cmp.Or(o.Command, base.Command), base.Args
	}
	return cmp.Or(o.Command, base.Command), o.Args
}

// programs returns the files of the bundle that the manifest starts.
func (m *Manifest) programs() map[string]bool {
	found := map[string]bool{}
	add := func(name string, isPath bool) {
		if clean, why := cleanPath(name); isPath && why == "" {
			found[clean] = true
		}
	}
	add(m.Server.EntryPoint, m.Server.Type == TypeBinary)
	for _, l := range m.commandLines() {
		add(commandPath(l.Command))
	}
	return found
}

// runsUV reports whether uv starts the server on this system.
func (m *Manifest) runsUV() bool {
	c := m.Server.Config
	if c == nil {
		return m.Server.Type == TypeUV
	}
	o := c.Overrides[ThisPlatform()]
	command, _ := o.over(c)
	return kindOf(command) == TypeUV
}

// literal reports whether s contains no variables.
func literal(s string) bool { return !strings.Contains(s, "${") }

// bundlePath returns the path after ${__dirname}, with slashes. ok reports whether s
// begins with ${__dirname} and has no other variables than separators.
func bundlePath(s string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(s, "${"+varDir+"}")
	rest = strings.NewReplacer("${"+varSlash+"}", "/", "${"+varSeparator+"}", "/").Replace(rest)
	for _, p := range splitVariables(rest) {
		ok = ok && !p.variable
	}
	return strings.ReplaceAll(rest, `\`, "/"), ok
}

// commandPath returns the path in the bundle of a command, and whether it is one: it begins
// with ${__dirname}, or has slashes and no variables.
func commandPath(command string) (name string, isPath bool) {
	name, isPath = bundlePath(command)
	if !isPath {
		name, isPath = command, literal(command) && strings.ContainsAny(command, `/\`)
	}
	return strings.TrimPrefix(name, "/"), isPath
}
