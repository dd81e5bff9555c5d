// Package install builds and installs the programs that are measured.
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

// Cache is the folder below [Root] that holds what was built and installed.
const Cache = ".cache"

// Root returns the folder of this module, which must be the current one
// or a parent of it.
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

// Go builds the program pkg, with flags of go build before it, in the module of dir,
// and returns the version of module that is part of it, or else that of Go. Programs
// are built without cgo, as for a container: with it the C library is resident, too.
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

// NPM installs the packages that source/package.json lists into dir, again only
// when the list has changed, and returns the version of module.
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
	_, err = output(ctx, dir, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	if err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// Copy copies the file path into dir and reports whether that changed anything.
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

// output runs a program and returns its standard output; the error carries
// the end of what it wrote to standard error.
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
