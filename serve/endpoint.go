package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/glob"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/servercard"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// Endpoint is an additional endpoint at [EndpointPath]/NAME, for a part of the Source. It has
// its own catalog, sessions, resource identifier (RFC 8707), metadata (RFC 9728) and scopes:
// a JSON Web Token for one endpoint does not open another, unless it names both.
type Endpoint struct {
	// Name is its name in the URL: letters, digits and ._-
	Name string
	// Items are what it offers: SERVER, or SERVER/PATTERN with the original names of tools and
	// prompts and the URIs of resources, in which "*" matches any text.
	Items []string
	// Scopes are required for every request, in addition to Auth.Scopes.
	Scopes []string
	// Policy, if not nil, decides in addition to Options.Policy: both have to permit.
	Policy *Policy
}

// maxEndpoints bounds the endpoints of a server.
const maxEndpoints = 64

// Check returns an error for an endpoint that cannot be served.
func (e *Endpoint) Check() error {
	if !servercard.IsWord(e.Name, "._-") ||
		len(e.Name) > maxHolder ||
		e.Name == "server-card" {
		return fmt.Errorf("endpoint %q: a name consists of letters, digits and ._-, up to 64", e.Name)
	}
	if len(e.Items) == 0 {
		return fmt.Errorf("endpoint %s: it has no servers", e.Name)
	}
	_, err := e.members()
	return err
}

// members returns the rules that permit what the endpoint offers.
func (e *Endpoint) members() (*policy.Set, error) {
	var b strings.Builder
	for _, item := range e.Items {
		server, pattern, parts := strings.Cut(item, "/")
		if server == "" || strings.ContainsAny(item, "\"\\\n\r\t\x00") {
			return nil, fmt.Errorf("endpoint %s: %q is not SERVER or SERVER/PATTERN", e.Name, item)
		}
		if !parts {
			fmt.Fprintf(&b, "permit (principal, action, resource in Server::\"%s\");\n", server)
			continue
		}
		for kind, name := range map[string]string{"Tool": "name", "Prompt": "name", "Resource": "uri"} {
			fmt.Fprintf(&b, "permit (principal, action, resource is %s in Server::\"%s\") "+
				"when { resource.%s like \"%s\" };\n", kind, server, name, pattern)
		}
	}
	return policy.Parse("endpoint "+e.Name, []byte(b.String()))
}

// EndpointError is the error of [Run] and [Serve] for an [Endpoint] that names no source.
type EndpointError struct {
	// Name is that of the endpoint.
	Name    string
	Problem string
}

// Error implements the error interface.
func (e *EndpointError) Error() string { return "endpoint " + e.Name + ": " + e.Problem }

// proveEndpoints is proveNames for endpoints. unknown means that items may be missing in cat.
func (o *Options) proveEndpoints(cat *mcp.Catalog, unknown bool) error {
	known := slices.Clone(o.SourceNames)
	for i := range cat.Sources {
		known = append(known, cat.Sources[i].Name)
	}
	if len(known) == 0 {
		return nil
	}
	for _, e := range o.Endpoints {
		for _, item := range e.Items {
			server, pattern, parts := strings.Cut(item, "/")
			if !slices.Contains(known, server) {
				return &EndpointError{e.Name, fmt.Sprintf("no source is named %q%s", server, otherwise(server, known))}
			}
			if !parts || unknown {
				continue
			}
			matches := offers(cat, server, pattern, slices.Contains(o.SourceNames, server))
			if o.missing.note("endpoint "+e.Name+" "+item, matches) {
				o.Logger.Warn("endpoint has a pattern that matches nothing",
					"endpoint", e.Name,
					"pattern", item,
				)
			}
		}
	}
	return nil
}

// otherwise continues a message about an unknown name with the near or all known names.
func otherwise(name string, known []string) string {
	if near := nearest.DidYouMean(name, known); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": the sources are " + listed(known)
}

// offers reports whether an item of a source has a name or URI that matches a pattern. All
// items are of the source if whole is set.
func offers(cat *mcp.Catalog, server, pattern string, whole bool) bool {
	has := func(origins []mcp.Origin, shown string) bool {
		name := shown
		if len(origins) > 0 {
			name = origins[0].Name
		}
		from := whole || slices.ContainsFunc(origins, func(o mcp.Origin) bool { return o.Source == server })
		return from && glob.Match(pattern, name)
	}
	return slices.ContainsFunc(cat.Tools, func(t mcp.Tool) bool { return has(t.Origins, t.Name) }) ||
		slices.ContainsFunc(cat.Prompts, func(p mcp.Prompt) bool { return has(p.Origins, p.Name) }) ||
		slices.ContainsFunc(cat.Resources, func(r mcp.Resource) bool { return has(r.Origins, r.URI) }) ||
		slices.ContainsFunc(cat.Templates, func(t mcp.ResourceTemplate) bool { return has(t.Origins, t.URITemplate) })
}

// namedEndpoint serves an Endpoint.
type namedEndpoint struct {
	Endpoint
	// path is that of the endpoint below EndpointPath. Each endpoint has a server, so that sessions
	// of one cannot be used at another.
	path      string
	server    *mcpserver.Server
	records   *sessionsAt // nil unless the server is a replica
	admission *admission
	http      *mcpserver.HTTPHandler
	sockets   *ws.Handler // nil if disabled for good
}

// endpointKey is the key of the name of the endpoint in a context.
type endpointKey struct{}

