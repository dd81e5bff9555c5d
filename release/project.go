package main

// The names under which Slipway is published. Every package, formula, manifest and URL of a
// release is derived from these constants.
const (
	projectName    = "slipway"
	projectTitle   = "Slipway"
	projectSummary = "Serve, check and convert MCP servers"
	projectDetails = "Slipway turns documents, Go functions, bundles and remote servers into MCP servers, and serves " +
		"any of them to every MCP client. It is one static binary."
	projectLicense    = "MIT"
	projectMaintainer = "The Slipway authors <maintainers@slipway-mcp.example>"
	projectModule     = "github.com/slipway-mcp/slipway"

	repositoryURL = "https://github.com/slipway-mcp/slipway"
	siteURL       = "https://slipway-mcp.github.io/slipway/"
	imageName     = "ghcr.io/slipway-mcp/slipway"

	npmScope    = "@slipway-mcp" // the packages with binaries: @slipway-mcp/linux-x64, ...
	npmPackage  = "slipway"      // the package that users name: npx slipway
	pypiPackage = "slipway-mcp"  // uvx --from slipway-mcp slipway
)

// assetURL returns the address of an asset of a published release.
func assetURL(tag, asset string) string {
	return repositoryURL + "/releases/download/" + tag + "/" + asset
}
