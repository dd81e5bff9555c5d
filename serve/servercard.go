package serve

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/mcp"
)

// Public descriptions of a server for clients that have not connected yet: its card
// (SEP-2127) and the catalog that refers to it. They are served only if the server has a
// public address.
const (
	cardPath    = EndpointPath + "/server-card"
	catalogPath = "/.well-known/ai-catalog.json"
	cardType    = "application/mcp-server-card+json"
	catalogType = "application/ai-catalog+json"
	cardSchema  = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// serverCard states what a server is and how to connect to it. It does not list what the
// server offers, which may depend on the caller.
type serverCard struct {
	Schema      string     `json:"$schema"`
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Description string     `json:"description"`
	Title       string     `json:"title,omitempty"`
	WebsiteURL  string     `json:"websiteUrl,omitempty"`
	Icons       []mcp.Icon `json:"icons,omitempty"`
	Remotes     []remote   `json:"remotes"`
}

type remote struct {
	// Type is the transport, and URL the endpoint.
	Type     string         `json:"type"`
	URL      string         `json:"url"`
	Versions []string       `json:"supportedProtocolVersions"`
	Headers  []remoteHeader `json:"headers,omitempty"`
}

type remoteHeader struct {
	// Name is a header that clients must send, such as Authorization.
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
}

type aiCatalog struct {
	// SpecVersion is that of the catalog format.
	SpecVersion string           `json:"specVersion"`
	Entries     []aiCatalogEntry `json:"entries"`
}

type aiCatalogEntry struct {
	Identifier string `json:"identifier"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// The maximum lengths in the schema of the card.
const (
	maxCardText    = 100
	maxCardVersion = 255
)

// newCard returns the card of the server at its public address. auth may be nil.
func newCard(server mcp.Implementation, public *url.URL, auth *Auth) serverCard {
	namespace, name := cardName(server.Name, public.Hostname())
	c := serverCard{
		Schema:      cardSchema,
		Name:        namespace + "/" + name,
		Version:     shortened(server.Version, maxCardVersion),
		Description: shortened(server.Description, maxCardText),
		Title:       shortened(server.Title, maxCardText),
		WebsiteURL:  server.WebsiteURL,
		Icons:       server.Icons,
		Remotes: []remote{{
			Type: "streamable-http",
			URL:  public.String() + EndpointPath,
		}},
	}
	if c.Description == "" {
		c.Description = shortened("The MCP server "+server.Name, maxCardText)
	}
	for _, v := range mcp.Versions() {
		c.Remotes[0].Versions = append(c.Remotes[0].Versions, v.String())
	}
	if auth != nil && len(auth.AuthorizationServers) == 0 {
		c.Remotes[0].Headers = []remoteHeader{{
			Name:        "Authorization",
			Description: "Bearer and a token that was given to you",
			Required:    true,
			Secret:      true,
		}}
	}
	return c
}

// newAICatalog returns the catalog that refers to the card of the server.
func newAICatalog(server mcp.Implementation, public *url.URL) aiCatalog {
	_, name := cardName(server.Name, public.Hostname())
	return aiCatalog{
		SpecVersion: "1.0",
		Entries: []aiCatalogEntry{{
			Identifier: "urn:air:" + public.Hostname() + ":mcp:" + name,
			Type:       cardType,
			URL:        public.String() + cardPath,
		}},
	}
}

// cardName returns the name of a card, in reverse DNS form, for a server's name:
// unchanged if it has that form, otherwise below the host.
func cardName(name, host string) (namespace, own string) {
	if space, own, ok := strings.Cut(name, "/"); ok && isWord(space, ".-") && isWord(own, "._-") {
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
		if isWord(string(r), "._-") {
			return r
		}
		return '-'
	}, name), "-")
	if own == "" {
		own = "server"
	}
	return space, own[:min(len(own), maxCardText)]
}

// isWord reports whether s consists of ASCII letters, digits and others only, and is not
// empty.
func isWord(s, others string) bool {
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

// discovery serves the public descriptions of a server.
type discovery struct {
	source mcp.Source
	public *url.URL // nil without a public address
	auth   *Auth    // nil without
}

// serves answers a request for one of its documents, and reports whether it did.
func (d *discovery) serves(w http.ResponseWriter, r *http.Request) bool {
	path := r.URL.Path
	metadata := path == metadataPath || path == metadataPath+EndpointPath
	card := d.public != nil && (path == cardPath || path == catalogPath)
	if !card && (!metadata || d.auth == nil || len(d.auth.AuthorizationServers) == 0) {
		return false
	}
	cat, err := d.source.Catalog(r.Context())
	if err != nil {
		http.Error(w, StatusUnavailable, http.StatusServiceUnavailable)
		return true
	}
	var document any
	contentType := "application/json"
	switch {
	case metadata:
		document = d.metadata(r, cat)
	case path == cardPath:
		document = newCard(cat.Server, d.public, d.auth)
		contentType = cardType
	default:
		document = newAICatalog(cat.Server, d.public)
		contentType = catalogType
	}
	text, err := mcp.Marshal(document)
	if err != nil {
		http.Error(w, StatusUnavailable, http.StatusInternalServerError)
		return true
	}
	publish(w, r, contentType, text)
	return true
}

// metadata returns the document by which clients find the authorization servers (RFC
// 9728).
func (d *discovery) metadata(r *http.Request, cat *mcp.Catalog) resourceMetadata {
	public := ""
	if d.public != nil {
		public = d.public.String()
	}
	return resourceMetadata{
		Resource:             baseURL(public, r.Host, r.TLS != nil) + EndpointPath,
		Name:                 cat.Server.Name,
		AuthorizationServers: d.auth.AuthorizationServers,
		Scopes:               d.auth.supported(),
		BearerMethods:        []string{"header"},
	}
}

// parsePublicURL parses the address at which clients reach the server: a base without the
// path of the endpoint.
func parsePublicURL(address string) (*url.URL, error) {
	u, err := secureURL(strings.TrimSuffix(address, "/"))
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.Path != "" {
		return nil, fmt.Errorf("%q: want scheme and host alone, such as https://mcp.example.com", address)
	}
	return u, nil
}
