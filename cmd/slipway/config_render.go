package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// translating is how definitions are converted to the config of clients.
type translating struct {
	clients.PlanOptions
	secretsFrom, networks []string // for the launcher
	exact                 bool
}

// flags adds the flags except --scope, whose default depends on the command.
func (t *translating) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(oneOf(&t.Via, "direct", "launcher", "auto"), "via",
		"`how` the client reaches servers: direct, launcher, or auto for the launcher where direct would lose a setting")
	f.StringVar(&t.Program, "launcher", "", "`program` that the launcher runs "+
		"(default: slipway in project files, the absolute path of this program in user files)")
	f.Var(eachOf(&t.secretsFrom, launcherSecrets), "secrets-from",
		"`source` of secrets for the launcher (repeatable); see slipway help secrets")
	f.StringSliceVar(&t.networks, "allow-network", nil,
		"`network` that the launcher may connect to (repeatable); see slipway help networks")
	f.BoolVar(&t.exact, "exact", false, "fail if the client cannot represent a setting (exit code 5)")
}

// launcherSecrets returns a source of secrets for the launcher, which runs in another
// folder.
func launcherSecrets(word string) (string, error) {
	if _, err := stax.ParseSecretStore(word); err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(word, "file:")
	if !ok {
		return word, nil
	}
	path, err := filepath.Abs(path)
	return "file:" + path, err
}

// complete sets the options for the launcher, which gets the definitions files and the
// declarations of secrets.
func (t *translating) complete(files, declarations []string) error {
	if t.Scope == clients.User &&
		t.Program == "" &&
		cmp.Or(t.OS, runtime.GOOS) == runtime.GOOS {
		// The file is for this machine, so it can have the path of this program.
		line, _ := launcher(t.Scope)
		t.Program = line[0]
		t.ProgramArgs = line[1:]
	}
	if _, err := parseNetworks(t.networks); err != nil {
		return err
	}
	// Clients start the launcher in any folder, so all paths are absolute.
	for _, name := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		t.Sources = append(t.Sources, path)
	}
	for _, name := range declarations {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		t.Flags = append(t.Flags, "--secrets", path)
	}
	for _, word := range t.networks {
		t.Flags = append(t.Flags, "--allow-network", word)
	}
	for _, word := range t.secretsFrom {
		t.Flags = append(t.Flags, "--secrets-from", word)
	}
	return nil
}

// wholePath returns the path of this program for user-level files: clients that are not
// started from a shell have another PATH. It prefers the path in PATH, which may be a
// link that survives updates.
func wholePath() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	found, err := exec.LookPath("slipway")
	if err != nil {
		return self
	}
	here, selfErr := os.Stat(self)
	there, err := os.Stat(found)
	if selfErr != nil || err != nil || !os.SameFile(here, there) {
		return self
	}
	if found, err = filepath.Abs(found); err != nil {
		return self
	}
	return found
}

// inexact returns the failure of --exact, or nil.
func (t *translating) inexact(what string, report *check.Report) error {
	if !t.exact || report.Count(check.Warning) == 0 {
		return nil
	}
	return notExact("--via auto uses the launcher where a setting would be lost",
		"%s: not representable: %s", what, report.Summary())
}

// clientNamed returns a client by its ID. For an unknown one, the hint suggests the nearest.
func clientNamed(id string) (clients.Client, error) {
	c, near := clients.ByID(id)
	if c != nil {
		return *c, nil
	}
	hint := "slipway config clients lists them"
	if near != "" {
		hint = "did you mean " + near + "?"
	}
	return clients.Client{}, usage(hint, "unknown client %q", id)
}

// knownClient is clientNamed for commands that only need the id.
func knownClient(id string) error {
	_, err := clientNamed(id)
	return err
}

func newConfigRender() *cobra.Command {
	var d definitions
	var t translating
	cmd := &cobra.Command{
		Use:   "render CLIENT [FILE...]",
		Short: "Print the config file of a client",
		Long: `Print the config file of a client with these servers and no others. Settings
that the client cannot represent are reported on stderr; with --exact they are
errors. Disabled servers are skipped. Secrets are written as references in the
client's syntax, never as values.

The first line on stderr is the path of the file.

` + filesHelp + `

` + defaultsHelp,
		Example: `  slipway config render claude-code examples/definitions/mcp.yaml
  slipway config render codex examples/definitions/mcp.yaml --scope user --os \
      darwin`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := clientNamed(args[0])
			if err != nil {
				return err
			}
			files, err := defaultFiles(cmd, args[1:], &t.Scope)
			if err != nil {
				return err
			}
			if t.Scope == "" {
				scopes := c.Scopes(cmp.Or(t.OS, runtime.GOOS))
				t.Scope = scopes[len(scopes)-1]
			}
			if err := t.complete(files, d.secrets); err != nil {
				return err
			}
			if t.Scope == clients.Project {
				t.Project = "."
			}
			merged, err := d.valid(cmd, files)
			if err != nil {
				return err
			}
			text, report, err := clients.Render(&c, merged, &t.Options)
			if err != nil {
				return err
			}
			where, err := configPath(&c, t.Scope, cmp.Or(t.OS, runtime.GOOS))
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), where)
			printFindings(cmd, report)
			if err := t.inexact(c.ID, losses(report)); err != nil {
				return err
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), map[string]any{"client": c.ID, "scope": t.Scope, "text": string(text)})
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	d.flags(cmd)
	t.flags(cmd)
	jsonFlag(cmd, "client, scope and text of the file")
	cmd.Flags().Var(optional(&t.Scope, "user", "project"), "scope",
		"for whom: `user` or project; a project where the client has files for those")
	cmd.Flags().Var(optional(&t.OS, "linux", "darwin", "windows"), "os",
		"operating `system` of the client: linux, darwin or windows (default: this one)")
	return cmd
}

// configPath returns the path of a client's file from its table.
func configPath(c *clients.Client, scope clients.Scope, system string) (string, error) {
	if !slices.Contains(c.Scopes(system), scope) {
		return "", usage("slipway config clients lists files and scopes",
			"%s has no file for a %s on %s", c.Name, scope, system)
	}
	paths := c.Files.Project
	if scope == clients.User {
		paths = c.Files.Linux
		switch system {
		case "windows":
			paths = c.Files.Windows
		case "darwin":
			paths = c.Files.Darwin
		}
	}
	path := paths[0]
	if system == "windows" {
		path = strings.ReplaceAll(path, "/", string(os.PathSeparator))
	}
	return "for " + c.Name + ": " + path, nil
}