// newEndpoints returns the handlers of the endpoints by path. o are the options of the
// handler of the whole Source before its own admission is part of them; whole is its server, with whose
// sessions and requests theirs are limited.
func (o *Options) newEndpoints(
	src mcp.Source,
	main *admission,
	sessions *ownedSessions,
	whole *mcpserver.Server,
) map[string]*namedEndpoint {
	all := make(map[string]*namedEndpoint)
	for _, e := range o.Endpoints[:min(len(o.Endpoints), maxEndpoints)] {
		set, err := e.members()
		if err != nil {
			continue // Check has returned it
		}
		own := *o
		own.Server.ShareBudget = whole
		members := NewPolicy(set, &PolicyOptions{Servers: o.SourceNames})
		members.hides = true
		for _, p := range []*Policy{e.Policy, members} { // the last one is asked first
			if p != nil {
				own.Server.Listed = viewsOf(p.listed, own.Server.Listed)
				own.Server.Gate = joinGates(p, own.Server.Gate)
			}
		}
		n := &namedEndpoint{
			Endpoint: e,
			path:     EndpointPath + "/" + e.Name,
			admission: &admission{
				limiter: main.limiter,
				log:     main.log,
				refused: main.refused,
				callers: true,
			},
		}
		n.admission.path = n.path
		n.apply(o)
		own.HTTP.Authenticate = n.admission.authenticate
		own.HTTP.Revalidate = n.admission.stillValid
		own.Server.Gate = joinGates(n.admission, own.Server.Gate)
		n.records = sessions.at(n.path, &own.Server)
		n.server = mcpserver.New(src, &own.Server)
		n.records.serve(n.server)
		o.StateKeys.follow(n.server)
		n.http = n.server.HTTPHandler(&own.HTTP)
		n.sockets = own.sockets(n.server, n.admission)
		all[n.path] = n
	}
	return all
}

// apply makes the endpoint accept the tokens of o that are for it.
func (n *namedEndpoint) apply(o *Options) {
	own := *o
	if o.Auth != nil {
		auth := *o.Auth
		auth.Scopes = union(auth.Scopes, n.Scopes)
		auth.Verifiers = slices.Clone(auth.Verifiers)
		for i, v := range auth.Verifiers {
			if bound, ok := v.(endpointVerifier); ok {
				auth.Verifiers[i] = bound.forEndpoint(n.Name)
			}
		}
		own.Auth = &auth
	}
	n.admission.policy.Store(own.policy())
}

// ServeHTTP serves the endpoint.
func (n *namedEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request, s *surface) {
	r = r.WithContext(context.WithValue(r.Context(), endpointKey{}, n.Name))
	if s.webSocket && !s.postOnly && n.sockets != nil && ws.IsUpgrade(r) {
		n.sockets.ServeHTTP(w, r)
		return
	}
	n.http.ServeHTTP(w, r)
}

// endpointAt returns the endpoint at a path, or nil.
func (h *Handler) endpointAt(path string) *namedEndpoint {
	return h.endpoints[strings.TrimSuffix(path, "/")]
}

// metadataAt answers a request for the metadata of an endpoint, and reports whether it did.
func (h *Handler) metadataAt(w http.ResponseWriter, r *http.Request, s *surface) bool {
	path, ok := strings.CutPrefix(r.URL.Path, metadataPath)
	n := h.endpointAt(path)
	if !ok || n == nil {
		return false
	}
	auth := n.admission.policy.Load().auth
	if auth == nil || len(auth.AuthorizationServers) == 0 {
		return false
	}
	public := ""
	if s.discovery.public != nil {
		public = s.discovery.public.String()
	}
	text, err := mcp.Marshal(resourceMetadata{
		Resource:             baseURL(public, r.Host, r.TLS != nil) + n.path,
		Name:                 n.Name,
		AuthorizationServers: auth.AuthorizationServers,
		Scopes:               auth.supported(),
		BearerMethods:        []string{"header"},
	})
	if err != nil {
		http.Error(w, StatusUnavailable, http.StatusInternalServerError)
		return true
	}
	publish(w, r, "application/json", text)
	return true
}

// endpointVerifier is a [Verifier] of tokens that have an audience. forEndpoint returns a
// verifier for tokens of the same issuer whose audience is the endpoint with a name, below the
// audience of the verifier.
type endpointVerifier interface {
	Verifier
	forEndpoint(name string) Verifier
}

// audiencesBelow returns the audiences of an endpoint.
func audiencesBelow(audiences []string, name string) []string {
	var below []string
	for _, audience := range audiences {
		below = append(below, strings.TrimSuffix(audience, "/")+"/"+name)
	}
	return below
}

// forEndpoint implements endpointVerifier.
func (v *JWT) forEndpoint(name string) Verifier {
	own := &JWT{
		opts:       v.opts,
		paths:      v.paths,
		algorithms: v.algorithms,
		keys:       v.keys,
		broker:     v.broker,
	}
	own.seen.seed = v.seen.seed
	own.opts.Audience = audiencesBelow(v.opts.Audience, name)
	own.opts.Claims.AllowNoAudience = false // it would open every endpoint
	return own
}

// servers are the servers of all endpoints of a process. The first one has the Budget of all.
type servers []*mcpserver.Server

// servers returns the servers of all endpoints.
func (h *Handler) servers() servers {
	all := servers{h.server}
	for _, n := range h.endpoints {
		all = append(all, n.server)
	}
	return all
}

// stats returns the figures of all servers together.
func (all servers) stats() mcpserver.Stats {
	sum := all[0].Stats()
	for _, s := range all[1:] {
		st := s.Stats()
		sum.Sessions += st.Sessions
		sum.Streams += st.Streams
		sum.Tasks += st.Tasks
		sum.InFlight += st.InFlight
	}
	return sum
}

// oldestSession returns when the oldest session of all servers began, or zero.
func (all servers) oldestSession() time.Time {
	var oldest time.Time
	for _, s := range all {
		began := s.OldestSession()
		if !began.IsZero() && (oldest.IsZero() || began.Before(oldest)) {
			oldest = began
		}
	}
	return oldest
}
