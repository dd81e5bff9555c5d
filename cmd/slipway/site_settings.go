package main

import (
	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/open"
)

// settle sets options that are missing on the command line from a slipway.site.yaml.
func (o *writing) settle(cmd *cobra.Command, in *open.Input) error {
	s, err := in.Settings()
	if err != nil || s == nil {
		return err
	}
	given := cmd.Flags().Changed
	fill := func(flag string, to *string, value string) {
		if !given(flag) && value != "" {
			*to = value
		}
	}
	fill("output", &o.output, s.Output)
	fill("site-root", &o.siteRoot, s.SiteRoot)
	fill("host", &o.host, string(s.Host))
	fill("collisions", &o.collisions, s.Collisions)
	if !given("compact") {
		o.compact = s.Compact
	}
	if !given("precompress") {
		o.precompress = s.Precompress
	}
	return nil
}
