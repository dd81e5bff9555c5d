package main

import "github.com/spf13/cobra"

func newSite() *cobra.Command {
	return group(&cobra.Command{
		Use:   "site",
		Short: "Build, freeze, check and compare StaticMCP sites",
		Long: `Build, freeze, check and compare StaticMCP sites: MCP servers whose answers are
precomputed and stored as files. Set up a documentation project, and write
endpoints for hosts that run code.`,
		Example: `  slipway site check examples/http-reference`,
	},
		newSiteBuild(),
		newSiteCheck(),
		newSiteDiff(),
		newSiteEndpoint(),
		newSiteEval(),
		newSiteFreeze(),
		newSiteInit(),
	)
}
