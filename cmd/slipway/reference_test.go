package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

const referenceIntro = `# The command line

Everything that ` + "`slipway COMMAND --help`" + ` says. This page is written by
` + "`go test ./cmd/slipway -run TestReference -update`" + `, and a test keeps it true. What errors
and exit codes mean stands in [Errors and exit codes](errors.md).

`

// TestReference compares docs/cli.md with the help texts of all commands. With -update it
// writes the page instead.
func TestReference(t *testing.T) {
	const page = "../../docs/cli.md"
	var want bytes.Buffer
	want.WriteString(referenceIntro)
	for _, cmd := range commands(newRoot()) {
		want.WriteString("## " + cmd.CommandPath() + "\n\n```text\n" + help(t, cmd) + "```\n\n")
	}
	text := bytes.TrimSuffix(want.Bytes(), []byte("\n"))
	if *update {
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(got)); diff != "" {
		t.Errorf("docs/cli.md is not what the commands say (-commands +page); run this test with -update:\n%s", diff)
	}
}

// commands returns all visible commands, root first.
func commands(root *cobra.Command) []*cobra.Command {
	root.InitDefaultHelpFlag()
	list := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			list = append(list, commands(cmd)...)
		}
	}
	return list
}

// help returns the output of a command's --help.
func help(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetArgs(append(strings.Fields(cmd.CommandPath())[1:], "--help"))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestExamples runs the examples of all help texts as if pasted into a shell, each
// command in a separate workplace. Servers use a free port and are stopped.
func TestExamples(t *testing.T) {
	t.Setenv("SLIPWAY_STATE_DIR", t.TempDir())
	t.Setenv("GORACE", raceOptions)
	for _, cmd := range commands(newRoot()) {
		t.Run(cmd.Name(), func(t *testing.T) {
			if cmd.Example == "" {
				t.Fatal("the help text has no example")
			}
			t.Chdir(workplace(t))
			script := regexp.MustCompile(`(?m)^  `).ReplaceAllString(cmd.Example, "")
			for line := range strings.SplitSeq(script, "\n") {
				if file, ok := strings.CutPrefix(line, "source "); ok {
					line = "! command -v bash || bash -n " + file
				}
				runExample(t, line)
			}
		})
	}
}

// workplace returns a new folder with the files for the examples: the folder examples of
// the repository, the files of testdata/workplace.txtar, and a packed bundle.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(repository, "examples"), filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile("testdata/workplace.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Data, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	if err := errors.Join(z.AddFS(os.DirFS(filepath.Join(dir, "my-server"))), z.Close(),
		os.WriteFile(filepath.Join(dir, "my-server.mcpb"), packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() { _ = fsutil.RemoveTree(cache) }) // unpacked bundles are read-only
	return dir
}

func runExample(t *testing.T, line string) {
	t.Helper()
	sh := exec.Command("sh", "-c", line)
	if !strings.Contains(line, "slipway serve") || strings.Contains(line, "--stdio") {
		if out, err := sh.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		return
	}
	s := newServer(exec.Command("sh", "-c", "exec "+strings.Replace(line, ":9000", ":0", 1)))
	s.cmd.Env = append(os.Environ(), "MCP_SERVER_PORT=0")
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.cmd.Process.Kill() }()
	if _, err := s.await(regexp.MustCompile("Ctrl-C stops it")); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("%s: after SIGTERM: %v", line, err)
	}
}

// TestHelpIsPlain ensures that help texts fit on a terminal of 80 columns, as far as we
// wrap them: the table of flags is cobra's.
func TestHelpIsPlain(t *testing.T) {
	for _, cmd := range commands(newRoot()) {
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of %d characters: %s", cmd.Name(), len(line), line)
			}
		}
	}
}

// TestScriptsSayWhatTheyGuard checks the first line of each script.
func TestScriptsSayWhatTheyGuard(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, []byte("# Guards: ")) {
			t.Errorf("%s: the first line does not say what the script guards", name)
		}
	}
}
