package broker

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// Limits of registrations. They travel in addresses.
const (
	maxRegistration  = 16 << 10
	maxRedirects     = 8
	maxRedirectBytes = 1 << 10
	maxClientName    = 80
	maxClientID      = 3 << 10
)

// client is a client of the broker.
type client struct {
	id string
	// name is what the client calls itself, which proves nothing.
	name      string
	redirects []string
	// host is that of its document, or empty.
	host string
}

// digest identifies a client where its ID would be too long.
func (c *client) digest() string { return digest(c.id) }

// shortID returns what policies and logs call the client: the address of its document, or a part
// of the digest of its ID, which no other client has.
func (c *client) shortID() string {
	if c.host != "" && len(c.id) <= maxRedirect {
		return c.id
	}
	return clientPrefix + c.digest()[:24]
}

// digest returns the SHA-256 of text in hexadecimal: a key of a fixed length, and a way to compare
// a secret that must not be stored.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sealedClient is a registration as it is sealed into the ID of the client.
type sealedClient struct {
	// The names of the members are short, because the ID is a part of many URLs. Issued is in
	// seconds since 1970.
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
	Issued    int64    `json:"i"`
}

// clientPrefix starts the IDs of registered clients.
const clientPrefix = "mcp-"

// sealContext values keep sealed texts of different kinds apart.
const (
	sealedClientID = "client"
	sealedForm     = "form"
)

// resolve returns the client with an ID. The error is an oauthError if there is none.
func (b *Broker) resolve(ctx context.Context, id string) (*client, error) {
	unknown := &oauthError{
		Status: http.StatusUnauthorized,
		Code:   invalidClient,
		Text:   "the client is not registered here: register again",
	}
	if id == "" || len(id) > maxClientID {
		return nil, unknown
	}
	if identity.IsDocumentID(id) {
		return b.fromDocument(ctx, id)
	}
	text, ok := strings.CutPrefix(id, clientPrefix)
	if !ok {
		return nil, unknown
	}
	sealed, err := base64url.Decode(text)
	if err != nil {
		return nil, unknown
	}
	k, err := b.keys(ctx)
	if err != nil {
		return nil, err
	}
	var c sealedClient
	if !k.open(sealedClientID, sealed, &c) {
		return nil, unknown
	}
	return &client{
		id:        id,
		name:      c.Name,
		redirects: b.allowedOf(c.Redirects), // the operator may have changed what is allowed
	}, nil
}

// allowedOf returns the redirects that are allowed.
func (b *Broker) allowedOf(redirects []string) (all []string) {
	for _, one := range redirects {
		if b.allowed(one) == nil {
			all = append(all, one)
		}
	}
	return all
}

// fromDocument returns the client whose ID is the address of its document.
func (b *Broker) fromDocument(ctx context.Context, id string) (*client, error) {
	doc, err := b.documents.get(ctx, id, b.now())
	if err != nil {
		return nil, &oauthError{
			Status: http.StatusUnauthorized,
			Code:   invalidClient,
			Text:   "the document of the client cannot be used: " + visible.Line(err.Error()),
		}
	}
	u, err := url.Parse(id)
	if err != nil {
		return nil, err
	}
	return &client{
		id:        id,
		name:      clientName(doc.Name),
		redirects: b.allowedOf(doc.RedirectURIs[:min(len(doc.RedirectURIs), maxRedirects)]),
		host:      u.Host,
	}, nil
}

