// Package install builds and installs the measured programs.
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

// Cache is the folder in [Root] for built and installed programs.
const Cache = ".cache"

// Root returns the folder of this module, which must contain the current folder.
func Root(ctx context.Context) (string, error) {
	const path = "github.com/slipway-mcp/slipway/bench"
	out, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}")
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(out), path+" ")
	if !ok {
		return "", errors.New("not in the bench module; start it with go -C bench run")
	}
	return dir, nil
}

// Go builds a program with go build in the module at dir; pkg contains flags and the
// package. It returns the version of module in the program, or else that of Go. Programs
// are built without cgo, as for a container: otherwise, the C library would be resident
// too.
func Go(ctx context.Context, dir, binary, module string, pkg ...string) (version string, err error) {
	if _, err := output(ctx, dir, "go", append([]string{"build", "-o", binary}, pkg...)...); err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", err
	}
	version = info.GoVersion
	for _, dep := range info.Deps {
		if dep.Path == module {
			version = dep.Version
		}
	}
	return version, nil
}

// NPM installs the packages in source/package.json to dir, unless the list is unchanged,
// and returns the version of module.
func NPM(ctx context.Context, source, dir, module string) (version string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := npmInstall(ctx, source, dir); err != nil {
		return "", err
	}
	return packageVersion(dir, module)
}

func npmInstall(ctx context.Context, source, dir string) error {
	done := filepath.Join(dir, ".installed")
	changed, err := Copy(filepath.Join(source, "package.json"), dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(done); err == nil && !changed {
		return nil
	}
	if err := os.RemoveAll(done); err != nil {
		return err
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("npm is not installed")
	}
	_, err = output(ctx, dir, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts",
		"--loglevel=error")
	if err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// Copy copies the file path to dir and reports whether the copy changed.
func Copy(path, dir string) (changed bool, err error) {
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

func packageVersion(dir, module string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(module), "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct{ Version string }
	err = json.Unmarshal(data, &manifest)
	return "v" + manifest.Version, err
}

// output runs a program and returns its stdout. The error contains the last line of its
// stderr.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, process.LastLine(stderr.String()))
	}
	return stdout.String(), nil
}
