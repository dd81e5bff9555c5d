package mcpb

import (
	_ "embed" // interpreters.json
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/check"
)

// runner is a program that runs another one, or code from its arguments.
type runner struct {
	Names      []string
	Verbs      []string // subcommands before its own arguments, as in "uv run"
	Valued     []string // options whose value is the next argument
	StartsFile bool     // the first argument that is no option is a file to run
}

// runnersText is the table of runners; interpreters.schema.json explains its members.
//
//go:embed interpreters.json
var runnersText []byte

// runners returns the programs whose options can execute code, by name.
var runners = sync.OnceValue(func() map[string]runner {
	var table struct{ Interpreters []runner }
	if err := json.Unmarshal(runnersText, &table); err != nil {
		panic(fmt.Errorf("interpreters.json: %w", err))
	}
	byName := map[string]runner{}
	for _, r := range table.Interpreters {
		for _, name := range r.Names {
			byName[name] = r
		}
	}
	return byName
})

// runnerOf returns the runner that a command starts: "python3.12" and
// "/usr/bin/python.exe" are both python.
func runnerOf(command string) (name string, r runner, ok bool) {
	name = path.Base(strings.ReplaceAll(command, `\`, "/"))
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		if len(name) > len(ext) && strings.EqualFold(name[len(name)-len(ext):], ext) {
			name = name[:len(name)-len(ext)]
		}
	}
	known := runners()
	if r, ok = known[name]; ok {
		return name, r, true
	}
	name = strings.TrimRight(strings.ToLower(name), "0123456789.")
	r, ok = known[name]
	return name, r, ok
}

// ownArguments returns the name of the interpreter in command, and the maximum number of
// args that it parses itself: those before "--" or before the file that it runs. For
// other commands there are none. An argument that begins with a user option is counted,
// because its value may be an option of the interpreter.
func ownArguments(command string, args []string) (name string, own int) {
	name, r, ok := runnerOf(command)
	if !ok {
		return "", 0
	}
	for own < len(args) && slices.Contains(r.Verbs, args[own]) {
		own++
	}
	for ; own < len(args); own++ {
		arg := args[own]
		switch {
		case arg == "--":
			return name, own
		case slices.Contains(r.Valued, arg):
			own++ // the next argument is a value, whatever it begins with
			continue
		case strings.HasPrefix(arg, "-"), leadingOption(arg) != "":
			continue
		}
		return name, own
	}
	return name, len(args)
}

// leadingOption returns the key of the user option that s begins with, or "".
func leadingOption(s string) string {
	parts := splitVariables(s)
	if len(parts) == 0 {
		return ""
	}
	key, isOption := parts[0].option()
	if !isOption {
		return ""
	}
	return key
}

// canBeFlag reports whether a value of the option can begin with a dash and do harm:
// paths are made absolute, and a number names no option that runs code.
func (o *Option) canBeFlag() bool { return o.Type == OptionString }

// checkFlags reports user options in arguments that the interpreter parses itself. Parts
// that an override lacks come from the base, whose own arguments are only reported again
// for another command.
func (c *checker) checkFlags(l *commandLine) {
	pointer := l.pointer
	switch {
	case l.Args != nil || l.platform == "":
	case l.Command != "":
		pointer = "/server/mcp_config"
	default:
		return
	}
	command, args := l.over(c.m.Server.Config)
	name, own := ownArguments(command, args)
	for i, arg := range args[:min(own, len(args))] {
		key := leadingOption(arg)
		o, ok := c.options[key]
		if !ok || !o.canBeFlag() || i > 0 && isValue(command, args[i-1]) {
			continue
		}
		c.Add(ruleInterpreter.As(check.Warning), fmt.Sprintf("%s/args/%d", pointer, i),
			`put it after the file that is started or after "--", or pass it in env`,
			"a value of option %q that begins with - is an option of %s, and some of them run code", key, name)
	}
}

// startedFile returns the index of the argument that is the file that an interpreter runs, or -1.
func startedFile(command string, args []string) int {
	if _, r, _ := runnerOf(command); !r.StartsFile {
		return -1
	}
	_, own := ownArguments(command, args)
	return own
}

// isValue reports whether the argument after before is its value.
func isValue(command, before string) bool {
	_, r, _ := runnerOf(command)
	return slices.Contains(r.Valued, before)
}

// refuseFlag refuses values of argument i, one of those that the interpreter called name parses
// itself, that it would take for its own options. They are allowed if the default of the option is such
// a value, too.
func (e *expansion) refuseFlag(name string, config *Config, i int, expanded []expanded) {
	key := leadingOption(config.Args[i])
	o := e.options[key]
	if o == nil || i > 0 && isValue(config.Command, config.Args[i-1]) {
		return
	}
	preset, ok := o.Default.(string)
	if !o.canBeFlag() || ok && strings.HasPrefix(preset, "-") {
		return
	}
	for _, t := range expanded {
		if strings.HasPrefix(t.text, "-") {
			e.Add(ruleInterpreter, pointerTo("/user_config", key), "",
				"option %q (%s) begins with -, and %s would take it for one of its own options", key, o.Title, name)
			return
		}
	}
}