// clientName returns the name of a client for people.
func clientName(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	for len(text) > maxClientName {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return visible.Line(text)
}

// registration is a request or an answer of RFC 7591.
type registration struct {
	ID       string `json:"client_id,omitempty"`
	IssuedAt int64  `json:"client_id_issued_at,omitempty"`
	Name     string `json:"client_name,omitempty"`
	// RedirectURIs are the only required field. Unknown fields are ignored.
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types,omitempty"`
	ResponseTypes []string `json:"response_types,omitempty"`
	AuthMethod    string   `json:"token_endpoint_auth_method,omitempty"`
	Scope         string   `json:"scope,omitempty"`
}

// register registers a client: everything about it is sealed into its ID. Redirects that are not
// allowed are left out, as clients register those of all their editions.
func (b *Broker) register(w http.ResponseWriter, r *http.Request) {
	text, err := fsutil.ReadLimited(http.MaxBytesReader(w, r.Body, maxRegistration+1), maxRegistration)
	if err != nil {
		b.fail(w, &oauthError{
			Status: http.StatusRequestEntityTooLarge,
			Code:   invalidMetadata,
			Text:   "the registration is too large",
		})
		return
	}
	var asked registration
	if jsonscan.Valid(text) != nil || json.Unmarshal(text, &asked) != nil {
		b.fail(w, badRequest(invalidMetadata, "want a JSON object as in RFC 7591"))
		return
	}
	c, err := b.acceptable(&asked)
	if err != nil {
		b.fail(w, err)
		return
	}
	k, err := b.keys(r.Context())
	if err != nil {
		b.fail(w, err)
		return
	}
	// Nothing is stored: an open registration could fill any storage.
	id := clientPrefix + base64.RawURLEncoding.EncodeToString(k.seal(sealedClientID, c))
	write(w, http.StatusCreated, &registration{
		ID:            id,
		IssuedAt:      c.Issued,
		Name:          c.Name,
		RedirectURIs:  c.Redirects,
		GrantTypes:    []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"},
		AuthMethod:    "none",
		Scope:         asked.Scope,
	})
}

// acceptable returns what of a registration is accepted.
func (b *Broker) acceptable(asked *registration) (*sealedClient, error) {
	if len(asked.RedirectURIs) == 0 || len(asked.RedirectURIs) > maxRedirects {
		return nil, badRequest(invalidRedirect, "want 1 to %d redirect_uris", maxRedirects)
	}
	c := &sealedClient{
		Name:   clientName(asked.Name),
		Issued: b.now().Unix(),
	}
	size := 0
	var refused error
	for _, one := range asked.RedirectURIs {
		if err := b.allowed(one); err != nil {
			refused = err
			continue
		}
		size += len(one)
		c.Redirects = append(c.Redirects, one)
	}
	switch {
	case len(c.Redirects) == 0:
		return nil, badRequest(invalidRedirect, "%s", visible.Line(refused.Error()))
	case size > maxRedirectBytes:
		return nil, badRequest(invalidRedirect, "the redirect_uris have more than %d bytes", maxRedirectBytes)
	}
	return c, nil
}

// documents keeps the documents of clients for a while. Callers choose IDs freely, so at most a
// few are fetched at once.
type documents struct {
	fetch func(ctx context.Context, id string) (*identity.ClientDocument, error)
	// fetching has one element for each fetch in progress.
	fetching chan struct{}

	mu    sync.Mutex
	known map[string]*knownDocument
}

// knownDocument is a document, or why there is none.
type knownDocument struct {
	doc *identity.ClientDocument
	err error
	// until is when it is fetched again, which is sooner for an error.
	until time.Time
}

// Limits of documents.
const (
	maxDocuments        = 500
	maxFetching         = 8
	documentLife        = 10 * time.Minute
	failedDocumentLife  = 30 * time.Second
	documentWaitForTurn = 5 * time.Second
)

// errBusy reports that maxFetching client documents are being fetched. The limit keeps callers
// without a login from using the broker to send many requests.
var errBusy = errors.New("too many documents are being fetched: try again later")

// newDocuments returns an empty cache of client documents. allow lists the private networks from
// which documents may be fetched.
func newDocuments(allow []netip.Prefix) *documents {
	return &documents{
		fetch: func(ctx context.Context, id string) (*identity.ClientDocument, error) {
			return identity.FetchClientDocument(ctx, id, allow)
		},
		fetching: make(chan struct{}, maxFetching),
		known:    make(map[string]*knownDocument),
	}
}

// get returns the document with an ID.
func (d *documents) get(
	ctx context.Context,
	id string,
	now time.Time,
) (*identity.ClientDocument, error) {
	if k := d.find(id, now); k != nil {
		return k.doc, k.err
	}
	turn := time.NewTimer(documentWaitForTurn)
	defer turn.Stop()
	select {
	case d.fetching <- struct{}{}:
		defer func() { <-d.fetching }()
	case <-turn.C:
		return nil, errBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	doc, err := d.fetch(ctx, id)
	if ctx.Err() != nil {
		return nil, ctx.Err() // says nothing about the document
	}
	k := &knownDocument{doc, err, now.Add(documentLife)}
	if err != nil {
		k.until = now.Add(failedDocumentLife)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxDocuments {
		for known := range d.known { // any: it can be fetched again
			delete(d.known, known)
			break
		}
	}
	d.known[id] = k
	return doc, err
}

// find returns the cached outcome for a client ID, or nil if there is none or if it has expired.
// The outcome may be an error.
func (d *documents) find(id string, now time.Time) *knownDocument {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[id]
	if k == nil || now.After(k.until) {
		return nil
	}
	return k
}
