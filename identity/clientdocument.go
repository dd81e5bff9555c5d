package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Limits of client ID metadata documents, which every client can name.
const (
	maxClientDocument     = 5 << 10
	clientDocumentTimeout = 10 * time.Second
)

// ClientDocument is a client ID metadata document: what a client says about itself at the
// address that is its ID.
type ClientDocument struct {
	// ID is the address of the document, and RedirectURIs are the only ones that may be used.
	ID           string   `json:"client_id"`
	Name         string   `json:"client_name"`
	RedirectURIs []string `json:"redirect_uris"`
	// AuthMethod is how the client authenticates; empty means none.
	AuthMethod string `json:"token_endpoint_auth_method"`
}

// IsDocumentID reports whether a client ID is the address of a client ID metadata document.
func IsDocumentID(id string) bool {
	u, err := url.Parse(id)
	return err == nil &&
		isDocumentID(id) &&
		u.User == nil &&
		u.Opaque == ""
}

// FetchClientDocument fetches the document of a client. Its address is untrusted input: only the
// public internet and the networks in allow are reached, without redirects, cookies and proxy.
func FetchClientDocument(
	ctx context.Context,
	id string,
	allow []netip.Prefix,
) (*ClientDocument, error) {
	return fetchClientDocument(ctx, id, guarded(allow, "", false))
}

// fetchClientDocument is FetchClientDocument with the transport of the caller, which must refuse
// private networks. It follows no redirects: the address is the client ID, and the document must
// name it.
func fetchClientDocument(
	ctx context.Context,
	id string,
	by http.RoundTripper,
) (*ClientDocument, error) {
	if !IsDocumentID(id) {
		return nil, errors.New("the client ID is not an https address with a path")
	}
	ctx, cancel := context.WithTimeout(ctx, clientDocumentTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := by.RoundTrip(req) // follows no redirects
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", secrets.URL(id), failureOf(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: HTTP status %d", secrets.URL(id), resp.StatusCode)
	}
	text, err := fsutil.ReadLimited(resp.Body, maxClientDocument)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: want at most %d bytes: %w", secrets.URL(id), maxClientDocument, err)
	}
	var doc ClientDocument
	if jsonscan.Valid(text) != nil || json.Unmarshal(text, &doc) != nil {
		return nil, fmt.Errorf("%s is not a client ID metadata document", secrets.URL(id))
	}
	if doc.ID != id {
		return nil, fmt.Errorf("%s is the document of another client, %q", secrets.URL(id), printable(doc.ID))
	}
	return &doc, nil
}
