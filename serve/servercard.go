package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-mcp/slipway/internal/servercard"
	"github.com/slipway-mcp/slipway/mcp"
)

// cardPath is the path of the card of the server. It and the catalog that refers to it are
// served only if the server has a public address.
const cardPath = EndpointPath + servercard.PathSuffix

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
	card := d.public != nil && (path == cardPath || path == servercard.CatalogPath)
	if !card &&
		(!metadata || d.auth == nil || len(d.auth.AuthorizationServers) == 0) {
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
		document = servercard.New(cat.Server, d.endpoint(), d.auth != nil && len(d.auth.AuthorizationServers) == 0)
		contentType = servercard.Type
	default:
		document = servercard.NewCatalog(cat.Server, d.endpoint())
		contentType = servercard.CatalogType
	}
	text, err := mcp.Marshal(document)
	if err != nil {
		http.Error(w, StatusUnavailable, http.StatusInternalServerError)
		return true
	}
	publish(w, r, contentType, text)
	return true
}

// endpoint returns the public address of the endpoint.
func (d *discovery) endpoint() *url.URL { return d.public.JoinPath(EndpointPath) }

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
