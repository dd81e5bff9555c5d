// Package install builds and installs the measured programs, in .cache in the folder of
// this module.
package install

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/bench/process"
)

// Program is a program that is ready to start.
type Program struct {
	// Command is the program with its first arguments. Version is what the report names.
	Command []string
	Version string
}

// Slipway is slipway itself as an argument of [Go].
const Slipway = "cmd/slipway"

// cache is the folder in the repository for what is downloaded and built. Git ignores it.
const cache = ".cache"

// Root returns the folder of this module, which must contain the current folder.
func Root(ctx context.Context) (string, error) {
	const path = "github.com/slipway-mcp/slipway/bench"
	out, err := Output(ctx, "", "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}")
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(out), path+" ")
	if !ok {
		return "", errors.New("not in the bench module; start it with go -C bench run")
	}
	return dir, nil
}

// Go builds the program in a folder of this module, or [Slipway]. Its version is that of
// a module in the program, or else of Go. Programs are built without cgo, as for a
// container: otherwise, the C library would be resident too.
func Go(ctx context.Context, folder, module string) (Program, error) {
	root, err := Root(ctx)
	if err != nil {
		return Program{}, err
	}
	binary := filepath.Join(root, cache, "bin", strings.ReplaceAll(folder, "/", "-"))
	build := []string{"build", "-o", binary}
	if folder == Slipway {
		root = filepath.Dir(root)
		build = append(build, "-trimpath", "-ldflags=-s -w")
	}
	if _, err := Output(ctx, root, "go", append(build, "./"+folder)...); err != nil {
		return Program{}, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return Program{}, err
	}
	p := Program{[]string{binary}, info.GoVersion}
	for _, dep := range info.Deps {
		if dep.Path == module {
			p.Version = dep.Version
		}
	}
	return p, nil
}

// Node installs the packages in package.json of a folder of this module, unless the list
// is unchanged, and copies other files of that folder next to them. It returns the folder
// with the packages, and a program without arguments whose version is that of the package
// module.
func Node(
	ctx context.Context,
	folder, module string,
	files ...string,
) (dir string, p Program, err error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", p, errors.New("node is not installed")
	}
	root, err := Root(ctx)
	if err != nil {
		return "", p, err
	}
	dir = filepath.Join(root, cache, "npm", filepath.Base(folder))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", p, err
	}
	changed := false
	for _, name := range append(files, "package.json") {
		if changed, err = copyFile(filepath.Join(root, folder, name), dir); err != nil {
			return "", p, err
		}
	}
	done := filepath.Join(dir, ".installed")
	if _, err := os.Stat(done); err != nil || changed {
		if err := errors.Join(os.RemoveAll(done), NPM(ctx, dir)); err != nil {
			return "", p, err
		}
		if err := os.WriteFile(done, nil, 0o644); err != nil {
			return "", p, err
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "node_modules",
		filepath.FromSlash(module), "package.json"))
	if err != nil {
		return "", p, err
	}
	var manifest struct{ Version string }
	err = json.Unmarshal(data, &manifest)
	return dir, Program{[]string{node}, "v" + manifest.Version}, err
}

// NPM installs packages to a folder: those named, or those in its package.json.
func NPM(ctx context.Context, dir string, packages ...string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("npm is not installed")
	}
	args := []string{"install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"}
	_, err := Output(ctx, dir, "npm", append(args, packages...)...)
	return err
}

// copyFile copies the file path to dir and reports whether the copy changed.
func copyFile(path, dir string) (changed bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	target := filepath.Join(dir, filepath.Base(path))
	if old, err := os.ReadFile(target); err == nil && bytes.Equal(old, data) {
		return false, nil
	}
	return true, os.WriteFile(target, data, 0o644)
}

// Output runs a program in dir and returns its stdout. The error contains the last line
// of its stderr.
func Output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err,
			process.LastLine(stderr.String()))
	}
	return stdout.String(), nil
}
