package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// Command is a server that is started as a child process and uses its stdin and stdout
// ("Transports", stdio). It is started without a shell, so Path and Args are not
// expanded. It must not be changed after [Open].
//
// The child runs in a separate process group. To stop it, its stdin is closed; if that is
// not enough, the group receives SIGTERM, then SIGKILL. On Linux the child also receives
// SIGTERM when this program dies. On Windows the group is a job: it receives CTRL_BREAK if
// this program has a console, is then ended, and also ends when this program dies.
//
// Arguments of batch files, such as npx.cmd, are quoted for the command processor of
// Windows; those with line breaks are refused.
type Command struct {
	// Path is the program. Without a slash it is searched in the PATH of the child's
	// environment, on Windows with the extensions of PATHEXT.
	Path string
	Args []string
	// Dir is the working directory; empty means the current folder. Path stays relative
	// to the current folder, not to Dir.
	Dir string

	// Env is added to the inherited environment, as NAME=value. If a name is repeated,
	// the last one wins.
	Env []string
	// Inherit names the environment variables that the child inherits. A name that ends
	// in * is a prefix. Nil means [DefaultInherit], an empty list means none.
	Inherit []string

	// Stderr receives the stderr output of the child, unchanged or, if Redact is not
	// empty, by whole lines. Nil discards it. Errors contain its last lines in any case.
	Stderr io.Writer
	// Stray is called with each line of stdout that is not a message, one at a time. It
	// must not retain the line. Nil ignores such lines, like tolerant clients do.
	Stray func(line []byte)
	// Redact are secrets, such as values of Env, that are replaced by [redacted] in
	// errors and in the output to Stderr.
	Redact []string

	// MaxMessage is the maximum message size in bytes; 0 means 64 MiB. A larger message
	// stops the child.
	MaxMessage int
	// StopTimeout is how long the child may take to exit: a fifth of it after stdin is
	// closed, the rest after SIGTERM. A child that hangs receives SIGTERM immediately,
	// and has a fifth. 0 means 5 seconds.
	StopTimeout time.Duration
}

var _ Transport = (*Command)(nil)

// DefaultInherit returns the variables that a child inherits if [Command.Inherit] is nil:
// what programs need to find executables, the user's folders, the language, and the
// network proxy.
func DefaultInherit() []string {
	names := []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM",
		"LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TEMP", "TMP",
		"XDG_*", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
		"https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	if runtime.GOOS == "windows" {
		names = append(names, "PATHEXT", "APPDATA", "LOCALAPPDATA",
			"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMSPEC",
			"HOMEDRIVE", "HOMEPATH", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR")
	}
	return names
}

// String returns the command line, without secrets.
func (c *Command) String() string {
	words := secrets.Command(append([]string{c.Path}, c.Args...))
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\") {
			words[i] = fmt.Sprintf("%q", w)
		}
	}
	return c.redact(strings.Join(words, " "))
}

func (c *Command) redact(text string) string {
	return redact(text, c.Redact)
}

// environment returns the variables of the child.
func (c *Command) environment() []string {
	return append(Environ(c.Inherit), c.Env...)
}

// Environ returns our environment variables that a child inherits if [Command.Inherit] is
// inherit, as NAME=VALUE. Nil means [DefaultInherit].
func Environ(inherit []string) []string {
	names := inherit
	if names == nil {
		names = DefaultInherit()
	}
	env := make([]string, 0, 16)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if slices.ContainsFunc(names, func(pattern string) bool {
			return inherits(pattern, name)
		}) {
			env = append(env, entry)
		}
	}
	return env
}

// inherits reports whether a variable is inherited by a pattern, in which a final "*"
// matches any rest.
func inherits(pattern, name string) bool {
	if runtime.GOOS == "windows" { // it ignores the case of names
		pattern = strings.ToUpper(pattern)
		name = strings.ToUpper(name)
	}
	if prefix, many := strings.CutSuffix(pattern, "*"); many {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// command returns the process to start.
func (c *Command) command() (*exec.Cmd, error) {
	if c.Path == "" {
		return nil, permanent{&CommandError{errors.New("missing command")}}
	}
	env := c.environment()
	path, err := process.LookPath(c.Path, runtime.GOOS, func(name string) (string, bool) {
		return lookup(env, name)
	})
	if err != nil {
		return nil, permanent{&CommandError{err}}
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, permanent{&CommandError{fmt.Errorf("%s is not a folder to run it in", c.Dir)}}
		}
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return nil, err
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		env = append(env, "PWD="+dir) // POSIX wants an absolute path
	}
	return &exec.Cmd{
		Path: path,
		Args: append([]string{c.Path}, c.Args...),
		Dir:  c.Dir,
		Env:  env,
	}, nil
}

// CommandError is why a command could not be started at all.
type CommandError struct{ Err error }

// Error implements the error interface.
func (e *CommandError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// lookup returns the value of a variable. If it is repeated, the last one wins.
func lookup(env []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(env) {
		n, value, _ := strings.Cut(entry, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return value, true
		}
	}
	return "", false
}

func (c *Command) stopTimeout() time.Duration {
	return cmp.Or(max(c.StopTimeout, 0), 5*time.Second)
}

// connect starts the child.
func (c *Command) connect(_ context.Context, ses *session) (link, error) {
	cmd, err := c.command()
	if err != nil {
		return nil, err
	}
	tapped := ses.src.tap.Open(tap.Stdio)
	began := time.Now()
	ses.child, err = startChild(c, cmd, tapped)
	tapped.Step("start", began, c.String(), err)
	if err != nil {
		return nil, err
	}
	return newStream(ses.child, ses, tapped), nil
}
