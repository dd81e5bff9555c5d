package apps

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // for the scripts
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/mcp"
)

// HostOptions are options of a [Host].
type HostOptions struct {
	// MaxViews is the number of documents that are kept; the oldest is closed to make room.
	// 0 means 64.
	MaxViews int
	// MaxHTML is the largest document in bytes. 0 means 32 MiB.
	MaxHTML int
	// OnViolation is called for each violation that a browser reports, from any goroutine.
	OnViolation func(*View, Violation)
	// Axe is the script of axe-core (https://github.com/dequelabs/axe-core), which checks documents
	// for accessibility when the page asks for it. Without it, there is no such check.
	Axe string
	// Sampling answers sampling/createMessage of documents. Nil refuses it.
	Sampling func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
}

// Host shows user interfaces in a browser. Each document gets an origin of its own on the
// port of the page that shows it, told apart by the Host header:
//
//	127.0.0.1:PORT         the page, served by the caller
//	proxy-ID.localhost:PORT  a page between the two, which relays messages
//	app-ID.localhost:PORT    the document, with its policy as a header
//
// Pass requests for which [Host.Owns] is true to the Host, and all others to the page:
//
//	http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		if host.Owns(r) {
//			host.ServeHTTP(w, r)
//			return
//		}
//		page.ServeHTTP(w, r)
//	})
//
// In the page, the script [HostJS] exchanges messages with the document. ID.localhost is a
// registrable domain, so documents cannot set cookies for each other. A Host is safe for
// concurrent use.
type Host struct {
	opts HostOptions

	mu sync.Mutex // guards the fields below
	// views are the open views by id. The oldest is dropped if there are too many.
	views map[string]*View
	order []string // oldest first
}

// NewHost returns a Host. opts may be nil.
func NewHost(opts *HostOptions) *Host {
	h := &Host{views: map[string]*View{}}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.MaxViews <= 0 {
		h.opts.MaxViews = 64
	}
	if h.opts.MaxHTML <= 0 {
		h.opts.MaxHTML = 32 << 20
	}
	return h
}

// OpenParams select a document for [Host.Open].
type OpenParams struct {
	// Page is the origin of the page, as in http://127.0.0.1:8080. Only this page can show
	// the document.
	Page string
	// Tool is the tool whose user interface is shown.
	Tool string
	// Mode is the policy; empty means [Strict].
	Mode Mode
	// Server names the server. A document that declares a domain has the same origin each
	// time it is opened for the same server, and keeps its storage. If Server is empty, the
	// domain is ignored.
	Server string
	// Remote reports that the server runs outside this machine and its network. In mode [Strict], its document
	// cannot reach this machine, private addresses, and names of private networks, even if
	// it declares them.
	Remote bool
}

// View is one document that is open. Its exported fields are read-only. In JSON it is the
// view of [HostJS].
type View struct {
	ID string `json:"id"`
	// ProxyURL is for the frame of the page. FallbackURL is for browsers that do not resolve
	// *.localhost: there, the document has an opaque origin.
	ProxyURL    string `json:"proxyURL"`
	FallbackURL string `json:"fallbackURL,omitempty"`
	// Checks reports whether the page can check the document for accessibility.
	Checks bool `json:"checks,omitempty"`
	// Allow is the allow attribute for the frame.
	Allow string `json:"allow"`
	// Tool is the definition of the tool, Resource the URI of its user interface.
	Tool     mcp.Tool `json:"tool"`
	Resource string   `json:"resource"`
	// Bytes is the size of the document.
	Bytes int `json:"bytes"`
	// Grant is what the document may do, and Policy its Content-Security-Policy.
	Grant  *Grant `json:"grant"`
	Policy string `json:"policy"`
	// PrefersBorder requests a border, or none; nil leaves that to the page.
	PrefersBorder *bool `json:"prefersBorder,omitempty"`

	// source is the server of the view, which calls of the document reach.
	source   mcp.Source
	host     *Host
	html     string
	page     string // origin of the page
	proxy    string // origin of the proxy page
	app      string // origin of the document
	appURL   string
	fallback string // host name that serves FallbackURL

	mu         sync.Mutex // guards violations
	violations []Violation
}

// Errors of [Host.Open].
var (
	// ErrNoTool means that no such tool exists.
	ErrNoTool = errors.New("no such tool")
	// ErrNoApp means that the tool has no user interface.
	ErrNoApp = errors.New("the tool has no user interface")
	// ErrDocument means that the resource is not a user interface.
	ErrDocument = errors.New("not a user interface")
)

// Open reads the user interface of a tool of src. It does not call the tool: do both at
// the same time. Close it with [Host.Close].
func (h *Host) Open(ctx context.Context, src mcp.Source, params *OpenParams) (*View, error) {
	page, err := url.Parse(params.Page)
	if err != nil || page.Host == "" || page.Path != "" {
		return nil, fmt.Errorf("%q is not the origin of a page, as in http://127.0.0.1:8080", params.Page)
	}
	catalog, err := src.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(catalog.Tools, func(t mcp.Tool) bool { return t.Name == params.Tool })
	if at < 0 {
		return nil, fmt.Errorf("tool %q: %w", params.Tool, ErrNoTool)
	}
	tool := catalog.Tools[at]
	link, err := ToolUIOf(&tool)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", tool.Name, err)
	}
	if link == nil || link.ResourceURI == "" {
		return nil, fmt.Errorf("tool %q: %w", tool.Name, ErrNoApp)
	}
	html, ui, err := h.readDocument(ctx, src, catalog, &mcp.ReadResourceParams{
		URI:     link.ResourceURI,
		Sources: joinedFrom(tool.Origins),
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", link.ResourceURI, err)
	}
	grant := NewGrant(ui, params.Mode)
	if params.Remote && grant.Mode == Strict {
		grant.dropLocal()
	}
	v := &View{
		ID:       rand.Text(),
		Tool:     tool,
		Resource: link.ResourceURI,
		Bytes:    len(html),
		Checks:   h.opts.Axe != "",
		Allow:    grant.Permissions.Allow(),
		Grant:    grant,
		Policy:   grant.Policy(),
		source:   src,
		host:     h,
		html:     html,
		page:     params.Page,
	}
	v.ID = strings.ToLower(v.ID) // host names are
	label := v.ID
	if ui != nil {
		v.PrefersBorder = ui.PrefersBorder
		if ui.Domain != "" && params.Server != "" {
			label = domainLabel(params.Server, ui.Domain)
		}
	}
	v.address(page, label)
	h.keep(v)
	return v, nil
}

