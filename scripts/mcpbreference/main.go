// Command mcpbreference runs the reference implementation of MCP bundles on a few hundred
// manifests, and records its verdicts and some of the command lines it builds in
// mcpb/testdata. The tests of package mcpb compare our implementation with these records.
//
//	go run ./scripts/mcpbreference          write the files
//	go run ./scripts/mcpbreference -check   fail if they differ from its output
//
// Run it in the root of the repository. It requires Node and npm. The CLI is installed
// once into .cache, at the pinned version.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pinned is the release that produced the records.
const pinned = "2.1.2"

const (
	verdictRecord = "mcpb/testdata/reference.jsonl"
	launchRecord  = "mcpb/testdata/expand.jsonl"
)

//go:embed ask.mjs
var askScript string

//go:embed expand.mjs
var expandScript string

func main() {
	check := flag.Bool("check", false, "compare with the file instead of writing it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "mcpbreference:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	tools, err := install()
	if err != nil {
		return err
	}
	cases := corpus()
	if err := ask(tools, cases); err != nil {
		return err
	}
	accepted := 0
	for i := range cases {
		if cases[i].Accepted {
			accepted++
		}
	}
	fmt.Printf("the reference CLI %s accepts %d of %d manifests\n", pinned, accepted, len(cases))
	starts := launches()
	if err := expand(tools, starts); err != nil {
		return err
	}
	return errors.Join(keep(verdictRecord, cases, check), keep(launchRecord, starts, check))
}

// keep writes one JSON object per line, or compares them with the file if check is set.
func keep[T any](record string, all []T, check bool) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
	}
	if !check {
		return os.WriteFile(record, text.Bytes(), 0o644)
	}
	old, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	return compare(record, old, text.Bytes())
}

// compare reports the first few lines that differ.
func compare(record string, old, now []byte) error {
	was, is := strings.Split(string(old), "\n"), strings.Split(string(now), "\n")
	var differences []string
	for i := range max(len(was), len(is)) {
		var a, b string
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		if a != b && len(differences) < 5 {
			differences = append(differences, fmt.Sprintf("line %d:\n- %s\n+ %s", i+1, a, b))
		}
	}
	if differences != nil {
		return fmt.Errorf("%s is not what the reference says:\n%s", record, strings.Join(differences, "\n"))
	}
	return nil
}

// install installs the CLI into .cache unless it is there already, and returns the
// folder.
func install() (string, error) {
	dir, err := filepath.Abs(filepath.Join(".cache", "mcpb-"+pinned))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "mcpb-new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := os.WriteFile(filepath.Join(tmp, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		return "", err
	}
	npm := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error",
		"@anthropic-ai/mcpb@"+pinned)
	npm.Dir, npm.Stdout, npm.Stderr = tmp, os.Stderr, os.Stderr
	if err := npm.Run(); err != nil {
		return "", fmt.Errorf("npm install: %w", err)
	}
	return dir, os.Rename(tmp, dir)
}

// ask writes every case to a separate folder and runs the CLI's validation on them.
func ask(tools string, cases []verdict) error {
	dir, err := os.MkdirTemp("", "mcpbreference-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := range cases {
		if err := cases[i].write(filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	var answers []bool
	if err := runNode(tools, "ask.mjs", askScript, &answers, dir, fmt.Sprint(len(cases))); err != nil {
		return err
	}
	if len(answers) != len(cases) {
		return fmt.Errorf("%d answers to %d questions", len(answers), len(cases))
	}
	for i, yes := range answers {
		cases[i].Accepted = yes
	}
	return nil
}

// expand runs the reference implementation to build the command line of every case.
func expand(tools string, starts []launch) error {
	dir, err := os.MkdirTemp("", "mcpbreference-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := json.Marshal(starts)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "cases.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	var answers []launch
	if err := runNode(tools, "expand.mjs", expandScript, &answers, file); err != nil {
		return err
	}
	if len(answers) != len(starts) {
		return fmt.Errorf("%d answers to %d questions", len(answers), len(starts))
	}
	for i, a := range answers {
		starts[i].Command, starts[i].Args, starts[i].Env = a.Command, a.Args, a.Env
	}
	return nil
}

// runNode runs a script next to the packages that it imports, and decodes its output.
func runNode(tools, name, script string, into any, args ...string) error {
	path := filepath.Join(tools, name)
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		return err
	}
	node := exec.Command("node", append([]string{path}, args...)...)
	node.Stderr = os.Stderr
	out, err := node.Output()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return json.Unmarshal(out, into)
}
