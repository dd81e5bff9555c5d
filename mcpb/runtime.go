package mcpb

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// RuntimeError means that a program which a bundle needs but does not include is missing
// or has the wrong version.
type RuntimeError struct {
	Name string // "node", "python" or "uv"; or the command, if it is none of these
	Why  string
	Hint string // a fix, or empty
}

// Error implements the error interface. The hint is not part of it.
func (e *RuntimeError) Error() string { return e.Name + ": " + e.Why }

// runtimes finds the programs that bundles need.
type runtimes struct {
	// look and version are replaced in tests.
	look    func(name string) (path string, err error)
	version func(ctx context.Context, path string, args ...string) (string, error)
	goos    string
}

// thisMachine returns the runtimes that are installed here.
func thisMachine() *runtimes {
	return &runtimes{
		look:    exec.LookPath,
		version: readVersion,
		goos:    runtime.GOOS,
	}
}

// kindOf returns the runtime that a command without a path belongs to, or "".
func kindOf(command string) string {
	if strings.ContainsAny(command, `/\`) {
		return ""
	}
	switch name := strings.TrimSuffix(strings.ToLower(command), ".exe"); {
	case name == "node" || name == "nodejs" || name == "npx" || name == "npm":
		return TypeNode
	case name == "py" || strings.HasPrefix(name, "python"):
		return TypePython
	case name == "uv" || name == "uvx":
		return TypeUV
	}
	return ""
}

// replacements returns the command lines that can replace a missing command, the best first.
func (r *runtimes) replacements(command, kind string) [][]string {
	if kind != TypePython {
		return nil
	}
	all := [][]string{{"python3"}, {"python"}}
	if r.goos == "windows" {
		all = [][]string{{"py", "-3"}, {"python"}, {"python3"}}
	}
	var others [][]string
	for _, words := range all {
		if words[0] != command {
			others = append(others, words)
		}
	}
	return others
}

// find returns the command line to use for command, which a manifest names: the command
// itself or a replacement. wanted are the version ranges in the manifest, by runtime.
func (r *runtimes) find(
	ctx context.Context,
	command string,
	wanted map[string]string,
) ([]string, error) {
	kind := kindOf(command)
	line, path, err := r.locate(command, kind)
	if err != nil {
		return nil, err
	}
	if ranges := wanted[kind]; kind != "" && ranges != "" {
		if err := r.checkVersion(ctx, kind, path, line[1:], ranges); err != nil {
			return nil, err
		}
	}
	return line, nil
}

// locate returns the first available command line, with the path of its program.
func (r *runtimes) locate(command, kind string) (line []string, path string, err error) {
	for _, words := range append([][]string{{command}}, r.replacements(command, kind)...) {
		if path, err := r.look(words[0]); err == nil {
			return words, path, nil
		}
	}
	if strings.ContainsAny(command, `/\`) {
		// A file of the bundle: the error of starting it is more precise.
		return []string{command}, command, nil
	}
	name := kind
	if name == "" {
		name = command
	}
	return nil, "", &RuntimeError{
		Name: name,
		Why:  fmt.Sprintf("the bundle starts %q, which is not on the PATH", command),
		Hint: installHint(kind),
	}
}

// installHint returns how to get a runtime.
func installHint(kind string) string {
	switch kind {
	case TypeNode:
		return "install Node.js from https://nodejs.org"
	case TypePython:
		return "install Python from https://www.python.org/downloads"
	case TypeUV:
		return "install uv: https://docs.astral.sh/uv/getting-started/installation"
	}
	return "install it, or ask the author to put it into the bundle"
}

// checkVersion compares the version of a runtime with the range in a manifest. It accepts a
// runtime whose version cannot be determined, and an invalid range.
func (r *runtimes) checkVersion(
	ctx context.Context,
	kind, path string,
	args []string,
	ranges string,
) error {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
	if name == "npx" || name == "npm" {
		other, err := r.look("node") // the range is for the runtime, not for its tools
		if err != nil {
			return nil
		}
		path = other
		args = nil
	}
	version, err := r.version(ctx, path, append(args, "--version")...)
	if err != nil {
		return nil
	}
	if ok, err := InRange(version, ranges); err != nil || ok {
		return nil
	}
	return &RuntimeError{
		Name: kind,
		Why:  fmt.Sprintf("%s is version %s, and the bundle needs %s", path, version, ranges),
		Hint: installHint(kind),
	}
}

// versionTimeout is how long a runtime may take to print its version.
const versionTimeout = 10 * time.Second

// readVersion asks a program for its version, for at most [versionTimeout].
func readVersion(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	// A wrapper can leave processes that keep the pipe open.
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput() // Python 2 prints it to stderr
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return "", err
	}
	found := regexp.MustCompile(`[0-9]+(\.[0-9]+){1,2}`).FindString(string(out))
	if found == "" {
		return "", errors.New("no version")
	}
	return found, nil
}
