package live

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
)

// Command is a server that is started as a child process and spoken to over its
// stdin and stdout ("Transports", stdio). It is started without a shell: nothing
// in Path or Args is expanded. It must not be changed after [Open].
//
// The child runs in a process group of its own. To stop it, its stdin is closed;
// if that does not end it, the group is sent SIGTERM, then SIGKILL. On Linux the
// child is sent SIGTERM also when this program dies. Windows has no such groups:
// there the tree of processes is ended with taskkill.
type Command struct {
	// Path is the program. Without a slash it is looked up in the PATH of the
	// child's environment, on Windows with the extensions of PATHEXT.
	Path string
	Args []string
	// Dir is where it runs; empty stands for the current folder. Path is then
	// relative to the current folder still, not to Dir.
	Dir string

	// Env is added to the inherited environment, as NAME=value. Of a name that is
	// given twice the last one counts.
	Env []string
	// Inherit names the variables that the child sees of our own environment. A
	// name that ends in * stands for all that begin so. Nil stands for
	// [DefaultInherit], an empty list for none.
	Inherit []string

	// Stderr receives what the child writes to stderr, beside the last lines that
	// are kept for errors: unchanged, or by whole lines if there is something to
	// Redact. Nil stands for nobody.
	Stderr io.Writer
	// Stray is called with each line of stdout that is no message, one at a time. It
	// must not keep the line. Nil ignores them, as clients do who are patient.
	Stray func(line []byte)
	// Redact are secrets, such as values of Env, that are replaced by [redacted]
	// in errors and in what Stderr receives.
	Redact []string

	// MaxMessage is the largest message in bytes; 0 stands for 64 MiB. A larger
	// one ends the child.
	MaxMessage int
	// StopTimeout is how long the child may take to end: a fifth of it after stdin
	// is closed, the rest after SIGTERM. One that hangs is sent SIGTERM at once, and
	// has a fifth. 0 stands for 5 seconds.
	StopTimeout time.Duration
}

var _ Transport = (*Command)(nil)

// DefaultInherit returns the variables that a child inherits unless
// [Command.Inherit] says otherwise: what programs need to find themselves, their
// user's folders, the language, and the way to the network.
func DefaultInherit() []string {
	names := []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TEMP", "TMP",
		"XDG_*", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	if runtime.GOOS == "windows" {
		names = append(names, "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMSPEC",
			"HOMEDRIVE", "HOMEPATH", "PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR")
	}
	return names
}

// String returns the command line, without secrets.
func (c *Command) String() string {
	words := append([]string{c.Path}, c.Args...)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\") {
			words[i] = fmt.Sprintf("%q", w)
		}
	}
	return c.redact(strings.Join(words, " "))
}

func (c *Command) redact(text string) string { return redact(text, c.Redact) }

// environment returns the variables of the child.
func (c *Command) environment() []string { return append(Environ(c.Inherit), c.Env...) }

// Environ returns the variables of our environment that a child sees if
// [Command.Inherit] is inherit, as NAME=VALUE. Nil is [DefaultInherit].
func Environ(inherit []string) []string {
	names := inherit
	if names == nil {
		names = DefaultInherit()
	}
	env := make([]string, 0, 16)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if slices.ContainsFunc(names, func(pattern string) bool { return inherits(pattern, name) }) {
			env = append(env, entry)
		}
	}
	return env
}

func inherits(pattern, name string) bool {
	if prefix, many := strings.CutSuffix(pattern, "*"); many {
		return strings.HasPrefix(name, prefix)
	}
	if runtime.GOOS == "windows" {
		return strings.EqualFold(pattern, name)
	}
	return pattern == name
}

// command returns the process to start.
func (c *Command) command() (*exec.Cmd, error) {
	if c.Path == "" {
		return nil, permanent{&CommandError{errors.New("no command is given")}}
	}
	env := c.environment()
	path, err := lookPath(c.Path, env)
	if err != nil {
		return nil, permanent{&CommandError{err}}
	}
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, permanent{&CommandError{fmt.Errorf("%s is no folder to run it in", c.Dir)}}
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir, Env: env}
	if c.Dir != "" {
		cmd.Env = append(cmd.Env, "PWD="+c.Dir)
	}
	own(cmd)
	return cmd, nil
}

// CommandError is why a command could not even be started.
type CommandError struct{ Err error }

// Error implements the error interface.
func (e *CommandError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// lookPath finds a program in the PATH of env, which need not be ours.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return findExecutable(name, env)
	}
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue // what is in the current folder is not meant
		}
		if path, err := findExecutable(filepath.Join(dir, name), env); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %q in the PATH", name)
}

// findExecutable returns the file that path names, with one of the extensions
// of PATHEXT where those matter.
func findExecutable(path string, env []string) (string, error) {
	candidates := []string{path}
	if runtime.GOOS == "windows" && filepath.Ext(path) == "" {
		candidates = nil
		for _, ext := range strings.Split(cmp.Or(lookup(env, "PATHEXT"), ".COM;.EXE;.BAT;.CMD"), ";") {
			if ext != "" {
				candidates = append(candidates, path+ext)
			}
		}
	}
	for _, p := range candidates {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		if info.IsDir() {
			return "", fmt.Errorf("%s is a folder", path)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
			return "", fmt.Errorf("%s is not executable", path)
		}
		return p, nil
	}
	return "", fmt.Errorf("there is no program %s", path)
}

// lookup returns the value of a variable: the last one given counts.
func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		n, value, _ := strings.Cut(entry, "=")
		if n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// connect starts the child.
func (c *Command) connect(_ context.Context, in inbox) (link, error) {
	cmd, err := c.command()
	if err != nil {
		return nil, err
	}
	child, err := startChild(c, cmd)
	if err != nil {
		return nil, err
	}
	return newStream(child, in), nil
}
