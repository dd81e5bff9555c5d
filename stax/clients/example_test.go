package clients_test

import (
	"fmt"

	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// Render writes the definitions in the format of a client.
func ExampleRender() {
	d, err := stax.Define(stax.Config{Servers: []stax.Server{{
		Name:    "github",
		Command: "npx",
		Args:    []string{"-y", "@modelcontextprotocol/server-github"},
		Secrets: []string{"GITHUB_TOKEN"},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	codex, _ := clients.ByID("codex")
	text, report, err := clients.Render(codex, stax.Merge(d), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s%d findings\n", text, len(report.Findings()))
	// Output:
	// [mcp_servers.github]
	// command = "npx"
	// args = ["-y", "@modelcontextprotocol/server-github"]
	// env_vars = ["GITHUB_TOKEN"]
	// 0 findings
}
