package main

import (
	"cmp"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/style"
)

// registryVariable is the environment variable with the URL of the registry.
const registryVariable = "SLIPWAY_REGISTRY"

// registryFlag adds --registry to a command.
func registryFlag(cmd *cobra.Command) {
	cmd.Flags().String("registry", "", "`URL` of the registry (default: $"+registryVariable+", or the official one)")
}

// registryClient returns a client for the registry from flag or environment.
func registryClient(cmd *cobra.Command) (*registry.Client, error) {
	typed, _ := cmd.Flags().GetString("registry")
	from := "--registry"
	if typed == "" {
		typed, from = os.Getenv(registryVariable), registryVariable
	}
	networks, err := networks(cmd)
	c := &registry.Client{
		URL:          cmp.Or(typed, registry.OfficialURL),
		AllowNetwork: networks,
		UserAgent:    "slipway/" + thisBuild().Version,
	}
	if err == nil && c.CheckURL() != nil {
		return nil, usage("set "+from+" to the URL before /v0.1/servers, such as "+registry.OfficialURL,
			"%s %s: not an http or https URL", from, typed)
	}
	return c, err
}

// foundJSON is a server in the output of search --json. Fields may be added.
type foundJSON struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Status      string   `json:"status,omitempty"`
	WebsiteURL  string   `json:"websiteUrl,omitempty"`
	Ways        []string `json:"ways"` // remote URLs and packages
	// Add is the command that adds the server to clients, if it can be added.
	Add string `json:"add,omitempty"`
}

// searchJSON is the output of search --json.
type searchJSON struct {
	Registry string      `json:"registry"`
	Servers  []foundJSON `json:"servers"`
	// More reports that the registry has further results.
	More bool `json:"more"`
}

func newSearch() *cobra.Command {
	var o registry.SearchOptions
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Search a registry of MCP servers",
		Long: `Search a registry of MCP servers for names that contain WORD, and print each
server with the command that adds it to your clients. Of several words, one must
be in the name, and the others in the name, title or description.

The registry is the official one, or the URL in --registry or in the environment
variable ` + registryVariable + `. Any registry with the official API can be
searched.

The exit code is 1 if nothing is found.`,
		Example: `  slipway search filesystem
  slipway search weather forecast --limit 5 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := registryClient(cmd)
			if err != nil {
				return err
			}
			words := strings.Fields(strings.Join(args, " "))
			if len(words) == 0 {
				return usage("for example: slipway search filesystem", "search: the word is empty")
			}
			wait := waitFor(cmd, secrets.URL(client.URL))
			found, err := client.Search(cmd.Context(), words, &o)
			wait.finish()
			if err != nil {
				return registryFailed(client, err)
			}
			return printSearch(cmd, client, words, found)
		},
	}
	o.Limit = 20
	cmd.Flags().Var(atLeast(&o.Limit, 1), "limit", "maximum `number` of results")
	registryFlag(cmd)
	networkFlag(cmd)
	wideFlag(cmd)
	jsonFlag(cmd, "the servers")
	return cmd
}

// registryFailed returns the failure for an error of a registry.
func registryFailed(client *registry.Client, err error) error {
	if f := blocked(err.Error(), err); f != nil {
		return f
	}
	var answer *registry.APIError
	if errors.As(err, &answer) {
		hint := "--registry or " + registryVariable + " selects another one"
		if answer.Status == 0 || answer.Status == 404 {
			hint = "give --registry the URL before /v0.1/servers, such as " + registry.OfficialURL
		}
		return remoteFailed(hint, "registry %s", answer)
	}
	return remoteFailed("check the connection; --registry or "+registryVariable+" selects another registry",
		"registry %s: %v", secrets.URL(client.URL), reason(err))
}

// printSearch prints the servers that a registry found. Finding none is exit code 1, so that
// scripts notice it.
func printSearch(
	cmd *cobra.Command,
	client *registry.Client,
	words []string,
	found *registry.Results,
) error {
	out := searchJSON{
		Registry: client.URL,
		Servers:  []foundJSON{},
		More:     found.More,
	}
	for _, doc := range found.Servers {
		out.Servers = append(out.Servers, foundOf(doc))
	}
	if err := show(cmd, out, printResults); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	if found.Malformed > 0 {
		say(stderr, "search: %d entries were skipped: the registry sent them malformed", found.Malformed)
	}
	if len(out.Servers) == 0 {
		hint := "a registry compares words with the names of servers: try a shorter one"
		if len(words) > 1 {
			hint = "try a single word"
		}
		return no(hint, "search: no server found for %q", strings.Join(words, " "))
	}
	if found.More && !wantsJSON(cmd) {
		hint(stderr, "there are more; --limit raises the number of results")
	}
	return nil
}

// foundOf returns a server for display.
func foundOf(doc *registry.Document) foundJSON {
	f := foundJSON{
		Name:        doc.Name,
		Title:       doc.Title,
		Description: doc.Description,
		Version:     doc.Version,
		Status:      doc.Status,
		WebsiteURL:  doc.WebsiteURL,
		Ways:        []string{},
	}
	for _, remote := range doc.Remotes {
		f.Ways = append(f.Ways, remote.URL)
	}
	for _, p := range doc.Packages {
		f.Ways = append(f.Ways, p.RegistryType+":"+p.Identifier)
	}
	if len(f.Ways) > 0 {
		f.Add = "slipway add " + shell.ShellWord(doc.Name)
	}
	return f
}

// printResults prints each server with its description, the ways to run it, and the command
// that adds it.
func printResults(w io.Writer, found searchJSON) error {
	out := newLayout(w)
	for i, f := range found.Servers {
		if i > 0 {
			out.line()
		}
		version := " " + f.Version
		if f.Status != "" && f.Status != "active" {
			version += " (" + f.Status + ")"
		}
		out.line(named(f.Name), plain(version))
		about := strings.Join(strings.Fields(f.Description), " ")
		for _, text := range []string{about, strings.Join(f.Ways, ", ")} {
			if text != "" {
				out.line(plain("  " + text))
			}
		}
		if f.Add != "" {
			out.line(plain("  $ "), span{style.Hint, f.Add})
		}
	}
	return out.flush()
}

// reason returns the text of an error of net/http without the operation and the URL.
func reason(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err.Error()
	}
	return err.Error()
}
