package main

import "github.com/spf13/cobra"

// Pointers from the help of commands to topics.
const (
	sourceHelp  = `See "slipway help sources" for what a SOURCE can be.`
	filesHelp   = `See "slipway help definitions" for the format of each FILE.`
	networkHelp = `See "slipway help networks" for the addresses that servers may have.`
	sourcesHelp = `See "slipway help secrets" for where secrets come from.`
	valuesHelp  = `See "slipway help options" for how to set the options of a bundle.`
)

// newTopics returns the help topics, which are commands that cannot be run.
func newTopics() []*cobra.Command {
	return []*cobra.Command{{
		Use:   "sources",
		Short: "What a SOURCE can be",
		Long: `A SOURCE is one of:

  FOLDER         a StaticMCP site (with mcp.json), a bundle (with
                 manifest.json), or input of "slipway site build", such as
                 Markdown or HTML pages, from which a site is built
                 in memory
  FILE.zip       a packed StaticMCP site
  FILE.mcpb      an MCP bundle
  FILE           server definitions (.json, .jsonc, .yaml, .toml, .ts, .js),
                 which appear as one server; or input of "slipway site build"
  FILE.mcplog    a recorded conversation, which answers as recorded
  http(s) URL    a site if URL/mcp.json is its manifest, otherwise an MCP
                 server; site:URL and live:URL select one of them
  ws(s) URL      an MCP server over WebSocket
  -- COMMAND...  an MCP server over stdin and stdout, started with this
                 command; it comes after all other arguments

MCP_CLIENT_TOKEN in the environment is the bearer token for the URL of a server.`,
	}, {
		Use:   "definitions",
		Short: "Files that define MCP servers",
		Long: `A definitions file lists MCP servers: how each is started or reached, its
secrets and its tools. The format is JSON (.json, .jsonc), YAML, TOML, or a call
of defineMcp in a .ts or .js file, which is parsed but never executed.

If a command accepts several files, later ones override earlier ones, server by
server.`,
	}, {
		Use:   "secrets",
		Short: "Where the secrets of servers come from",
		Long: `A source of secrets, as in --secrets-from, is one of:

  env                      environment variables (the default)
  file:PATH                lines of KEY=VALUE, or a folder with one file per key
  keychain[:NAME]          the keychain of the operating system; the service is
                           "slipway" or NAME
  command:PROGRAM ARG...   output of a program; {KEY} in an argument is replaced
                           with the key. No shell is involved.

Several sources are searched in the given order. "slipway config secrets" lists
the required secrets and whether each is set.`,
	}, {
		Use:   "networks",
		Short: "Networks that servers of definitions may be in",
		Long: `Remote servers in definitions must have public addresses, or be on this machine
if their URL contains localhost, 127.0.0.1 or [::1]. Redirects have the same
restriction. --allow-network permits additional networks:

  10.1.0.0/16    a network or a single address
  private        private networks, such as 192.168.0.0/16
  loopback       this machine
  any            every address

Addresses are checked when a connection is opened, so neither DNS names nor
redirects bypass the check. The host of a URL on the command line is always
allowed.`,
	}, {
		Use:   "options",
		Short: "How to set the options of a bundle",
		Long: `A bundle may have options (user_config in its manifest); "slipway bundle info"
lists them. The value of an option comes from the first of these that has one:

  --set KEY=VALUE           repeat it for several values
  MCP_BUNDLE_KEY            environment variable: MCP_BUNDLE_ and the key in
                            upper case; several values are a JSON array, or
                            paths separated as in PATH
  --values FILE             a JSON file: {"key": value}
  default                   from the manifest

On a terminal, missing required options are prompted for. Do not pass secrets
with --set: other users of the machine can read command lines.`,
	}}
}
