// Command mcpbreference runs the reference implementation of MCP bundles on the cases in
// mcpb/testdata: its verdicts on the manifests in reference.jsonl, and the command lines it
// builds for those in expand.jsonl. The tests of package mcpb compare our implementation
// with these records.
//
//	go run ./scripts/mcpbreference          update the verdicts and command lines
//	go run ./scripts/mcpbreference -check   fail if they differ from its output
//
// To add a case, add a line with its inputs and run the command. Run it in the root of the
// repository. It requires Node and npm. The CLI is installed once into .cache, at the
// pinned version.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pinned is the release that produced the records.
const pinned = "2.1.2"

//go:embed ask.mjs
var askScript string

//go:embed expand.mjs
var expandScript string

// verdict is a manifest with the verdict of the CLI, a line of reference.jsonl.
type verdict struct {
	Name string `json:"name"`
	// Text is that of manifest.json, or Base64 if it is not UTF-8.
	Text     string            `json:"text,omitempty"`
	Base64   []byte            `json:"base64,omitempty"`
	Files    map[string][]byte `json:"files,omitempty"`
	Accepted bool              `json:"accepted"`
}

// launch is a manifest with a user's settings, and the command line that the reference
// implementation builds for it on Linux, a line of expand.jsonl. The cases are those in
// which it agrees with the specification; package mcpb has its own tests for the others.
type launch struct {
	Name     string          `json:"name"`
	Manifest json.RawMessage `json:"manifest"`
	Values   json.RawMessage `json:"values"`
	commandLine
}

type commandLine struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

func main() {
	check := flag.Bool("check", false, "compare with the files instead of writing them")
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
	return errors.Join(
		update("mcpb/testdata/reference.jsonl", check, func(cases []verdict, dir string) error {
			return ask(tools, cases, dir)
		}),
		update("mcpb/testdata/expand.jsonl", check, func(cases []launch, dir string) error {
			return expand(tools, cases, dir)
		}))
}

// update reads a record with one JSON object per line, completes its cases, and writes it,
// or compares it with the file if check is set. complete may use the folder dir.
func update[T any](record string, check bool, complete func(cases []T, dir string) error) error {
	old, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	var cases []T
	for decoder := json.NewDecoder(bytes.NewReader(old)); ; {
		var one T
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s: case %d: %w", record, len(cases)+1, err)
		}
		cases = append(cases, one)
	}
	dir, err := os.MkdirTemp("", "mcpbreference-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := complete(cases, dir); err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for i := range cases {
		if err := encoder.Encode(&cases[i]); err != nil {
			return err
		}
	}
	if !check {
		return os.WriteFile(record, text.Bytes(), 0o644)
	}
	return compare(record, old, text.Bytes())
}

// compare reports the first few lines that differ. Both texts have a line for each case.
func compare(record string, old, now []byte) error {
	was := strings.Split(string(old), "\n")
	var differences []string
	for i, line := range strings.Split(string(now), "\n") {
		if i < len(was) && was[i] != line && len(differences) < 5 {
			differences = append(differences, fmt.Sprintf("line %d:\n- %s\n+ %s", i+1, was[i], line))
		}
	}
	if !bytes.Equal(old, now) {
		return fmt.Errorf("%s differs from the reference:\n%s", record, strings.Join(differences, "\n"))
	}
	return nil
}

// install installs the CLI into .cache unless it exists, and returns the
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
	npm.Dir = tmp
	npm.Stdout = os.Stderr
	npm.Stderr = os.Stderr
	if err := npm.Run(); err != nil {
		return "", fmt.Errorf("npm install: %w", err)
	}
	return dir, os.Rename(tmp, dir)
}

// ask writes every case to a separate folder and runs the CLI's validation on them.
func ask(tools string, cases []verdict, dir string) error {
	for i := range cases {
		if err := cases[i].write(filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	answers := make([]bool, 0, len(cases))
	if err := runNode(tools, "ask.mjs", askScript, &answers, dir, fmt.Sprint(len(cases))); err != nil {
		return err
	}
	if len(answers) != len(cases) {
		return fmt.Errorf("%d answers to %d questions", len(answers), len(cases))
	}
	accepted := 0
	for i, yes := range answers {
		cases[i].Accepted = yes
		if yes {
			accepted++
		}
	}
	fmt.Printf("the reference CLI %s accepts %d of %d manifests\n", pinned, accepted, len(cases))
	return nil
}

func (v *verdict) write(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, content := range v.Files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	manifest := append([]byte(v.Text), v.Base64...) // one of them is empty
	return os.WriteFile(filepath.Join(dir, "manifest.json"), manifest, 0o644)
}

// expand runs the reference implementation to build the command line of every case.
func expand(tools string, cases []launch, dir string) error {
	text, err := json.Marshal(cases)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "cases.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	var answers []commandLine
	if err := runNode(tools, "expand.mjs", expandScript, &answers, file); err != nil {
		return err
	}
	if len(answers) != len(cases) {
		return fmt.Errorf("%d answers to %d questions", len(answers), len(cases))
	}
	for i, answer := range answers {
		cases[i].commandLine = answer
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
