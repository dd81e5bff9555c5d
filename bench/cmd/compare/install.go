package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/bench/fix"
)

// An installedPeer is ready to be started.
type installedPeer struct {
	peer
	command []string // without the arguments of the contract
	version string
}

// prepare builds or installs every peer below .cache/. A peer that cannot be
// had is left out and named in skipped; a floor that cannot is an error.
func prepare(ctx context.Context, peers []peer, stderr io.Writer) (installed []installedPeer, skipped []string, err error) {
	root, err := moduleDir(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range peers {
		ready, err := install(ctx, root, p)
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err != nil && p.floor {
			return nil, nil, err
		}
		if err != nil {
			skipped = append(skipped, fmt.Sprintf("%s: %v", p.name, err))
			fmt.Fprintf(stderr, "skip %s: %v\n", p.name, err)
			continue
		}
		installed = append(installed, ready)
	}
	return installed, skipped, nil
}

// moduleDir returns the folder of this module, which must be the current one
// or a parent of it.
func moduleDir(ctx context.Context) (string, error) {
	const path = "github.com/slipway-mcp/slipway/bench"
	out, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}")
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(out), path+" ")
	if !ok {
		return "", errors.New("not in the bench module; start it with: go -C bench run ./cmd/compare")
	}
	return dir, nil
}

func install(ctx context.Context, root string, p peer) (installedPeer, error) {
	if p.node {
		return installNode(ctx, root, p)
	}
	binary := filepath.Join(root, ".cache", "bin", p.dir)
	if _, err := output(ctx, root, "go", "build", "-o", binary, "./peers/"+p.dir); err != nil {
		return installedPeer{}, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return installedPeer{}, err
	}
	ready := installedPeer{peer: p, command: []string{binary}, version: info.GoVersion}
	for _, dep := range info.Deps {
		if dep.Path == p.module {
			ready.version = dep.Version
		}
	}
	return ready, nil
}

// installNode makes a folder that holds the peer's program, the fixtures and
// its packages. Packages are installed again only when their list changed.
func installNode(ctx context.Context, root string, p peer) (installedPeer, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return installedPeer{}, errors.New("node is not installed")
	}
	source, dir := filepath.Join(root, "peers", p.dir), filepath.Join(root, ".cache", "npm", p.dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return installedPeer{}, err
	}
	if err := npmInstall(ctx, source, dir); err != nil {
		return installedPeer{}, err
	}
	if _, err := copyFile(filepath.Join(source, "server.mjs"), dir); err != nil {
		return installedPeer{}, err
	}
	if err := writeFixtures(filepath.Join(dir, "fixtures.json")); err != nil {
		return installedPeer{}, err
	}
	version, err := packageVersion(dir, p.module)
	return installedPeer{
		peer: p, command: []string{node, filepath.Join(dir, "server.mjs")}, version: version,
	}, err
}

func npmInstall(ctx context.Context, source, dir string) error {
	done := filepath.Join(dir, ".installed")
	changed, err := copyFile(filepath.Join(source, "package.json"), dir)
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

// copyFile copies path into dir and reports whether that changed anything.
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

// writeFixtures gives Node peers what Go peers import. Their NTOOLS takes the
// first tools of the list.
func writeFixtures(path string) error {
	most := 0
	for _, w := range fix.Workloads() {
		most = max(most, w.Tools)
	}
	data, err := json.Marshal(map[string]any{
		"name": fix.ServerName, "version": fix.ServerVersion, "text": fix.Text(), "message": fix.Message,
		"uri": fix.BlobURI, "mimeType": fix.BlobMIME, "tools": fix.Tools(most),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
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
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, lastLine(stderr.String()))
	}
	return stdout.String(), nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
