package mcpb

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// platforms returns the platforms that a bundle can support.
func platforms() []string { return []string{"darwin", "linux", "win32"} }

// declared returns the platforms that the manifest names, or all of them.
func (c *checker) declared() (names []string, explicit bool) {
	k := c.m.Compatibility
	if k != nil && len(k.Platforms) > 0 {
		return k.Platforms, true
	}
	return platforms(), false
}

// checkServer checks how the server is started, on every platform.
func (c *checker) checkServer() {
	s := &c.m.Server
	if c.root.Get("server", "entry_point").Is(tree.String) {
		c.checkEntryPoint(s)
	}
	if s.Type == TypeUV {
		c.checkUV()
	}
	declared, explicit := c.declared()
	for _, l := range c.m.commandLines() {
		switch {
		case l.platform == "":
		case !slices.Contains(platforms(), l.platform):
			c.Add(ruleOverride, l.pointer, c.hintPlatform(l.platform),
				"unknown platform %q, so this is never used", l.platform)
		case explicit && !slices.Contains(declared, l.platform):
			c.Add(ruleOverride, l.pointer, "", "compatibility.platforms does not name %q, so this is never used",
				l.platform)
		case l.Command == "" && l.Args == nil && l.Env == nil:
			c.Add(ruleOverride.As(check.Note), l.pointer, "", "nothing is overridden")
		}
		c.checkCommand(&l)
		for _, name := range sortedKeys(l.Env) {
			c.checkDeveloper(check.Warning, pointerTo(l.pointer+"/env", name), l.Env[name])
		}
	}
}

