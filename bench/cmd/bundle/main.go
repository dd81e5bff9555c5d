// Command bundle packs and unpacks a folder of more than 5,000 files, as installed by
// npm, with slipway and with the reference CLI of MCP bundles, and prints the cost of
// each: CPU time, elapsed time, and peak memory.
//
//	go -C bench run ./cmd/bundle
//	go -C bench run ./cmd/bundle -rounds 9
//
// It requires Go and npm. The packages and the reference CLI are installed once, into
// bench/.cache/bundle. Only npm uses the network. Results are written to $TMPDIR; use a
// file system in memory to exclude the disk from the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rounds := flag.Int("rounds", 5, "how often everything is done; the best of the rounds counts")
	flag.Parse()
	if err := run(ctx, *rounds, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, stdout, stderr io.Writer) error {
	bench, err := benchDir(ctx)
	if err != nil {
		return err
	}
	cache := filepath.Join(bench, ".cache", "bundle")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	reference, err := installReference(ctx, cache, stderr)
	if err != nil {
		return err
	}
	folder, err := installFolder(ctx, cache, stderr)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "slipway-bundle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	slipway := filepath.Join(tmp, "slipway")
	if err := quiet(ctx, filepath.Dir(bench), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", slipway,
		"./cmd/slipway"); err != nil {
		return err
	}
	tasks := tasksOf(slipway, reference, folder, tmp)
	for range max(rounds, 1) {
		for i := range tasks {
			if err := tasks[i].measure(ctx); err != nil {
				return err
			}
		}
	}
	return printTable(stdout, folder, tasks)
}

// tasksOf returns the rows of the table, ours next to those of the reference.
func tasksOf(slipway, reference, folder, tmp string) []task {
	ours, theirs := filepath.Join(tmp, "ours.mcpb"), filepath.Join(tmp, "theirs.mcpb")
	out := filepath.Join(tmp, "out")
	return []task{
		{name: "pack", who: "slipway", result: ours, line: []string{slipway, "bundle", "pack", folder, ours}},
		{name: "pack", who: "reference", result: theirs, line: []string{reference, "pack", folder, theirs}},
		{name: "unpack", who: "slipway", folder: out, line: []string{slipway, "bundle", "unpack", ours, out}},
		{name: "unpack", who: "reference", folder: out, line: []string{reference, "unpack", theirs, out}},
		{name: "unpack the other's", who: "slipway", folder: out, line: []string{slipway, "bundle", "unpack", theirs, out}},
		{name: "unpack the other's", who: "reference", folder: out, line: []string{reference, "unpack", ours, out}},
		{name: "validate the folder", who: "slipway", line: []string{slipway, "bundle", "validate", folder}},
		{name: "validate the folder", who: "reference", line: []string{reference, "validate", folder}},
	}
}

// installReference installs the reference CLI unless it is already installed.
func installReference(ctx context.Context, cache string, stderr io.Writer) (string, error) {
	dir := filepath.Join(cache, "reference")
	program := filepath.Join(dir, "node_modules", ".bin", "mcpb")
	return program, npm(ctx, dir, program, stderr, "@anthropic-ai/mcpb@2.1.2")
}

const manifest = `{
  "manifest_version": "0.3", "name": "large", "version": "1.0.0", "description": "Many files.", "author": {"name": "bench"},
  "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js"]}}
}
`

// installFolder creates the folder to pack: a server with typical dependencies.
func installFolder(ctx context.Context, cache string, stderr io.Writer) (string, error) {
	dir := filepath.Join(cache, "large")
	mark := filepath.Join(dir, "node_modules", "date-fns", "package.json")
	err := npm(ctx, dir, mark, stderr, "typescript@5.6.3", "eslint@9.15.0", "lodash@4.17.21", "rxjs@7.8.1",
		"date-fns@4.1.0", "@modelcontextprotocol/sdk@1.20.0")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(
		os.MkdirAll(filepath.Join(dir, "server"), 0o755),
		os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o644),
		os.WriteFile(filepath.Join(dir, "server", "index.js"), []byte("console.log('x')\n"), 0o644))
}

func npm(ctx context.Context, dir, mark string, stderr io.Writer, packages ...string) error {
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	fmt.Fprintln(stderr, "installing", strings.Join(packages, ", "))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"),
		[]byte(`{"name": "large", "version": "1.0.0", "private": true}`+"\n"), 0o644); err != nil {
		return err
	}
	return quiet(ctx, dir, "npm",
		append([]string{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"}, packages...)...)
}

// quiet runs a program and shows its output only if it failed.
func quiet(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// benchDir returns the folder of this module.
func benchDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	dir := filepath.Dir(strings.TrimSpace(string(out)))
	if err != nil || filepath.Base(dir) != "bench" {
		return "", errors.New("start it in the module bench: go -C bench run ./cmd/bundle")
	}
	return dir, nil
}