// domainLabel returns the same label for the same domain of the same server.
func domainLabel(server, domain string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + domain))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
}

// loopbackNames maps each host name of a page to another for the same port.
var loopbackNames = map[string]string{
	"127.0.0.1": "localhost",
	"localhost": "127.0.0.1",
	"::1":       "localhost",
}

// fallbackPath begins the paths for browsers that do not resolve *.localhost.
const fallbackPath = "/.mcp-app/"

// address sets the addresses of v.
func (v *View) address(page *url.URL, label string) {
	port := ""
	if page.Port() != "" {
		port = ":" + page.Port()
	}
	v.proxy = page.Scheme + "://proxy-" + v.ID + ".localhost" + port
	v.app = page.Scheme + "://app-" + label + ".localhost" + port
	v.appURL = v.app + "/" + v.ID
	v.ProxyURL = v.proxy + "/" + v.ID
	if other, ok := loopbackNames[page.Hostname()]; ok {
		v.fallback = other
		v.FallbackURL = page.Scheme + "://" + other + port + fallbackPath + v.ID
	}
}

// readDocument returns a document with its settings, which may be nil.
func (h *Host) readDocument(
	ctx context.Context, src mcp.Source, catalog *mcp.Catalog, params *mcp.ReadResourceParams,
) (string, *ResourceUI, error) {
	read, err := src.ReadResource(ctx, params)
	if err != nil {
		return "", nil, err
	}
	encoded, err := mcp.Marshal(read)
	if err != nil {
		return "", nil, err
	}
	var wire struct {
		Contents []struct {
			MIMEType string          `json:"mimeType"`
			Text     string          `json:"text"`
			Blob     []byte          `json:"blob"`
			Meta     json.RawMessage `json:"_meta"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(encoded, &wire); err != nil {
		return "", nil, err
	}
	if len(wire.Contents) != 1 {
		return "", nil, fmt.Errorf("%w: %d contents instead of one", ErrDocument, len(wire.Contents))
	}
	contents := wire.Contents[0]
	if !isAppType(contents.MIMEType) {
		return "", nil, fmt.Errorf("%w: its MIME type is %q, not %q", ErrDocument, contents.MIMEType, MIMEType)
	}
	html := contents.Text
	if html == "" {
		html = string(contents.Blob)
	}
	if html == "" {
		return "", nil, fmt.Errorf("%w: the document is empty", ErrDocument)
	}
	if len(html) > h.opts.MaxHTML {
		return "", nil, fmt.Errorf("%w: %d bytes, more than %d", ErrDocument, len(html), h.opts.MaxHTML)
	}
	ui, err := ReadResourceMeta(contents.Meta, listedMeta(catalog, params.URI))
	return html, ui, err
}

// listedMeta returns the _meta of the list entry of uri, or nil.
func listedMeta(catalog *mcp.Catalog, uri string) json.RawMessage {
	for i := range catalog.Resources {
		r := &catalog.Resources[i]
		if r.URI != uri {
			continue
		}
		meta, err := metaOf(r.Raw, r.Meta)
		if err == nil {
			return meta
		}
	}
	return nil
}

// keep adds v, and closes the oldest view if there are too many.
func (h *Host) keep(v *View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.order) >= h.opts.MaxViews {
		delete(h.views, h.order[0])
		h.order = h.order[1:]
	}
	h.views[v.ID] = v
	h.order = append(h.order, v.ID)
}

// View returns an open view, or nil.
func (h *Host) View(id string) *View {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.views[id]
}

// Close forgets a view: its addresses answer 404 from then on.
func (h *Host) Close(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.views, id)
	h.order = slices.DeleteFunc(h.order, func(other string) bool { return other == id })
}

// Violations returns what browsers refused the document so far, at most 200 entries. What was not
// granted at all is in [Grant.Dropped].
func (v *View) Violations() []Violation {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.violations)
}

// maxViolations is how many violations a view keeps.
const maxViolations = 200

// report records a violation, up to a limit, and passes it on.
func (v *View) report(violation Violation) {
	v.mu.Lock()
	full := len(v.violations) >= maxViolations
	if !full {
		v.violations = append(v.violations, violation)
	}
	v.mu.Unlock()
	if !full && v.host.opts.OnViolation != nil {
		v.host.opts.OnViolation(v, violation)
	}
}

//go:embed host.js
var hostScript string

// HostJS returns the script for the page of a [Host]: a module that exports the class
// AppHost, which exchanges messages with a document. It has no dependencies; its types are
// in host.d.ts.
func HostJS() string { return hostScript }

//go:embed host.json
var hostControls []byte

// HostControls returns the settings that a page can offer for a document, as a JSON
// object: device presets, themes, locales, display modes, and the style variables of the
// specification with a light and a dark value.
func HostControls() json.RawMessage { return slices.Clone(hostControls) }

var _ http.Handler = (*Host)(nil)
