// Command mcpbreference asks the reference CLI for MCP bundles what it thinks of
// a few hundred manifests, and keeps the answers in mcpb/testdata/reference.jsonl,
// which the tests of package mcpb hold our own verdicts against.
//
//	go run ./scripts/mcpbreference          write the file
//	go run ./scripts/mcpbreference -check   fail if it is not what the CLI says
//
// It runs in the root of the repository and needs Node and npm. The CLI is
// installed once into .cache, at the pinned version.
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

// pinned is the release whose verdicts are kept.
const pinned = "2.1.2"

const record = "mcpb/testdata/reference.jsonl"

//go:embed ask.mjs
var askScript string

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
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	accepted := 0
	for i := range cases {
		if cases[i].Accepted {
			accepted++
		}
		if err := enc.Encode(&cases[i]); err != nil {
			return err
		}
	}
	fmt.Printf("the reference CLI %s accepts %d of %d manifests\n", pinned, accepted, len(cases))
	if !check {
		return os.WriteFile(record, text.Bytes(), 0o644)
	}
	old, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	return compare(old, text.Bytes())
}

// compare names the first few lines that differ.
func compare(old, now []byte) error {
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
		return fmt.Errorf("%s is not what the CLI says:\n%s", record, strings.Join(differences, "\n"))
	}
	return nil
}

// install puts the CLI into .cache, unless it is there, and returns the folder.
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
	npm := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "@anthropic-ai/mcpb@"+pinned)
	npm.Dir, npm.Stdout, npm.Stderr = tmp, os.Stderr, os.Stderr
	if err := npm.Run(); err != nil {
		return "", fmt.Errorf("npm install: %w", err)
	}
	return dir, os.Rename(tmp, dir)
}

// ask puts every case into a folder of its own and has the CLI validate them.
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
	script := filepath.Join(tools, "ask.mjs") // beside the packages that it imports
	if err := os.WriteFile(script, []byte(askScript), 0o644); err != nil {
		return err
	}
	node := exec.Command("node", script, dir, fmt.Sprint(len(cases)))
	node.Stderr = os.Stderr
	out, err := node.Output()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	var answers []bool
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(cases) {
		return errors.Join(fmt.Errorf("%d answers to %d questions", len(answers), len(cases)), err)
	}
	for i, yes := range answers {
		cases[i].Accepted = yes
	}
	return nil
}
