package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// OfficialURL is the base URL of the official registry.
const OfficialURL = "https://registry.modelcontextprotocol.io"

// Limits of a [Client].
const (
	maxAnswer   = 4 << 20 // bytes of one answer
	maxPages    = 20      // of one search
	pageSize    = 100     // the largest that the official registry accepts
	maxMessage  = 300     // bytes of an error message of the registry
	maxRequests = 30 * time.Second
)

// Client queries a registry with the API of the official one (GET /v0.1/servers, or /v0 if
// the registry is older). The zero value queries the official registry. It is safe for
// concurrent use.
//
// One call takes at most 30 seconds, reads answers of at most 4 MiB, and requests at most
// 20 pages. The host of URL may have any address; redirects must lead to the public
// internet, to the same host, or to AllowNetwork.
type Client struct {
	// URL is the base URL, optionally with the version of the API. Empty means [OfficialURL].
	URL string
	// AllowNetwork lists additional networks that redirects may lead to.
	AllowNetwork []netip.Prefix
	// UserAgent is sent with each request. Empty means the default of net/http.
	UserAgent string
}

// ErrNotFound is returned if a registry has no server, or no version, of that name.
var ErrNotFound = errors.New("the registry has no such server")

// APIError is an answer of a registry that is not a result.
type APIError struct {
	URL    string // of the registry
	Status int    // of HTTP, or 0 if the answer is malformed
	// Why is the reason in one line, without secrets of the URL.
	Why string
}

// Error implements the error interface.
func (e *APIError) Error() string { return secrets.URL(e.URL) + ": " + e.Why }

// SearchOptions configures [Client.Search]. Nil and the zero value are the defaults.
type SearchOptions struct {
	// Limit is the maximum number of results. Default: 20. Maximum: 2,000.
	Limit int
}

// Results are the servers found by [Client.Search].
type Results struct {
	Servers []*Document
	// More reports whether there may be additional servers.
	More bool
	// Malformed is the number of entries that were skipped because they are malformed.
	Malformed int
}