// checkEntryPoint requires the entry point to be a file of the bundle that fits the type of
// the server. Windows adds .exe to the entry point of a binary.
func (c *checker) checkEntryPoint(s *Server) {
	const pointer = "/server/entry_point"
	name, why := cleanPath(s.EntryPoint)
	if why != "" {
		c.Add(rulePath.As(c.missingSeverity()), pointer, "", "the entry point %q cannot be in the bundle: %s", s.EntryPoint,
			why)
		return
	}
	if strings.Contains(s.EntryPoint, `\`) {
		c.Add(rulePath.As(check.Warning), pointer, "write "+name,
			"%q has backslashes, which are part of names elsewhere than on Windows", s.EntryPoint)
	}
	if message := oddExtension(s.Type, name); message != "" {
		c.Add(ruleEntryPoint.As(check.Warning), pointer, "", "%s", message)
	}
	info, missing := c.stat(name)
	if missing && s.Type == TypeBinary && path.Ext(name) == "" {
		info, missing = c.stat(name + ".exe")
	}
	if missing {
		// The command usually names the same file, which is reported once.
		c.reported = name
	}
	switch {
	case missing && c.isSkipped(name):
		c.Add(ruleEntryPoint.As(c.missingSeverity()), pointer, explainHint(name)+" says which rule does",
			"the entry point %s exists, but packing excludes it", name)
	case missing:
		hint := c.hintSimilar(name)
		if hint == "" {
			hint = "build it first, or name the file that is there"
		}
		c.Add(ruleEntryPoint.As(c.missingSeverity()), pointer, hint,
			"the entry point %s is not in the bundle", name)
	case info != nil && !info.Mode().IsRegular():
		c.Add(ruleEntryPoint.As(c.missingSeverity()), pointer, "",
			"the entry point %s is not a file", name)
	case info != nil && s.Type == TypeBinary:
		c.checkExecutable(pointer, name, info)
		c.checkProgram(pointer, path.Join(path.Dir(name), info.Name()))
	}
}

// checkProgram requires a directly started file to be executable code: machine code, a
// script that names its interpreter, or a Windows batch file.
func (c *checker) checkProgram(pointer, name string) {
	ext := strings.ToLower(path.Ext(name))
	if ext == ".bat" || ext == ".cmd" {
		return
	}
	head := c.head(name, headBytes)
	_, native := readNative(name, head)
	if native || head == nil || bytes.HasPrefix(head, []byte("#!")) {
		return
	}
	c.Add(ruleEntryPoint.As(check.Warning), pointer, "",
		"%s is neither machine code nor a script that begins with #!", name)
}

// hintPlatform returns a hint with the platform that was probably meant.
func (c *checker) hintPlatform(name string) string {
	switch strings.ToLower(name) {
	case "windows", "win", "win64":
		return "Windows is called win32, whatever its CPU"
	case "mac", "macos", "osx":
		return "macOS is called darwin"
	}
	return c.near(name, platforms())
}

// oddExtension returns why a file is probably not for a server of that type.
func oddExtension(kind, name string) string {
	ext := strings.ToLower(path.Ext(name))
	node := []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"}
	python := []string{".py", ".pyw", ".pyc", ".pyz"}
	switch {
	case kind == TypeNode && !slices.Contains(node, ext):
		return fmt.Sprintf("%s does not look like JavaScript", name)
	case kind == TypePython && !slices.Contains(python, ext):
		return fmt.Sprintf("%s does not look like Python", name)
	case kind == TypeBinary && (slices.Contains(node, ext) || slices.Contains(python, ext)):
		return fmt.Sprintf("%s is a script, but the type is binary", name)
	}
	return ""
}

// checkExecutable requires the execute bit on systems that have it.
func (c *checker) checkExecutable(pointer, name string, info fs.FileInfo) {
	declared, _ := c.declared()
	windows := len(declared) == 1 && declared[0] == "win32" ||
		strings.EqualFold(path.Ext(name), ".exe")
	if info == nil || c.opts.NoModes || windows || info.Mode()&0o111 != 0 ||
		c.reported == name {
		return
	}
	c.reported = name
	c.Add(ruleExecutable, pointer, "chmod +x "+process.PathWord(name), "%s is not executable", name)
}

// checkUV requires the project file of a server of type uv, and warns of packages that uv
// would install again.
func (c *checker) checkUV() {
	if c.fsys == nil || c.opts.Alone {
		return
	}
	if _, missing := c.stat("pyproject.toml"); missing {
		c.Add(ruleUV, "/server/type", "uv init --bare",
			"a server of type uv needs pyproject.toml, which lists its dependencies")
	}
	for _, name := range []string{"server/lib", "server/venv", ".venv"} {
		info, missing := c.stat(name)
		if !missing && info.IsDir() {
			c.Add(ruleUV.As(check.Warning), "/server/type", "put it into .mcpbignore",
				"%s is in the bundle, and uv installs what is needed", name)
		}
	}
}

// checkCommand checks the command of a command line, and every argument that is a path.
func (c *checker) checkCommand(l *commandLine) {
	name, isPath := commandPath(l.Command)
	switch {
	case isPath && strings.HasPrefix(l.Command, "/"):
		c.checkCommandFile(l.pointer+"/command", l.Command, l.Command)
	case isPath:
		c.checkCommandFile(l.pointer+"/command", l.Command, name)
	case l.Command == "" && l.platform == "" &&
		c.root.Get("server", "mcp_config", "command").Is(tree.String):
		c.Add(ruleCommand.As(check.Warning), l.pointer+"/command", "",
			"the command is empty")
	}
	c.checkFetches(l.pointer, l.Command, l.Args)
	c.checkDeveloper(c.missingSeverity(), l.pointer+"/command", l.Command)
	started := startedFile(cmp.Or(l.Command, c.m.Server.Config.Command), l.Args)
	for i, arg := range l.Args {
		at := fmt.Sprintf("%s/args/%d", l.pointer, i)
		// Only an argument that names the program must exist; others may be created later.
		severity := check.Warning
		if i == started {
			severity = c.missingSeverity()
		}
		c.checkDeveloper(severity, at, arg)
		c.checkRelative(at, arg)
		name, isPath := bundlePath(arg)
		if !isPath || name == "" || name == "/" {
			continue
		}
		clean, why := cleanPath(strings.TrimPrefix(name, "/"))
		switch _, missing := c.stat(clean); {
		case clean == c.reported:
		case why != "":
			c.Add(rulePath.As(check.Warning), at, "", "%q: %s", arg, why)
		case missing:
			c.Add(ruleCommand.As(severity), at, c.hintSimilar(clean),
				"%s is not in the bundle", clean)
		}
	}
}

// checkCommandFile checks a command that is the file called name in the bundle.
func (c *checker) checkCommandFile(pointer, command, name string) {
	clean, why := cleanPath(name)
	if why != "" {
		c.Add(rulePath.As(check.Warning), pointer, "", "the command %q: %s", command, why)
		return
	}
	info, missing := c.stat(clean)
	if missing {
		info, missing = c.stat(clean + ".exe")
	}
	switch {
	case missing && clean == c.reported:
	case missing:
		c.Add(ruleCommand.As(c.missingSeverity()), pointer, c.hintSimilar(clean),
			"the command %s is not in the bundle", clean)
	case info != nil && info.IsDir():
		c.Add(ruleCommand.As(c.missingSeverity()), pointer, "",
			"the command %s is a folder", clean)
	default:
		c.checkExecutable(pointer, clean, info)
	}
}
