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
	"github.com/slipway-mcp/slipway/stax/clients"
)

// translating is how definitions are converted to a client's config.
type translating struct {
	scope    string
	via      string
	launcher string
	from     []string
	networks []string
	exact    bool
}

func (t *translating) flags(cmd *cobra.Command, scope string) {
	cmd.Flags().StringVar(&t.scope, "scope", scope, "`scope` of the file: user or project")
	cmd.Flags().StringVar(&t.via, "via", "direct", "`how` the client reaches servers: direct, launcher, or auto for the launcher where direct would lose a setting")
	cmd.Flags().StringVar(&t.launcher, "launcher", "", "`program` that the launcher runs (default: slipway in project files, the absolute path of this program in user files)")
	cmd.Flags().StringArrayVar(&t.from, "secrets-from", nil, "`source` of secrets for the launcher (repeatable); see slipway help secrets")
	cmd.Flags().StringSliceVar(&t.networks, "allow-network", nil, "`network` that the launcher may connect to (repeatable); see slipway help networks")
	cmd.Flags().BoolVar(&t.exact, "exact", false, "fail if the client cannot represent a setting (exit code 5)")
}

// options checks the flags and returns the options. The launcher gets the definitions
// files and declarations.
func (t *translating) options(goos string, files, declarations []string) (*clients.Options, error) {
	if t.scope != "" && t.scope != string(clients.User) && t.scope != string(clients.Project) {
		return nil, usage("user or project", "--scope: %q is no scope", t.scope)
	}
	if !slices.Contains([]string{"direct", "launcher", "auto"}, t.via) {
		return nil, usage("direct, launcher or auto", "--via: %q is no way", t.via)
	}
	opts := &clients.Options{OS: goos, Via: clients.Via(t.via), Program: t.launcher}
	if t.scope == string(clients.User) && t.launcher == "" && (goos == "" || goos == runtime.GOOS) {
		opts.Program = wholePath()
	}
	for _, name := range files {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		opts.Sources = append(opts.Sources, abs)
	}
	for _, name := range declarations {
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		opts.Flags = append(opts.Flags, "--secrets", abs)
	}
	return opts, t.launcherSources(opts)
}

// wholePath returns the path of this program for user-level files: clients that are not
// started from a shell have another PATH. It prefers the path in PATH, which may be a
// link that survives updates.
func wholePath() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if found, err := exec.LookPath("slipway"); err == nil {
		here, selfErr := os.Stat(self)
		there, err := os.Stat(found)
		if selfErr == nil && err == nil && os.SameFile(here, there) {
			if found, err = filepath.Abs(found); err == nil {
				return found
			}
		}
	}
	return self
}

// launcherSources sets the secret sources and networks of the launcher. It runs in
// another folder.
func (t *translating) launcherSources(opts *clients.Options) error {
	if _, err := (&sourceFlags{from: t.from}).resolver(); err != nil {
		return err
	}
	if _, err := parseNetworks(t.networks); err != nil {
		return err
	}
	for _, word := range t.networks {
		opts.Flags = append(opts.Flags, "--allow-network", word)
	}
	for _, word := range t.from {
		if path, ok := strings.CutPrefix(word, "file:"); ok {
			abs, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			word = "file:" + abs
		}
		opts.Flags = append(opts.Flags, "--secrets-from", word)
	}
	return nil
}

// notExact returns the error for --exact.
func (t *translating) notExact(what string, report *check.Report) error {
	if !t.exact || report.Count(check.Warning) == 0 {
		return nil
	}
	return &failure{code: exitNotExact, text: fmt.Sprintf("%s: not representable: %s", what, report.Summary()),
		hint: "--via auto sends what would be lost through the launcher"}
}

// clientNamed returns the client with that id.
func clientNamed(id string) (*clients.Client, error) {
	c, near := clients.ByID(id)
	if c != nil {
		return c, nil
	}
	hint := "slipway config clients lists them"
	if near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, usage(hint, "no client is called %q", id)
}

func newConfigRender() *cobra.Command {
	var d definitions
	var t translating
	var goos string
	cmd := &cobra.Command{
		Use: "render CLIENT FILE...",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return clientNames(), cobra.ShellCompDirectiveNoFileComp
		},
		Short: "Print the config file of a client",
		Long: `Print the config file of a client with these servers and no others. Settings
that the client cannot represent are reported on stderr; with --exact they are
errors. Disabled servers are skipped. Secrets are written as references in the
client's syntax, never as values.

The first line on stderr is the path of the file.

` + filesHelp,
		Example: `  slipway config render claude-code examples/definitions/mcp.yaml
  slipway config render codex examples/definitions/mcp.yaml --scope user --os \
      darwin`,
		Args: takes(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := clientNamed(args[0])
			if err != nil {
				return err
			}
			if !slices.Contains([]string{"", "linux", "darwin", "windows"}, goos) {
				return usage("linux, darwin or windows", "--os: %q is no system", goos)
			}
			if t.scope == "" {
				scopes := c.Scopes(cmp.Or(goos, runtime.GOOS))
				t.scope = string(scopes[len(scopes)-1])
			}
			opts, err := t.options(goos, args[1:], d.secrets)
			if err != nil {
				return err
			}
			if t.scope == string(clients.Project) {
				opts.Project = "."
			}
			merged, err := d.valid(cmd, args[1:])
			if err != nil {
				return err
			}
			text, report, err := clients.Render(c, merged, opts)
			if err != nil {
				return err
			}
			where, err := wherePut(c, t.scope, goos)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), where)
			if err := report.WriteText(cmd.ErrOrStderr(), colored(cmd.ErrOrStderr())); err != nil {
				return err
			}
			if err := t.notExact(c.ID, losses(report)); err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	d.flags(cmd)
	t.flags(cmd, "")
	cmd.Flags().Lookup("scope").Usage = "for whom: `user` or project; a project where the client has files for those"
	cmd.Flags().StringVar(&goos, "os", "", "operating `system` of the client: linux, darwin or windows (default: this one)")
	return cmd
}

// wherePut returns the path of a client's file from its table.
func wherePut(c *clients.Client, scope, goos string) (string, error) {
	if goos == "" {
		goos = runtime.GOOS
	}
	if !slices.Contains(c.Scopes(goos), clients.Scope(scope)) {
		return "", usage("slipway config clients lists files and scopes",
			"%s has no file for a %s on %s", c.Name, scope, goos)
	}
	paths := c.Files.Project
	if scope == "user" {
		paths = map[string][]string{"windows": c.Files.Windows, "darwin": c.Files.Darwin}[goos]
		if paths == nil {
			paths = c.Files.Linux
		}
	}
	path := paths[0]
	if goos == "windows" {
		path = strings.ReplaceAll(path, "/", string(os.PathSeparator))
	}
	return "for " + c.Name + ": " + path, nil
}
