package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/stax/clients"
)

// TestGuides compares the guides in docs/clients with the table of clients and the output
// of the commands. Parts between <!-- manual: NAME --> and <!-- end of manual --> are
// written manually. With -update it rewrites the rest.
func TestGuides(t *testing.T) {
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(docs, "clients")
	t.Chdir(workplace(t))
	want := map[string]string{"README.md": index(readGuide(t, filepath.Join(dir, "README.md")))}
	for _, c := range clients.All() {
		name := c.ID + ".md"
		g := &guide{client: &c, hand: byHand(readGuide(t, filepath.Join(dir, name)))}
		for _, part := range []string{"seeing", "facts"} {
			if strings.TrimSpace(g.hand[part]) == "" {
				t.Errorf("docs/clients/%s: the manual part %q is empty", name, part)
			}
		}
		want[name] = g.page(t)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if *update {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(want[name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := gocmp.Diff(want[name], readGuide(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("docs/clients/%s differs from the table of clients (-table +page); run this test with -update:\n%s", name,
				diff)
		}
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(pages) != len(want) {
		t.Errorf("%d pages in docs/clients, want %d, %v", len(pages), len(want), err)
	}
}

func readGuide(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// byHand returns the manually written parts of a page, by name.
func byHand(page string) map[string]string {
	parts := map[string]string{}
	for {
		_, rest, ok := strings.Cut(page, "<!-- manual: ")
		if !ok {
			return parts
		}
		name, rest, _ := strings.Cut(rest, " -->\n")
		parts[name], page, _ = strings.Cut(rest, "<!-- end of manual -->")
	}
}

// index inserts the table of all clients into the page that lists them.
func index(page string) string {
	head, rest, _ := strings.Cut(page, "<!-- clients -->\n")
	_, tail, _ := strings.Cut(rest, "<!-- end of clients -->")
	var b strings.Builder
	b.WriteString("| client | command | http | sse | secrets | `cwd` | tool lists | project |\n| --- | --- | --- | --- " +
		"| --- | --- | --- | --- |\n")
	for _, c := range clients.All() {
		lists := strings.Join(slices.DeleteFunc([]string{
			ifThen(supports(&c, c.EnabledTools), "allow"), ifThen(supports(&c, c.DisabledTools), "deny")}, empty), ", ")
		fmt.Fprintf(&b,
			"| [%s](%s.md) | %s | %s | %s | %s | %s | %s | "+
				"%s |\n", c.Name, c.ID, yes(c.Stdio != nil), yes(c.HTTP != nil), yes(c.SSE != nil),
			secretForm(&c), yes(c.Stdio != nil && supports(&c, c.Stdio.Cwd)), cmp.Or(lists, "-"), yes(len(c.Files.Project) > 0))
	}
	return head + "<!-- clients -->\n" + b.String() + "<!-- end of clients -->" + tail
}

func empty(s string) bool { return s == "" }

func ifThen(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

func yes(is bool) string { return cmp.Or(ifThen(is, "yes"), "-") }

func supports(c *clients.Client, member string) bool {
	return member != "" && !slices.Contains(c.Ignores, member)
}

// secretForm returns a client's syntax for a secret in a variable.
func secretForm(c *clients.Client) string {
	switch r := c.References; {
	case r.Value != "":
		return "`" + fmt.Sprintf(r.Value, "KEY") + "`"
	case r.EnvList != "":
		return "by name, in `" + r.EnvList + "`"
	}
	return "-"
}

// guide generates the page of one client.
type guide struct {
	client *clients.Client
	hand   map[string]string
	b      strings.Builder
}

func (g *guide) print(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }

func (g *guide) byHand(part string) {
	g.print("<!-- manual: %s -->\n%s<!-- end of manual -->\n", part, g.hand[part])
}

func (g *guide) page(t *testing.T) string {
	c := g.client
	g.print("# %s\n\nAdd the servers of your [definitions](../definitions.md) to %s. It reads a %s file with "+
		"servers below\n"+
		"`%s`; nothing else in the file changes:\n\n", c.Name, c.Name, c.Format, c.Root)
	g.commands()
	g.files()
	g.rendered(t)
	g.members()
	g.secrets()
	g.print("\n## After apply\n\n")
	for _, todo := range slices.Concat(c.Todo, c.ProjectTodo, c.VariableTodo) {
		g.print("- %s\n", sentence(todo))
	}
	for _, todo := range c.UserTodo {
		g.print("- After changes of your user file: %s.\n", todo)
	}
	g.print("- `slipway ls mcp.yaml --tools` asks the servers directly, without %s.\n\n", c.Name)
	g.byHand("seeing")
	g.print("\n## Compare, remove, import\n\n```sh\n%-42s # show changes since; exit code 1 if there are any\n"+
		"%-42s # remove our entries and restore the file\n%-42s # print the existing servers as definitions\n```\n",
		"slipway config diff --client "+c.ID, "slipway config remove --client "+c.ID, "slipway config "+
			"import "+c.ID+ifThen(len(c.Files.Project) == 0, " --scope user"))
	g.print("\n## Good to know\n\n")
	g.byHand("facts")
	g.print("\nThis page is generated from the table of clients; `slipway config clients --json` prints the row of "+
		"%s.\nVerified by: %s. [All clients](README.md)\n", c.Name, c.Checked)
	return g.b.String()
}

// sentence capitalizes text and adds a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

func (g *guide) commands() {
	c := g.client
	apply := "slipway config apply mcp.yaml --client " + c.ID
	g.print("```sh\n")
	if len(c.Files.Project) > 0 {
		g.print("%-62s # show plan and diff\n%-62s # for this project\n", apply+" --dry-run", apply)
	}
	if len(c.Files.Project) == 0 {
		g.print("%-62s # show plan and diff\n", apply+" --scope user --dry-run")
	}
	if len(c.Files.Linux) > 0 {
		g.print("%-62s # for your user\n", apply+" --scope user")
	}
	g.print("```\n\n")
}

func (g *guide) files() {
	f := g.client.Files
	g.print("| for | file |\n| --- | --- |\n")
	if len(f.Project) > 0 {
		g.print("| a project | %s |\n", codes(f.Project...))
	}
	var names []string
	for i, system := range []struct {
		name        string
		paths, next []string
	}{{"Linux", f.Linux, f.Darwin}, {"macOS", f.Darwin, f.Windows}, {"Windows", f.Windows, nil}} {
		names = append(names, system.name)
		if len(system.paths) == 0 || i < 2 && slices.Equal(system.paths, system.next) {
			continue
		}
		g.print("| you, on %s | %s |\n", strings.Join(names, ", "), codes(system.paths...))
		names = nil
	}
}

func codes(words ...string) string { return "`" + strings.Join(words, "`, `") + "`" }

// rendered shows the output for the example, and that for the launcher if something would
// be lost.
func (g *guide) rendered(t *testing.T) {
	t.Helper()
	c := g.client
	args := []string{"config", "render", c.ID, "examples/definitions/mcp.yaml"}
	if len(c.Files.Project) == 0 {
		args = append(args, "--os", "linux") // the user-level file depends on the system
	}
	lines, code := terminal(t, args)
	if code != 0 {
		t.Errorf("%s: exit code %d", args, code)
	}
	g.print("\n## What is written\n\n```console\n$ slipway %s\n%s\n```\n", strings.Join(args, " "),
		strings.Join(lines, "\n"))
	merged, report, err := new(definitions).load([]string{"examples/definitions/mcp.yaml"})
	if err != nil || !report.OK(false) {
		t.Fatal(err, report.Findings())
	}
	entries, _ := clients.Translate(c, merged, &clients.Options{OS: "linux", Via: clients.Auto})
	if !slices.ContainsFunc(entries, func(e clients.Entry) bool { return e.Launched }) {
		return
	}
	opts := &clients.Options{OS: "linux", Via: clients.Auto, Sources: []string{"/home/me/mcp.yaml"}, Project: "/home/me"}
	if len(c.Files.Project) == 0 {
		opts.Project, opts.Program = "", "/usr/local/bin/slipway"
	}
	text, _, err := clients.Render(c, merged, opts)
	if err != nil {
		t.Fatal(err)
	}
	g.print("\n`--via auto` keeps everything by starting such a server through [the "+
		"launcher](README.md#the-launcher).\n\n```%s\n%s```\n", strings.ToLower(c.Format.String()), text)
}

// members lists where each member of a definition is written, and then those without a
// place.
func (g *guide) members() {
	c := g.client
	g.print("\n| definition | %s |\n| --- | --- |\n", c.Name)
	var lost []string
	row := func(name, where string) {
		if where == "" {
			lost = append(lost, name)
			return
		}
		g.print("| %s | %s |\n", name, where)
	}
	command := codes(c.Stdio.Command, c.Stdio.Args, c.Stdio.Env)
	if c.Stdio.CommandList {
		command = codes(c.Stdio.Command, c.Stdio.Env) + ", the first a list with the arguments"
	}
	row("`command`, `args`, `env`", command)
	row("`cwd`", g.supported(c.Stdio.Cwd))
	row("`transport: http`", remote(c.HTTP))
	row("`transport: sse`", remote(c.SSE))
	row("`enabledTools`", g.supported(c.EnabledTools))
	row("`disabledTools`", g.supported(c.DisabledTools))
	if timeout := c.Timeout; timeout != nil {
		row("`connectTimeoutMs`", fmt.Sprintf("`%s`, in %s", timeout.Field, timeout.Unit))
	}
	if len(lost) > 0 {
		g.print("| %s | not supported: use the [launcher](README.md#the-launcher) |\n", strings.Join(lost, ", "))
	}
	if c.Names != "" {
		row("names", "of letters, digits and `"+c.Names+"`; servers with other names are skipped, never renamed")
	}
	if len(c.Expands) > 0 {
		row("literals", "text like "+codes(c.Expands...)+" is expanded, and therefore reported")
	}
}

func (g *guide) supported(member string) string {
	switch {
	case member == "":
		return ""
	case !supports(g.client, member):
		return "`" + member + "`, which it ignores: use the [launcher](README.md#the-launcher)"
	}
	return codes(member)
}

// remote describes the form of an entry for a URL.
func remote(s *clients.Shape) string {
	if s == nil {
		return ""
	}
	where := codes(s.URL, strings.Join(s.Headers, "."))
	for _, f := range s.Const {
		where += fmt.Sprintf(", `%s: %s`", f.Name, strings.Trim(string(f.Value), `"`))
	}
	return where
}

// secrets describes how a server gets its secrets.
func (g *guide) secrets() {
	c, r := g.client, g.client.References
	g.print("\n## Secrets\n\n")
	switch {
	case r.Value != "":
		g.print("Secrets are references such as `%s`, in variables and headers. The file contains no secret values.\n",
			fmt.Sprintf(r.Value, "GITHUB_TOKEN"))
	case r.EnvList != "" && r.BearerVar != "":
		g.print("Secrets are named in `%s` for commands, and in `%s` or `%s` for URLs. The file contains no secret "+
			"values.\nA secret with another `exposeAs.env`, or with text around it in a header, needs the "+
			"launcher.\n", r.EnvList, r.BearerVar, r.HeaderVars)
	case r.EnvList != "" && r.Header != "":
		g.print("Secrets are named in `%s`, and referenced as `%s` in headers. The file contains no secret values.\nA "+
			"secret with another `exposeAs.env` needs the launcher.\n", r.EnvList, fmt.Sprintf(r.Header, "GITHUB_TOKEN"))
	case r.EnvList != "":
		g.print("Secrets of commands are named in `%s`. Headers cannot refer to secrets: a server at a URL that needs "+
			"one\nuses the launcher.\n", r.EnvList)
	default:
		g.print("%s cannot refer to secrets, and Slipway never writes their values. With `--via auto` the launcher reads "+
			"them,\nfor example from the keychain:\n\n```sh\nslipway config apply mcp.yaml --client %s%s --via auto "+
			"--secrets-from keychain\n```\n", c.Name, c.ID, ifThen(len(c.Files.Project) == 0, " --scope user"))
	}
	g.print("\n")
	g.byHand("secrets")
}
