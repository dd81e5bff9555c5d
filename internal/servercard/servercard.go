// Package servercard describes servers to clients that have not connected yet: the card of a
// server (SEP-2127), and the catalog that refers to it.
package servercard

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/mcp"
)

// Where the documents are, and their media types.
const (
	// PathSuffix follows the path of the endpoint.
	PathSuffix  = "/server-card"
	Type        = "application/mcp-server-card+json"
	CatalogPath = "/.well-known/ai-catalog.json"
	CatalogType = "application/ai-catalog+json"

	cardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// Card states what a server is and how to connect to it. It does not list what the server
// offers, which may depend on the caller.
type Card struct {
	Schema      string     `json:"$schema"`
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Description string     `json:"description"`
	Title       string     `json:"title,omitempty"`
	WebsiteURL  string     `json:"websiteUrl,omitempty"`
	Icons       []mcp.Icon `json:"icons,omitempty"`
	Remotes     []Remote   `json:"remotes"`
}

// Remote is an endpoint of a server.
type Remote struct {
	// Type is the transport, and URL the endpoint.
	Type     string   `json:"type"`
	URL      string   `json:"url"`
	Versions []string `json:"supportedProtocolVersions"`
	Headers  []Header `json:"headers,omitempty"`
}

// Header is a header that clients must send.
type Header struct {
	// Name is a header that clients must send, such as Authorization.
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
}

// Catalog lists the servers of a host.
type Catalog struct {
	// SpecVersion is that of the catalog format.
	SpecVersion string         `json:"specVersion"`
	Entries     []CatalogEntry `json:"entries"`
}

// CatalogEntry refers to a card.
type CatalogEntry struct {
	Identifier string `json:"identifier"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// The maximum lengths in the schema of the card.
const (
	maxCardText    = 100
	maxCardVersion = 255
)

// New returns the card of the server at the URL of its endpoint. With token, clients must send
// a token that was given to them.
func New(server mcp.Implementation, endpoint *url.URL, token bool) *Card {
	namespace, name := cardName(server.Name, endpoint.Hostname())
	c := &Card{
		Schema:      cardSchema,
		Name:        namespace + "/" + name,
		Version:     shortened(server.Version, maxCardVersion),
		Description: shortened(server.Description, maxCardText),
		Title:       shortened(server.Title, maxCardText),
		WebsiteURL:  server.WebsiteURL,
		Icons:       server.Icons,
		Remotes: []Remote{{
			Type: "streamable-http",
			URL:  endpoint.String(),
		}},
	}
	if c.Description == "" {
		c.Description = shortened("The MCP server "+server.Name, maxCardText)
	}
	for _, v := range mcp.Versions() {
		c.Remotes[0].Versions = append(c.Remotes[0].Versions, v.String())
	}
	if token {
		c.Remotes[0].Headers = []Header{{
			Name:        "Authorization",
			Description: "Bearer and a token that was given to you",
			Required:    true,
			Secret:      true,
		}}
	}
	return c
}

// NewCatalog returns the catalog that refers to the card of the server at the URL of its
// endpoint.
func NewCatalog(server mcp.Implementation, endpoint *url.URL) *Catalog {
	_, name := cardName(server.Name, endpoint.Hostname())
	return &Catalog{
		SpecVersion: "1.0",
		Entries: []CatalogEntry{{
			Identifier: "urn:air:" + endpoint.Hostname() + ":mcp:" + name,
			Type:       Type,
			URL:        endpoint.String() + PathSuffix,
		}},
	}
}

// cardName returns the name of a card, in reverse DNS form, for a server's name:
// unchanged if it has that form, otherwise below the host.
func cardName(name, host string) (namespace, own string) {
	if space, own, ok := strings.Cut(name, "/"); ok && IsWord(space, ".-") && IsWord(own, "._-") {
		return space, own
	}
	labels := strings.Split(host, ".")
	if _, err := netip.ParseAddr(host); err != nil {
		slices.Reverse(labels)
	}
	space := strings.Map(func(r rune) rune {
		if strings.ContainsRune(":%", r) {
			return '-' // of IPv6
		}
		return r
	}, strings.Join(labels, "."))
	own = strings.Trim(strings.Map(func(r rune) rune {
		if IsWord(string(r), "._-") {
			return r
		}
		return '-'
	}, name), "-")
	if own == "" {
		own = "server"
	}
	return space, own[:min(len(own), maxCardText)]
}

// IsWord reports whether s consists of ASCII letters, digits and others only, and is not
// empty.
func IsWord(s, others string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return s != ""
}

// shortened truncates text to at most n characters.
func shortened(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:n-1])) + "…"
}
