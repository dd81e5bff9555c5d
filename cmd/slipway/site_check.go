package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/siteapps"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// siteCheck is the flags of site check.
type siteCheck struct {
	reporting
	sitelint.Options
	fix, dryRun bool
}

func newSiteCheck() *cobra.Command {
	var o siteCheck
	cmd := &cobra.Command{
		Use:   "check SITE...",
		Short: "Check sites against the StaticMCP standard",
		Long: `Check sites against all rules of the StaticMCP standard, and report each problem
with its place and a fix. Deviations that Slipway supports but other readers do
not are warnings.

SITE is a folder with mcp.json, a .zip file, or the URL of a site. Web hosts do
not list their files, so for a URL only files linked from the manifest or the
index are checked.

--fix first repairs problems in a folder that can be fixed without losing data:
it renames files to the standard's names, adds missing members that are known
from other files, and removes duplicate entries. Nothing is overwritten or
deleted.

Rules: docs/reference/rules.md.`,
		Example: `  slipway site check examples/http-reference
  slipway site check examples/http-reference --for sse-bridge \
      --host github-pages
  slipway site check examples/http-reference --fix --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dryRun && !o.fix {
				return usage("slipway site check SITE --fix --dry-run", "site check: --dry-run requires --fix")
			}
			o.Environ = os.Environ()
			all := &check.Report{}
			wait := startWait(cmd, len(args), nil)
			defer wait.finish()
			for _, arg := range args {
				wait.begin(arg)
				r, err := o.check(cmd, arg)
				if err != nil {
					return err
				}
				all.Merge(r)
				wait.end(arg)
			}
			wait.finish()
			return o.suggestFix(o.print(cmd, args, all), all)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.fix, "fix", false, "first repair problems that can be fixed without losing data")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "with --fix: print the repairs without making them")
	allowSecretFlag(cmd.Flags(), &o.AllowSecrets)
	cmd.Flags().Var(someOf(&o.Readers, sitelint.Readers()...), "for",
		"also report what these other `readers` cannot read: "+strings.Join(sitelint.Readers(), ", "))
	cmd.Flags().Var(someOf(&o.Hosts, staticmcp.HostNames()...), "host",
		"check the site against the limits of these `hosts`: "+strings.Join(staticmcp.HostNames(), ", "))
	return cmd
}

// suggestFix adds a hint to the error of a check whose findings can be repaired.
func (o *siteCheck) suggestFix(err error, r *check.Report) error {
	var f *failure
	if o.fix || !errors.As(err, &f) {
		return err
	}
	if slices.ContainsFunc(r.Findings(), func(f check.Finding) bool {
		return f.Rule.Fixable
	}) {
		f.hint = "--fix repairs what can be fixed without losing data; preview it with --fix --dry-run"
	}
	return err
}

// check checks one site, after repairing it if requested.
func (o *siteCheck) check(cmd *cobra.Command, arg string) (*check.Report, error) {
	web := strings.Contains(arg, "://")
	switch {
	case web && len(o.Readers)+len(o.Hosts) > 0:
		return nil, usage("name the folder that was published",
			"site check: --for and --host need the files, and a web host does not list them")
	case !o.fix:
		return open.Check(cmd.Context(), arg, &open.CheckOptions{
			Site:     &o.Options,
			SiteOnly: true,
		})
	}
	info, err := os.Stat(arg)
	if web || err == nil && !info.IsDir() {
		return nil, usage("name the folder that it was built from",
			"site check: --fix repairs folders, and %s is not a folder", arg)
	}
	if err != nil {
		return open.Check(cmd.Context(), arg, &open.CheckOptions{SiteOnly: true}) // it returns the right error
	}
	repairs, report, err := sitelint.Fix(cmd.Context(), arg,
		&sitelint.FixOptions{
			Check:  &o.Options,
			DryRun: o.dryRun,
		})
	word := "repaired"
	if o.dryRun {
		word = "would be repaired"
	}
	for _, r := range repairs {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: %s\n", r.File, word, r.Does)
	}
	if err != nil {
		return nil, err
	}
	return report, siteapps.Check(cmd.Context(), report, arg)
}