// serverName is the syntax of names in a registry.
var serverName = lazyregexp.New(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// IsName reports whether text has the form of a name in a registry: a domain in reverse,
// a slash, and a name, as in io.github.owner/server.
func IsName(text string) bool {
	domain, _, _ := strings.Cut(text, "/")
	dot := strings.IndexByte(domain, '.')
	return len(text) <= maxName && dot > 0 && dot < len(domain)-1 &&
		serverName().MatchString(text)
}

// Search returns the latest versions of servers that have all words in their name, title
// or description. Registries compare one text with the names of servers, so they are asked
// for each word in turn, the longest first. Deleted servers are omitted.
func (c *Client) Search(
	ctx context.Context,
	words []string,
	opts *SearchOptions,
) (*Results, error) {
	s := &search{
		words:   words,
		limit:   20,
		results: &Results{},
		places:  map[string]int{},
		pages:   maxPages,
	}
	if opts != nil && opts.Limit > 0 {
		s.limit = min(opts.Limit, maxPages*pageSize)
	}
	ctx, cancel := context.WithTimeout(ctx, maxRequests)
	defer cancel()
	byLength := slices.Clone(words)
	slices.SortStableFunc(byLength, func(a, b string) int { return len(b) - len(a) })
	for _, word := range byLength {
		if err := s.ask(ctx, c, word); err != nil {
			return nil, err
		}
	}
	return s.results, nil
}

// ask adds the results for one word.
func (s *search) ask(ctx context.Context, c *Client, word string) error {
	query := url.Values{
		"search":  {word},
		"version": {"latest"},
		"limit":   {strconv.Itoa(pageSize)},
	}
	if len(s.words) == 1 {
		query.Set("limit", strconv.Itoa(min(s.limit, pageSize)))
	}
	seen := map[string]bool{}
	for ; s.pages > 0 && !s.results.More; s.pages-- {
		text, err := c.get(ctx, "/servers?"+query.Encode())
		if err != nil {
			return err
		}
		next, err := s.page(text)
		if err != nil {
			return &APIError{URL: c.base(), Why: err.Error()}
		}
		if next == "" || seen[next] {
			return nil
		}
		if len(s.results.Servers) >= s.limit {
			break
		}
		seen[next] = true
		query.Set("cursor", next)
	}
	s.results.More = true
	return nil
}

// search collects the results of several pages.
type search struct {
	// words are what the results must contain: registries search for a whole text only.
	words []string
	// limit is the number of results that ends the search.
	limit   int
	results *Results
	places  map[string]int // of names in the results
	pages   int            // that may still be requested
}

// page adds one page of a list and returns the cursor of the next one.
func (s *search) page(text []byte) (next string, err error) {
	var list struct {
		Servers  []json.RawMessage `json:"servers"`
		Metadata struct {
			NextCursor string `json:"nextCursor"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &list); err != nil || list.Servers == nil {
		return "", errors.New("the answer is not a list of servers")
	}
	for _, item := range list.Servers {
		var answer response
		doc := &Document{}
		if json.Unmarshal(item, &answer) != nil ||
			json.Unmarshal(answer.Server, doc) != nil || !IsName(doc.Name) {
			s.results.Malformed++
			continue
		}
		doc.Status = answer.Meta.status()
		if s.add(doc, answer.Meta.latest()); s.results.More {
			break
		}
	}
	return list.Metadata.NextCursor, nil
}

// add adds a server. A registry that ignores the filter for versions sends several of one
// name: the latest is kept.
func (s *search) add(doc *Document, latest bool) {
	if doc.Status == "deleted" || !s.matches(doc) {
		return
	}
	if i, ok := s.places[doc.Name]; ok {
		if latest {
			s.results.Servers[i] = doc
		}
		return
	}
	if len(s.results.Servers) == s.limit {
		s.results.More = true
		return
	}
	s.places[doc.Name] = len(s.results.Servers)
	s.results.Servers = append(s.results.Servers, doc)
}

// matches reports whether a server has all words. A single word was the registry's to
// match, which may have searched more than we know of.
func (s *search) matches(doc *Document) bool {
	if len(s.words) == 1 {
		return true
	}
	text := strings.ToLower(doc.Name + " " + doc.Title + " " + doc.Description)
	return !slices.ContainsFunc(s.words, func(word string) bool {
		return !strings.Contains(text, strings.ToLower(word))
	})
}

// Get returns a version of a server; an empty version means the latest. The error matches
// [ErrNotFound] if the registry does not have it.
func (c *Client) Get(ctx context.Context, name, version string) (*Document, error) {
	if !IsName(name) {
		return nil, fmt.Errorf("%q is not a name in a registry, such as io.github.owner/server", name)
	}
	ctx, cancel := context.WithTimeout(ctx, maxRequests)
	defer cancel()
	version = cmp.Or(version, "latest")
	text, err := c.get(ctx,
		"/servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version))
	var answer *APIError
	if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	doc, err := Parse(text)
	switch {
	case err != nil:
		return nil, &APIError{URL: c.base(), Why: err.Error()}
	case doc.Name != name:
		return nil, &APIError{
			URL: c.base(),
			Why: fmt.Sprintf("it answers with another server: %.200q", doc.Name),
		}
	case version != "latest" && doc.Version != version:
		return nil, &APIError{
			URL: c.base(),
			Why: fmt.Sprintf("it answers with another version: %.200q", doc.Version),
		}
	}
	return doc, nil
}

// response is a server in an answer of a registry.
type response struct {
	// Server is the document, and Meta what the registry says about it.
	Server json.RawMessage `json:"server"`
	Meta   said            `json:"_meta"`
}

// base returns the base URL without the version of the API.
func (c *Client) base() string {
	base, _ := c.versions()
	return base
}

// versions returns the base URL and the versions of the API to try.
func (c *Client) versions() (base string, versions []string) {
	base = strings.TrimRight(cmp.Or(c.URL, OfficialURL), "/")
	for _, version := range []string{"/v0.1", "/v0"} {
		if before, ok := strings.CutSuffix(base, version); ok {
			return before, []string{version}
		}
	}
	return base, []string{"/v0.1", "/v0"}
}

// CheckURL returns an [*APIError] if URL cannot be that of a registry.
func (c *Client) CheckURL() error {
	base, _ := c.versions()
	_, err := parseBase(base)
	return err
}

// parseBase parses the URL of a registry.
func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &APIError{URL: base, Why: "not an http or https URL of a registry"}
	}
	return u, nil
}

// get requests a path below the version of the API. A registry that does not know the path
// is asked again with the older version.
func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	base, versions := c.versions()
	u, err := parseBase(base)
	if err != nil {
		return nil, err
	}
	guard := &netguard.Guard{
		Allow:    c.AllowNetwork,
		Host:     u.Hostname(),
		Loopback: netguard.NamesLoopback(base),
	}
	web := &http.Client{Transport: guard.Transport(&http.Transport{DisableKeepAlives: true})}
	for _, version := range versions {
		var text []byte
		text, err = c.fetch(ctx, web, base, version+path)
		var answer *APIError
		if !errors.As(err, &answer) || answer.Status != http.StatusNotFound {
			return text, err
		}
	}
	return nil, err
}

// fetch makes one request.
func (c *Client) fetch(ctx context.Context, web *http.Client, base, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return nil, &APIError{URL: base, Why: "not an http or https URL of a registry"}
	}
	req.Header.Set("Accept", "application/json")
	if c.UserAgent != "" {
		req.Header.Set("User-Agent", c.UserAgent)
	}
	resp, err := web.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxAnswer:
		return nil, &APIError{URL: base, Why: "the answer has more than 4 MiB"}
	case resp.StatusCode != http.StatusOK:
		return nil, &APIError{
			URL:    base,
			Status: resp.StatusCode,
			Why:    message(resp.Status, text),
		}
	}
	if _, problems := tree.Parse(text, tree.JSON); len(problems) > 0 {
		return nil, &APIError{URL: base, Why: "the answer is not JSON: is it a registry?"}
	}
	return text, nil
}

// message returns the status of an answer, with the registry's explanation if it has the
// form of the API ("error") or of RFC 9457 ("detail").
func message(status string, text []byte) string {
	var body struct{ Error, Detail string }
	if json.Unmarshal(bytes.TrimSpace(text), &body) != nil {
		return "the registry answers with " + status
	}
	why := cmp.Or(body.Detail, body.Error)
	if why == "" {
		return "the registry answers with " + status
	}
	if len(why) > maxMessage {
		why = strings.ToValidUTF8(why[:maxMessage], "") + "..."
	}
	return "the registry answers with " + status + ": " + why
}
