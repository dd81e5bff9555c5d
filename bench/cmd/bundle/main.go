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
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/trial"
)

func main() { trial.Main("bundle", run) }

// run measures each task in each round: Slipway, and the reference implementation from npm.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var rounds int
	err := trial.Parse("bundle", args, stderr, func(flags *flag.FlagSet) {
		flags.IntVar(&rounds, "rounds", 5, "how often everything is done; the best of the rounds counts")
	})
	if err != nil {
		return err
	}
	root, err := install.Root(ctx)
	if err != nil {
		return err
	}
	cache := filepath.Join(root, ".cache", "bundle")
	reference := filepath.Join(cache, "reference", "node_modules", ".bin", "mcpb")
	if err := npm(ctx, filepath.Join(cache, "reference"), reference, stderr, "@anthropic-ai/mcpb@2.1.2"); err != nil {
		return err
	}
	folder := filepath.Join(cache, "large")
	if err := installFolder(ctx, folder, stderr); err != nil {
		return err
	}
	slipway, err := install.Go(ctx, install.Slipway, "")
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "slipway-bundle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	tasks := tasksOf(slipway.Command[0], reference, folder, tmp)
	for range max(rounds, 1) {
		for _, t := range tasks {
			if err := t.measure(ctx); err != nil {
				return err
			}
		}
	}
	return printTable(stdout, folder, tasks)
}

// tasksOf returns the rows of the table, ours next to those of the reference.
func tasksOf(slipway, reference, folder, tmp string) []*task {
	ours := filepath.Join(tmp, "ours.mcpb")
	theirs := filepath.Join(tmp, "theirs.mcpb")
	out := filepath.Join(tmp, "out")
	var all []*task
	add := func(name, command, from, ourResult, theirFrom, theirResult string) {
		our := &task{
			name: name,
			who:  "slipway",
			line: []string{slipway, "bundle", command, from},
			made: ourResult,
		}
		their := &task{
			name: name,
			who:  "reference",
			line: []string{reference, command, theirFrom},
			made: theirResult,
		}
		for _, t := range []*task{our, their} {
			if t.made != "" {
				t.line = append(t.line, t.made)
			}
		}
		all = append(all, our, their)
	}
	add("pack", "pack", folder, ours, folder, theirs)
	add("unpack", "unpack", ours, out, theirs, out)
	add("unpack the other's", "unpack", theirs, out, ours, out)
	add("validate the folder", "validate", folder, "", folder, "")
	return all
}

// manifest is that of the bundle that the tasks pack.
const manifest = `{
  "manifest_version": "0.3", "name": "large", "version": "1.0.0", "description": "Many files.",
  "author": {"name": "bench"},
  "server": {
    "type": "node", "entry_point": "server/index.js",
    "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js"]}
  }
}
`

// installFolder creates the folder to pack: a server with typical dependencies.
func installFolder(ctx context.Context, dir string, stderr io.Writer) error {
	mark := filepath.Join(dir, "node_modules", "date-fns", "package.json")
	err := npm(ctx, dir, mark, stderr, "typescript@5.6.3", "eslint@9.15.0", "lodash@4.17.21", "rxjs@7.8.1",
		"date-fns@4.1.0", "@modelcontextprotocol/sdk@1.20.0")
	if err != nil {
		return err
	}
	return errors.Join(
		os.MkdirAll(filepath.Join(dir, "server"), 0o755),
		os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o644),
		os.WriteFile(filepath.Join(dir, "server", "index.js"),
			[]byte("console.log('x')\n"), 0o644))
}

// npm installs packages unless the file mark exists.
func npm(ctx context.Context, dir, mark string, stderr io.Writer, packages ...string) error {
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	fmt.Fprintln(stderr, "installing", strings.Join(packages, ", "))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	about := []byte(`{"name": "large", "version": "1.0.0", "private": true}` + "\n")
	if err := os.WriteFile(filepath.Join(dir, "package.json"), about, 0o644); err != nil {
		return err
	}
	return install.NPM(ctx, dir, packages...)
}
