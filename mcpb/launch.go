package mcpb

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/process"
)

// Launch is the command line of a server. The fields contain the values of sensitive
// options, but every way of printing a Launch shows [Redacted] instead. The caller may
// change the fields; the printed form stays the same.
type Launch struct {
	// Command is a program on the search path, or its absolute path.
	Command string
	Args    []string
	// Env is added to the environment of the process.
	Env map[string]string
	// Dir is the working directory: the folder of the bundle.
	Dir string
	// Warnings are problems that did not prevent the start.
	Warnings []check.Finding

	// The shown fields are the same with [Redacted] in place of secrets.
	shownCommand string
	shownArgs    []string
	shownEnv     map[string]string
	secrets      []string // the longest first, as one may contain another
}

// Environ returns base, a list of NAME=VALUE such as the one of os.Environ, followed by
// Env. If a name is repeated, the last one wins.
func (l Launch) Environ(base []string) []string {
	env := slices.Clone(base)
	for _, name := range sortedKeys(l.Env) {
		env = append(env, name+"="+l.Env[name])
	}
	return env
}

// preset sets a variable, unless the manifest does.
func (l *Launch) preset(name, value string) {
	if _, given := l.Env[name]; !given {
		l.Env[name], l.shownEnv[name] = value, value
	}
}

// HasSecrets reports whether a sensitive option has a value.
func (l Launch) HasSecrets() bool { return len(l.secrets) > 0 }

// Redact returns text, such as log output of the server, with all values of sensitive
// options replaced by [Redacted]. Values shorter than four bytes are kept, because they
// occur everywhere.
func (l Launch) Redact(text string) string {
	for _, s := range l.secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, Redacted)
		}
	}
	return text
}

// String returns the command line in shell syntax, preceded by its environment variables,
// without secrets.
func (l Launch) String() string {
	var words []string
	for _, name := range sortedKeys(l.shownEnv) {
		words = append(words, name+"="+process.POSIXWord(l.shownEnv[name]))
	}
	words = append(words, process.POSIXWord(l.shownCommand))
	for _, arg := range l.shownArgs {
		words = append(words, process.POSIXWord(arg))
	}
	return strings.Join(words, " ")
}

// GoString is [Launch.String], so that %#v shows no secrets either.
func (l Launch) GoString() string {
	return "mcpb.Launch(" + l.String() + ")"
}

// LogValue implements slog.LogValuer with [Launch.String].
func (l Launch) LogValue() slog.Value {
	return slog.StringValue(l.String())
}

// MarshalJSON returns command, args, env and dir, without secrets.
func (l Launch) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		Dir     string            `json:"dir"`
	}{l.shownCommand, append([]string{}, l.shownArgs...), l.shownEnv, l.Dir})
}
