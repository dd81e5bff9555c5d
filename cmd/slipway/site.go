package main

import "github.com/spf13/cobra"

func newSite() *cobra.Command {
	return group(&cobra.Command{
		Use:   "site",
		Short: "Make, check and compare StaticMCP sites",
		Long: `Make, check and compare StaticMCP sites: MCP servers whose answers were computed
beforehand and lie there as files.`,
		Example: `  slipway site check examples/http-reference`,
	},
		newSiteBuild(),
		newSiteCheck(),
		newSiteDiff(),
		newSiteFreeze(),
	)
}
